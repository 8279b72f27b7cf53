"""Event-order LP of a whole day: the same program as for small cases, priced by the compiled kernel.

Only jobs that are present in a gap are looked at there, so that a day of 500 jobs (1,000 gaps) is
priced in milliseconds. After each solution neighbours at equal times change places (the solution
stays feasible, so the value never rises) and changes of partition that nothing needs are taken out.
"""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

from migopt.bounds.kernel import assigned_groups, fill, make_tables
from migopt.compiled import compiled
from migopt.exact.day_plan.search import DONE, OFF, ON, RELEASE
from migopt.exact.event_order import PRICE_TOLERANCE, Event, EventOrder, OrderPlan, _OrderProgram
from migopt.exact.interval_milp.orders import is_valid
from migopt.exact.one_gpu import Floats, OneGpu

#: Minutes by which two events count as simultaneous.
TOGETHER = 1e-7


class DayOrder(EventOrder):
    """Event-order LPs of one day; the pieces of the last solution are offered to the next order."""

    def __init__(self, problem: OneGpu) -> None:
        super().__init__(problem)
        self.tables = make_tables(problem.vectors)
        self.last: OrderPlan | None = None

    def solve(
        self, events: Any, first: int | None = None, *, cutoff: float | None = None
    ) -> OrderPlan | None:
        """Return the best schedule of this order; see ``EventOrder.solve``."""
        plan = _DayProgram(self, tuple(events), first).solve(cutoff)
        if plan is not None:
            self.last = plan
        return plan


class _DayProgram(_OrderProgram):
    """The LP of one order of a day."""

    parent: DayOrder

    def _add_pool(self) -> None:
        """Offer the assignments of the last plan wherever their jobs are present."""
        if self.parent.last is None:
            return
        begins, ends = np.zeros(self.problem.jobs, int), np.zeros(self.problem.jobs, int)
        for e, event in enumerate(self.events):
            if event.kind == "release":
                begins[event.who] = e
            elif event.kind == "done":
                ends[event.who] = e
        items = {item for pieces in self.parent.last.pieces for item, _ in pieces}
        new = []
        for item in sorted(items):
            jobs = [j for j, _ in item[1]]
            for gap in range(max(begins[jobs]), min(ends[jobs])):
                if self.allowed[gap, item[0]]:
                    new.append((gap, item))
        if new:
            self._add(new)

    def _price(self, dual: Floats) -> bool:
        p = self.problem
        if not self.gaps:
            return False
        worth = dual[self.work0 : self.work0 + p.jobs, None] * p.speed
        where = np.nonzero(self.present)
        starts = np.searchsorted(where[0], np.arange(self.gaps + 1)).astype(np.int64)
        out = np.full((self.gaps, 1 + p.groups * 0 + int(p.counts.sum(axis=1).max())), -1, np.int64)
        groups = np.full(out.shape, -1, np.int64)
        scale = max(1.0, float(worth.max(initial=0.0)))
        limit = PRICE_TOLERANCE * max(scale, float(np.abs(dual[: self.gaps]).max(initial=0.0)))
        _price_gaps(
            starts,
            where[1].astype(np.int64),
            np.ascontiguousarray(np.maximum(worth, 0.0)),
            self.parent.tables,
            p.vector_cost * self.parent.scale,
            self.allowed,
            np.ascontiguousarray(dual[: self.gaps]),
            limit,
            out,
            groups,
        )
        new = []
        for gap in np.flatnonzero(out[:, 0] > 0).tolist():
            pairs = tuple(
                (int(j), int(k)) for j, k in zip(out[gap, 1:], groups[gap, 1:], strict=True) if j >= 0
            )
            item = (int(out[gap, 0]), tuple(sorted(pairs)))
            if (gap, item) not in self.known:
                new.append((gap, item))
        if new:
            self._add(new)
        return bool(new)


@compiled
def _price_gaps(
    starts: Any,
    jobs: Any,
    worth: Any,
    tables: Any,
    cost: Any,
    allowed: Any,
    dual: Any,
    limit: float,
    out: Any,
    groups: Any,
) -> None:
    """Write per gap the vector of least reduced cost (0 for none below -limit) and its jobs."""
    gaps, width = allowed.shape[0], worth.shape[1]
    widest = 1
    for g in range(gaps):
        widest = max(widest, starts[g + 1] - starts[g])
    local = np.empty((widest, width))
    choice = np.empty((widest, cost.size), np.int8)
    value = np.empty(cost.size)
    taken = np.empty(widest, np.int64)
    for g in range(gaps):
        n = starts[g + 1] - starts[g]
        out[g, 0] = 0
        for q in range(n):
            for k in range(width):
                local[q, k] = worth[jobs[starts[g] + q], k]
        fill(local, n, tables, value, choice)
        best, least = 0, -limit
        for b in range(1, cost.size):
            if allowed[g, b]:
                reduced = cost[b] - value[b] + dual[g]
                if reduced < least:
                    best, least = b, reduced
        if best == 0:
            continue
        assigned_groups(choice, n, best, tables, taken)
        out[g, 0] = best
        at = 1
        for q in range(n):
            if taken[q] >= 0:
                out[g, at], groups[g, at] = jobs[starts[g] + q], taken[q]
                at += 1


