"""From groups and starts to placements: a schedule, and a schedule to groups and starts."""

from __future__ import annotations

from migopt.exact.cpsat.case import Case, Row, Rows
from migopt.model import Schedule, Segment


def to_schedule(case: Case, rows: Rows, origin: str) -> Schedule:
    """Return the schedule with every job on the lowest free slice of its group, in order of start."""
    unit = case.scale.unit_ms
    free_at = {placement: 0 for placement in case.partition}
    segments = []
    for j in sorted(range(case.count), key=lambda j: (rows[j].start, j)):
        row = rows[j]
        start, end = unit * row.start, unit * (row.start + case.duration(j, row))
        placement = next(
            place
            for place in case.partition
            if place.profile in case.names[row.group] and free_at[place] <= start
        )
        free_at[placement] = end
        segments.append(Segment(start, end, 0, placement, case.instance.jobs[j].id))
    return Schedule((case.partition,), tuple(segments), origin={"solver": origin})


def from_schedule(case: Case, schedule: Schedule) -> Rows | None:
    """Return the schedule's rows if it belongs to this case: one run per job, one partition, on the grid."""
    if schedule.reconfigurations or schedule.initial != (case.partition,):
        return None
    runs = {segment.job: segment for segment in schedule.segments}
    if len(runs) != len(schedule.segments) or set(runs) != set(case.instance.job_by_id):
        return None
    rows = []
    for j, job in enumerate(case.instance.jobs):
        run = runs[job.id]
        group = next(
            (k for k, names in enumerate(case.names) if run.placement.profile in names), None
        )
        start, rest = divmod(run.start_ms, case.scale.unit_ms)
        if group is None or rest or case.durations[j][group] is None:
            return None
        rows.append(Row(group, start))
    return tuple(rows) if is_legal(case, tuple(rows)) else None


def is_legal(case: Case, rows: Rows) -> bool:
    """Return whether no job starts before its release and no group is overfull."""
    events = []
    for j, row in enumerate(rows):
        if row.start < case.release[j]:
            return False
        events += [(row.start, 1, row.group), (row.start + case.duration(j, row), -1, row.group)]
    busy = [0] * len(case.slices)
    for _, change, group in sorted(events):
        busy[group] += change
        if busy[group] > case.slices[group]:
            return False
    return True
