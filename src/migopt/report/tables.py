"""The tables of a report, as text cells; Markdown, HTML and the terminal print the same ones."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from migopt.records import Record
from migopt.report.collect import Collection, Group, Row, budget_text
from migopt.report.statistics import Interval
from migopt.report.summary import EntryMeans, entry_means

DASH = "–"
#: Smaller numbers are what is left of equal floats.
_DUST = 1e-9


@dataclass(frozen=True)
class Table:
    """A table ready to print.

    Attributes
    ----------
    caption : str
        One line above it.
    columns : tuple of str
        Headings; one that starts with ``<`` is a text column, set flush left.
    rows : tuple of tuple of str
        Cells.
    note : str
        What a reader must know; empty when nothing.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    heads: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        heads = tuple(column.removeprefix("<") for column in self.columns)
        object.__setattr__(self, "heads", heads)

    def is_text(self, index: int) -> bool:
        """Return whether a column holds text."""
        return self.columns[index].startswith("<")


def number(value: float | None) -> str:
    """Format a cost, bound, energy or time to five digits that count, a dash when there is none."""
    if value is None:
        return DASH
    size = abs(value)
    if size < _DUST:
        return "0.0000"
    if size >= 1:
        return f"{value:,.{max(1, 4 - int(math.log10(size)))}f}"
    return f"{value:.{min(12, 3 - math.floor(math.log10(size)))}f}"


def percent(value: float | None) -> str:
    """Format a share as per cent."""
    return DASH if value is None else _unsigned_zero(f"{100 * value:.2f}") + " %"


def seconds(value: float | None) -> str:
    """Format a wall time in seconds, to the millisecond below one second."""
    return DASH if value is None else f"{value:.{3 if value < 1 else 2 if value < 100 else 0}f}"


def _unsigned_zero(text: str) -> str:
    return text.removeprefix("-") if not text.strip("-0.,") else text


def interval(value: Interval | None) -> str:
    """Format a confidence interval, without its mean."""
    if value is None or value.low is None:
        return DASH
    return f"{number(value.low)} to {number(value.high)}"


# --- per group -------------------------------------------------------------------------------


def ranking_table(group: Group) -> Table:
    """Return places, mean costs and paired differences of the entries that have schedules."""
    ranking = group.ranking()
    rows: list[tuple[str, ...]] = []
    for ranked in ranking.rows:
        to_best = ranked.to_best
        rows.append(
            (
                str(ranked.place) if ranked.place is not None else DASH,
                ranked.entry,
                number(ranked.mean.mean),
                interval(ranked.mean),
                number(to_best.mean) if to_best else DASH,
                interval(to_best),
                _verdict(to_best),
                f"{ranked.wins} of {ranked.mean.n}",
            )
        )
    columns: tuple[str, ...] = (
        "place",
        "<entry",
        "mean cost",
        "95 % interval",
        "over the best",
        "95 % interval, paired",
        "<against the best",
        "lowest cost in",
    )
    incomplete = [ranked.entry for ranked in ranking.rows if ranked.place is None]
    note = ""
    if incomplete:
        note = (
            f"Without a place, since they have no schedule for some of the {ranking.units} runs: "
            f"{', '.join(incomplete)}."
        )
    if ranking.units == 1:  # nothing to average, so no interval to speak of
        kept = (0, 1, 2, 4)
        columns = tuple(columns[index] for index in kept)
        rows = [tuple(row[index] for index in kept) for row in rows]
    return Table("Ranking by mean cost", columns, tuple(rows), note)


def _verdict(difference: Interval | None) -> str:
    if difference is None:
        return ""
    if difference.low is None:
        return "one run: no statement"
    if difference.excludes_zero:
        return "worse" if difference.mean > 0 else "better on the runs it has"
    return "no difference shown"


def means_table(group: Group) -> Table:
    """Return mean cost, energy, tardiness, lower bound and both gaps per entry."""
    means = entry_means(group)
    columns = (
        "<entry",
        "runs",
        "cost",
        "energy, W·min",
        "mean tardiness, min",
        "lower bound",
        "gap",
        "active gap",
        "time, s",
    )
    return Table("Means per entry", columns, tuple(map(_means_cells, means)), _means_note(means))


def _means_cells(means: EntryMeans) -> tuple[str, ...]:
    return (
        means.entry if means.has_schedule else f"{means.entry} (bound)",
        str(means.runs),
        number(means.cost),
        number(means.energy_wmin),
        number(means.mean_tardiness_min),
        number(means.lower),
        percent(means.gap),
        percent(means.active_gap),
        seconds(means.wall_s),
    )


def _means_note(means: Sequence[EntryMeans]) -> str:
    notes = []
    if any(not item.has_schedule for item in means):
        notes.append(
            "A row marked (bound) has no schedule; its gap is from its own bound to the best cost "
            "of any entry."
        )
    partial = [item for item in means if 0 < item.bounded_runs < item.runs]
    if partial:
        listed = ", ".join(f"{item.entry} {item.bounded_runs} of {item.runs}" for item in partial)
        notes.append(f"Gaps are means over the runs that have both sides: {listed}.")
    return " ".join(notes)


def run_table(group: Group, limit: int | None = None) -> Table:
    """Return one line per run: cost, lower bound and both gaps.

    Parameters
    ----------
    group : Group
        The runs.
    limit : int, optional
        Show at most this many and say so.
    """
    several = len({row.record.seed for row in group.rows}) > 1
    narrower = any(row.record.class_lower is not None for row in group.rows)
    columns = ["<instance", "<entry", "cost", "lower bound", "<bound by", "gap", "active gap"]
    columns += ["time, s", "<outcome"]
    if several:
        columns.insert(1, "seed")
    if narrower:
        columns.append("<bound for a narrower class")
    shown = group.rows if limit is None else group.rows[:limit]
    rows = tuple(_run_cells(row, several, narrower) for row in shown)
    note = ""
    if len(shown) < len(group.rows):
        note = f"The first {len(shown)} of {len(group.rows)} runs; all are in results.csv."
    return Table("Every run", tuple(columns), rows, note)


