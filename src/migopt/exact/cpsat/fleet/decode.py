"""From rows to a schedule with its changes of partition, and back."""

from __future__ import annotations

from migopt.exact.cpsat.fleet.problem import Fleet, Row, Rows
from migopt.model import Partition, Placement, Reconfiguration, Schedule, Segment


def to_schedule(fleet: Fleet, rows: Rows, origin: str) -> Schedule:
    """Return the schedule; a GPU changes as soon as the last job of the class before has ended."""
    initial: list[Partition] = []
    segments: list[Segment] = []
    changes: list[Reconfiguration] = []
    for gpu in range(len(fleet.kind_of)):
        first, runs, changed = _one_gpu(fleet, rows, gpu)
        initial.append(first)
        segments += runs
        changes += changed
    return Schedule(tuple(initial), tuple(segments), tuple(changes), {"solver": origin})


def _one_gpu(
    fleet: Fleet, rows: Rows, gpu: int
) -> tuple[Partition, list[Segment], list[Reconfiguration]]:
    kind, unit = fleet.kind(gpu), fleet.scale.unit_ms
    jobs = sorted((j for j, row in enumerate(rows) if row.gpu == gpu), key=lambda j: rows[j].start)
    present = rows[jobs[0]].cls if jobs else 0
    first = kind.classes[present].partition
    segments: list[Segment] = []
    changes: list[Reconfiguration] = []
    free_at: dict[Placement, int] = {}
    last = 0
    for j in jobs:
        row = rows[j]
        if row.cls != present:
            old, new = kind.classes[present].partition, kind.classes[row.cls].partition
            changes.append(Reconfiguration(last, last + unit * fleet.tau, gpu, old, new))
            present, free_at = row.cls, {}
        start, end = unit * row.start, unit * fleet.end(j, row)
        place = next(
            place
            for place in kind.classes[present].partition
            if place.profile in kind.vectors.groups[row.group] and free_at.get(place, 0) <= start
        )
        free_at[place] = end
        last = max(last, end)
        segments.append(Segment(start, end, gpu, place, fleet.instance.jobs[j].id))
    return first, segments, changes


def from_schedule(fleet: Fleet, schedule: Schedule) -> Rows | None:
    """Return the schedule's rows if it is one of these: no job stopped, on the grid of times, legal.

    A partition stands for its class, or for one that offers all of its slices.
    """
    runs = {segment.job: segment for segment in schedule.segments}
    if len(runs) != len(schedule.segments) or set(runs) != set(fleet.instance.job_by_id):
        return None
    rows = []
    for j, job in enumerate(fleet.instance.jobs):
        run = runs[job.id]
        if not 0 <= run.gpu < len(fleet.kind_of):
            return None
        kind = fleet.kind(run.gpu)
        cls = _class_at(fleet, schedule, run)
        group = kind.vectors.group_of.get(run.placement.profile)
        start, rest = divmod(run.start_ms, fleet.scale.unit_ms)
        if cls is None or group is None or rest or kind.durations[j][group] is None:
            return None
        if not kind.classes[cls].slices[group]:
            return None
        rows.append(Row(run.gpu, cls, group, start))
    found = in_gpu_order(fleet, tuple(rows))
    return found if fleet.legal(found) else None


def _class_at(fleet: Fleet, schedule: Schedule, run: Segment) -> int | None:
    """Return the class of the partition in force when a run starts."""
    partition = schedule.initial[run.gpu]
    for change in schedule.reconfigurations:
        if change.gpu == run.gpu and change.end_ms <= run.start_ms:
            partition = change.new
    kind = fleet.kind(run.gpu)
    if any(profile not in kind.vectors.group_of for profile in partition.profiles):
        return None
    counts = [0] * len(kind.vectors.groups)
    for profile in partition.profiles:
        counts[kind.vectors.group_of[profile]] += 1
    for c, kept in enumerate(kind.classes):
        if all(a >= b for a, b in zip(kept.slices, counts, strict=True)):
            return c
    return None


def in_gpu_order(fleet: Fleet, rows: Rows) -> Rows:
    """Return rows with equal GPUs numbered by their first job, and equal jobs by their start."""
    order: dict[object, list[int]] = {}
    for j, job in enumerate(fleet.instance.jobs):
        key = (job.release_ms, job.due_ms, job.weight, *(k.durations[j] for k in fleet.kinds))
        order.setdefault(key, []).append(j)
    sorted_rows = list(rows)
    for equal in order.values():
        by_start = sorted((rows[j] for j in equal), key=lambda row: row.start)
        for j, row in zip(equal, by_start, strict=True):
            sorted_rows[j] = row
    names: dict[int, int] = {}
    unused = {number: list(kind.gpus) for number, kind in enumerate(fleet.kinds)}
    for row in sorted_rows:
        if row.gpu not in names:
            names[row.gpu] = unused[fleet.kind_of[row.gpu]].pop(0)
    return tuple(Row(names[r.gpu], r.cls, r.group, r.start) for r in sorted_rows)
