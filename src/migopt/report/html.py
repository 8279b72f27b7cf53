"""The report as one HTML file that needs nothing else: inline style and pictures, no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

from migopt.report.collect import Collection
from migopt.report.markdown import EXPLANATION, MOST_RUNS
from migopt.report.summary import provenance
from migopt.report.svg import Picture
from migopt.report.tables import (
    means_table,
    overview_table,
    ranking_table,
    reasons_table,
    run_table,
)


def as_html(collection: Collection, pictures: Mapping[str, Sequence[Picture]]) -> str:
    """Return the page.

    Parameters
    ----------
    collection : Collection
        What it reports.
    pictures : Mapping
        Group name to its pictures, in order.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("migopt.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    sections = [
        {
            "anchor": f"class-{index}",
            "group": group,
            "pictures": pictures.get(group.name, ()),
            "tables": [table for table in (ranking_table(group), means_table(group)) if table.rows],
            "runs": run_table(group, MOST_RUNS),
        }
        for index, group in enumerate(collection.groups)
    ]
    losses = [
        reasons_table(caption, records)
        for caption, records in (
            ("Failed runs", collection.failed),
            ("Skipped runs", collection.skipped),
        )
        if records
    ]
    return environment.get_template("report.html.j2").render(
        collection=collection,
        explanation=EXPLANATION,
        losses=losses,
        overview=overview_table(collection),
        provenance=provenance(collection.records),
        sections=sections,
        style=files("migopt.report").joinpath("templates", "report.css").read_text("utf-8"),
    )
