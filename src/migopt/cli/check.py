"""``migopt check``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option, number, percent

if TYPE_CHECKING:
    from migopt.check import Violation
    from migopt.metrics import Metrics

#: Violations printed as text before the rest is only counted; ``--json`` always gives all.
SHOWN = 50


def _print_rules(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from migopt.check import Rule

        for rule in Rule:
            click.echo(f"{rule.value:<26}{rule.unit:<7}{rule.meaning}")
        ctx.exit()


@click.command(
    "check",
    epilog="Example: migopt simulate day.json -o schedule.json && "
    "migopt check day.json schedule.json",
)
@click.argument("instance", type=click.Path(path_type=Path))
@click.argument("schedule", type=click.Path(path_type=Path))
@click.option(
    "--rules",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_rules,
    help="List every rule: its name, the unit of its amount, its meaning.",
)
@json_option
def command(instance: Path, schedule: Path, as_json: bool) -> None:
    """Check SCHEDULE against INSTANCE: print its numbers, or every rule it breaks.

    Exit code 0: the schedule is legal; 1: it breaks a rule; 2: a file cannot be used.
    """
    from migopt.check import check
    from migopt.io import read_instance, read_schedule
    from migopt.metrics import measure

    problem = read_instance(instance)
    answer = read_schedule(schedule, problem)
    violations = check(problem, answer)
    metrics = None if violations else measure(problem, answer)
    if as_json:
        emit_json(
            {
                "legal": not violations,
                "violations": [violation.as_dict() for violation in violations],
                "metrics": None if metrics is None else metrics.as_dict(),
            }
        )
    elif metrics is None:
        _print_violations(violations)
    else:
        click.echo(f"legal: {len(problem.jobs)} jobs in {len(answer.segments)} segments")
        _print_metrics(metrics)
    if violations:
        sys.exit(EXIT_NEGATIVE)


def _print_violations(violations: list[Violation]) -> None:
    click.echo(f"illegal: {len(violations)} violations")
    for violation in violations[:SHOWN]:
        click.echo(f"{violation}")
    if len(violations) > SHOWN:
        click.echo(f"… and {len(violations) - SHOWN} more; --json lists all")


def _print_metrics(metrics: Metrics) -> None:
    active = number(metrics.active_cost, 6)
    parts = f"energy {number(metrics.energy_cost)}, tardiness {number(metrics.tardiness_cost)}"
    rows = [
        ("cost", f"{number(metrics.cost, 6)} (a = {metrics.weight_a}: {parts})"),
        ("cost above idle", active),
        ("energy", f"{number(metrics.energy_wmin, 1)} W·min = {number(metrics.energy_kwh)} kWh"),
        ("idle energy", f"{number(metrics.idle_energy_wmin, 1)} W·min"),
        ("mean tardiness", f"{number(metrics.mean_tardiness_min)} min"),
        ("max tardiness", f"{number(metrics.max_tardiness_min)} min"),
        ("jobs late", f"{metrics.jobs_late} of {metrics.jobs}"),
        ("makespan", f"{number(metrics.makespan_min)} min"),
        ("mean JCT", f"{number(metrics.mean_jct_min)} min"),
        ("p95 JCT", f"{number(metrics.p95_jct_min)} min"),
        ("relative JCT", f"{number(metrics.mean_relative_jct)} x alone on the full GPU"),
        ("STP", f"{number(metrics.stp)} jobs at full speed"),
        ("preemptions", str(metrics.preemptions)),
        ("repartitions", str(metrics.repartitions)),
        ("utilisation", percent(metrics.utilisation)),
    ]
    for key, shares in metrics.busy_level_share.items():
        levels = ", ".join(f"{level}: {percent(share)}" for level, share in enumerate(shares))
        rows.append((f"busy slices of {key}", levels))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        click.echo(f"{name:<{width}}  {text}")
