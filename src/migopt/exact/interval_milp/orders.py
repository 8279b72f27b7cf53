"""From solutions to orders of events, and local search over orders: the upper side.

Every order is priced by the event-order LP, so what is found is a schedule in continuous time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from migopt.exact.event_order import Event, EventOrder, OrderPlan
from migopt.exact.one_gpu import OneGpu
from migopt.model import Schedule
from migopt.units import MS_PER_MINUTE

Order = tuple[tuple[Event, ...], int | None]


def order_of(
    problem: OneGpu,
    completion: Sequence[float],
    changes: Sequence[tuple[float, int]] = (),
    first: int | None = None,
) -> Order:
    """Return the order of events with these completions and (begin, class) of changes, in minutes."""
    timed: list[tuple[float, int, int, list[Event]]] = []
    for j in range(problem.jobs):
        timed.append((float(problem.release[j]), 1, j, [Event("release", j)]))
        moment = max(float(completion[j]), float(problem.release[j]) + problem.quickest[j])
        timed.append((moment, 0, j, [Event("done", j)]))
    for number, (moment, target) in enumerate(changes):
        timed.append((moment, 2, number, [Event("off", -1), Event("on", target)]))
    timed.sort(key=lambda item: item[:3])
    return tuple(event for item in timed for event in item[3]), first


def order_of_schedule(
    problem: OneGpu, schedule: Schedule, *, classes: bool = False
) -> Order | None:
    """Return the order of a one-GPU schedule, None when it uses partitions outside the classes.

    Where changes take no time classes are left out, unless ``classes`` wants them all the same.
    """
    done = schedule.completions_ms()
    if any(job.id not in done for job in problem.instance.jobs):
        return None
    completion = [done[job.id] / MS_PER_MINUTE for job in problem.instance.jobs]
    if problem.tau == 0 and len(problem.classes) > 1 and not classes:
        return order_of(problem, completion)
    first = _class_of(problem, schedule, -1)
    changes = [
        (change.start_ms / MS_PER_MINUTE, _class_of(problem, schedule, n))
        for n, change in enumerate(schedule.reconfigurations)
    ]
    if first is None or any(target is None for _, target in changes):
        return None
    return order_of(problem, completion, [(t, c) for t, c in changes if c is not None], first)


def _class_of(problem: OneGpu, schedule: Schedule, change: int) -> int | None:
    partition = schedule.initial[0] if change < 0 else schedule.reconfigurations[change].new
    if partition.is_off:
        return 0 if problem.vectors.off_vector is not None else None
    if problem.vectors.off_vector is not None:
        return None
    counts = [0] * problem.groups
    for name in partition.profiles:
        if name not in problem.vectors.group_of:
            return None
        counts[problem.vectors.group_of[name]] += 1
    full = problem.vectors.number.get(tuple(counts))
    for c, members in enumerate(problem.classes):
        if full is not None and full in members:
            return c
    return None


def is_valid(events: Sequence[Event]) -> bool:
    """Return whether an order makes sense: release before completion, nothing done within a change."""
    released: set[int] = set()
    changing = False
    for event in events:
        if event.kind == "release":
            released.add(event.who)
        elif event.kind == "done":
            if changing or event.who not in released:
                return False
        elif event.kind == "off":
            if changing:
                return False
            changing = True
        else:
            if not changing:
                return False
            changing = False
    return not changing


def swaps(events: tuple[Event, ...]) -> Iterator[tuple[Event, ...]]:
    """Yield every valid exchange of neighbours; a completion may also jump over a whole change."""
    for e in range(len(events) - 1):
        one, two = events[e], events[e + 1]
        if one.kind == two.kind == "release":
            continue
        changed = (*events[:e], two, one, *events[e + 2 :])
        if is_valid(changed):
            yield changed
    for e in range(len(events) - 2):
        for turned in (
            (events[e + 1], events[e + 2], events[e]),
            (events[e + 2], events[e], events[e + 1]),
        ):
            kinds = [event.kind for event in turned]
            if "off" in kinds and "on" in kinds and "done" in kinds:
                changed = (*events[:e], *turned, *events[e + 3 :])
                if is_valid(changed):
                    yield changed


def change_moves(
    problem: OneGpu, order: Order, most: int | None, classes: Sequence[int]
) -> Iterator[Order]:
    """Yield orders with a change left out, moved to another of ``classes``, or added."""
    events, first = order
    if first is None:
        return
    ons = [e for e, event in enumerate(events) if event.kind == "on"]
    for on in ons:
        off = max(e for e in range(on) if events[e].kind == "off")
        yield tuple(x for e, x in enumerate(events) if e not in (on, off)), first
    for c in classes:
        if c != first:
            yield events, c
        for on in ons:
            if events[on].who != c:
                yield (*events[:on], Event("on", c), *events[on + 1 :]), first
    if most is not None and len(ons) >= most:
        return
    for e, current in _standing(order):
        here, back = (Event("off", -1), Event("off", -1)), Event("on", current)
        for c in classes:
            if c == current:
                continue
            inserted = (*events[: e + 1], here[0], Event("on", c), *events[e + 1 :])
            yield inserted, first
            if most is not None and len(ons) + 2 > most:
                continue
            for f in range(e + 1, min(e + 5, len(events) - 1)):
                if events[f].kind in ("off", "on"):
                    break
                detour = (*inserted[: f + 3], here[1], back, *inserted[f + 3 :])
                yield detour, first


def _standing(order: Order) -> list[tuple[int, int]]:
    """Return (event, class in force after it) for all but the last event, changes left out."""
    events, first = order
    assert first is not None
    changing, current, found = False, first, []
    for e, event in enumerate(events[:-1]):
        if event.kind == "off":
            changing = True
        elif event.kind == "on":
            changing, current = False, event.who
        if not changing:
            found.append((e, current))
    return found


def follow(problem: OneGpu, plan: OrderPlan, toll: float) -> Order:
    """Return the order of a plan with free changes, with the partitions that serve it best.

    A dynamic program over (gap, class): minutes of the plan's pieces that the class does not hold,
    plus ``toll`` minutes per change.
    """
    gaps, classes = len(plan.pieces), len(problem.classes)
    member = np.zeros((classes, len(problem.vectors)), dtype=bool)
    for c, vectors in enumerate(problem.classes):
        member[c, list(vectors)] = True
    miss = np.zeros((gaps, classes))
    for gap, pieces in enumerate(plan.pieces):
        for (vector, _), minutes in pieces:
            miss[gap] += np.where(member[:, vector], 0.0, minutes)
    total, came = np.zeros(classes), np.zeros((gaps, classes), dtype=np.int64)
    for gap in range(gaps):
        cheapest = int(total.argmin())
        stay = total <= total[cheapest] + toll
        came[gap] = np.where(stay, np.arange(classes), cheapest)
        total = np.where(stay, total, total[cheapest] + toll) + miss[gap]
    chosen = [int(total.argmin())] if gaps else [0]
    for gap in range(gaps - 1, 0, -1):
        chosen.append(int(came[gap, chosen[-1]]))
    chosen.reverse()
    events: list[Event] = []
    for gap, event in enumerate(plan.events):
        events.append(event)
        if 0 < gap < gaps and chosen[gap] != chosen[gap - 1]:
            events += [Event("off", -1), Event("on", chosen[gap])]
    return tuple(events), chosen[0]


def useful_classes(problem: OneGpu, plan: OrderPlan, most: int) -> tuple[int, ...]:
    """Return the classes that hold most of the minutes of a plan with free changes, best first."""
    held = np.zeros(len(problem.classes))
    for pieces in plan.pieces:
        for (vector, pairs), minutes in pieces:
            for c, members in enumerate(problem.classes):
                if vector in members:
                    held[c] += minutes * len(pairs) / len(members)
    return tuple(int(c) for c in np.argsort(-held)[:most] if held[c] > 0)


class Improver:
    """Keeps the best plan of one problem and improves it by exchanges of events."""

    def __init__(
        self,
        solver: EventOrder,
        *,
        max_changes: int | None,
        seed: int = 0,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.solver, self.problem = solver, solver.problem
        self.should_stop = should_stop
        self.max_changes = max_changes
        self.best: OrderPlan | None = None
        self.seen: set[Order] = set()
        self.draw = random.Random(seed)
        #: Classes of partitions that changes may lead to.
        self.classes: tuple[int, ...] = tuple(range(len(self.problem.classes)))

    def _over(self, deadline: float) -> bool:
        return time.perf_counter() > deadline or (
            self.should_stop is not None and self.should_stop()
        )

    def offer(self, order: Order | None) -> OrderPlan | None:
        """Price an order not seen yet; keep it when it is the best."""
        if order is None or order in self.seen:
            return None
        self.seen.add(order)
        changes = sum(event.kind == "on" for event in order[0])
        if self.max_changes is not None and changes > self.max_changes:
            return None
        plan = self.solver.solve(*order)
        if plan is not None and (self.best is None or plan.cost < self.best.cost * (1 - 1e-12)):
            self.best = plan
        return plan

    def shake(self, deadline: float) -> None:
        """Random exchanges on the best plan, each followed by improvement, until ``deadline``."""
        idle = 0
        while self.best is not None and idle < 150 and not self._over(deadline):
            order: Order = (self.best.events, self.best.first)
            for _ in range(self.draw.randint(2, 4)):
                near: list[Order] = [(events, order[1]) for events in swaps(order[0])]
                far = list(change_moves(self.problem, order, self.max_changes, self.classes))
                pool = far if far and self.draw.random() < 0.4 else near
                if pool:
                    order = self.draw.choice(pool)
            before = self.best
            plan = self.offer(order)
            idle += 1
            if plan is not None and plan.cost < before.cost * 1.5:
                self.improve(deadline, plan, swaps_only=True)
            if self.best is not before:
                idle = 0
                self.improve(deadline)

    def improve(
        self, deadline: float, plan: OrderPlan | None = None, *, swaps_only: bool = False
    ) -> None:
        """Exchange events of ``plan`` (the best by default) while it helps and time is left."""
        current = plan or self.best
        while current is not None:
            order: Order = (current.events, current.first)
            near: list[Order] = [(events, current.first) for events in swaps(current.events)]
            self.draw.shuffle(near)
            better = self._best_of(near, current, 1, deadline)
            if better is None and not swaps_only:
                far = list(change_moves(self.problem, order, self.max_changes, self.classes))
                self.draw.shuffle(far)
                better = self._best_of(far, current, 40, deadline)
            current = better

    def _best_of(
        self, moves: list[Order], current: OrderPlan, batch: int, deadline: float
    ) -> OrderPlan | None:
        """Return the best of the first ``batch`` moves that hold an improvement, None if none does."""
        better: OrderPlan | None = None
        for number, candidate in enumerate(moves):
            if better is not None and number % batch == 0:
                break
            if self._over(deadline):
                break
            found = self.offer(candidate)
            least = (better or current).cost
            if found is not None and found.cost < least * (1 - 1e-10):
                better = found
        return better
