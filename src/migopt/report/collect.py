"""Records judged and sorted into groups that may be compared with each other.

Two records are in one group only when class and every setting of the instance agree: GPUs,
catalogue, preemption, scope, tau, MIG off, and the weight a. So costs under different a never meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from migopt.records import Record, Settings, Status, best_bounds
from migopt.report.statistics import Ranking, Unit, rank
from migopt.results import gap, gap_above

#: Relative room for float error before a lower bound above a cost is called a contradiction.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Row:
    """One good run, judged against the best that is known of its instance.

    Attributes
    ----------
    record : Record
        The run.
    entry : str
        Its entry, with the budget where an entry ran under several.
    upper, lower : float or None
        A run with a schedule: its cost, and the best proven lower bound of any entry. A run with a
        bound only: the best cost of any entry, and its own bound (proven or, for comparison,
        published).
    has_schedule : bool
        Which of the two it is.
    lower_by, upper_by : str
        The entries that gave the other side.
    gap, active_gap : float or None
        Between these two.
    """

    record: Record
    entry: str
    upper: float | None
    lower: float | None
    has_schedule: bool
    lower_by: str
    upper_by: str
    gap: float | None
    active_gap: float | None

    @property
    def unit(self) -> Unit:
        """What it has in common with other entries' runs."""
        return self.record.instance, self.record.seed


@dataclass(frozen=True)
class Group:
    """Rows that may be compared.

    Attributes
    ----------
    name : str
        The class, with the settings that tell it from another group of that class.
    instance_class : str
        The class alone.
    settings : Settings
        What all its instances share.
    rows : tuple of Row
        In order of instance, seed, entry as recorded first.
    """

    name: str
    instance_class: str
    settings: Settings
    rows: tuple[Row, ...]

    @property
    def entries(self) -> list[str]:
        """Entries in order of first appearance."""
        return list(dict.fromkeys(row.entry for row in self.rows))

    def of(self, entry: str) -> list[Row]:
        """Return the rows of one entry."""
        return [row for row in self.rows if row.entry == entry]

    def ranking(self) -> Ranking:
        """Rank the entries that have schedules."""
        costs: dict[str, dict[Unit, float]] = {}
        for row in self.rows:
            if row.has_schedule and row.upper is not None:
                costs.setdefault(row.entry, {})[row.unit] = row.upper
        return rank(costs)


@dataclass(frozen=True)
class Collection:
    """Everything a report says, before it is said.

    Attributes
    ----------
    groups : tuple of Group
        Comparable rows.
    failed, skipped : tuple of Record
        Runs without a good record, with their reasons.
    contradictions : tuple of str
        What cannot all be true: a proven lower bound above the cost of a checked schedule, or one
        instance and seed with two contents.
    records : tuple of Record
        All of them.
    notice : str
        What was wrong with the file.
    """

    groups: tuple[Group, ...]
    failed: tuple[Record, ...]
    skipped: tuple[Record, ...]
    contradictions: tuple[str, ...]
    records: tuple[Record, ...]
    notice: str = ""


def collect(records: Iterable[Record], notice: str = "") -> Collection:
    """Judge the records and sort them into groups."""
    everything = tuple(sorted(records, key=_reading_order()))
    good = [record for record in everything if record.status is Status.OK]
    best = best_bounds(good)
    several = _entries_with_several_budgets(everything)
    grouped: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
    for record in good:
        assert record.settings is not None
        key = record.instance_class, tuple(record.settings.described().values())
        grouped.setdefault(key, []).append(_judge(record, best[record.digest], several))
    order = {record.instance_class: None for record in everything}
    ranks = {name: index for index, name in enumerate(order)}
    keys = sorted(grouped, key=lambda key: ranks[key[0]])
    groups = [_group(key, grouped[key], keys) for key in keys]
    return Collection(
        groups=tuple(groups),
        failed=tuple(record for record in everything if record.status is Status.FAILED),
        skipped=tuple(record for record in everything if record.status is Status.SKIPPED),
        contradictions=(*_mixed_instances(good), *_contradictions(best)),
        records=everything,
        notice=notice,
    )


