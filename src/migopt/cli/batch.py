"""``migopt batch``: days x seeds x policies on all cores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from migopt.cli._common import emit_json, json_option

_EPILOG = """\b
Example:
  migopt batch s0-slack --days 3 -p edf_fs+static:3 -p edf_ss_restricted+static:3 -o runs.jsonl
"""


@click.command("batch", epilog=_EPILOG)
@click.argument("scenario")
@click.option("--days", type=click.IntRange(min=1), default=10, show_default=True, help="Days.")
@click.option(
    "--first-seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the days."
)
@click.option(
    "-p", "--policy", "policies", multiple=True, required=True, help="dispatch+partition."
)
@click.option(
    "--run-seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="For rules that draw.",
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Scenario parameter.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes (default: all cores).")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Records, one JSON a line.")
@json_option
def command(
    scenario: str,
    days: int,
    first_seed: int,
    policies: tuple[str, ...],
    run_seeds: int,
    settings: tuple[str, ...],
    workers: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Simulate policies on many generated days of SCENARIO; print the mean of each policy."""
    from rich.console import Console
    from rich.progress import Progress

    from migopt.errors import InputError
    from migopt.schedulers.batch import Day, run_batch

    if output is not None:
        _refuse_unwritable(output)
    parameters: dict[str, Any] = {}
    for item in settings:
        name, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"write NAME=VALUE, not {item!r}", where="--set")
        parameters[name] = value
    given = [Day(scenario, seed, parameters) for seed in range(first_seed, first_seed + days)]
    with Progress(console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task("runs", total=None)
        result = run_batch(
            given,
            policies,
            seeds=range(run_seeds),
            workers=workers,
            progress=lambda done, total: shown.update(bar, completed=done, total=total),
        )
    if output is not None:
        lines = "".join(json.dumps(record) + "\n" for record in result.records())
        output.write_text(lines, encoding="utf-8")
    rows = result.means()
    if as_json:
        emit_json({"scenario": scenario, "days": days, "policies": rows})
        return
    click.echo(f"{'policy':<40} {'mean cost':>10} {'tardiness min':>13} {'W·min':>12} {'runs':>6}")
    for row in rows:
        figures = (row["mean_cost"], row["mean_tardiness_min"], row["mean_energy_wmin"])
        texts = ["–" if figure is None else f"{figure:,.4f}" for figure in figures[:2]]
        energy = "–" if figures[2] is None else f"{figures[2]:,.1f}"
        click.echo(
            f"{row['policy']:<40} {texts[0]:>10} {texts[1]:>13} {energy:>12} {row['runs']:>6}"
        )


def _refuse_unwritable(path: Path) -> None:
    """Fail before hours of runs, not after them."""
    from migopt.errors import InputError

    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=str(path)) from None
