"""``migopt report``."""

from __future__ import annotations

from pathlib import Path

import click

from migopt.cli._common import emit_json, json_option


@click.command(
    "report",
    epilog="Example: migopt bench quick -o results && migopt report results --json",
)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder to write into; FOLDER itself."
)
@click.option(
    "--gantt",
    multiple=True,
    metavar="KEY",
    help="Draw the schedule of this run (repeatable); by default one of each class's best entry.",
)
@json_option
def command(folder: Path, output: Path | None, gantt: tuple[str, ...], as_json: bool) -> None:
    """Turn the records in FOLDER into report.md, report.html and results.csv.

    No solver is run: everything comes from records.jsonl and the schedules stored beside it. With
    --json the means per entry and instance class are printed as well: cost (ET under the stored a),
    energy, tardiness, lower bound, gap, active gap.

    Exit code 0; 2: the folder holds no readable records.
    """
    from migopt.report.summary import as_json as means_as_json
    from migopt.report.tables import as_text, overview_table
    from migopt.report.write import load, write_report

    collection = load(folder)
    written = write_report(collection, folder, output or folder, gantt or None)
    files = {"markdown": str(written.markdown), "html": str(written.html), "csv": str(written.csv)}
    if as_json:
        emit_json(means_as_json(collection) | {"files": files})
        return
    if collection.notice:
        click.echo(collection.notice, err=True)
    click.echo(as_text(overview_table(collection)))
    click.echo()
    for name, path in files.items():
        click.echo(f"{name:<9} {path}")