def _reading_order() -> Callable[[Record], tuple[object, ...]]:
    """Return a sort key: workers end in any order, and a reader wants one that means something.

    Classes are in order of first appearance, instances and entries in order of name with numbers
    as numbers, and runs without a schedule after those with one.
    """
    classes: dict[str, int] = {}

    def key(record: Record) -> tuple[object, ...]:
        return (
            classes.setdefault(record.instance_class, len(classes)),
            _natural(record.instance),
            record.seed,
            record.upper is None,
            _natural(record.entry),
            _natural(record.key),
        )

    return key


def _natural(text: str) -> list[tuple[str, int]]:
    return [(part, int(digits or 0)) for part, digits in re.findall(r"(\D*)(\d*)", text)]


def _entries_with_several_budgets(records: Iterable[Record]) -> set[str]:
    budgets: dict[str, set[str]] = {}
    for record in records:
        budgets.setdefault(record.entry, set()).add(budget_text(record))
    return {entry for entry, seen in budgets.items() if len(seen) > 1}


def budget_text(record: Record) -> str:
    """Return the budget part of the record's key."""
    return record.key.rpartition("/")[2]


def entry_label(record: Record, several: set[str]) -> str:
    """Return the entry's name, with its budget where it ran under several."""
    if record.entry in several:
        return f"{record.entry} ({budget_text(record)})"
    return record.entry


def _judge(record: Record, best: tuple[Record | None, Record | None], several: set[str]) -> Row:
    best_upper, best_lower = best
    has_schedule = record.upper is not None
    if has_schedule:
        upper, upper_by = record.upper, record.entry
        lower = best_lower.lower if best_lower else None
        lower_by = best_lower.entry if best_lower else ""
    else:
        upper = best_upper.upper if best_upper else None
        upper_by = best_upper.entry if best_upper else ""
        lower, lower_by = record.lower, record.entry if record.lower is not None else ""
    constant = float(Fraction(record.constant_cost))
    return Row(
        record=record,
        entry=entry_label(record, several),
        upper=upper,
        lower=lower,
        has_schedule=has_schedule,
        lower_by=lower_by,
        upper_by=upper_by,
        gap=gap(upper, lower),
        active_gap=gap_above(constant, upper, lower),
    )


def _group(
    key: tuple[str, tuple[str, ...]], rows: list[Row], keys: list[tuple[str, tuple[str, ...]]]
) -> Group:
    name, _ = key
    settings = rows[0].record.settings
    assert settings is not None
    others = [other for cls, other in keys if cls == name]
    labels = settings.described()
    differing = [
        f"{label} {value}"
        for position, (label, value) in enumerate(labels.items())
        if any(other[position] != value for other in others)
    ]
    full = f"{name} ({', '.join(differing)})" if differing else name
    return Group(full, name, settings, tuple(rows))


def _mixed_instances(records: Iterable[Record]) -> Iterable[str]:
    """Say which instances changed between runs: their costs must not be compared."""
    digests: dict[Unit, set[str]] = {}
    for record in records:
        digests.setdefault((record.instance, record.seed), set()).add(record.digest)
    for (instance, seed), seen in digests.items():
        if len(seen) > 1:
            yield (
                f"{instance} (seed {seed}) was not the same instance in all runs: its digests are "
                f"{', '.join(sorted(digest[:12] for digest in seen))}; run it in a new folder"
            )


def _contradictions(best: dict[str, tuple[Record | None, Record | None]]) -> Iterable[str]:
    for upper, lower in best.values():
        if upper is None or lower is None or upper.upper is None or lower.lower is None:
            continue
        if lower.lower > upper.upper + TOLERANCE * max(1.0, abs(upper.upper)):
            yield (
                f"{upper.instance} (seed {upper.seed}): {lower.entry} claims that no schedule "
                f"costs less than {lower.lower!r}, but {upper.entry} has one of {upper.upper!r}"
            )
