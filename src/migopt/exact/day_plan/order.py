"""Better orders of events for the event-order LP of a day.

After each solution neighbours at equal times change places (the solution stays feasible, so the value
never rises) and changes of partition that nothing needs are taken out.
"""

from __future__ import annotations

import random
import time
from typing import Any

from migopt.exact.day_plan.program import DayOrder
from migopt.exact.day_plan.search import DONE, OFF, ON, RELEASE
from migopt.exact.event_order import Event, OrderPlan
from migopt.exact.interval_milp.orders import is_valid
from migopt.exact.one_gpu import Floats

#: Minutes by which two events count as simultaneous.
TOGETHER = 1e-7


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
        found = solver.solve(changed, best.first, deadline=deadline)
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


def exchanged(plan: OrderPlan, draw: random.Random, share: float) -> tuple[Event, ...]:
    """Return the plan's events with a random ``share`` of the neighbours at equal times exchanged."""
    return _exchange(plan.events, plan.times.tolist(), draw, share)


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
        inside = (one.kind == "done" and two.kind == "off") or (
            one.kind == "on" and two.kind == "done"
        )
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
    members = solver.members
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
