"""The report as Markdown: every table, no pictures."""

from __future__ import annotations

from collections.abc import Mapping

from migopt.report.collect import Collection, Group
from migopt.report.periods import Days, day_tables, days_table
from migopt.report.summary import provenance
from migopt.report.tables import (
    as_markdown,
    means_table,
    overview_table,
    ranking_table,
    reasons_table,
    run_table,
)

#: Runs listed per group; results.csv holds all.
MOST_RUNS = 400

EXPLANATION = (
    "Cost is ET = (a E + T)/(a + 1) under the weight a stored in the instance: E energy in W·min, "
    "T mean tardiness in minutes. The lower bound of a run is the best proven one of any entry on "
    "that instance. Gap = (cost - lower)/cost; active gap = the same with the cost of idle power, "
    "which no schedule changes, taken out of both. Intervals are Student's t at 95 %, paired by "
    "instance and seed where entries are compared."
)


def as_markdown_report(collection: Collection, days: Mapping[str, Days] | None = None) -> str:
    """Return the whole report as Markdown; ``days`` are a group's days split by busy period."""
    parts = ["# Benchmark report", EXPLANATION]
    if collection.notice:
        parts.append(f"**Notice.** {collection.notice}")
    if collection.contradictions:
        parts.append("**Contradictions: these cannot all be true.**")
        parts.append("\n".join(f"- {text}" for text in collection.contradictions))
    overview = overview_table(collection)
    parts += [f"## {overview.caption}", as_markdown(overview)]
    for group in collection.groups:
        parts += _group(group, (days or {}).get(group.name, Days(())))
    for caption, records in (
        ("Failed runs", collection.failed),
        ("Skipped runs", collection.skipped),
    ):
        if records:
            parts += [f"## {caption}", as_markdown(reasons_table(caption, records))]
    parts.append("## How these numbers were made")
    parts.append(_provenance(collection))
    return "\n\n".join(parts) + "\n"


def _group(group: Group, days: Days) -> list[str]:
    settings = "; ".join(f"{label} {text}" for label, text in group.settings.described().items())
    parts = [f"## {group.name}", f"{settings}."]
    tables = (ranking_table(group), means_table(group), days_table(days))
    for table in tables:
        if table.rows:
            parts += [f"### {table.caption}", as_markdown(table)]
    for day in days.days:
        parts += [f"#### {day.summary}", *filter(None, [day.note])]
        for table in day_tables(day):
            parts += [f"{table.caption}:", as_markdown(table)]
    runs = run_table(group, MOST_RUNS)
    parts += [f"### {runs.caption}", as_markdown(runs)]
    return parts


def _provenance(collection: Collection) -> str:
    lines = []
    for name, values in provenance(collection.records).items():
        for value in values:
            shown = f"`{value}`" if name == "commands" else value
            lines.append(f"- {name.removesuffix('s') if len(values) == 1 else name}: {shown}")
    return "\n".join(lines)
