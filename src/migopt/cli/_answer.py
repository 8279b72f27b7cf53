"""How an answer is printed and its schedule stored, for ``solve`` and ``simulate`` alike."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from migopt.api import Answer
from migopt.cli._common import EXIT_NEGATIVE, count, emit_json, number, percent
from migopt.results import Outcome


def deliver(answer: Answer, schedule_file: Path | None, as_json: bool) -> None:
    """Store the schedule, print the answer; exit 1 when there is nothing to show or a claim is false."""
    stored = None
    if schedule_file is not None and answer.schedule is not None:
        from migopt.io import write_schedule

        write_schedule(answer.schedule, schedule_file, answer.instance)
        stored = str(schedule_file)
    if as_json:
        emit_json(answer.as_dict() | {"schedule_file": stored, "instance": answer.instance.name})
    else:
        _print_text(answer, stored)
    nothing = answer.upper is None and answer.lower is None and answer.result.class_lower is None
    published = answer.outcome is Outcome.BOUND_ONLY
    if answer.claim_error or (nothing and not published):
        sys.exit(EXIT_NEGATIVE)


def _print_text(answer: Answer, stored: str | None) -> None:
    instance, metrics = answer.instance, answer.metrics
    catalogues = ", ".join(
        dict.fromkeys(catalogue.name for catalogue in instance.catalogues.values())
    )
    size = f"{count(len(instance.jobs), 'job')}, {count(len(instance.gpus), 'GPU')}"
    rows = [
        ("instance", f"{instance.name}: {size}, catalogue {catalogues}"),
        ("solver", answer.solver),
        ("outcome", f"{answer.outcome} ({answer.result.stop}), {answer.wall_s:.2f} s"),
        ("cost", number(answer.upper, 6)),
        ("lower bound", number(answer.lower, 6)),
        ("gap", f"{percent(answer.gap)}, active {percent(answer.active_gap)}"),
    ]
    if answer.result.class_lower is not None:
        rows.append(
            ("class bound", f"{number(answer.result.class_lower, 6)} ({answer.result.class_name})")
        )
    if metrics is not None:
        energy = metrics.energy_wmin
        rows += [
            ("energy", "no power curve" if energy is None else f"{energy:,.1f} W·min"),
            ("mean tardiness", f"{metrics.mean_tardiness_min:.4f} min"),
        ]
    if answer.result.message:
        rows.append(("note", answer.result.message))
    if stored:
        rows.append(("schedule", stored))
    for name, text in rows:
        click.echo(f"{name:<15} {text}")
    if answer.claim_error:
        click.echo(f"error: {answer.solver}: {answer.claim_error}", err=True)
