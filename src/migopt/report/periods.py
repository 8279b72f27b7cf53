"""Gap by busy period: from stored schedules and the shares of a bound to tables and pictures of days."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from migopt.metrics.periods import Period, busy_periods, gap_by_period, together, with_shares
from migopt.report.collect import Group, Row
from migopt.report.period_svg import in_seconds, period_picture, ranked, span_text
from migopt.report.svg import Picture
from migopt.report.tables import DASH, Table, number, percent
from migopt.results import gap_above

#: Days that are split per group, those with the largest active gap first.
MOST_DAYS = 12
#: Periods listed, the worst first, and other entries whose cost is shown beside the best one's.
MOST_PERIODS, MOST_OTHERS = 10, 3
#: Periods are put together by how many jobs they have.
SIZES = ((1, 1), (2, 3), (4, 8), (9, 15), (16, 10**9))

NOTE = (
    "A busy period is a stretch with some job released and not done. Its cost is the energy above "
    "idle and the lateness of its jobs; its share of the lower bound is what its jobs pay at the "
    "bound's prices less what the GPU earns until the next period starts. The shares add up to the "
    "bound, and only that sum is proven: a share may be above the cost of its period where another "
    "falls short."
)


@dataclass(frozen=True)
class Day:
    """One instance whose gap is split by the busy periods of the best schedule that can be.

    Attributes
    ----------
    row : Row
        The run that made the schedule.
    bound : Row
        The run whose bound is split.
    periods : tuple of Period
        In order of time.
    others : tuple of (str, tuple of Period)
        Other entries, split at the same periods.
    note : str
        What a reader must know; empty when nothing.
    """

    row: Row
    bound: Row
    periods: tuple[Period, ...]
    others: tuple[tuple[str, tuple[Period, ...]], ...]
    note: str = ""

    @property
    def name(self) -> str:
        """Instance, and the seed it was drawn with."""
        return f"{self.row.record.instance}, seed {self.row.record.seed}"

    @property
    def active_gap(self) -> float | None:
        """Gap between the schedule and the bound that is split, the constant taken out."""
        return _active_gap(self.row, self.bound)

    @property
    def summary(self) -> str:
        """One line: the gap, and which period holds most of it."""
        whole = together(self.periods)
        worst = ranked(self.periods)[0]
        if not whole.gap or whole.gap <= 0 or worst.gap is None:
            return f"{self.name}: active gap {percent(self.active_gap)}"
        count = f"{len(self.periods)} busy period{'s' * (len(self.periods) != 1)}"
        when = span_text(worst, seconds=in_seconds(self.periods))
        return (
            f"{self.name}: active gap {percent(self.active_gap)} in {count}, "
            f"{percent(worst.gap / whole.gap)} of it from {when}"
        )


@dataclass(frozen=True)
class Days:
    """The days of a group that are split, and how many more could be."""

    days: tuple[Day, ...]
    left_out: int = 0

    @property
    def note(self) -> str:
        """How to read them, and what is left out."""
        more = f" The {len(self.days)} days with the largest active gap are split; "
        return NOTE + (f"{more}{self.left_out} more are not." if self.left_out else "")


def split_days(group: Group, folder: Path, most: int = MOST_DAYS) -> Days:
    """Split the gaps of a group's instances, as far as a bound's shares and either a schedule or its
    cost by busy period are stored.

    Parameters
    ----------
    group : Group
    folder : Path
        The results folder, where schedules lie.
    most : int
        Split at most so many days.
    """
    pairs = []
    for rows in _by_instance(group).values():
        plans = [row for row in rows if row.has_schedule and _can_be_split(row)]
        bounds = [row for row in rows if row.record.shares and row.record.proven_lower is not None]
        if plans and bounds:
            plan = min(plans, key=lambda row: row.record.upper or 0.0)
            bound = max(bounds, key=lambda row: row.record.lower or 0.0)
            pairs.append((plan, bound, plans, rows))
    pairs.sort(key=lambda pair: -(_active_gap(pair[0], pair[1]) or 0.0))
    order = [item.entry for item in group.ranking().rows]
    days = tuple(_day(*pair, order, folder) for pair in pairs[:most])
    return Days(days, max(0, len(pairs) - most))


def days_table(days: Days) -> Table:
    """Return one line per split day: its gap, and the worst of its periods."""
    rows = []
    for day in days.days:
        whole, worst = together(day.periods), ranked(day.periods)[0]
        share = percent(worst.gap / whole.gap) if whole.gap and worst.gap is not None else DASH
        rows.append(
            (
                day.row.record.instance,
                str(day.row.record.seed),
                day.row.entry,
                day.bound.entry,
                percent(day.active_gap),
                str(len(day.periods)),
                span_text(worst, seconds=in_seconds(day.periods)),
                str(worst.jobs),
                share,
            )
        )
    columns = (
        *("<instance", "seed", "<schedule by", "<bound by", "active gap", "busy periods"),
        *("<worst period", "its jobs", "its share of the gap"),
    )
    return Table("Gap by busy period", columns, tuple(rows), days.note)


def period_table(
    periods: Sequence[Period],
    most: int = MOST_PERIODS,
    note: str = "",
) -> Table:
    """Return the worst periods, the rest together, and the whole.

    Parameters
    ----------
    periods : sequence of Period
        At least one.
    most : int
        List at most so many.
    note : str
        Goes below the table.
    """
    whole = together(periods)
    rows = tuple(
        (rank, label, *_cells(together([periods[at] for at in places]), whole))
        for rank, label, places in _lines(periods, most)
    )
    return Table("Busy periods by gap", ("rank", "<period", *COLUMNS), rows, note)


def _lines(periods: Sequence[Period], most: int) -> list[tuple[str, str, list[int]]]:
    """Return (rank, label, positions) of the worst periods, the rest, and all."""
    place = {id(period): at for at, period in enumerate(periods)}
    order = [place[id(period)] for period in ranked(periods)]
    listed = order[:most] if len(order) > most + 1 else order
    rest, seconds = order[len(listed) :], in_seconds(periods)
    lines = [
        (str(rank), span_text(periods[at], seconds=seconds), [at])
        for rank, at in enumerate(listed, 1)
    ]
    if rest:
        lines.append(("", f"{len(rest)} other periods", rest))
    if len(periods) > 1:
        lines.append(("", "all", order))
    return lines


COLUMNS = ("jobs", "cost", "of it energy", "tardiness", "lower share", "gap", "share of gap")


def size_table(periods: Sequence[Period]) -> Table:
    """Return the gap by how many jobs a busy period has."""
    whole, rows = together(periods), []
    for low, high in SIZES:
        own = [p for p in periods if low <= p.jobs <= high]
        if own:
            top = max(p.jobs for p in own)
            label = str(low) if low == high else f"{low} to {max(low, top)}"
            rows.append((label, str(len(own)), *_cells(together(own), whole)))
    columns = ("<jobs in a period", "periods", *COLUMNS)
    return Table("Gap by size of the busy period", columns, tuple(rows))


def day_picture(day: Day, name: str) -> Picture:
    """Draw a day."""
    title = f"Gap by busy period: {day.row.entry} against {day.bound.entry}, {day.name}"
    return period_picture(day.periods, name, title, day.note)


def day_tables(day: Day) -> list[Table]:
    """Return the periods of a day, and what other entries paid in the same periods."""
    tables = [period_table(day.periods)]
    if day.others:
        tables.append(_others_table(day))
    return tables


def _others_table(day: Day) -> Table:
    """Return the cost of each entry in the periods of the best one."""
    split = [(day.row.entry, day.periods), *day.others]
    digits = _digits(together(day.periods))
    rows = tuple(
        (
            rank,
            label,
            *(f"{sum(own[at].upper for at in places):.{digits}f}" for _, own in split),
            _fixed(together([day.periods[at] for at in places]).lower, digits),
        )
        for rank, label, places in _lines(day.periods, MOST_PERIODS)
    )
    columns = ("rank", "<period", *(entry for entry, _ in split), "lower share")
    note = (
        f"Cost above idle of each schedule, split at the busy periods of {day.row.entry}: the lateness "
        "of the same jobs, and the energy until the next period starts."
    )
    return Table("Cost of other entries in the same periods", columns, rows, note)


def _cells(one: Period, whole: Period) -> tuple[str, ...]:
    share = percent(one.gap / whole.gap) if whole.gap and one.gap is not None else DASH
    parts = (one.upper, one.energy, one.tardiness, one.lower, one.gap)
    digits = _digits(whole)
    return (str(one.jobs), *(_fixed(part, digits) for part in parts), share)


def _digits(whole: Period) -> int:
    """Return how many decimals show four digits of the whole gap, and as many of the cost."""
    known = [abs(x) for x in (whole.upper, whole.gap) if x and abs(x) > 1e-12]
    return min(12, max(2, 3 - math.floor(math.log10(min(known))))) if known else 4


def _fixed(value: float | None, digits: int) -> str:
    """Format with a fixed number of decimals, so that a column can be compared."""
    if value is None:
        return DASH
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def _by_instance(group: Group) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in group.rows:
        found.setdefault(row.record.digest, []).append(row)
    return found


def _active_gap(plan: Row, bound: Row) -> float | None:
    constant = float(Fraction(plan.record.constant_cost))
    return gap_above(constant, plan.record.upper, bound.record.lower)


def _day(
    plan: Row, bound: Row, plans: list[Row], rows: list[Row], order: list[str], folder: Path
) -> Day:
    from migopt.io import read_instance, read_schedule

    shares, note = bound.record.shares, _better(plan, bound, rows)
    if not plan.record.schedule_file:
        told = with_shares([Period(*row) for row in plan.record.periods], shares)
        return Day(plan, bound, tuple(told), (), note)
    instance = read_instance(folder / plan.record.instance_file)
    schedule = read_schedule(folder / plan.record.schedule_file, instance)
    spans = busy_periods(instance, schedule)
    others: list[tuple[str, tuple[Period, ...]]] = []
    for row in sorted(plans, key=lambda row: order.index(row.entry) if row.entry in order else 0):
        stored = row.record.schedule_file and row.entry != plan.entry
        if stored and len(others) < MOST_OTHERS:
            its = read_schedule(folder / row.record.schedule_file, instance)
            others.append((row.entry, tuple(gap_by_period(instance, its, shares, spans))))
    periods = tuple(gap_by_period(instance, schedule, shares, spans))
    return Day(plan, bound, periods, tuple(others), note)


def _can_be_split(row: Row) -> bool:
    return bool(row.record.schedule_file or row.record.periods)


def _better(plan: Row, bound: Row, rows: list[Row]) -> str:
    """Say when a better cost or bound is known than the ones that can be split."""
    best = min(rows, key=lambda row: _or(row.record.upper, float("inf")))
    proven = max(rows, key=lambda row: _or(row.record.proven_lower, float("-inf")))
    told = []
    if _or(best.record.upper, float("inf")) < _or(plan.record.upper, 0.0):
        told.append(
            f"{best.entry} has a lower cost, {number(best.record.upper)}, which is not known by period."
        )
    if _or(proven.record.proven_lower, float("-inf")) > _or(bound.record.lower, 0.0):
        told.append(
            f"{proven.entry} proves more, {number(proven.record.lower)}, but not job by job."
        )
    return " ".join(told)


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
