"""Figures by time of day: repartitions per hour, and partitions in force per span of four hours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from migopt.report import svg
from migopt.report.collect import Group
from migopt.report.svg import Picture

#: Entries per figure, first come first drawn.
MOST_LINES, MOST_PANELS = 8, 6
_SPANS = ("0–4", "4–8", "8–12", "12–16", "16–20", "20–24")
_COLOURS = (svg.BLUE, svg.ORANGE, svg.GREEN, svg.RED, svg.PURPLE, svg.GREY, svg.INK, svg.FAINT)


def _metrics(group: Group, key: str) -> dict[str, list[Mapping[str, Any]]]:
    """Return per entry the metrics of its runs, for entries all of whose schedules changed partitions."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for entry in group.entries:
        rows = [row.record.metrics for row in group.of(entry) if row.has_schedule]
        if rows and all(key in row for row in rows):
            found[entry] = rows
    return found


def mean_by_hour(group: Group) -> dict[str, list[float]]:
    """Return per entry that changes partitions the mean number of repartitions per hour of the day."""
    return {
        entry: [
            sum(row["repartitions_by_hour"][hour] for row in rows) / len(rows) for hour in range(24)
        ]
        for entry, rows in _metrics(group, "repartitions_by_hour").items()
    }


def shares_by_span(group: Group) -> dict[str, dict[str, list[float]]]:
    """Return per entry that changes partitions, and per partition, its share of each span's time."""
    answer = {}
    for entry, rows in _metrics(group, "partition_ms_by_span").items():
        total: dict[str, list[float]] = {}
        for row in rows:
            for number, spans in row["partition_ms_by_span"].items():
                mine = total.setdefault(number, [0.0] * len(spans))
                for index, spent in enumerate(spans):
                    mine[index] += spent
        sums = [sum(column) or 1.0 for column in zip(*total.values(), strict=True)]
        answer[entry] = {
            number: [spent / whole for spent, whole in zip(total[number], sums, strict=True)]
            for number in sorted(total, key=int)
        }
    return answer


def hours_picture(group: Group, name: str) -> Picture | None:
    """Draw mean repartitions per hour of the day."""
    means = dict(list(mean_by_hour(group).items())[:MOST_LINES])
    if not means:
        return None
    title = f"Repartitions by hour: {group.name}"
    with svg.style():
        figure = svg.new_figure(6.4, 3.0)
        axes = figure.subplots()
        for (entry, values), colour in zip(means.items(), _COLOURS, strict=False):
            axes.stairs(values, range(25), color=colour, linewidth=1.5, label=entry)
        axes.set_xlim(0, 24)
        axes.set_xticks(range(0, 25, 4))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("hour of day")
        axes.set_ylabel("repartitions per hour")
        figure.legend(loc="outside lower left", ncols=2, fontsize=8)
        text = svg.to_svg(figure, name, title)
    caption = "Mean over the runs of each entry that changes partitions, by the hour at which a change begins."
    return Picture(name, title, caption, text)


def partitions_picture(group: Group, name: str) -> Picture | None:
    """Draw which partitions are in force by time of day, one panel per entry."""
    shares = dict(list(shares_by_span(group).items())[:MOST_PANELS])
    if not shares:
        return None
    title = f"Partitions in force by time of day: {group.name}"
    numbers = sorted({number for rows in shares.values() for number in rows}, key=int)
    lines = -(-len(shares) // 2)
    with svg.style() as matplotlib:
        colours = matplotlib.colormaps["turbo"]
        figure = svg.new_figure(7.2, 0.7 + 2.1 * lines)
        panels = figure.subplots(lines, min(2, len(shares)), squeeze=False, sharey=True).ravel()
        drawn: dict[str, Any] = {}
        for axes, (entry, rows) in zip(panels, shares.items(), strict=False):
            start = [0.0] * len(_SPANS)
            for number, row in rows.items():
                colour = colours((numbers.index(number) + 0.5) / len(numbers))
                drawn[number] = axes.bar(
                    range(len(row)), [100 * x for x in row], bottom=start, color=colour, width=0.8
                )
                start = [a + 100 * b for a, b in zip(start, row, strict=True)]
            axes.set_xticks(range(len(_SPANS)), _SPANS, fontsize=7)
            axes.set_title(entry, fontsize=8)
            axes.set_ylim(0, 100)
            axes.grid(visible=False)
        for axes in panels[len(shares) :]:
            axes.set_visible(False)
        figure.supylabel("share of time, %", fontsize=8)
        figure.legend(
            [drawn[number] for number in numbers],
            numbers,
            loc="outside lower left",
            ncols=len(numbers),
            fontsize=8,
            title="partition",
        )
        text = svg.to_svg(figure, name, title)
    caption = (
        "Share of each four hours in which a partition of the catalogue is in force, the time of the change "
        "to it included; mean over the runs of each entry that changes partitions."
    )
    return Picture(name, title, caption, text, wide=True)
