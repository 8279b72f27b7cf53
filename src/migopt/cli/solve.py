"""``migopt solve``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from migopt.cli._common import Seconds, json_option
from migopt.cli._live import LiveLine


@click.command(
    "solve",
    epilog="Example: migopt solve instances/small/small-01.json --solver cpsat --time-limit 20 -o best.json",
)
@click.argument("instance", type=click.Path(path_type=Path))
@click.option(
    "--solver",
    required=True,
    help="Entry (cpsat), with parameters (cpsat:workers=2), file, or policy.",
)
@click.option(
    "--time-limit",
    type=Seconds(),
    default=60.0,
    show_default=True,
    help="Seconds.",
)
@click.option(
    "--gap",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Stop at this relative active gap.",
)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the schedule to this file."
)
@click.option("--progress", is_flag=True, help="Live bounds on standard error, where they exist.")
@json_option
def command(
    instance: Path,
    solver: str,
    time_limit: float,
    gap: float,
    threads: int,
    seed: int,
    output: Path | None,
    progress: bool,
    as_json: bool,
) -> None:
    """Solve INSTANCE with a named solver, bound or policy.

    The schedule is checked and scored by migopt itself. Outcome "optimal" is proved in continuous
    time; a schedule in whole milliseconds may cost more by the rounding. Exit code 0: there is a schedule or a
    bound; 1: neither, or a claim that does not hold; 2: unusable input.
    """
    from migopt import api
    from migopt.certificates.board import Progress
    from migopt.cli._answer import deliver
    from migopt.io import load
    from migopt.results import Budget, active_gap

    problem, budget = load(instance), Budget(time_limit, gap, threads, seed)
    line = LiveLine()

    def show(state: Any) -> None:
        left = active_gap(problem, state.upper, state.lower)
        line(Progress(state.wall_s, solver, state.upper, state.lower, None, left, state.note))

    try:
        answer = api.solve(problem, solver, budget=budget, progress=show if progress else None)
    finally:
        line.close()
    deliver(answer, output, as_json)
