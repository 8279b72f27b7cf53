"""First schedules for the solver, by list scheduling, so that there is an incumbent before any search."""

from __future__ import annotations

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
