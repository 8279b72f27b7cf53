"""Event-order LP: the optimum in continuous time for a fixed order of releases and completions.

Between two neighbouring events the set of jobs present, and with partition changes the partition in
force, do not change. How long each busy vector runs there with which jobs is then a linear program,
and its value is the least cost of any preemptive schedule whose events come in this order: within a
gap the pieces may be laid out one after the other in any order.

Variables: the time of every completion and change, T_j >= C_j - d_j, and minutes y >= 0 per (gap,
busy vector with jobs on its slices). A change is two events, ``off`` and ``on``, at least tau apart;
nothing runs between them and only releases may fall there. Columns y are priced: per gap the best
assignment of jobs to slices is a dynamic program over busy vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from migopt.exact._highs import new_highs
from migopt.exact.one_gpu import Floats, OneGpu

#: A piece: (vector, ((job, group), ...)), jobs in order.
Assignment = tuple[int, tuple[tuple[int, int], ...]]
#: Relative size of a negative reduced cost that counts.
PRICE_TOLERANCE = 1e-10
#: Work of a job (as a fraction) that may be missing before an order counts as impossible.
WORK_TOLERANCE = 1e-7


class Event(NamedTuple):
    """One event: a job's release or completion, or begin (``off``) or end (``on``) of a change.

    ``who`` is the job's position; for ``on`` the class of partitions that is in force from then.
    """

    kind: Literal["release", "done", "off", "on"]
    who: int


@dataclass(frozen=True)
class OrderPlan:
    """The best schedule for one order of events.

    Attributes
    ----------
    events : tuple of Event
    first : int or None
        Class of partitions in force from the start; None where changes are free.
    times : array
        Minute of each event.
    cost : float
        Cost above the instance's constant.
    pieces : tuple of tuple
        Per gap (gap e lies between events e and e + 1) its assignments and their minutes.
    in_force : tuple of (int or None)
        Per gap the class in force; None while a change goes on and where changes are free.
    """

    events: tuple[Event, ...]
    first: int | None
    times: Floats
    cost: float
    pieces: tuple[tuple[tuple[Assignment, float], ...], ...]
    in_force: tuple[int | None, ...]

    def completion(self) -> dict[int, float]:
        """Return each job's completion in minutes."""
        return {
            event.who: float(time)
            for event, time in zip(self.events, self.times, strict=True)
            if event.kind == "done"
        }


class Pricer:
    """Best assignment of jobs to the slices of one busy vector, for many moments at once."""

    def __init__(self, problem: OneGpu) -> None:
        self.problem = problem
        self.smaller, self.valid = problem.steps

    def values(self, profit: Floats) -> tuple[Floats, Any]:
        """Return the best profit per (moment, vector), and the choices that reach it.

        Parameters
        ----------
        profit : array (moments, jobs, groups)
            Profit per minute of a job on a slice; at most 0 where it must not run.
        """
        moments, jobs, _ = profit.shape
        vectors = self.smaller.shape[0]
        value = np.zeros((moments, vectors))
        choices = np.empty((jobs, moments, vectors), dtype=np.int8)
        for j in range(jobs):
            step = np.where(self.valid, value[:, self.smaller] + profit[:, j, None, :], -np.inf)
            best = step.argmax(axis=2)
            gain = np.take_along_axis(step, best[:, :, None], 2)[:, :, 0]
            better = gain > value
            choices[j] = np.where(better, best, -1)
            value = np.where(better, gain, value)
        return value, choices

    def assignment(self, choices: Any, moment: int, vector: int) -> tuple[tuple[int, int], ...]:
        """Return the (job, group) pairs of the best assignment in one vector."""
        found = []
        for j in range(choices.shape[0] - 1, -1, -1):
            k = int(choices[j, moment, vector])
            if k >= 0:
                found.append((j, k))
                vector = int(self.smaller[vector, k])
        return tuple(reversed(found))

    def vector_of(self, pairs: Iterable[tuple[int, int]]) -> int:
        """Return the busy vector of an assignment."""
        counts = [0] * self.problem.groups
        for _, k in pairs:
            counts[k] += 1
        return self.problem.vectors.number[tuple(counts)]


