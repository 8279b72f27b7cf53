"""The event-order LP of a day, with columns from the compiled kernel."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from migopt.bounds.kernel import assigned_groups, fill, make_tables
from migopt.compiled import compiled
from migopt.exact._highs import new_highs
from migopt.exact.event_order import Assignment, Event, OrderPlan
from migopt.exact.one_gpu import Floats, OneGpu

#: Relative size of a negative reduced cost that counts, and of work that may be missing.
PRICE_TOLERANCE = 1e-9
WORK_TOLERANCE = 1e-7


class DayOrder:
    """Solves event-order LPs of one day; the pieces of the last plan are offered to the next order.

    Statement, variables and result are those of ``migopt.exact.event_order``: the least cost over all
    schedules whose events come in the given order. Only jobs present in a gap are looked at there, so
    that a day of 500 jobs (1,000 gaps) is priced in milliseconds.
    """

    def __init__(self, problem: OneGpu, *, work: Floats | None = None) -> None:
        self.problem = problem
        #: Work to do per job, as a fraction of the job.
        self.work = np.ones(problem.jobs) if work is None else work
        self.tables = make_tables(problem.vectors)
        self.last: OrderPlan | None = None
        self.members = np.zeros((len(problem.classes), len(problem.vectors)), dtype=bool)
        for c, vectors in enumerate(problem.classes):
            self.members[c, list(vectors)] = True
        late, power = problem.late_cost.max(initial=0.0), problem.vector_cost.max(initial=0.0)
        # Engines judge reduced costs in absolute terms: the larger cost rates are brought near ten.
        self.scale = 10.0 / float(max(late, power) or 1.0)
        self.penalty = 50.0 * (problem.late_cost.sum() + power) * problem.slowest * self.scale

    def solve(
        self,
        events: Sequence[Event],
        first: int | None = None,
        *,
        deadline: float = np.inf,
        latest: float = np.inf,
    ) -> OrderPlan | None:
        """Return the best schedule of this order; None if it has none or time is over.

        ``latest`` is the minute by which the last event has to happen.
        """
        plan = _Program(self, tuple(events), first, latest).solve(deadline)
        if plan is not None:
            self.last = plan
        return plan


class _Program:
    """The LP of one order: columns are times, tardiness, missing work, then pieces."""

    def __init__(
        self,
        parent: DayOrder,
        events: tuple[Event, ...],
        first: int | None,
        latest: float = np.inf,
    ) -> None:
        self.parent, self.problem = parent, parent.problem
        self.latest = latest
        self.events, self.first = events, first
        self.gaps = len(events) - 1
        p = self.problem
        self.begin, self.end = np.zeros(p.jobs, np.int64), np.zeros(p.jobs, np.int64)
        self.in_force: list[int | None] = []
        self.allowed = np.ones((self.gaps, len(p.vectors)), dtype=bool)
        current, changing = first, False
        for e, event in enumerate(events):
            if event.kind == "release":
                self.begin[event.who] = e
            elif event.kind == "done":
                self.end[event.who] = e
            else:
                changing = event.kind == "off"
                current = current if changing else event.who
            if e < self.gaps:
                self.in_force.append(None if changing else current)
                if changing:
                    self.allowed[e] = False
                elif current is not None:
                    self.allowed[e] = parent.members[current]
        spans = [np.arange(a, b) for a, b in zip(self.begin, self.end, strict=True)]
        where = np.concatenate(spans)
        owner = np.repeat(np.arange(p.jobs), self.end - self.begin)
        order = np.argsort(where, kind="stable")
        self.present = owner[order].astype(np.int64)
        self.starts = np.searchsorted(where[order], np.arange(self.gaps + 1)).astype(np.int64)

    def solve(self, deadline: float) -> OrderPlan | None:
        import highspy

        self._build()
        self._offer_last()
        while True:
            left = deadline - time.perf_counter()
            if left <= 0:
                return None
            if left < 1e6:
                self.highs.setOptionValue("time_limit", self.highs.getRunTime() + left)
            self.highs.run()
            if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
            solution = self.highs.getSolution()
            if not self._price(np.array(solution.row_dual)):
                return self._read(np.array(solution.col_value))

    def _build(self) -> None:
        import highspy

        p, events = self.problem, self.events
        free = [e for e, event in enumerate(events) if event.kind != "release"]
        self.time_column = {e: n for n, e in enumerate(free)}
        late0 = len(free)
        self.missing0 = late0 + p.jobs
        self.offset = columns = late0 + 2 * p.jobs
        rows = [self._difference(e, e + 1, 0.0) for e in range(self.gaps)]
        self.work0 = len(rows)
        work = self.parent.work
        rows += [(float(work[j]), [(self.missing0 + j, 1.0)]) for j in range(p.jobs)]
        for j in range(p.jobs):
            done = self.time_column[int(self.end[j])]
            rows.append((-float(p.due[j]), [(late0 + j, 1.0), (done, -1.0)]))
        start = 0
        for e, event in enumerate(events):
            if event.kind == "off":
                start = e
            elif event.kind == "on":
                rows.append(self._difference(start, e, p.tau))
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = columns, len(rows)
        costs = [np.zeros(late0), p.late_cost * self.parent.scale, self.parent.penalty]
        lp.col_cost_ = np.concatenate(costs)
        lp.col_lower_, lp.col_upper_ = np.zeros(columns), np.full(columns, np.inf)
        # The last of the events that are free to move is the last to happen.
        upper = np.full(columns, np.inf)
        upper[:late0][-1:] = self.latest
        lp.col_upper_ = upper
        lp.row_lower_ = np.array([row[0] for row in rows])
        lp.row_upper_ = np.full(len(rows), np.inf)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        entries = [row[1] for row in rows]
        lp.a_matrix_.start_ = np.cumsum([0, *map(len, entries)])
        lp.a_matrix_.index_ = np.array([c for row in entries for c, _ in row], dtype=np.int32)
        lp.a_matrix_.value_ = np.array([v for row in entries for _, v in row])
        self.highs = new_highs(presolve="off")
        self.highs.passModel(lp)
        self.columns: list[tuple[int, Assignment]] = []
        self.known: set[tuple[int, Assignment]] = set()

    def _difference(self, e: int, f: int, least: float) -> tuple[float, list[tuple[int, float]]]:
        """Row: time of event f minus time of event e is at least ``least``."""
        entries = []
        for event, sign in ((f, 1.0), (e, -1.0)):
            if self.events[event].kind == "release":
                least -= sign * float(self.problem.release[self.events[event].who])
            else:
                entries.append((self.time_column[event], sign))
        return least, entries

    def _offer_last(self) -> None:
        """Offer the assignments of the last plan around the gaps where they ran."""
        if self.parent.last is None:
            return
        new: dict[tuple[int, Assignment], None] = {}
        at = {event: e for e, event in enumerate(self.events) if event.kind in ("release", "done")}
        for gap, pieces in enumerate(self.parent.last.pieces):
            for item, _ in pieces:
                jobs = [j for j, _ in item[1]]
                low, high = int(max(self.begin[jobs])), int(min(self.end[jobs]))
                here = at.get(self.parent.last.events[gap], (low + high) // 2)
                for g in range(max(low, here - 6), min(high, here + 7)):
                    if self.allowed[g, item[0]]:
                        new[g, item] = None
        if new:
            self._add(list(new))

    def _add(self, new: list[tuple[int, Assignment]]) -> None:
        speed = self.problem.speed
        cost, starts, index, value = [], [0], [], []
        for gap, (vector, pairs) in new:
            self.known.add((gap, (vector, pairs)))
            self.columns.append((gap, (vector, pairs)))
            cost.append(self.problem.vector_cost[vector] * self.parent.scale)
            index.append(gap)
            value.append(-1.0)
            for j, k in pairs:
                index.append(self.work0 + j)
                value.append(speed[j, k])
            starts.append(len(index))
        self.highs.addCols(
            len(new),
            np.array(cost),
            np.zeros(len(new)),
            np.full(len(new), np.inf),
            len(index),
            np.array(starts[:-1], dtype=np.int32),
            np.array(index, dtype=np.int32),
            np.array(value),
        )

    def _price(self, dual: Floats) -> bool:
        """Add per gap the column of least reduced cost, if negative; False when there is none."""
        p = self.problem
        worth = np.maximum(dual[self.work0 : self.work0 + p.jobs, None] * p.speed, 0.0)
        size = 1 + int(p.counts.sum(axis=1).max())
        out = np.full((self.gaps, size), -1, np.int64)
        groups = np.full((self.gaps, size), -1, np.int64)
        gap_dual = np.ascontiguousarray(dual[: self.gaps])
        scale = max(1.0, float(worth.max(initial=0.0)), float(np.abs(gap_dual).max(initial=0.0)))
        _price_gaps(
            self.starts,
            self.present,
            np.ascontiguousarray(worth),
            self.parent.tables,
            p.vector_cost * self.parent.scale,
            self.allowed,
            gap_dual,
            PRICE_TOLERANCE * scale,
            out,
            groups,
        )
        new = []
        for gap in np.flatnonzero(out[:, 0] > 0).tolist():
            jobs = out[gap, 1:]
            pairs = sorted(
                (int(j), int(k)) for j, k in zip(jobs, groups[gap, 1:], strict=True) if j >= 0
            )
            item = (int(out[gap, 0]), tuple(pairs))
            if (gap, item) not in self.known:
                new.append((gap, item))
        if new:
            self._add(new)
        return bool(new)

    def _read(self, x: Floats) -> OrderPlan | None:
        p = self.problem
        if x[self.missing0 : self.offset].max(initial=0.0) > WORK_TOLERANCE:
            return None
        times = np.array(
            [
                p.release[event.who] if event.kind == "release" else x[self.time_column[e]]
                for e, event in enumerate(self.events)
            ]
        )
        cost = float((p.late_cost * np.maximum(0.0, times[self.end] - p.due)).sum())
        pieces: list[list[tuple[Assignment, float]]] = [[] for _ in range(self.gaps)]
        for (gap, item), amount in zip(self.columns, x[self.offset :], strict=True):
            if amount > 1e-11:
                cost += float(p.vector_cost[item[0]]) * amount
                pieces[gap].append((item, float(amount)))
        return OrderPlan(
            self.events, self.first, times, cost, tuple(map(tuple, pieces)), tuple(self.in_force)
        )


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