def events_of(log: Floats, order: Any, changes: bool) -> tuple[tuple[Event, ...], int | None]:
    """Return the order of events of a search's course, and the class in force from the start."""
    kinds = {RELEASE: "release", DONE: "done", OFF: "off", ON: "on"}
    rows = [(float(t), int(kind), int(who)) for t, kind, who in log]
    first: int | None = None
    timed: list[tuple[float, int, list[Event]]] = []
    number = 0
    for at, (t, kind, who) in enumerate(rows):
        if kind in (RELEASE, DONE):
            timed.append((t, number, [Event(kinds[kind], int(order[who]))]))  # type: ignore[arg-type]
        elif not changes or kind == ON:
            continue
        elif first is None and who < 0:
            first = rows[at + 1][2]
        else:
            # A begin may have been found only at its end: it stands where it began.
            target = rows[at + 1][2]
            timed.append((t, number, [Event("off", -1)]))
            timed.append((rows[at + 1][0], number + 1, [Event("on", target)]))
            number += 1
        number += 1
    timed.sort(key=lambda item: item[:2])
    return tuple(event for item in timed for event in item[2]), first if changes else None


def improve(
    solver: DayOrder, plan: OrderPlan, deadline: float, seed: int, *, rounds: int = 60
) -> OrderPlan:
    """Exchange neighbours at equal times and drop idle changes while that helps or time is left."""
    draw = random.Random(seed)
    best = plan
    stale = 0
    for number in range(rounds):
        if time.perf_counter() > deadline or stale >= 4:
            break
        trial = _without_idle_changes(solver, best) if number % 3 == 0 else best.events
        changed = _exchange(trial, _times_of(best, trial), draw, 1.0 if number % 4 == 1 else 0.6)
        if not is_valid(changed):
            continue
        found = solver.solve(changed, best.first)
        if found is None:
            continue
        stale = stale + 1 if found.cost > best.cost - 1e-9 * abs(best.cost) else 0
        if found.cost <= best.cost + 1e-12:
            best = found
    return best


def _times_of(plan: OrderPlan, events: tuple[Event, ...]) -> list[float]:
    """Return the plan's time of each of these events, which are some of its own in the same order."""
    times, at = [], 0
    for event in events:
        while plan.events[at] != event:
            at += 1
        times.append(float(plan.times[at]))
        at += 1
    return times


def _exchange(
    events: tuple[Event, ...], times: list[float], draw: random.Random, share: float
) -> tuple[Event, ...]:
    out = list(events)
    e = 0
    while e < len(out) - 1:
        one, two = out[e], out[e + 1]
        switches = one.kind in ("off", "on") and two.kind in ("off", "on")
        own = one.kind == "release" and two.kind == "done" and one.who == two.who
        releases = one.kind == two.kind == "release"
        # A completion may not fall inside a change.
        inside = (one.kind == "done" and two.kind == "off") or (one.kind == "on" and two.kind == "done")
        if (
            times[e + 1] - times[e] <= TOGETHER
            and not (switches or own or releases or inside)
            and draw.random() < share
        ):
            out[e], out[e + 1] = two, one
            times[e], times[e + 1] = times[e + 1], times[e]
            e += 1
        e += 1
    return tuple(out)


def _without_idle_changes(solver: DayOrder, plan: OrderPlan) -> tuple[Event, ...]:
    """Return the events without changes whose new class is not needed before the next change."""
    events = plan.events
    current = plan.first
    drop: set[int] = set()
    members = solver._members
    offs = [e for e, event in enumerate(events) if event.kind == "off"]
    for number, off in enumerate(offs):
        on = next(e for e in range(off, len(events)) if events[e].kind == "on")
        until = offs[number + 1] if number + 1 < len(offs) else len(events) - 1
        used = {item[0] for gap in range(on, until) for item, _ in plan.pieces[gap]}
        if current is not None and all(members[current, b] for b in used):
            drop |= {off, on}
        else:
            current = events[on].who
    return tuple(event for e, event in enumerate(events) if e not in drop)
