"""First schedules for the solver, by list scheduling and a short local search, before the engine starts."""

from __future__ import annotations

import random
from collections.abc import Sequence

from migopt.exact.cpsat.case import Case, Row, Rows
from migopt.model import Schedule


def first_rows(case: Case, hint: Schedule | None = None) -> Rows:
    """Return the cheapest of a few list schedules; ``hint`` adds its own order of first starts."""
    jobs = range(case.count)
    orders = [
        sorted(jobs, key=lambda j: (case.due[j], case.release[j], j)),
        sorted(jobs, key=lambda j: (case.release[j], case.due[j], j)),
    ]
    if hint is not None:
        begins: dict[int, int] = {}
        for segment in hint.segments:
            begins.setdefault(segment.job, segment.start_ms)
        ids = [job.id for job in case.instance.jobs]
        orders.append(sorted(jobs, key=lambda j: (begins.get(ids[j], 0), j)))
    found = [list_schedule(case, order, frugal) for order in orders for frugal in (False, True)]
    return min(found, key=case.cost)


def list_schedule(case: Case, order: Sequence[int], frugal: bool) -> Rows:
    """Place jobs in order, each on the slice where it ends first, or (``frugal``) costs least.

    The frugal cost is the job's lateness plus its compute slices at the power of a full GPU.
    """
    free_at = [[0] * count for count in case.slices]
    full = max(case.levels.values())
    per_slot = max(case.extra_cost.values())
    rows: list[Row] = [Row(0, 0)] * case.count
    for j in order:
        options = []
        for k, duration in case.modes(j):
            start = max(case.release[j], min(free_at[k]))
            late = full * case.late_cost[j] * max(0, start + duration - case.due[j])
            cost = late + per_slot * case.compute[k] * duration if frugal else 0
            options.append((cost, start + duration, case.compute[k], k, start))
        _, end, _, k, start = min(options)
        free_at[k][free_at[k].index(min(free_at[k]))] = end
        rows[j] = Row(k, start)
    return tuple(rows)


def improve(case: Case, rows: Rows, tries: int, draw: random.Random) -> Rows:
    """Return the best schedule met while moving and swapping jobs in the order of placing.

    Each job keeps a group until a move draws it another one; it starts as early as the order allows.
    Slightly worse schedules are accepted at first (threshold accepting, Dueck and Scheuer 1990).
    """
    if case.count < 2:
        return rows
    order = sorted(range(case.count), key=lambda j: (rows[j].start, j))
    groups = [row.group for row in rows]
    fitting = [[k for k, _ in case.modes(j)] for j in range(case.count)]
    best, best_cost = rows, case.cost(rows)
    present = best_cost
    for left in range(tries, 0, -1):
        new_order, new_groups = order.copy(), groups.copy()
        first, second = draw.randrange(case.count), draw.randrange(case.count)
        if draw.random() < 0.5:
            new_order.insert(second, new_order.pop(first))
        else:
            new_order[first], new_order[second] = new_order[second], new_order[first]
        if draw.random() < 0.5:
            job = new_order[second]
            new_groups[job] = draw.choice(fitting[job])
        found = place(case, new_order, new_groups)
        cost = case.cost(found)
        if cost <= present + abs(present) * left // (50 * tries):
            order, groups, present = new_order, new_groups, cost
            if cost < best_cost:
                best, best_cost = found, cost
    return best


def place(case: Case, order: Sequence[int], groups: Sequence[int]) -> Rows:
    """Start every job as early as its group's slices allow, in the order given."""
    free_at = [[0] * count for count in case.slices]
    rows: list[Row] = [Row(0, 0)] * case.count
    for j in order:
        group = groups[j]
        slots = free_at[group]
        first = min(slots)
        start = max(case.release[j], first)
        rows[j] = Row(group, start)
        slots[slots.index(first)] = start + case.duration(j, rows[j])
    return tuple(rows)
