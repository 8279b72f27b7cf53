"""``migopt bench``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option

if TYPE_CHECKING:
    from migopt.bench.expand import Suite
    from migopt.bench.runner import Plan
    from migopt.records import Record
    from migopt.report.collect import Collection

EXIT_INTERRUPTED = 130
#: A longer table than this gives way to the means per entry.
_MOST_LINES = 150


@click.command(
    "bench",
    epilog="Example: migopt bench quick -o results --jobs 2 --seeds 2",
)
@click.argument("suite")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Results folder."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Runs at a time; by default the usable cores over the suite's threads per run.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    help="Use seeds 1 to N in place of the suite's.",
)
@click.option(
    "--filter",
    "only",
    metavar="TEXT",
    help="Only runs whose key holds TEXT, or matches it if it has * or ?.",
)
@click.option("--no-report", is_flag=True, help="Write records only.")
@json_option
def command(
    suite: str,
    output: Path,
    jobs: int | None,
    seeds: int | None,
    only: str | None,
    no_report: bool,
    as_json: bool,
) -> None:
    """Run SUITE, a file or the name of a bundled suite, and record every run.

    Runs that the results folder holds already are not repeated; failed and skipped ones are. A run
    is killed at 1.5 times its time limit and 10 s. Ctrl-C keeps what is done; the same command
    goes on from there.

    Exit code 0; 1: a run failed, or failed its check, or two claims contradict each other; 2: the
    suite or folder is unusable; 130: interrupted.
    """
    from migopt.bench.environment import describe_environment, usable_cores
    from migopt.bench.expand import load_suite
    from migopt.bench.runner import Session
    from migopt.bench.suite import find_suite
    from migopt.registry import bundled_folder

    loaded = load_suite(find_suite(suite, bundled_folder("suites")), seeds=seeds, only=only)
    workers = jobs or max(1, usable_cores() // loaded.threads)
    session = Session(output, describe_environment(_command_line()))
    try:
        plan = session.plan(loaded.runs)
        _announce(loaded, plan, workers)
        try:
            _run(session, plan, workers)
        except KeyboardInterrupt:
            click.echo("interrupted; the same command goes on from here", err=True)
            sys.exit(EXIT_INTERRUPTED)
    finally:
        session.close()
    _finish(loaded, output, no_report, as_json)


def _command_line() -> list[str]:
    return ["migopt", *sys.argv[1:]]


def _announce(suite: Suite, plan: Plan, workers: int) -> None:
    if plan.notice:
        click.echo(plan.notice, err=True)
    parts = [f"{suite.name}: {len(plan.todo)} runs on {workers} worker{'s' * (workers > 1)}"]
    if plan.done:
        parts.append(f"{len(plan.done)} done before")
    if plan.again:
        parts.append(f"{plan.again} tried again")
    click.echo(", ".join(parts), err=True)


def _run(session: Any, plan: Plan, workers: int) -> None:
    from migopt.bench.progress import progress

    with progress(plan.todo, workers, sys.stderr) as report:
        session.run(plan.todo, workers, report)


def _finish(suite: Suite, folder: Path, no_report: bool, as_json: bool) -> None:
    """Print the table and say where everything lies; exit 1 when something is wrong."""
    from migopt.records import RECORDS_FILE, Status
    from migopt.report.summary import as_json as means_as_json
    from migopt.report.write import load, write_report

    collection = load(folder)
    files = {"records": str(folder / RECORDS_FILE)}
    if not no_report:
        written = write_report(collection, folder, folder)
        files |= {"report": str(written.html), "markdown": str(written.markdown)}
    keys = {run.key for run in suite.runs}
    mine = [record for record in collection.records if record.key in keys]
    failed = [record for record in mine if record.status is Status.FAILED]
    if as_json:
        emit_json(means_as_json(collection) | {"files": files, "runs": len(mine)})
    else:
        _print_tables(collection, keys)
        _print_losses(mine)
        for name, path in files.items():
            click.echo(f"{name:<9} {path}")
    for text in collection.contradictions:
        click.echo(f"error: contradiction: {text}", err=True)
    if failed:
        click.echo(f"error: {len(failed)} of {len(mine)} runs failed", err=True)
    if failed or collection.contradictions:
        sys.exit(EXIT_NEGATIVE)


def _print_tables(collection: Collection, keys: set[str]) -> None:
    from dataclasses import replace

    from migopt.report.tables import as_text, means_table, run_table

    for group in collection.groups:
        rows = tuple(row for row in group.rows if row.record.key in keys)
        if not rows:
            continue
        shown = replace(group, rows=rows)
        settings = ", ".join(f"{name} {text}" for name, text in group.settings.described().items())
        click.echo(f"{group.instance_class}: {settings}")
        table = run_table(shown) if len(rows) <= _MOST_LINES else means_table(shown)
        click.echo(as_text(table))
        if len(rows) > _MOST_LINES:
            click.echo(f"Means; every one of the {len(rows)} runs is in the report.")
        click.echo()


def _print_losses(records: list[Record]) -> None:
    from migopt.records import Status
    from migopt.report.tables import as_text, reasons_table

    for caption, status in (("Failed", Status.FAILED), ("Skipped", Status.SKIPPED)):
        lost = [record for record in records if record.status is status]
        if lost:
            click.echo(f"{caption}:")
            click.echo(as_text(reasons_table(caption, lost, keys=False)))
            click.echo()
