"""Means per entry and group: the numbers behind tables and ``migopt report --json``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from migopt.records import Record
from migopt.report.collect import Collection, Group, Row
from migopt.report.statistics import Interval, Ranked


@dataclass(frozen=True, slots=True)
class EntryMeans:
    """Means of one entry over its good runs in one group.

    Attributes
    ----------
    entry, group : str
        Names in tables.
    runs : int
        Good runs.
    cost, energy_wmin, mean_tardiness_min : float or None
        Over its schedules.
    lower, gap, active_gap : float or None
        Over the ``bounded_runs`` that have a lower bound and, for the gaps, a cost.
    bounded_runs : int
        Runs with a gap.
    wall_s : float
        Mean wall seconds.
    has_schedule : bool
        False for an entry that gives bounds only.
    ranked : Ranked or None
        Its place.
    """

    entry: str
    group: str
    runs: int
    cost: float | None
    energy_wmin: float | None
    mean_tardiness_min: float | None
    lower: float | None
    gap: float | None
    active_gap: float | None
    bounded_runs: int
    wall_s: float
    has_schedule: bool
    ranked: Ranked | None


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are there, None when none is."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def entry_means(group: Group) -> list[EntryMeans]:
    """Return the means of a group: ranked entries first, then the rest, bounds last."""
    places = {ranked.entry: ranked for ranked in group.ranking().rows}
    order = [*places, *(entry for entry in group.entries if entry not in places)]
    return [_means(group, entry, group.of(entry), places.get(entry)) for entry in order]


def _means(group: Group, entry: str, rows: list[Row], ranked: Ranked | None) -> EntryMeans:
    records = [row.record for row in rows]
    scheduled = [row for row in rows if row.has_schedule]
    judged = scheduled or rows
    return EntryMeans(
        entry=entry,
        group=group.name,
        runs=len(rows),
        cost=mean(row.record.upper for row in scheduled),
        energy_wmin=mean(row.record.energy_wmin for row in scheduled),
        mean_tardiness_min=mean(row.record.mean_tardiness_min for row in scheduled),
        lower=mean(row.lower for row in judged),
        gap=mean(row.gap for row in judged),
        active_gap=mean(row.active_gap for row in judged),
        bounded_runs=sum(row.gap is not None for row in judged),
        wall_s=mean(record.wall_s for record in records) or 0.0,
        has_schedule=bool(scheduled),
        ranked=ranked,
    )


def as_json(collection: Collection) -> dict[str, Any]:
    """Return the report's numbers as JSON data.

    ``rows`` holds one object per entry and instance class (and per setting, where a class has
    several); ``cost`` is ET under the stored a, in its own unit.
    """
    return {
        "rows": [
            _json_row(group, means) for group in collection.groups for means in entry_means(group)
        ],
        "failed": [_json_reason(record) for record in collection.failed],
        "skipped": [_json_reason(record) for record in collection.skipped],
        "contradictions": list(collection.contradictions),
        "provenance": provenance(collection.records),
        "notice": collection.notice,
    }


def _json_row(group: Group, means: EntryMeans) -> dict[str, Any]:
    settings = asdict(group.settings)
    return {
        "entry": means.entry,
        "class": group.instance_class,
        "group": group.name,
        "runs": means.runs,
        "cost": means.cost,
        "energy_wmin": means.energy_wmin,
        "mean_tardiness_min": means.mean_tardiness_min,
        "lower": means.lower,
        "gap": means.gap,
        "active_gap": means.active_gap,
        "bounded_runs": means.bounded_runs,
        "wall_s": means.wall_s,
        "has_schedule": means.has_schedule,
        "place": None if means.ranked is None else means.ranked.place,
        "cost_interval": None if means.ranked is None else _json_interval(means.ranked.mean),
        "difference_to_best": (
            _json_interval(means.ranked.to_best) if means.ranked and means.ranked.to_best else None
        ),
        "weight_a": settings["weight_a"],
        "settings": settings,
    }


def _json_interval(interval: Interval) -> dict[str, Any]:
    return asdict(interval)


def _json_reason(record: Record) -> dict[str, Any]:
    return {
        "key": record.key,
        "entry": record.entry,
        "class": record.instance_class,
        "outcome": record.outcome,
        "reason": record.reason,
    }


def provenance(records: Iterable[Record]) -> dict[str, list[str]]:
    """Return where the records come from: every distinct command, commit, machine and version.

    More than one value means that the results folder mixes them, and the report shows it.
    """
    found: dict[str, dict[str, None]] = {
        name: {}
        for name in ("suites", "commands", "commits", "machines", "versions", "parallel runs")
    }
    seeds: set[int] = set()
    ended = []
    for record in records:
        environment = record.environment
        seeds.add(record.seed)
        if record.ended_at:
            ended.append(record.ended_at)
        found["suites"][record.suite] = None
        found["parallel runs"][str(record.parallel_runs)] = None
        for name, text in (
            ("commands", environment.get("command", "")),
            ("commits", environment.get("commit", "")),
            ("machines", _machine_text(environment.get("machine", {}))),
            ("versions", _versions_text(environment.get("versions", {}))),
        ):
            if text:
                found[name][text] = None
    texts = {name: list(values) for name, values in found.items()}
    texts["seeds"] = [seeds_text(seeds)] if seeds else []
    texts["last run ended"] = [max(ended)] if ended else []
    return texts


def seeds_text(seeds: set[int]) -> str:
    """Return a set of seeds in short: ``1-20, 40``."""
    parts: list[str] = []
    ordered = sorted(seeds)
    start = 0
    for index, seed in enumerate(ordered):
        if index + 1 == len(ordered) or ordered[index + 1] != seed + 1:
            first = ordered[start]
            parts.append(str(first) if first == seed else f"{first}-{seed}")
            start = index + 1
    return ", ".join(parts)


def _machine_text(machine: dict[str, Any]) -> str:
    if not machine:
        return ""
    memory = f", {machine['memory_gib']} GiB" if machine.get("memory_gib") else ""
    rest = ", ".join(str(machine[key]) for key in ("processor", "system") if machine.get(key))
    return f"{machine.get('cores')} cores{memory}" + (f", {rest}" if rest else "")


def _versions_text(versions: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
