"""Figures of a group: ranking, gaps, and share of time per busy level."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from migopt.report import svg
from migopt.report.collect import Group, Row
from migopt.report.statistics import Ranked
from migopt.report.summary import mean
from migopt.report.svg import Picture
from migopt.report.tables import number

_ROW = 0.27
_FRAME = 0.95
_FEWEST_FOR_BOX = 5
_MOST_POINTS = 100
#: A value this many times the median is drawn beyond the frame.
_OUTLIER = 3.0
#: Entries per figure; more rows than this cannot be read.
MOST_ENTRIES = 40


def ranking_picture(group: Group, name: str) -> Picture | None:
    """Draw mean cost in its parts with 95 % intervals, and the paired difference to the best."""
    ranking = group.ranking()
    ranked = list(ranking.rows)[:MOST_ENTRIES]
    if not ranked:
        return None
    title = f"Mean cost per entry: {group.name}"
    paired = ranking.units > 1
    with svg.style():
        figure = svg.new_figure(7.2, _FRAME + _ROW * len(ranked))
        panels = figure.subplots(
            1, 1 + paired, sharey=True, squeeze=False, width_ratios=(3, 2)[: 1 + paired]
        )[0]
        _cost_bars(panels[0], group, ranked)
        if paired:
            _differences(panels[1], ranked)
        panels[0].set_yticks(range(len(ranked)), [item.entry for item in ranked])
        panels[0].set_ylim(len(ranked) - 0.4, -0.6)
        figure.legend(loc="outside lower left", ncols=4, fontsize=8)
        text = svg.to_svg(figure, name, title)
    caption = (
        "Cost of one run, from the best entry down, in its parts; the idle part is the same for "
        "every schedule. A bar that leaves the frame carries its value."
    )
    if paired:
        caption = (
            f"Mean cost over {ranking.units} runs, from the best entry down. "
            "Left: the parts of the cost, with the 95 % interval of its mean; the idle part is the "
            f"same for every schedule. Right: difference to {ranked[0].entry}, paired by run, with "
            "its 95 % interval; an interval that touches zero shows no difference. Few runs have "
            "wide intervals, which may leave the frame; a bar that does carries its value, a "
            "difference an arrow."
        )
    return Picture(name, title, caption + _cut(ranking.rows), text, wide=True)


def _cut(entries: Sequence[Any]) -> str:
    more = len(entries) - MOST_ENTRIES
    return f" The {more} entries below are in the table only." if more > 0 else ""


def _cost_bars(axes: Any, group: Group, ranked: list[Ranked]) -> None:
    parts = [_cost_parts(group.of(item.entry)) for item in ranked]
    positions = range(len(ranked))
    start = [0.0] * len(ranked)
    labels = (
        ("idle energy", svg.GREY),
        ("energy above idle", svg.BLUE),
        ("tardiness", svg.ORANGE),
    )
    for part, (label, colour) in enumerate(labels):
        widths = [values[part] for values in parts]
        if any(widths):
            axes.barh(positions, widths, left=start, color=colour, height=0.62, label=label)
        start = [sum(pair) for pair in zip(start, widths, strict=True)]
    for position, item in zip(positions, ranked, strict=True):
        if item.mean.low is not None and item.mean.high is not None:
            axes.plot(
                (item.mean.low, item.mean.high),
                (position, position),
                color=svg.INK,
                linewidth=1.4,
                solid_capstyle="butt",
            )
    lower = _common_lower(group)
    if lower is not None:
        axes.axvline(lower, color=svg.INK, linestyle="--", linewidth=1, label="best lower bound")
    axes.set_xlabel("mean cost")
    top = _frame([item.mean.mean for item in ranked])
    axes.set_xlim(0, max(1.15 * top, 1.05 * (lower or 0.0)) or 1.0)
    for position, item in zip(positions, ranked, strict=True):
        if item.mean.mean > axes.get_xlim()[1]:
            axes.annotate(
                number(item.mean.mean),
                (1, position),
                xycoords=("axes fraction", "data"),
                xytext=(-4, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8,
                color="#000000",
                bbox={"facecolor": svg.ORANGE, "edgecolor": "none", "pad": 1.5},
            )


def _frame(values: list[float]) -> float:
    """Return the end of an axis that a few huge values do not squeeze the others on."""
    top, middle = max(values), statistics.median(values)
    return top if top <= _OUTLIER * middle else _OUTLIER * middle


def _cost_parts(rows: list[Row]) -> tuple[float, float, float]:
    """Return mean idle energy, energy above idle and tardiness, in units of cost."""
    metrics = [row.record.metrics for row in rows if row.has_schedule]
    idle = mean(item.get("constant_cost") for item in metrics) or 0.0
    energy = mean(item.get("energy_cost") for item in metrics) or 0.0
    tardiness = mean(item.get("tardiness_cost") for item in metrics) or 0.0
    return idle, max(0.0, energy - idle), tardiness


def _common_lower(group: Group) -> float | None:
    """Return the mean of the best lower bounds, None unless every unit has one."""
    lower = {row.unit: row.lower for row in group.rows if row.has_schedule}
    return None if None in lower.values() else mean(lower.values())


def _differences(axes: Any, ranked: list[Ranked]) -> None:
    for position, item in enumerate(ranked):
        difference = item.to_best
        if difference is None:
            continue
        colour = svg.RED if difference.excludes_zero else svg.GREY
        if difference.low is not None and difference.high is not None:
            axes.plot((difference.low, difference.high), (position,) * 2, color=colour, linewidth=2)
        axes.plot(difference.mean, position, "o", color=colour, markersize=4.5)
    axes.axvline(0, color=svg.INK, linewidth=0.8)
    means = [abs(item.to_best.mean) for item in ranked if item.to_best] or [0.0]
    widest = _frame(means) or max(means) or 1.0
    axes.set_xlim(-0.4 * widest, 1.4 * widest)
    beyond = [place for place, item in enumerate(ranked) if _mean(item) > 1.4 * widest]
    if beyond:
        axes.plot([1.35 * widest] * len(beyond), beyond, ">", color=svg.GREY, markersize=5)
    axes.set_xlabel(f"over {ranked[0].entry}")
    axes.tick_params(axis="y", length=0)


def _mean(item: Ranked) -> float:
    return item.to_best.mean if item.to_best else 0.0


def gap_picture(group: Group, name: str) -> Picture | None:
    """Draw the active gap of every run as a point, with a box per entry."""
    gaps: dict[str, list[float]] = {}
    for row in group.rows:
        if row.active_gap is not None:
            gaps.setdefault(row.entry, []).append(100 * row.active_gap)
    if not gaps:
        return None
    order = sorted(gaps, key=lambda entry: (statistics.median(gaps[entry]), entry))
    entries = order[:MOST_ENTRIES]
    title = f"Active gap per run: {group.name}"
    with svg.style():
        figure = svg.new_figure(6.4, _FRAME - 0.2 + _ROW * len(entries))
        axes = figure.subplots()
        for position, entry in enumerate(entries):
            values = gaps[entry]
            # A fixed spread keeps equal points apart and the figure the same at every run.
            points = _thinned(values)
            offsets = [0.22 * ((index * 0.618034) % 1 - 0.5) for index in range(len(points))]
            places = [position + (offset if len(points) > 1 else 0) for offset in offsets]
            axes.plot(points, places, "o", color=svg.BLUE, markersize=3.5, alpha=0.75, mew=0)
            if len(values) >= _FEWEST_FOR_BOX:
                _box(axes, position, values)
        axes.set_yticks(range(len(entries)), entries)
        axes.set_ylim(len(entries) - 0.4, -0.6)
        axes.set_xlim(left=min(0.0, *(min(gaps[entry]) for entry in entries)))
        axes.set_xlabel("active gap, %")
        text = svg.to_svg(figure, name, title)
    caption = (
        f"One point per run ({_MOST_POINTS} evenly over the sorted runs where there are more); "
        "smallest median first. The box spans the middle half and its line is "
        "the median (from five runs on). Active gap: how far a cost can be above the optimum, in % "
        "of it, with the cost of an idle machine taken out of both. For an entry without schedules "
        "it is how far its bound is below the best cost."
    )
    return Picture(name, title, caption + _cut(order), text)


def _thinned(values: list[float]) -> list[float]:
    """Return at most so many of the values, evenly over their ranks, both ends among them."""
    if len(values) <= _MOST_POINTS:
        return values
    ordered = sorted(values)
    last = len(ordered) - 1
    return [ordered[round(index * last / (_MOST_POINTS - 1))] for index in range(_MOST_POINTS)]


def _box(axes: Any, position: int, values: list[float]) -> None:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    ends = (position - 0.3, position + 0.3)
    axes.broken_barh(
        [(low, high - low)], (ends[0], 0.6), facecolor="none", edgecolor=svg.INK, linewidth=0.9
    )
    axes.plot((middle, middle), ends, color=svg.ORANGE, linewidth=2.2, solid_capstyle="butt")


def busy_level_pictures(group: Group, name: str) -> list[Picture]:
    """Draw the share of time per busy level as stacked bars, one figure per GPU model."""
    pictures = []
    for index, gpu in enumerate(group.settings.gpus):
        shares = _busy_shares(group, gpu)
        if shares:
            pictures.append(_busy_picture(group, gpu, shares, f"{name}{index}"))
    return pictures


def _busy_shares(group: Group, gpu: str) -> dict[str, list[float]]:
    shares: dict[str, list[float]] = {}
    for entry in group.entries[:MOST_ENTRIES]:
        rows = [
            row.record.metrics["busy_level_share"][gpu]
            for row in group.of(entry)
            if row.has_schedule and gpu in row.record.metrics.get("busy_level_share", {})
        ]
        if rows:
            columns = zip(*rows, strict=True)
            shares[entry] = [sum(column) / len(rows) for column in columns]
    return shares


def _busy_picture(group: Group, gpu: str, shares: dict[str, list[float]], name: str) -> Picture:
    title = f"Share of time per busy level, {gpu}: {group.name}"
    levels = max(map(len, shares.values()))
    with svg.style() as matplotlib:
        colours = matplotlib.colormaps["viridis_r"]
        figure = svg.new_figure(6.4, _FRAME + 0.15 + _ROW * len(shares))
        axes = figure.subplots()
        start = [0.0] * len(shares)
        for level in range(levels):
            widths = [100 * values[level] for values in shares.values()]
            # The darkest end of the map would vanish on a dark page.
            colour = svg.GREY if level == 0 else colours(0.87 * (level - 0.5) / (levels - 1))
            label = "0 (idle)" if level == 0 else str(level)
            axes.barh(range(len(shares)), widths, left=start, color=colour, height=0.7, label=label)
            start = [sum(pair) for pair in zip(start, widths, strict=True)]
        axes.set_yticks(range(len(shares)), list(shares))
        axes.set_ylim(len(shares) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of GPU time, %")
        figure.legend(loc="outside lower left", ncols=levels, fontsize=8, title="busy slices")
        text = svg.to_svg(figure, name, title)
    caption = (
        "Mean over the runs of each entry: how long the GPU had 0, 1, … compute slices in slices "
        "that run a job. Power rises with the level, and not evenly."
    )
    return Picture(name, title, caption + _cut(group.entries), text)
