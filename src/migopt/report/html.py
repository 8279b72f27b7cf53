"""The report as one HTML file that needs nothing else: inline style and pictures, no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from migopt.report.collect import Collection
from migopt.report.markdown import EXPLANATION, MOST_RUNS
from migopt.report.periods import Days, day_picture, day_tables, days_table
from migopt.report.summary import provenance
from migopt.report.svg import Picture
from migopt.report.tables import (
    means_table,
    overview_table,
    ranking_table,
    reasons_table,
    run_table,
)


def as_html(
    collection: Collection,
    pictures: Mapping[str, Sequence[Picture]],
    days: Mapping[str, Days] | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    collection : Collection
        What it reports.
    pictures : Mapping
        Group name to its pictures, in order.
    days : Mapping, optional
        Group name to its days whose gap is split by busy period.
    """
    sections = [
        {
            "anchor": f"class-{index}",
            "group": group,
            "pictures": pictures.get(group.name, ()),
            "tables": [table for table in (ranking_table(group), means_table(group)) if table.rows],
            "runs": run_table(group, MOST_RUNS),
            **_days((days or {}).get(group.name, Days(())), f"g{index}d"),
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
    return render(
        "report.html.j2",
        collection=collection,
        explanation=EXPLANATION,
        losses=losses,
        overview=overview_table(collection),
        provenance=provenance(collection.records),
        sections=sections,
    )


def _days(days: Days, name: str) -> dict[str, Any]:
    """Return what the page shows of a group's days."""
    shown = [
        {
            "summary": day.summary,
            "picture": day_picture(day, f"{name}{position}"),
            "tables": day_tables(day),
        }
        for position, day in enumerate(days.days)
    ]
    return {"days": shown, "days_table": days_table(days)}


def render(template: str, **content: Any) -> str:
    """Return a page from one of the templates, with the style that all pages share."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("migopt.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = files("migopt.report").joinpath("templates", "report.css").read_text("utf-8")
    return environment.get_template(template).render(style=style, **content)
