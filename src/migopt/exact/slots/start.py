"""First plans: list schedules on each partition, and one job after the other on the best of all."""

from __future__ import annotations

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.plan import Plan, cost, settled


def first_plan(data: SlotData) -> Plan:
    """Return the cheapest of a few plans in which every job runs without a stop."""
    plans = []
    for order in (
        sorted(data.jobs, key=lambda j: (data.instance.jobs[j].due_ms, j)),
        sorted(data.jobs, key=lambda j: (data.first[j], j)),
    ):
        for frugal in (False, True):
            for c in range(len(data.classes)):
                plan = _on_one(data, order, c, frugal)
                plans += [plan] if plan is not None else []
        if data.changing:
            plans.append(_one_after_the_other(data, order))
    return min(plans, key=lambda plan: cost(data, plan))


def _on_one(data: SlotData, order: list[int], c: int, frugal: bool) -> Plan | None:
    """Place jobs in order on one class, each where it ends first, or (``frugal``) holds least slices."""
    free_at = [[0] * count for count in data.classes[c].slices]
    runs: list[dict[int, int]] = [{} for _ in data.jobs]
    for j in order:
        options = []
        for k in data.fitting(j):
            if free_at[k]:
                begin = max(data.first[j], min(free_at[k]))
                length = data.run_slots(j, k)
                held = length * max(1, data.compute[k]) if frugal else 0
                options.append((held, begin + length, k, begin))
        if not options:
            return None
        _, end, k, begin = min(options)
        free_at[k][free_at[k].index(min(free_at[k]))] = end
        runs[j] = dict.fromkeys(range(begin, end), k)
    return settled(data, [c] * data.slots, runs)


def _one_after_the_other(data: SlotData, order: list[int]) -> Plan:
    """Run jobs alone, each on its fastest group of all; every start may lose a change."""
    classes = [0] * data.slots
    runs: list[dict[int, int]] = [{} for _ in data.jobs]
    now, before = 0, None
    for j in order:
        options = []
        for c, kept in enumerate(data.classes):
            for k in data.fitting(j):
                if kept.slices[k] and c != data.off:
                    lost = data.loss[j][k] if before is not None and c != before else 0
                    options.append((data.run_slots(j, k, lost), c != before, c, k))
        length, _, c, k = min(options)
        begin = max(now, data.first[j])
        for t in range(begin, begin + length):
            classes[t], runs[j][t] = c, k
        now, before = begin + length, c
    return settled(data, classes, runs)
