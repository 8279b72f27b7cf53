"""``migopt report``."""

from __future__ import annotations

from pathlib import Path

import click

from migopt.cli._common import emit_json, fail, json_option


@click.command(
    "report",
    epilog="Example: migopt bench quick -o results && migopt report results --json",
)
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder to write into; by default SOURCE, or the folder it lies in.",
)
@click.option(
    "--gantt",
    multiple=True,
    metavar="KEY",
    help="Draw the schedule of this run (repeatable); by default one of each class's best entry.",
)
@json_option
def command(source: Path, output: Path | None, gantt: tuple[str, ...], as_json: bool) -> None:
    """Turn the records in folder SOURCE into report.md, report.html and results.csv.

    No solver is run: everything comes from records.jsonl and the schedules stored beside it. With
    --json the means per entry and instance class are printed as well: cost (ET under the stored a),
    energy, tardiness, lower bound, gap, active gap.

    If SOURCE is a certificate written by migopt certify, its page is written instead, NAME.html:
    figures, gap by busy period as picture and table, schedule.

    Exit code 0; 2: there are no readable records, or the file is no certificate.
    """
    if source.is_file():
        if gantt:
            fail("--gantt KEY is for runs of a benchmark, not for a certificate")
        _certificate(source, output, as_json)
        return
    from migopt.report.summary import as_json as means_as_json
    from migopt.report.tables import as_text, overview_table
    from migopt.report.write import load, write_report

    collection = load(source)
    written = write_report(collection, source, output or source, gantt or None)
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


def _certificate(source: Path, output: Path | None, as_json: bool) -> None:
    """Write the page of one certificate; the file is read, not verified."""
    from migopt.certificates import read_certificate
    from migopt.io import instance_from_dict, schedule_from_dict
    from migopt.report.certificate import write_certificate_page

    file = read_certificate(source)
    instance = None if file.instance is None else instance_from_dict(file.instance)
    plan = None
    if instance is not None and file.schedule is not None:
        plan = schedule_from_dict(file.schedule, instance)
    name = source.name.removesuffix(".gz").removesuffix(".json")
    page = (output or source.parent) / f"{name}.html"
    write_certificate_page(file.model_dump(), instance, plan, source.name, page)
    if as_json:
        kept = file.model_dump(exclude={"schedule", "instance", "bounds", "stages"})
        emit_json(kept | {"files": {"html": str(page)}})
        return
    click.echo(f"html      {page}")
