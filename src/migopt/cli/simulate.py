"""``migopt simulate``."""

from __future__ import annotations

from pathlib import Path

import click

from migopt.cli._common import json_option


@click.command(
    "simulate",
    epilog="Example: migopt simulate day.json --policy edf_ss_restricted+static:3 -o schedule.json",
)
@click.argument("instance", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    default="edf_ss_restricted+static:3",
    show_default=True,
    help="dispatch+partition; `migopt solvers list` prints the rules.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For rules that draw."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the schedule to this file."
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "compiled", "reference"]),
    default="auto",
    show_default=True,
    help="The compiled simulator or the readable one; the schedule is the same.",
)
@json_option
def command(
    instance: Path, policy: str, seed: int, output: Path | None, engine: str, as_json: bool
) -> None:
    """Run a scheduling policy on INSTANCE and score its schedule."""
    from migopt import api
    from migopt.cli._answer import deliver

    deliver(api.simulate(instance, policy, seed=seed, engine=engine), output, as_json)
