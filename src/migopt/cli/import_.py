"""``migopt import``: a cluster trace as an instance.

The switches are built from the formats' own option tables, so a new option or format needs no edit
here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option
from migopt.io.traces import (
    ImportReport,
    NothingLeftError,
    format_names,
    format_options,
    format_titles,
    import_trace,
)

_EPILOG = """\b
Examples:
  migopt import openb openb_pod_list_default.csv -o openb.json.gz
  migopt import openb openb_pod_list_default.csv --day 120 --gpus 2 --keep 1/10 --seed 1 -o day.json
  migopt import philly cluster_job_log --tz America/Los_Angeles --keep 1/500 -o philly.json.gz
  migopt import philly-list philly_jobs.csv --merge-campaigns 60 --keep 1/500 -o list.json.gz
  migopt import swf RICC-2010-2.swf --procs-per-gpu 8 --deadline timelimit --keep 1/50 -o ricc.json
  migopt import sacct sacct.txt --printed-tz UTC --tz Europe/Berlin --gpus 4 --keep 1/25 -o our.json
  migopt import pai pai_task_table.csv --job-table pai_job_table.csv --keep 1/6742 -o pai.json.gz
\b
Formats:
"""


def _switches() -> list[click.Option]:
    """One switch per option of any format; a format refuses the ones that are not its own."""
    rows = {row["name"]: row for name in format_names() for row in format_options(name)}
    return [_switch(row) for row in rows.values()]


def _switch(row: dict[str, Any]) -> click.Option:
    flag = "--" + row["name"].replace("_", "-")
    text = row["description"]
    if row["type"] == "boolean":
        decl = f"{flag}/--no-{flag[2:]}" if row["default"] else flag
        return click.Option([decl], default=None, is_flag=True, help=text)
    shown = "" if row["default"] in (None, "") else f" [default: {row['default']}]"
    return click.Option([flag], metavar=row["type"].upper(), help=text + shown)


def _run(format: str, file: Path, output: Path, as_json: bool, **named: Any) -> None:
    given = {key: value for key, value in named.items() if value is not None}
    try:
        report = import_trace(format, file, **given)
    except NothingLeftError as error:
        if as_json:
            emit_json({"rows": error.rows, "accepted": 0, "dropped": error.dropped})
        click.echo(f"error: {error}", err=True)
        sys.exit(EXIT_NEGATIVE)
    from migopt.io import instance_digest, write_instance

    write_instance(report.instance, output)
    if as_json:
        emit_json(_document(report, output, instance_digest(report.instance)))
    else:
        _print(report, output)


def _document(report: ImportReport, output: Path, digest: str) -> dict[str, Any]:
    return {
        "rows": report.rows,
        "accepted": report.accepted,
        "dropped": report.dropped,
        "jobs": len(report.instance.jobs),
        "gpus": len(report.instance.gpus),
        "horizon_ms": report.instance.horizon_ms,
        "weight_a": str(report.instance.weight_a),
        "arrivals_by_hour": report.arrivals_by_hour,
        "asked_by_hour": report.asked_by_hour,
        "hour_of_day_real": report.hour_of_day_real,
        "observed": list(report.observed),
        "invented": list(report.invented),
        "notes": list(report.notes),
        "instance_file": str(output),
        "digest": digest,
    }


def _print(report: ImportReport, output: Path) -> None:
    click.echo(f"{report.rows} rows read, {report.accepted} accepted")
    for reason, count in report.dropped.items():
        click.echo(f"  dropped, {reason}: {count}")
    click.echo(f"observed: {', '.join(report.observed)}; invented: {', '.join(report.invented)}")
    for note in report.notes:
        click.echo(f"note: {note}")
    jobs, gpus = len(report.instance.jobs), len(report.instance.gpus)
    click.echo(f"{output}: {jobs} jobs, {gpus} GPUs")


def _epilog() -> str:
    return _EPILOG + "".join(f"  {name}: {title}\n" for name, title in format_titles().items())


command = click.Command(
    "import",
    callback=_run,
    params=[
        click.Argument(["format"]),
        click.Argument(["file"], type=click.Path(path_type=Path)),
        click.Option(
            ["-o", "--output"],
            type=click.Path(path_type=Path),
            required=True,
            help="Instance file (.json, .json.gz).",
        ),
        *_switches(),
    ],
    help="Import the cluster trace FILE of a named FORMAT as an instance. Rows read = accepted + "
    "dropped, with a count per reason. Exit code 1 when no row is left, 2 when the file cannot "
    "be used.",
    epilog=_epilog(),
)
command = json_option(command)
