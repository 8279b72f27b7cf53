"""A plan on the grid: who runs where in which slot; what it costs; the schedule it stands for."""

from __future__ import annotations

from dataclasses import dataclass

from migopt.exact.slots.data import SlotData
from migopt.model import Placement, Reconfiguration, Schedule, Segment
from migopt.units import ceil_div


@dataclass(frozen=True)
class Plan:
    """Class in force per slot, and per job the group it runs on by slot.

    ``whole`` is False when the runs leave some job unfinished.
    """

    classes: tuple[int, ...]
    runs: tuple[dict[int, int], ...]
    whole: bool = True

    def busy(self, t: int) -> list[tuple[int, int]]:
        """Return (job, group) of every job that runs in slot t."""
        return [(j, run[t]) for j, run in enumerate(self.runs) if t in run]

    def changes_at(self, t: int) -> bool:
        """Return whether the partition changes at the beginning of slot t."""
        return t > 0 and self.classes[t] != self.classes[t - 1]


def settled(data: SlotData, classes: list[int], runs: list[dict[int, int]]) -> Plan:
    """Return the plan without needless changes and without runs after a job is done.

    Slots without work keep the class before, unless the next slot with work has another: then the
    change is made in the first slot without work. No slot loses more than before.
    """
    used = sorted({t for run in runs for t in run})
    kept = list(classes)
    for before, after in zip([None, *used], [*used, None], strict=True):
        begin = 0 if before is None else before + 1
        end = len(kept) if after is None else after
        source = before if after is None else after
        for t in range(begin, end):
            kept[t] = classes[source] if source is not None else 0
    plan = Plan(tuple(kept), tuple(runs))
    trimmed, whole = [], True
    for j, run in enumerate(runs):
        left, cut = data.need[j], {}
        for t in sorted(run):
            if left > 0:
                cut[t] = run[t]
                left -= data.full[j][run[t]] - (data.loss[j][run[t]] if plan.changes_at(t) else 0)
        trimmed.append(cut)
        whole &= left <= 0
    return Plan(plan.classes, tuple(trimmed), whole)


def cost(data: SlotData, plan: Plan) -> int:
    """Return what a whole plan costs on the grid, in the data's unit."""
    total = 0
    for j, run in enumerate(plan.runs):
        total += sum(data.late[j][: max(run) + 1])
    for t in range(data.slots):
        busy = plan.busy(t)
        if plan.classes[t] == data.off:
            total += data.off_cost * len(busy)
        elif data.level_cost:
            level = sum(data.compute[k] for _, k in busy)
            total += data.level_cost[level] if level else 0
    return total


def to_schedule(data: SlotData, plan: Plan, origin: str) -> Schedule:
    """Return the schedule: a job leaves its slice when its work is done, not at the end of the slot."""
    segments: list[Segment] = []
    changes: list[Reconfiguration] = []
    left = [job.work for job in data.instance.jobs]
    places: dict[int, Placement] = {}
    for t in range(data.slots):
        partition = data.classes[plan.classes[t]].partition
        begin = data.begin_ms(t)
        if plan.changes_at(t):
            old = data.classes[plan.classes[t - 1]].partition
            changes.append(Reconfiguration(begin, begin + data.tau_ms, 0, old, partition))
            begin += data.tau_ms
            places = {}
        places = _places(data, plan, t, places)
        for j, place in places.items():
            job = data.instance.jobs[j]
            rate = data.instance.rate(job, data.instance.gpus[0], place.profile)
            end = min(data.begin_ms(t + 1), begin + ceil_div(left[j], rate))
            left[j] -= rate * (end - begin)
            segments.append(Segment(begin, end, 0, place, job.id))
    first = plan.classes[0] if plan.classes else 0
    return Schedule(
        (data.classes[first].partition,), _joined(segments), tuple(changes), {"solver": origin}
    )


def _places(
    data: SlotData, plan: Plan, t: int, before: dict[int, Placement]
) -> dict[int, Placement]:
    """Give every job of slot t a slice of its group; a job that goes on keeps the one it has."""
    partition = data.classes[plan.classes[t]].partition
    busy = plan.busy(t)
    found = {j: before[j] for j, k in busy if j in before and before[j].profile in data.names[k]}
    for j, k in busy:
        if j not in found:
            taken = set(found.values())
            found[j] = next(
                place
                for place in partition
                if place.profile in data.names[k] and place not in taken
            )
    return found


def _joined(segments: list[Segment]) -> tuple[Segment, ...]:
    """Join segments of a job that follow each other at once on one placement."""
    found: list[Segment] = []
    open_runs: dict[tuple[int, Placement, int], int] = {}
    for segment in segments:
        at = open_runs.pop((segment.job, segment.placement, segment.start_ms), None)
        if at is None:
            at = len(found)
            found.append(segment)
        else:
            begun = found[at].start_ms
            found[at] = Segment(begun, segment.end_ms, 0, segment.placement, segment.job)
        open_runs[segment.job, segment.placement, segment.end_ms] = at
    return tuple(found)
