"""Search over the orders of events of a stretch: random moves, each followed by exchanges.

Every order is priced by its event-order LP, so that it is judged by what it can really reach; a stretch
of ten jobs takes 2 to 3 ms.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass

from migopt.exact.day_plan.order import exchanged
from migopt.exact.day_plan.program import DayOrder
from migopt.exact.day_plan.stretch import Stretch
from migopt.exact.event_order import Event, OrderPlan
from migopt.exact.interval_milp.orders import is_valid
from migopt.exact.one_gpu import OneGpu

#: Rounds of exchanges after a move, and how much worse a plan may be to get them.
POLISH, HOPELESS = 6, 0.3
#: Temperatures of acceptance, as fractions of the window's cost.
HOT, COLD = 1e-2, 1e-5
#: Gains below this share of the cost are noise.
LEAST_GAIN = 1e-9
#: Most positions that an event moves at once; most events between a change and the change back.
FAR, DETOUR = 8, 8


def search_stretch(
    day: OneGpu, stretch: Stretch, seconds: float, draw: random.Random
) -> OrderPlan | None:
    """Return the best plan of the stretch found in about ``seconds``; None if none is cheaper than its own."""
    began = time.perf_counter()
    search = _Search(stretch, stretch.solver(day), draw, began + seconds)
    plan = search.solve(stretch.events)
    if plan is None:
        return None
    best = current = search.polished(plan)
    while (spent := time.perf_counter() - began) < seconds:
        heat = HOT * (COLD / HOT) ** (spent / seconds) * abs(best.cost)
        events = moved(stretch, current.events, len(day.classes), draw)
        found = None if events is None else search.solve(events)
        if found is None or found.cost > current.cost + HOPELESS * abs(best.cost):
            search.solver.last = current
            continue
        found = search.polished(found)
        worse = found.cost - current.cost
        if worse <= 0 or draw.random() < math.exp(-worse / max(heat, 1e-300)):
            current = found
        if found.cost < best.cost:
            best = found
        search.solver.last = current
    return best if best.cost < stretch.cost - LEAST_GAIN * abs(stretch.cost) else None


@dataclass
class _Search:
    stretch: Stretch
    solver: DayOrder
    draw: random.Random
    deadline: float

    def solve(self, events: tuple[Event, ...]) -> OrderPlan | None:
        """Return the best plan with these events within."""
        order = self.stretch.order(events)
        return self.solver.solve(*order, latest=self.stretch.latest) if order[0][1:] else None

    def polished(self, plan: OrderPlan) -> OrderPlan:
        """Exchange neighbours at equal times while that helps; the value never rises."""
        for number in range(POLISH):
            if time.perf_counter() > self.deadline:
                break
            changed = exchanged(plan, self.draw, 1.0 if number % 2 == 0 else 0.6)
            events = self.stretch.inner(changed)
            if changed == plan.events or not _possible(self.stretch, events):
                continue
            found = self.solve(events)
            if found is None or found.cost > plan.cost:
                continue
            gain = plan.cost - found.cost
            plan = found
            if number and gain < 1e-6 * abs(plan.cost):
                break
        return plan


def _possible(stretch: Stretch, events: tuple[Event, ...]) -> bool:
    """Return whether these are the events within, in an order that makes sense."""
    own = {event for event in events if event.kind in ("release", "done")}
    wanted = {event for event in stretch.events if event.kind in ("release", "done")}
    return own == wanted and is_valid(stretch.order(events)[0])


def moved(
    stretch: Stretch, order: tuple[Event, ...], classes: int, draw: random.Random
) -> tuple[Event, ...] | None:
    """Return events within that are one to three random moves away, None where that gives none."""
    before = stretch.inner(order)
    events = list(before)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3))):
        kind = draw.random()
        if stretch.first is None or classes < 2 or kind < 0.4:
            _move_completion(events, draw)
        elif kind < 0.55:
            _drop_change(events, draw)
        elif kind < 0.70:
            _other_class(events, classes, draw)
        elif kind < 0.88:
            _insert_change(events, stretch.first, classes, draw)
        else:
            _shift_change(events, draw)
    if stretch.first is not None:
        events = _without_idle(events, stretch.first)
    changed = tuple(events)
    return changed if changed != before and _possible(stretch, changed) else None


def _move_completion(events: list[Event], draw: random.Random) -> None:
    done = [e for e, event in enumerate(events) if event.kind == "done"]
    if not done:
        return
    at = draw.choice(done)
    event = events.pop(at)
    step = 1 + min(FAR, int(draw.expovariate(0.5)))
    to = at + step if draw.random() < 0.5 else at - step
    release = Event("release", event.who)
    lowest = events.index(release) + 1 if release in events else 0
    to = min(max(to, lowest), len(events))
    # Out of the middle of a change.
    while to < len(events) and _changing(events, to):
        to += 1
    events.insert(to, event)


def _changing(events: list[Event], at: int) -> bool:
    """Return whether a change goes on just before position ``at``."""
    for e in range(at - 1, -1, -1):
        if events[e].kind in ("off", "on"):
            return events[e].kind == "off"
    return False


def _pairs(events: list[Event]) -> list[tuple[int, int]]:
    """Return the positions (off, on) of the changes."""
    offs = [e for e, event in enumerate(events) if event.kind == "off"]
    ons = [e for e, event in enumerate(events) if event.kind == "on"]
    return list(zip(offs, ons, strict=True))


def _drop_change(events: list[Event], draw: random.Random) -> None:
    pairs = _pairs(events)
    if pairs:
        off, on = draw.choice(pairs)
        del events[on], events[off]


def _other_class(events: list[Event], classes: int, draw: random.Random) -> None:
    pairs = _pairs(events)
    if pairs:
        events[draw.choice(pairs)[1]] = Event("on", draw.randrange(classes))


def _insert_change(events: list[Event], first: int, classes: int, draw: random.Random) -> None:
    at = draw.randrange(len(events) + 1)
    if _changing(events, at):
        return
    current = first
    for event in events[:at]:
        current = event.who if event.kind == "on" else current
    target = draw.randrange(classes)
    events[at:at] = [Event("off", -1), Event("on", target)]
    if draw.random() < 0.6:
        back = min(len(events), at + 2 + draw.randrange(1, DETOUR))
        inside = [e for e in range(at + 2, back) if events[e].kind in ("off", "on")]
        if not inside:
            events[back:back] = [Event("off", -1), Event("on", current)]


def _shift_change(events: list[Event], draw: random.Random) -> None:
    pairs = _pairs(events)
    if not pairs:
        return
    off, on = draw.choice(pairs)
    target = events[on]
    del events[on], events[off]
    to = off + draw.choice((-4, -3, -2, -1, 1, 2, 3, 4))
    to = min(max(to, 0), len(events))
    if not _changing(events, to):
        events[to:to] = [Event("off", -1), target]
    else:
        events[off:off] = [Event("off", -1), target]


def _without_idle(events: list[Event], first: int) -> list[Event]:
    """Leave out changes to the class in force."""
    current, off = first, -1
    out: list[Event] = []
    for event in events:
        if event.kind == "off":
            off = len(out)
        elif event.kind == "on":
            if event.who == current:
                del out[off]
                continue
            current = event.who
        out.append(event)
    return out