class EventOrder:
    """Solves event-order LPs of one problem; assignments found once are offered to the next order."""

    def __init__(self, problem: OneGpu, *, tau: float | None = None) -> None:
        self.problem = problem
        self.pricer = Pricer(problem)
        self.tau = problem.tau if tau is None else tau
        self.pool: dict[Assignment, None] = {}
        self.pool_items: list[Assignment] = []
        self.pool_vector = np.zeros(0, dtype=np.int64)
        self.pool_jobs = np.zeros((0, problem.jobs), dtype=bool)
        self.solved = 0
        # Engines judge reduced costs in absolute terms: the larger cost rates are brought near ten.
        late, power = problem.late_cost.max(initial=0.0), problem.vector_cost.max(initial=0.0)
        self.scale = 10.0 / float(max(late, power) or 1.0)
        #: Price of a job's missing work, enough for most orders; where it is not, work is sought first.
        self.penalty = 20.0 * (problem.late_cost.sum() + power) * problem.slowest * self.scale
        members = np.zeros((len(problem.classes), len(problem.vectors)), dtype=bool)
        for c, vectors in enumerate(problem.classes):
            members[c, list(vectors)] = True
        self._members = members

    def solve(
        self, events: Sequence[Event], first: int | None = None, *, cutoff: float | None = None
    ) -> OrderPlan | None:
        """Return the best schedule of this order, or None where there is none (or none below ``cutoff``).

        Parameters
        ----------
        events : sequence of Event
            Releases in order of time, each before its completion; every ``off`` is followed by its
            ``on`` with nothing but releases between.
        first : int, optional
            Class in force from the start; None where changes are free.
        """
        return _OrderProgram(self, tuple(events), first).solve(cutoff)