def _run_cells(row: Row, several: bool, narrower: bool) -> tuple[str, ...]:
    record = row.record
    cells = [record.instance, row.entry]
    cells += [number(record.upper), number(row.lower), row.lower_by]
    cells += [percent(row.gap), percent(row.active_gap)]
    cells += [seconds(record.wall_s), outcome_text(record)]
    if several:
        cells.insert(1, str(record.seed))
    if narrower:
        cells.append(_narrower(record))
    return tuple(cells)


def _narrower(record: Record) -> str:
    if record.class_lower is None:
        return ""
    close = record.upper is not None and record.upper - record.class_lower <= 1e-6 * record.upper
    reached = ", reached" if close else ""
    return f"{number(record.class_lower)}{reached} ({record.class_name})"


def outcome_text(record: Record) -> str:
    """Return outcome and, unless it simply finished, the reason it stopped."""
    outcome = record.outcome.replace("_", " ")
    return outcome if record.stop in ("", "finished") else f"{outcome} ({record.stop})"


# --- over all groups -------------------------------------------------------------------------


def overview_table(collection: Collection) -> Table:
    """Return one line per group: who is best, and how far from the lower bound."""
    columns = (
        "<class",
        "instances",
        "runs",
        "<best entry",
        "cost",
        "lower bound",
        "gap",
        "active gap",
        "failed",
        "skipped",
    )
    rows = []
    for group in collection.groups:
        means = entry_means(group)
        first = [item for item in means if item.ranked and item.ranked.place == 1]
        best = first[0] if first else None
        mine = group.instance_class
        rows.append(
            (
                group.name,
                str(len({row.record.digest for row in group.rows})),
                str(len(group.rows)),
                _with_equals(first),
                number(best.cost if best else None),
                number(best.lower if best else None),
                percent(best.gap if best else None),
                percent(best.active_gap if best else None),
                str(sum(record.instance_class == mine for record in collection.failed)),
                str(sum(record.instance_class == mine for record in collection.skipped)),
            )
        )
    return Table("The best entry of each class", columns, tuple(rows))


def _with_equals(first: Sequence[EntryMeans]) -> str:
    if not first:
        return DASH
    return first[0].entry + (f" and {len(first) - 1} equal" if len(first) > 1 else "")


def reasons_table(caption: str, records: Iterable[Record], *, keys: bool = True) -> Table:
    """Return runs without a result, those of one entry and reason on one line.

    Parameters
    ----------
    caption : str
        Its heading.
    records : iterable of Record
        The runs.
    keys : bool
        Whether to list run keys; without them it fits a terminal.
    """
    grouped: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        grouped.setdefault((record.entry, record.instance_class, record.reason), []).append(record)
    rows = []
    for (entry, name, reason), found in grouped.items():
        listed = (_listed([record.key for record in found]),) if keys else ()
        rows.append((entry, name, str(len(found)), *listed, reason))
    columns = ("<entry", "<class", "runs", *(("<run keys",) if keys else ()), "<reason")
    return Table(caption, columns, tuple(rows))


def _listed(keys: list[str], most: int = 3) -> str:
    shown = ", ".join(keys[:most])
    return shown if len(keys) <= most else f"{shown} and {len(keys) - most} more"


def results_csv(collection: Collection) -> str:
    """Return every run as CSV with full precision, failed and skipped ones too."""
    judged = {row.record.key: (group, row) for group in collection.groups for row in group.rows}
    lines = [
        _csv_line(record, *judged.get(record.key, (None, None))) for record in collection.records
    ]
    out = io.StringIO()
    if lines:
        writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return out.getvalue()


def _csv_line(record: Record, group: Group | None, row: Row | None) -> dict[str, Any]:
    return {
        "key": record.key,
        "group": group.name if group else "",
        "class": record.instance_class,
        "instance": record.instance,
        "seed": record.seed,
        "entry": record.entry,
        "budget": budget_text(record),
        "status": record.status,
        "reason": record.reason,
        "outcome": record.outcome,
        "stop": record.stop,
        "cost": record.upper,
        "energy_wmin": record.energy_wmin,
        "mean_tardiness_min": record.mean_tardiness_min,
        "own_lower": record.lower,
        "best_lower": row.lower if row else None,
        "best_lower_by": row.lower_by if row else None,
        "gap": row.gap if row else None,
        "active_gap": row.active_gap if row else None,
        "constant_cost": record.constant_cost,
        "weight_a": record.settings.weight_a if record.settings else "",
        "wall_s": record.wall_s,
        "digest": record.digest,
    }


# --- as text ---------------------------------------------------------------------------------


def as_text(table: Table) -> str:
    """Return a table for the terminal: aligned columns, no frame."""
    widths = [
        max(len(row[index]) for row in (table.heads, *table.rows))
        for index in range(len(table.heads))
    ]

    def line(cells: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if table.is_text(index) else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    lines = [line(table.heads), "  ".join("-" * width for width in widths)]
    lines += [line(row) for row in table.rows]
    return "\n".join(lines)


def as_markdown(table: Table) -> str:
    """Return a table in GitHub's Markdown."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = [":---" if table.is_text(index) else "---:" for index in range(len(table.heads))]
    lines = [line(table.heads), line(rule), *(line(row) for row in table.rows)]
    if table.note:
        lines += ["", table.note]
    return "\n".join(lines)
