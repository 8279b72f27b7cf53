"""From records to an instance: window, campaigns, thinning, in this order, then jobs.

Every step keeps ``rows = accepted + dropped``; every choice that no trace states (deadline,
elasticity, memory need) is made by ``jobs`` and listed in the report as invented.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from typing import Any

from migopt.errors import InputError
from migopt.io._options import rational
from migopt.io.traces._import_options import ImportOptions
from migopt.io.traces.common import REASONS, Record, Rejection, Stated
from migopt.model import Instance
from migopt.units import MAX_TIME_MS

DAY_S = 86_400
#: A run time of three years is a slip in a date; times of an instance end at 31 years.
LONGEST_S = 10**8


@dataclass
class Selection:
    """Records that were kept, and what became of the others.

    Attributes
    ----------
    records : list of Record
        In order of arrival, ties by line; arrivals count from time 0 of the instance.
    rows : int
        Rows read: the kept ones and those in ``dropped``.
    dropped : Counter
        Rows dropped, by reason.
    arrivals_by_hour : list of int
        Accepted rows per hour of the trace's day at which they arrived; they sum to ``accepted``.
    asked_by_hour : list of int
        The same for every row inside the window that asked for one GPU and said when, whether or not
        it ran or was thinned out: what a rate estimate needs.
    days : int
        Days from time 0 to the end of the last day kept.
    stated : Stated
        Which fields the file states, and whether its clock shows a real time of day.
    """

    stated: Stated

    records: list[Record] = field(default_factory=list)
    rows: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    arrivals_by_hour: list[int] = field(default_factory=lambda: [0] * 24)
    asked_by_hour: list[int] = field(default_factory=lambda: [0] * 24)
    days: int = 1

    @property
    def accepted(self) -> int:
        """Rows kept."""
        return len(self.records)

    def dropped_in_order(self) -> dict[str, int]:
        """Return the counts that are not zero, in the fixed order of reasons."""
        return {reason: self.dropped[reason] for reason in REASONS if self.dropped[reason]}


@dataclass(frozen=True)
class ImportReport:
    """An imported instance and the account of every row.

    Attributes
    ----------
    instance : Instance
        The problem.
    rows, accepted : int
        Rows read and rows kept; a row with several copies counts once.
    dropped : dict of str to int
        Reason to rows; ``rows = accepted + sum(dropped)``.
    arrivals_by_hour, asked_by_hour : list of int
        See ``Selection``.
    hour_of_day_real : bool
        False when hour 0 of the trace is not midnight.
    observed, invented : tuple of str
        Fields that the trace states, and fields that the importer made up.
    notes : tuple of str
        Remarks for people.
    """

    instance: Instance
    rows: int
    accepted: int
    dropped: dict[str, int]
    arrivals_by_hour: list[int]
    asked_by_hour: list[int]
    hour_of_day_real: bool
    observed: tuple[str, ...]
    invented: tuple[str, ...]
    notes: tuple[str, ...] = ()


class NothingLeftError(InputError):
    """No row became a job; the counts say why."""

    def __init__(self, selection: Selection, source: str) -> None:
        self.rows, self.dropped = selection.rows, selection.dropped_in_order()
        counts = ", ".join(f"{reason} {count}" for reason, count in self.dropped.items())
        super().__init__(f"no job left of {self.rows} rows ({counts or 'no rows'})", source=source)


def select(
    items: Iterable[Record | Rejection | Stated], options: ImportOptions, stated: Stated
) -> Selection:
    """Sort rows into kept and dropped, and shift the kept arrivals to the instance's time 0."""
    kept = Selection(stated)
    unserved: list[float] = []
    records: list[Record] = []
    narrow = options.only_completed
    for item in items:
        if isinstance(item, Record):
            kept.rows += 1
            plain = 0 < item.run_s < LONGEST_S and not narrow
            reason = None if plain else _unusable(item, options)
            if reason is None:
                records.append(item)
            else:
                kept.dropped[reason] += 1
                unserved.append(item.arrival_s)
        elif isinstance(item, Rejection):
            kept.rows += 1
            kept.dropped[item.reason] += 1
            if item.arrival_s is not None and item.reason not in ("cpu_only", "multi_gpu"):
                unserved.append(item.arrival_s)
        else:
            kept.stated = item
    start = _clock_zero(records, kept.stated.hour_of_day_real)
    first_day, last_day = _window(options)
    begin, end = _limits(start, first_day, last_day)
    if last_day is not None:
        inside = [record for record in records if begin <= record.arrival_s < end]
        kept.dropped["outside_window"] += len(records) - len(inside)
        records = inside
    kept.asked_by_hour = _by_hour([record.arrival_s for record in records], start)
    _add(kept.asked_by_hour, _by_hour([at for at in unserved if begin <= at < end], start))
    records.sort(key=lambda record: (record.arrival_s, record.line))
    if options.merge_campaigns is not None:
        _merge_campaigns(records, options.merge_campaigns)
    kept.records = _thin(kept, records, options)
    kept.arrivals_by_hour = _by_hour([record.arrival_s for record in kept.records], start)
    _shift(kept, options, start, first_day, last_day)
    return kept


