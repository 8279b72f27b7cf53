"""``migopt mig list``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from migopt.cli._common import emit_json, json_option
from migopt.cli.mig._options import gpu_model, gpu_options, places

if TYPE_CHECKING:
    from migopt.model import Catalogue, GpuModel


@click.command("list", epilog="Example: migopt mig list --gpu A100-40GB --catalogue paper-12")
@gpu_options
@click.option("--catalogue", metavar="NAME", help="Named catalogue; default: all.")
@click.option("--maximal", is_flag=True, help="Only partitions to which nothing can be added.")
@click.option(
    "--kinds",
    metavar="KINDS",
    help="Only slices of these kinds, for example plain,double_memory; default: every kind.",
)
@click.option("--multisets", "as_multisets", is_flag=True, help="Forget the places of the slices.")
@json_option
def command(
    gpu: str | None,
    listing: str | None,
    driver: str | None,
    catalogue: str | None,
    maximal: bool,
    kinds: str | None,
    as_multisets: bool,
    as_json: bool,
) -> None:
    """List the partitions of a GPU: everything, the maximal ones, or a named catalogue.

    The last line counts them with and without places, and, where no kinds are named, for each
    group of kinds of the GPU's table.
    """
    from migopt.placement import build_catalogue, multisets

    model = gpu_model(gpu, driver, listing)
    name = _catalogue_name(catalogue, maximal, kinds)
    found = build_catalogue(name, model)
    sets = multisets(model, found)
    groups = _groups(model, name)
    if as_json:
        emit_json(_document(model, found, sets, groups, as_multisets))
        return
    lines = map(_line, sets) if as_multisets else map(str, found)
    click.echo("\n".join(f"{number:>5}  {line}" for number, line in enumerate(lines, 1)))
    click.echo(f"{model.key}, {name}: {_counted(len(found), len(sets))}")
    for kind, (partitions, distinct) in groups.items():
        click.echo(f"  {kind}: {_counted(partitions, distinct)}")


def _catalogue_name(catalogue: str | None, maximal: bool, kinds: str | None) -> str:
    if maximal and catalogue is not None:
        raise click.UsageError("--maximal and --catalogue exclude each other")
    name = catalogue or ("maximal" if maximal else "all")
    if kinds is None:
        return name
    if ":" in name:
        raise click.UsageError(f"--kinds and the kinds in {name} exclude each other")
    return f"{name}:{'+'.join(kind.strip() for kind in kinds.replace('+', ',').split(','))}"


def _groups(model: GpuModel, name: str) -> dict[str, tuple[int, int]]:
    """Return (partitions, multisets) of a catalogue for plain profiles, and with double memory."""
    from migopt.placement import build_catalogue, multisets

    if name not in ("maximal", "exact-cover", "all"):
        return {}
    present = {profile.kind for profile in model.profiles}
    counts = {}
    for kinds in ("plain", "plain+double_memory"):
        if set(kinds.split("+")) <= present:
            found = build_catalogue(f"{name}:{kinds}", model)
            counts[kinds] = (len(found), len(multisets(model, found)))
    return counts


def _document(
    model: GpuModel,
    found: Catalogue,
    sets: list[tuple[str, ...]],
    groups: dict[str, tuple[int, int]],
    as_multisets: bool,
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "gpu": model.key,
        "catalogue": found.name,
        "positional": len(found),
        "multisets": len(sets),
        "of_kinds": {
            kinds: {"positional": partitions, "multisets": distinct}
            for kinds, (partitions, distinct) in groups.items()
        },
    }
    if as_multisets:
        document["partitions"] = [
            {"number": i, "profiles": names} for i, names in enumerate(sets, 1)
        ]
    else:
        document["partitions"] = [
            {"number": i, "partition": str(partition), "placements": places(partition)}
            for i, partition in enumerate(found, 1)
        ]
    return document


def _line(names: Iterable[str]) -> str:
    counted = Counter(names).items()
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counted)


def _counted(partitions: int, distinct: int) -> str:
    return f"{partitions} partitions, {distinct} without places"