class _OrderProgram:
    """The LP of one order."""

    def __init__(self, parent: EventOrder, events: tuple[Event, ...], first: int | None) -> None:
        self.parent, self.problem = parent, parent.problem
        self.events, self.first = events, first
        self.gaps = len(events) - 1
        #: Factor on the cost of a busy vector: 0 while only missing work counts.
        self.price = parent.scale
        jobs = self.problem.jobs
        self.present = np.zeros((max(self.gaps, 0), jobs), dtype=bool)
        self.in_force: list[int | None] = []
        self.running: list[bool] = []
        here = np.zeros(jobs, dtype=bool)
        current, changing = first, False
        for e, event in enumerate(events[: self.gaps]):
            if event.kind == "release":
                here[event.who] = True
            elif event.kind == "done":
                here[event.who] = False
            elif event.kind == "off":
                changing = True
            else:
                current, changing = event.who, False
            self.present[e] = here
            self.in_force.append(None if changing else current)
            self.running.append(not changing)
        self.allowed = np.ones((max(self.gaps, 0), len(self.problem.vectors)), dtype=bool)
        for e, (number, runs) in enumerate(zip(self.in_force, self.running, strict=True)):
            if not runs:
                self.allowed[e] = False
            elif number is not None:
                self.allowed[e] = parent._members[number]

    def solve(self, cutoff: float | None) -> OrderPlan | None:
        if not self.problem.jobs:
            return OrderPlan(self.events, self.first, np.zeros(0), 0.0, (), ())
        self._build()
        self._add_pool()
        x = self._optimise()
        if x is None or self._missing(x) > WORK_TOLERANCE:
            x = self._seek()
        self.parent.solved += 1
        if x is None or self._missing(x) > WORK_TOLERANCE:
            return None
        return self._read(x, cutoff)

    def _optimise(self) -> Floats | None:
        """Solve with all columns that price out."""
        while True:
            self.highs.run()
            if self.highs.getModelStatus() != self._optimal:
                return None
            solution = self.highs.getSolution()
            if not self._price(np.array(solution.row_dual)):
                return np.array(solution.col_value)

    def _missing(self, x: Floats) -> float:
        return float(x[self.offset - self.problem.jobs : self.offset].max(initial=0.0))

    def _seek(self) -> Floats | None:
        """Find work for every job first, whatever it costs; then solve with none missing."""
        highs, p = self.highs, self.problem
        highs.clearSolver()
        total = self.offset + len(self.columns)
        missing = np.arange(self.offset - p.jobs, self.offset, dtype=np.int32)
        cost = np.zeros(total)
        cost[missing] = 1.0
        highs.changeColsCost(total, np.arange(total, dtype=np.int32), cost)
        self.price = 0.0
        x = self._optimise()
        self.price = self.parent.scale
        if x is None or self._missing(x) > WORK_TOLERANCE:
            return None
        total = self.offset + len(self.columns)
        cost = np.zeros(total)
        first_late = len(self.time_column)
        cost[first_late : first_late + p.jobs] = p.late_cost * self.parent.scale
        vectors = [item[0] for _, item in self.columns]
        cost[self.offset :] = p.vector_cost[vectors] * self.parent.scale
        highs.changeColsCost(total, np.arange(total, dtype=np.int32), cost)
        room = np.maximum(0.0, x[missing])
        highs.changeColsBounds(p.jobs, missing, np.zeros(p.jobs), room)
        return self._optimise()

    def _build(self) -> None:
        import highspy

        self._optimal = highspy.HighsModelStatus.kOptimal
        p, events, inf = self.problem, self.events, highspy.kHighsInf
        jobs = p.jobs
        free = [e for e, event in enumerate(events) if event.kind != "release"]
        self.time_column = {e: n for n, e in enumerate(free)}
        late0, gap0 = len(free), len(free) + jobs
        columns = len(free) + 2 * jobs
        done = {event.who: e for e, event in enumerate(events) if event.kind == "done"}
        rows: list[tuple[float, list[tuple[int, float]]]] = []
        for e in range(self.gaps):
            rows.append(self._difference(e, e + 1, 0.0))
        self.work0 = len(rows)
        rows += [(1.0, [(gap0 + j, 1.0)]) for j in range(jobs)]
        rows += [
            (-p.due[j], [(late0 + j, 1.0), (self.time_column[done[j]], -1.0)]) for j in range(jobs)
        ]
        start = 0
        for e, event in enumerate(events):
            if event.kind == "off":
                start = e
            elif event.kind == "on":
                rows.append(self._difference(start, e, self.parent.tau))
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = columns, len(rows)
        lp.col_cost_ = np.concatenate(
            [
                np.zeros(len(free)),
                p.late_cost * self.parent.scale,
                np.full(jobs, self.parent.penalty),
            ]
        )
        lp.col_lower_, lp.col_upper_ = np.zeros(columns), np.full(columns, inf)
        lp.row_lower_ = np.array([row[0] for row in rows])
        lp.row_upper_ = np.full(len(rows), inf)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        entries = [row[1] for row in rows]
        lp.a_matrix_.start_ = np.cumsum([0, *map(len, entries)])
        lp.a_matrix_.index_ = np.array([c for row in entries for c, _ in row], dtype=np.int32)
        lp.a_matrix_.value_ = np.array([v for row in entries for _, v in row])
        self.highs = new_highs(
            presolve="off", primal_feasibility_tolerance=1e-9, dual_feasibility_tolerance=1e-10
        )
        self.highs.passModel(lp)
        self.columns: list[tuple[int, Assignment]] = []
        self.known: set[tuple[int, Assignment]] = set()
        self.offset = columns

    def _difference(self, e: int, f: int, least: float) -> tuple[float, list[tuple[int, float]]]:
        """Row: time of event f minus time of event e is at least ``least``."""
        release = self.problem.release
        entries = []
        for event, sign in ((f, 1.0), (e, -1.0)):
            if self.events[event].kind == "release":
                least -= sign * float(release[self.events[event].who])
            else:
                entries.append((self.time_column[event], sign))
        return least, entries

    def _add(self, new: list[tuple[int, Assignment]]) -> None:
        speed = self.problem.speed
        cost, starts, index, value = [], [0], [], []
        for gap, (vector, pairs) in new:
            self.known.add((gap, (vector, pairs)))
            self.columns.append((gap, (vector, pairs)))
            cost.append(self.problem.vector_cost[vector] * self.price)
            index.append(gap)
            value.append(-1.0)
            for j, k in pairs:
                index.append(self.work0 + j)
                value.append(speed[j, k])
            starts.append(len(index))
        count = len(new)
        self.highs.addCols(
            count,
            np.array(cost),
            np.zeros(count),
            np.full(count, np.inf),
            len(index),
            np.array(starts[:-1], dtype=np.int32),
            np.array(index, dtype=np.int32),
            np.array(value),
        )

    def _add_pool(self) -> None:
        parent = self.parent
        if not parent.pool or not self.gaps:
            return
        if len(parent.pool_vector) != len(parent.pool):
            parent.pool_items = list(parent.pool)
            parent.pool_vector = np.array([item[0] for item in parent.pool_items])
            parent.pool_jobs = np.zeros((len(parent.pool), self.problem.jobs), dtype=bool)
            for row, (_, pairs) in enumerate(parent.pool_items):
                parent.pool_jobs[row, [j for j, _ in pairs]] = True
        absent = ~self.present
        fits = ~(absent.astype(np.uint8) @ parent.pool_jobs.T.astype(np.uint8)).astype(bool)
        fits &= self.allowed[:, parent.pool_vector]
        new = [(int(gap), parent.pool_items[row]) for gap, row in np.argwhere(fits)]
        if new:
            self._add(new)

    def _price(self, dual: Floats) -> bool:
        """Add the columns of negative reduced cost; False when there is none."""
        p = self.problem
        if not self.gaps:
            return False
        worth = dual[self.work0 : self.work0 + p.jobs, None] * p.speed
        profit = np.where(self.present[:, :, None] & (p.speed > 0), worth[None], -1.0)
        value, choices = self.parent.pricer.values(profit)
        reduced = p.vector_cost[None] * self.price - value + dual[: self.gaps, None]
        reduced[~self.allowed] = 0.0
        scale = max(1.0, float(worth.max(initial=0.0)))
        limit = -PRICE_TOLERANCE * max(scale, float(np.abs(dual[: self.gaps]).max(initial=0.0)))
        new: dict[tuple[int, Assignment], None] = {}
        for gap in np.flatnonzero(reduced.min(axis=1) < limit):
            for vector in np.argsort(reduced[gap])[:4]:
                if reduced[gap, vector] >= limit:
                    break
                pairs = self.parent.pricer.assignment(choices, int(gap), int(vector))
                item = (self.parent.pricer.vector_of(pairs), pairs)
                if (int(gap), item) not in self.known:
                    new[int(gap), item] = None
        if new:
            self._add(list(new))
        return bool(new)

    def _read(self, x: Floats, cutoff: float | None) -> OrderPlan | None:
        p = self.problem
        times = np.array(
            [
                p.release[event.who] if event.kind == "release" else x[self.time_column[e]]
                for e, event in enumerate(self.events)
            ]
        )
        cost = 0.0
        for e, event in enumerate(self.events):
            if event.kind == "done":
                cost += p.late_cost[event.who] * max(0.0, times[e] - p.due[event.who])
        pieces: list[list[tuple[Assignment, float]]] = [[] for _ in range(self.gaps)]
        for (gap, item), amount in zip(self.columns, x[self.offset :], strict=True):
            if amount > 1e-11:
                self.parent.pool[item] = None
                cost += p.vector_cost[item[0]] * amount
                pieces[gap].append((item, float(amount)))
        if cutoff is not None and cost >= cutoff:
            return None
        return OrderPlan(
            self.events,
            self.first,
            times,
            float(cost),
            tuple(map(tuple, pieces)),
            tuple(self.in_force),
        )
