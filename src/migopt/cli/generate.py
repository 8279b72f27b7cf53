"""``migopt generate``: an instance of a named scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from migopt.cli._common import emit_json, json_option

_EPILOG = """\b
Examples:
  migopt generate s0-slack --seed 1 -o day.json
  migopt generate smartmig --seed 1 --gpus 8 --rate-multiplier 20 -o cluster.json.gz
  migopt generate s0-tight --seed 3 --jobs 8 --load 0.9 -o small.json
  migopt generate s0-slack --seed 1 --set arrivals=pai-2020 --set inference_share=0.5 -o even.json
  migopt generate s0-slack --parameters
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="SCENARIO")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed.")
@click.option("--rate-multiplier", metavar="X", help="Times the published rate (2.5 x gpus).")
@click.option("--gpus", metavar="N", help="Number of GPUs (1).")
@click.option("--jobs", metavar="N", help="Exactly N jobs instead of a day; H = last due.")
@click.option("--load", metavar="X", help="Arrival rate x mean 1g-minutes / (GPUs x slices).")
@click.option(
    "--weight-a", metavar="P/Q", help="Energy weight a (the scenario's stored value / gpus)."
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Any other parameter.")
@click.option("--parameters", "listing", is_flag=True, help="List all parameters and stop.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Instance file (.json, .json.gz)."
)
@json_option
def command(
    name: str,
    seed: int,
    settings: tuple[str, ...],
    listing: bool,
    output: Path | None,
    as_json: bool,
    **named: str | None,
) -> None:
    """Generate one instance of SCENARIO: s0-tight, s0-slack or smartmig.

    The same scenario, seed and parameters give the same file, byte for byte.
    """
    if listing:
        _list_parameters(name, as_json)
        return
    from migopt.errors import InputError
    from migopt.io import instance_digest, write_instance
    from migopt.io.generators import generate

    if output is None:
        raise InputError("say where to write with -o FILE", where="--output")
    given: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    given |= _settings(settings)
    instance = generate(name, seed=seed, **given)
    write_instance(instance, output)
    summary = {
        "instance_file": str(output),
        "name": instance.name,
        "digest": instance_digest(instance),
        "gpus": len(instance.gpus),
        "jobs": len(instance.jobs),
        "horizon_ms": instance.horizon_ms,
        "weight_a": str(instance.weight_a),
        "origin": dict(instance.origin),
    }
    if as_json:
        emit_json(summary)
    else:
        click.echo(
            f"{output}: {instance.name}, {len(instance.jobs)} jobs, {len(instance.gpus)} GPUs"
        )


def _settings(settings: tuple[str, ...]) -> dict[str, str]:
    from migopt.errors import InputError

    given = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator:
            raise InputError(f"write NAME=VALUE, not {setting!r}", where="--set")
        given[key.strip().replace("-", "_")] = value.strip()
    return given


def _list_parameters(name: str, as_json: bool) -> None:
    from migopt.io.generators import parameter_table

    table = parameter_table(name)
    if as_json:
        emit_json(table)
        return
    for row in table:
        default = "derived" if row["default"] is None else row["default"]
        click.echo(f"{row['name']} = {default}")
        click.echo(f"    {row['description']} [{row['type']}]")
