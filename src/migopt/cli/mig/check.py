"""``migopt mig check``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option
from migopt.cli.mig._options import gpu_model, gpu_options, places

if TYPE_CHECKING:
    from migopt.model import GpuModel, Partition


@click.command(
    "check",
    epilog='Example: migopt mig check --gpu A100-40GB "4g.20gb@0,3g.20gb@4". '
    "Exit code 0: possible, 1: impossible, 2: unusable input.",
)
@click.argument("slices")
@gpu_options
@json_option
def command(
    slices: str, gpu: str | None, listing: str | None, driver: str | None, as_json: bool
) -> None:
    """Say whether SLICES can be together on one GPU, or why not.

    SLICES are separated by commas: with places (4g.20gb@0), or without (4g.20gb, 1g.5gb:3,
    3x1g.5gb), or both; slices without a place are given one.
    """
    from migopt.placement import explain_misfit, find_partition, parse_wish

    model = gpu_model(gpu, driver, listing)
    wish = parse_wish(slices, model)
    partition = find_partition(model, wish)
    misfit = explain_misfit(model, wish) if partition is None else None
    answer: dict[str, Any] = {"gpu": model.key, "possible": partition is not None}
    if partition is not None:
        answer |= _describe(model, partition)
        text = _text(model, answer, any_place=bool(wish.free))
    else:
        assert misfit is not None
        reason = {"rule": misfit.rule, "message": misfit.message, "conflict": list(misfit.conflict)}
        answer |= {"placements": [], "reason": reason}
        text = f"impossible on {model.key}: {misfit.message}"
    emit_json(answer) if as_json else click.echo(text)
    sys.exit(0 if partition is not None else EXIT_NEGATIVE)


def _describe(model: GpuModel, partition: Partition) -> dict[str, Any]:
    from migopt.placement import build_catalogue, catalogue_names, is_valid

    covered = {unit for place in partition for unit in model.units(place)}
    numbers = {
        name: build_catalogue(name, model).number(partition) for name in catalogue_names(model)
    }
    rest = [place for place in model.placements if is_valid(model, (*partition, place))]
    return {
        "placements": places(partition),
        "partition": str(partition),
        "reason": None,
        "compute_slices": sum(model.profile(name).compute_slices for name in partition.profiles),
        "free_memory_units": sorted(set(range(model.memory_units)) - covered),
        "could_be_added": [str(place) for place in rest],
        "catalogues": {name: number for name, number in numbers.items() if number is not None},
    }


def _text(model: GpuModel, answer: dict[str, Any], *, any_place: bool) -> str:
    lines = [
        f"possible on {model.key}: {answer['partition']}"
        + (" (one of the ways to place them)" if any_place else "")
    ]
    lines.append(
        f"  {answer['compute_slices']} of {model.compute_slices} compute slices; "
        f"free memory units: {', '.join(map(str, answer['free_memory_units'])) or 'none'}"
    )
    lines.append(f"  could be added: {', '.join(answer['could_be_added']) or 'nothing'}")
    member = [f"{name} number {number}" for name, number in answer["catalogues"].items()]
    lines.append(f"  in catalogues: {', '.join(member) or 'none'}")
    return "\n".join(lines)
