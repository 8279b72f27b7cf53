"""Stretches of a day plan: a problem of its own between two events, the rest of the day kept.

Between events a and b of a plan the jobs present have a certain amount of work done, some complete, and
the partition in force at both ends is known. Any other way to do the same work between the same two
moments may take its place, so a stretch is searched by small event-order LPs and pasted back without
solving the day again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from migopt.exact.day_plan.program import DayOrder
from migopt.exact.event_order import Assignment, Event, OrderPlan
from migopt.exact.one_gpu import Floats, OneGpu

#: Work, as a fraction of a job, that counts as none.
NO_WORK = 1e-9
Order = tuple[tuple[Event, ...], int | None]


@dataclass(frozen=True)
class Stretch:
    """What happens in a plan after event ``begin`` and before event ``end``.

    Attributes
    ----------
    begin, end : int
        Events of the plan; ``begin`` is -1 for the start of the day, ``end`` may be their number, then
        the stretch is open.
    jobs : tuple of int
        Positions in the day; events name jobs by their place in this tuple.
    work : array (jobs,)
        Fraction of each job that is done within.
    carried, going_on : tuple of int
        Places of the jobs present at the start, and of those not completed within.
    events : tuple of Event
        What happens within, ``carried`` and ``going_on`` left out.
    first, last : int or None
        Classes in force at both ends; None where changes are free, ``last`` also where it is open.
    start, latest : float
        Minute of the begin in the day, and minutes from there to the end.
    cost : float
        Energy, and lateness of the jobs completed within.
    """

    begin: int
    end: int
    jobs: tuple[int, ...]
    work: Floats
    carried: tuple[int, ...]
    going_on: tuple[int, ...]
    events: tuple[Event, ...]
    first: int | None
    last: int | None
    start: float
    latest: float
    cost: float

    def solver(self, day: OneGpu) -> DayOrder:
        """Return the solver of event-order LPs of this stretch; its time 0 is ``start``."""
        own = list(self.jobs)
        release = np.maximum(day.release[own] - self.start, 0.0)
        late_cost = day.late_cost[own]
        late_cost[list(self.going_on)] = 0.0
        problem = replace(
            day,
            release=release,
            due=day.due[own] - self.start,
            speed=np.ascontiguousarray(day.speed[own]),
            late_cost=late_cost,
        )
        return DayOrder(problem, work=self.work)

    def order(self, events: tuple[Event, ...]) -> Order:
        """Return the whole order for the LP: carried jobs first, the last class restored, jobs that go on last."""
        back: tuple[Event, ...] = ()
        if self.last is not None:
            current = next((e.who for e in reversed(events) if e.kind == "on"), self.first)
            if current != self.last:
                back = (Event("off", -1), Event("on", self.last))
        start = tuple(Event("release", q) for q in self.carried)
        rest = tuple(Event("done", q) for q in self.going_on)
        return (*start, *events, *back, *rest), self.first

    def inner(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Return the events within, of an order that ``order`` made."""
        return events[len(self.carried) : len(events) - len(self.going_on)]


def take(day: OneGpu, plan: OrderPlan, begin: int, end: int) -> Stretch | None:
    """Return the stretch after event ``begin`` and before event ``end``; None inside a change or if empty."""
    gaps = range(max(begin, 0), min(end, len(plan.pieces)))
    if not gaps or (plan.first is not None and not _standing(plan, begin, end)):
        return None
    work: dict[int, float] = {}
    cost = 0.0
    for gap in gaps:
        for (vector, pairs), minutes in plan.pieces[gap]:
            cost += float(day.vector_cost[vector]) * minutes
            for j, k in pairs:
                work[j] = work.get(j, 0.0) + float(day.speed[j, k]) * minutes
    inside = plan.events[begin + 1 : end]
    released = {event.who for event in inside if event.kind == "release"}
    done = {event.who for event in inside if event.kind == "done"}
    carried = sorted({j for j in work if work[j] > NO_WORK or j in done} | done - released)
    carried = [j for j in carried if j not in released]
    jobs = (*carried, *(event.who for event in inside if event.kind == "release"))
    place = {j: q for q, j in enumerate(jobs)}
    if not jobs:
        return None
    amount = np.array([work.get(j, 0.0) for j in jobs])
    for q, j in enumerate(jobs):
        if j in released and j in done:
            amount[q] = 1.0
    for e in range(begin + 1, min(end, len(plan.events))):
        event = plan.events[e]
        if event.kind == "done":
            late = float(plan.times[e]) - float(day.due[event.who])
            cost += float(day.late_cost[event.who]) * max(0.0, late)
    open_end = end >= len(plan.events)
    start = float(plan.times[begin]) if begin >= 0 else 0.0
    return Stretch(
        begin,
        end,
        jobs,
        amount,
        tuple(range(len(carried))),
        tuple(q for q, j in enumerate(jobs) if j not in done),
        tuple(
            event._replace(who=place[event.who]) if event.kind in ("release", "done") else event
            for event in inside
        ),
        _force(plan, begin),
        None if plan.first is None or open_end else plan.in_force[end - 1],
        start,
        np.inf if open_end else float(plan.times[end]) - start,
        cost,
    )


def _standing(plan: OrderPlan, begin: int, end: int) -> bool:
    """Return whether no change goes on at either end."""
    last = min(end, len(plan.pieces)) - 1
    return _force(plan, begin) is not None and plan.in_force[last] is not None


def _force(plan: OrderPlan, begin: int) -> int | None:
    """Return the class in force after event ``begin``."""
    return plan.first if begin < 0 or plan.first is None else plan.in_force[begin]


def put(plan: OrderPlan, stretch: Stretch, found: OrderPlan) -> OrderPlan:
    """Return the day's plan with ``found`` (a plan of the stretch) in place of the old one."""
    jobs = stretch.jobs
    start, stop = len(stretch.carried), len(found.events) - len(stretch.going_on)
    events = tuple(
        event._replace(who=jobs[event.who]) if event.kind in ("release", "done") else event
        for event in found.events[start:stop]
    )
    # Gap n lies after event n: the one before the first event within follows event ``begin``.
    pieces: list[dict[Assignment, float]] = [{} for _ in range(len(events) + 1)]
    for gap, own in enumerate(found.pieces):
        into = pieces[min(max(gap - start + 1, 0), len(events))]
        for (vector, pairs), minutes in own:
            item = (vector, tuple(sorted((jobs[j], k) for j, k in pairs)))
            into[item] = into.get(item, 0.0) + minutes
    force = [stretch.first]
    for event in events:
        if event.kind in ("off", "on"):
            force.append(event.who if event.kind == "on" else None)
        else:
            force.append(force[-1])
    tail = min(stretch.end, len(plan.pieces))
    rows = [tuple(own.items()) for own in pieces]
    if stretch.end >= len(plan.events):
        rows, force = rows[:-1], force[:-1]
    if stretch.begin < 0:
        rows, force = rows[1:], force[1:]
    head = max(stretch.begin, 0)
    return OrderPlan(
        (*plan.events[: stretch.begin + 1], *events, *plan.events[stretch.end :]),
        plan.first,
        np.concatenate(
            [
                plan.times[: stretch.begin + 1],
                found.times[start:stop] + stretch.start,
                plan.times[stretch.end :],
            ]
        ),
        plan.cost + found.cost - stretch.cost,
        (*plan.pieces[:head], *rows, *plan.pieces[tail:]),
        (*plan.in_force[:head], *force, *plan.in_force[tail:]),
    )
