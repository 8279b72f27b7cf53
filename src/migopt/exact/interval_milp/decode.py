"""From a continuous-time plan to a schedule in whole milliseconds.

The pieces of a plan are laid out one after the other; boundaries are rounded up, and a job's last
piece lasts until its work is done. By how much completions and busy time moved is computed and
reported, so that the difference between the plan's cost and the schedule's is accounted for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from migopt.exact.event_order import Assignment, EventOrder, OrderPlan
from migopt.exact.one_gpu import OneGpu
from migopt.metrics import measure
from migopt.model import (
    OFF_PARTITION,
    Instance,
    Partition,
    Placement,
    Reconfiguration,
    Schedule,
    Segment,
)
from migopt.units import MS_PER_MINUTE, ceil_div

#: Milliseconds that due dates are moved forward by when a plan is rounded.
MARGINS_MS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class TickPlan:
    """A schedule in ticks and how far it is from the plan.

    Attributes
    ----------
    schedule : Schedule
    moved_ms : Mapping
        Milliseconds by which each job is later after its due date than planned, by job id.
    allowance : float
        Most by which the schedule may cost more than the plan: moved milliseconds times the cost of
        tardiness, plus the energy of the milliseconds that busy vectors last longer.
    """

    schedule: Schedule
    moved_ms: Mapping[int, float]
    allowance: float


def to_ticks(problem: OneGpu, plan: OrderPlan) -> TickPlan:
    """Return the cheapest of several roundings of a plan.

    Boundaries are rounded up, or the length of every piece; and since a completion exactly at its due
    date would be late by the rounding, the order is also solved with due dates a few milliseconds
    earlier, where that costs next to nothing.
    """
    replays = [_Replay(problem, plan, absolute).run() for absolute in (True, False)]
    for margin in MARGINS_MS:
        earlier = replace(problem, due=problem.due - margin / MS_PER_MINUTE)
        strict = EventOrder(earlier, tau=problem.tau).solve(plan.events, plan.first)
        if strict is None:
            continue
        for absolute in (True, False):
            replays.append(_Replay(problem, strict, absolute).run())
    costs = [measure(problem.instance, item.schedule).cost_exact for item in replays]
    best = replays[costs.index(min(costs))]
    return compared(problem, plan, best.schedule)


def roundings(problem: OneGpu, plan: OrderPlan) -> list[Schedule]:
    """Return the two plain roundings of a plan: boundaries up, and the length of every piece up."""
    return [_Replay(problem, plan, absolute).schedule() for absolute in (True, False)]


def compared(problem: OneGpu, plan: OrderPlan, schedule: Schedule) -> TickPlan:
    """Account for the difference between a plan and its schedule in ticks."""
    planned, done = plan.completion(), schedule.completions_ms()
    moved = {}
    late = 0.0
    for j, job in enumerate(problem.instance.jobs):
        before = max(0.0, planned[j] - problem.due[j]) * MS_PER_MINUTE
        after = max(0, done[job.id] - job.due_ms)
        moved[job.id] = max(0.0, after - before)
        late += problem.late_cost[j] * moved[job.id] / MS_PER_MINUTE
    counted = sum(
        problem.vector_cost[vector] * minutes
        for pieces in plan.pieces
        for (vector, _), minutes in pieces
    )
    energy = _energy(problem, schedule)
    allowance = late + max(0.0, energy - counted) + 1e-9 * max(plan.cost, 1e-12)
    return TickPlan(schedule, moved, float(allowance))


def _energy(problem: OneGpu, schedule: Schedule) -> float:
    """Return the cost of energy above idle, from the busy vectors of the segments."""
    group_of, number = problem.vectors.group_of, problem.vectors.number
    moves: dict[int, list[tuple[int, int]]] = {}
    for s in schedule.segments:
        group = group_of[s.placement.profile]
        moves.setdefault(s.start_ms, []).append((group, 1))
        moves.setdefault(s.end_ms, []).append((group, -1))
    counts, before, total = [0] * problem.groups, 0, 0.0
    for moment in sorted(moves):
        total += (moment - before) * problem.vector_cost[number[tuple(counts)]]
        for group, change in moves[moment]:
            counts[group] += change
        before = moment
    return float(total) / MS_PER_MINUTE


class _Replay:
    def __init__(self, problem: OneGpu, plan: OrderPlan, absolute: bool) -> None:
        self.problem, self.plan, self.absolute = problem, plan, absolute
        self.instance: Instance = problem.instance
        self.left = [job.work for job in self.instance.jobs]
        self.places: dict[int, Placement] = {}
        self.segments: list[Segment] = []
        self.changes: list[Reconfiguration] = []

    def run(self) -> TickPlan:
        return compared(self.problem, self.plan, self.schedule())

    def schedule(self) -> Schedule:
        plan = self.plan
        last = {}
        for gap, pieces in enumerate(plan.pieces):
            for (_, pairs), _ in pieces:
                for j, _ in pairs:
                    last[j] = gap
        started = plan.first if plan.first is not None else self._first_class()
        self.current = started
        cursor = 0
        for gap, pieces in enumerate(plan.pieces):
            event = plan.events[gap]
            moment = float(plan.times[gap])
            if event.kind == "off":
                if not any(plan.pieces[gap:]):
                    break  # nothing runs after this change
                target = next(x.who for x in plan.events[gap:] if x.kind == "on")
                start = max(cursor, _up(moment))
                cursor = self._change(target, start)
                continue
            if not pieces:
                continue
            cursor = max(cursor, _up(moment))
            ordered = self._arrange(list(pieces))
            for number, ((vector, pairs), minutes) in enumerate(ordered):
                later = {j for item in ordered[number + 1 :] for j, _ in item[0][1]}
                ending = {j for j, _ in pairs if last[j] == gap and j not in later}
                moment += minutes
                cursor = self._piece(vector, pairs, cursor, moment, minutes, ending)
        return Schedule(
            (self._partition(started),), tuple(_joined(self.segments)), tuple(self.changes)
        )

    def _partition(self, number: int) -> Partition:
        if self.problem.vectors.off_vector is not None:
            return OFF_PARTITION
        return self.instance.catalogue(0)[self.problem.class_numbers[number]]

    def _first_class(self) -> int:
        for pieces in self.plan.pieces:
            for (vector, _), _ in pieces:
                return self._class_for(vector, 0)
        return 0

    def _class_for(self, vector: int, current: int) -> int:
        if vector in self.problem.classes[current]:
            return current
        return next(c for c, members in enumerate(self.problem.classes) if vector in members)

    def _change(self, target: int, start: int) -> int:
        end = start + self.instance.repartition.tau_ms
        old, new = self._partition(self.current), self._partition(target)
        if old != new:
            self.changes.append(Reconfiguration(start, end, 0, old, new))
        self.current, self.places = target, {}
        return end

    def _arrange(self, pieces: list[tuple[Assignment, float]]) -> list[tuple[Assignment, float]]:
        """Order the pieces of a gap so that neighbours share as many (job, group) as they can."""
        before: set[tuple[int, int]] = set()
        names = self.problem.vectors.group_of
        for j, place in self.places.items():
            before.add((j, names[place.profile]))
        ordered = []
        while pieces:
            best = max(pieces, key=lambda item: len(before & set(item[0][1])))
            pieces.remove(best)
            ordered.append(best)
            before = set(best[0][1])
        return ordered

    def _piece(
        self,
        vector: int,
        pairs: tuple[tuple[int, int], ...],
        cursor: int,
        moment: float,
        minutes: float,
        ending: set[int],
    ) -> int:
        """Run one piece from ``cursor`` on; return when it ends."""
        alive = [(j, k) for j, k in pairs if self.left[j] > 0]
        if not alive:
            return cursor
        if self.plan.first is None and len(self.problem.classes) > 1:
            target = self._class_for(vector, self.current)
            if target != self.current:
                taken = self.changes[-1].start_ms if self.changes else -1
                self._change(target, max(cursor, taken + 1))
                cursor = max(cursor, taken + 1)
        end = max(cursor, _up(moment)) if self.absolute else cursor + _up(minutes)
        names = self.problem.vectors.groups
        rates = {}
        model = self.instance.gpus[0]
        for j, k in alive:
            rates[j] = self.instance.rate(self.instance.jobs[j], model, names[k][0])
            if j in ending:
                end = max(end, cursor + ceil_div(self.left[j], rates[j]))
        if end == cursor:
            return cursor
        self._place(alive)
        for j, _ in alive:
            stop = min(end, cursor + ceil_div(self.left[j], rates[j]))
            job = self.instance.jobs[j]
            self.segments.append(Segment(cursor, stop, 0, self.places[j], job.id))
            self.left[j] -= (stop - cursor) * rates[j]
        return end

    def _place(self, alive: list[tuple[int, int]]) -> None:
        """Give every job a placement of its group, the one it has if it can stay."""
        names, group_of = self.problem.vectors.groups, self.problem.vectors.group_of
        kept = {
            j: self.places[j]
            for j, k in alive
            if j in self.places and group_of[self.places[j].profile] == k
        }
        free = [place for place in self._partition(self.current) if place not in kept.values()]
        for j, k in alive:
            if j not in kept:
                choice = next(place for place in free if place.profile in names[k])
                free.remove(choice)
                kept[j] = choice
        self.places = kept


def _up(minutes: float) -> int:
    """Milliseconds, rounded up; a float error above a whole millisecond does not count."""
    return math.ceil(minutes * MS_PER_MINUTE - 1e-5)


def _joined(segments: list[Segment]) -> list[Segment]:
    """Join segments of one job that follow each other on one placement."""
    joined: list[Segment] = []
    last: dict[int, int] = {}
    for segment in segments:
        at = last.get(segment.job)
        if at is not None:
            before = joined[at]
            if (before.end_ms, before.placement) == (segment.start_ms, segment.placement):
                joined[at] = Segment(
                    before.start_ms, segment.end_ms, 0, segment.placement, segment.job
                )
                continue
        last[segment.job] = len(joined)
        joined.append(segment)
    return joined