def _unusable(record: Record, options: ImportOptions) -> str | None:
    """Return why a record is dropped, or None; a run time of 0 may be replaced."""
    if record.run_s < 0:
        return "negative_duration"
    if record.run_s >= LONGEST_S:
        return "malformed"
    if record.run_s == 0:
        if options.min_run_s is None:
            return "zero_duration"
        record.run_s = options.min_run_s
    if options.only_completed and record.status not in ("completed", ""):
        return "not_completed"
    return None


def _clock_zero(records: list[Record], hour_of_day_real: bool) -> float:
    """Midnight before the first accepted arrival; an unknown clock keeps its own zero."""
    if not hour_of_day_real or not records:
        return 0
    return DAY_S * (min(record.arrival_s for record in records) // DAY_S)


def _window(options: ImportOptions) -> tuple[int, int | None]:
    """Return the first day and the day after the last (None: no limit)."""
    if options.window_days is None:
        return (0, None) if options.day is None else (options.day, options.day + 1)
    if options.day is not None:
        raise InputError("give day or window_days, not both", where="window_days")
    match = re.fullmatch(r"(\d+)-(\d+)", options.window_days.strip())
    if match is None or int(match[1]) > int(match[2]):
        raise InputError(
            f"write first-last, e.g. 116-148, not {options.window_days!r}", where="window_days"
        )
    return int(match[1]), int(match[2]) + 1


def _limits(start: float, first_day: int, last_day: int | None) -> tuple[float, float]:
    """Return the window on the trace's clock, in seconds: from the first, before the second."""
    if last_day is None:
        return -math.inf, math.inf
    return start + DAY_S * first_day, start + DAY_S * last_day


def _by_hour(arrivals: list[float], start: float) -> list[int]:
    counts = Counter([int((arrival - start) % DAY_S) // 3600 for arrival in arrivals])
    return [counts[hour] for hour in range(24)]


def _add(counts: list[int], more: list[int]) -> None:
    counts[:] = [one + other for one, other in zip(counts, more, strict=True)]


def _merge_campaigns(records: list[Record], gap_s: float) -> None:
    """Give every arrival of a tenant's burst the time of the burst's first."""
    last: dict[str, tuple[float, float]] = {}
    for record in records:
        if not record.tenant:
            raise InputError("this trace does not name tenants", where="merge_campaigns")
        first, previous = last.get(record.tenant, (record.arrival_s, -math.inf))
        if record.arrival_s - previous > gap_s:
            first = record.arrival_s
        last[record.tenant] = (first, record.arrival_s)
        record.arrival_s = first
    records.sort(key=lambda record: (record.arrival_s, record.line))


def _thin(kept: Selection, records: list[Record], options: ImportOptions) -> list[Record]:
    """Keep each arrival independently; a campaign is kept or dropped as a whole."""
    keep = rational(options.keep, "keep")
    if not 0 < keep <= 1:
        raise InputError(f"must be above 0 and at most 1, not {options.keep}", where="keep")
    if keep == 1:
        return records
    limit = keep * 2**64
    merged = options.merge_campaigns is not None

    def chosen(record: Record) -> bool:
        key = f"{record.tenant}|{record.arrival_s}" if merged else f"{record.id}|{record.line}"
        return hash64(f"{options.seed}|{key}") < limit

    thinned = [record for record in records if chosen(record)]
    kept.dropped["thinned"] += len(records) - len(thinned)
    return thinned


def _shift(
    kept: Selection,
    options: ImportOptions,
    start: float,
    first_day: int,
    last_day: int | None,
) -> None:
    """Count arrivals from the window's start and fix how many days the instance has."""
    if not kept.records:
        return
    zero = start + DAY_S * first_day
    if options.origin == "first":
        if last_day is not None:
            raise InputError(
                "origin first goes with the whole trace, not with days", where="origin"
            )
        zero = kept.records[0].arrival_s
    if kept.records[-1].arrival_s - zero >= MAX_TIME_MS / 1000:
        raise InputError(
            f"the job of line {kept.records[-1].line} arrives more than 31 years after time 0; "
            "choose days, or origin first",
            where="origin",
        )
    for record in kept.records:
        record.arrival_s -= zero
    if last_day is not None:
        kept.days = last_day - first_day
    else:
        kept.days = 1 + int(kept.records[-1].arrival_s // DAY_S)


def hash64(text: str) -> int:
    """Return a 64-bit hash that is the same in every run and on every machine."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def unit(text: str) -> Fraction:
    """Return a hash of ``text`` as a number in [0, 1)."""
    return Fraction(hash64(text), 2**64)


def record_table(records: list[Record]) -> dict[str, Any]:
    """Return what the trace said of each job, in order of job row, for the instance's origin."""
    fields = ("id", "arrival_s", "run_s", "card", "share", "instances", "class", "status")
    rows = [
        [r.id, r.arrival_s, r.run_s, r.card, r.share, r.instances, r.kind, r.status]
        for r in records
    ]
    return {"fields": list(fields), "rows": rows}
