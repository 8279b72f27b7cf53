"""The day LP over the jobs that are there, by column generation: what the receding horizon solves.

A column is an interval, a busy vector and an assignment of jobs to its slices, in minutes; rows are the
work left of each job and the time of each interval, as in ``exact.lp_bound`` (jobs may be split over
slices and time; a minute of a job after its due date costs what is late of the fraction done). Partitions
and tau are left out: every vector of every partition is allowed at once. Patterns that a solution used are
kept for the next one, with the jobs gone taken out, so few rounds of pricing are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from migopt.bounds.kernel import assigned_groups, fill
from migopt.compiled import compiled
from migopt.exact._highs import new_highs
from migopt.schedulers.joint.decide import Floats
from migopt.schedulers.joint.view import View

#: A pattern: (job, group) for every job that runs, in order of job.
Pattern = tuple[tuple[int, int], ...]
#: Relative reduced cost below which a column is worth adding; most rounds of pricing.
WORTH, ROUNDS = 1e-4, 40
#: Points of the grid besides due dates: minutes from now, then halves of the rest.
NEAR = (1.0, 3.0, 8.0)
MOST_DUES = 12
#: Minutes by which two points of the grid differ; laxity within which a job's lateness orders the plan.
APART, PRESSING = 0.05, 0.5
#: What a minute of a job before its release costs: no pattern pays it.
NOT_YET = 1e12


@dataclass
class Answer:
    """A solved relaxation.

    Attributes
    ----------
    prices : array (jobs, groups)
        Worth of a minute of each present job per group in the first interval, per minute.
    rounds, columns : int
    """

    prices: Floats
    rounds: int
    columns: int


@compiled
def price_intervals(
    duals: Any,
    left_over: Any,
    late: Any,
    speed: Any,
    extra: Any,
    cost: Any,
    tables: Any,
    prices: Any,
    choice: Any,
    value: Any,
    rows: Any,
    worth: float,
) -> int:
    """Write the best pattern of every interval whose reduced cost is below ``-worth``; return how many.

    Rows of ``rows``: interval, vector, then the group of each job, -1 for none.
    """
    intervals, jobs = late.shape
    found = 0
    for i in range(intervals):
        for q in range(jobs):
            gain = duals[q] - late[i, q]
            for k in range(speed.shape[1]):
                prices[q, k] = gain * speed[q, k]
        fill(prices, jobs, tables, value, choice)
        best, most = 0, 0.0
        for b in range(1, value.size):
            gain = value[b] - cost[b] * extra[i]
            if gain > most:
                best, most = b, gain
        if best > 0 and most > left_over[i] + worth:
            rows[found, 0], rows[found, 1] = i, best
            assigned_groups(choice, jobs, best, tables, rows[found, 2:])
            found += 1
    return found


class Relaxation:
    """Solves one relaxation after the other, keeping patterns.

    Parameters
    ----------
    view : View
        Of the run's instance.
    reserve : float
        Share of every interval but the first that is kept free for jobs still to come.
    haste : float
        How much dearer energy becomes per minute from now on, as a share.
    margin : float
        Share of a job's laxity that is kept for jobs still to come.
    """

    def __init__(self, view: View, reserve: float, haste: float, margin: float) -> None:
        self.view, self.reserve = view, reserve
        self.haste, self.margin = haste, margin
        self.known: dict[Pattern, int] = {}

    def solve(self, now: float, who: Any, rest: Floats) -> Answer:
        """Return the plan of the jobs ``who`` from minute ``now`` on; some may be announced for later."""
        view, count = self.view, len(who)
        jobs = view.jobs
        quick, beta = jobs.quick[who], jobs.late[who]
        release = np.maximum(jobs.release[who], now)
        lax = np.maximum(jobs.due[who] - release - rest * quick, 0.0)
        due = jobs.due[who] - self.margin * lax
        grid = self._grid(now, who, rest, due)
        begin, length = grid[:-1], np.diff(grid)
        late = np.maximum(begin[:, None] - due, 0.0) + rest * quick / 2
        # Of what is left, not of the whole job: what is done cannot end late any more.
        late = np.where(begin[:, None] >= due - APART, beta * late / rest, 0.0)
        late = np.where(begin[:, None] < release - APART, NOT_YET, late)
        speed = np.ascontiguousarray(jobs.speed[who])
        extra = 1.0 + self.haste * (begin - now)
        full = float(view.gpu.cost.max())
        beyond = beta * (np.maximum(grid[-1] - due, 0.0) + quick) / rest + 4.0 * full * quick
        lp = _Master(self, count, length, self.reserve, rest, beyond, full)
        lp.add_known(who, speed, late, extra, self._usable(who))
        rows = np.full((len(length), 2 + count), -1, np.int64)
        prices = np.zeros((count, speed.shape[1]))
        choice = np.zeros((count, len(view.gpu.cost)), np.int8)
        value = view.scratch.other
        rounds = 0
        while True:
            duals, spare = lp.solve()
            rounds += 1
            found = price_intervals(
                duals,
                spare,
                late,
                speed,
                extra,
                view.gpu.cost,
                view.gpu.tables,
                prices,
                choice,
                value,
                rows,
                WORTH * full,
            )
            if not found or rounds >= ROUNDS or not lp.add_rows(rows[:found], speed, late, extra):
                break
        worth = np.maximum(duals - late[0], 0.0)[:, None] * speed
        self._keep(lp.used(who))
        return Answer(worth, rounds, len(lp.cost))

    def _grid(self, now: float, who: Any, rest: Floats, due: Floats) -> Floats:
        jobs = self.view.jobs
        work = float((rest * jobs.work[who]).sum())
        later = np.unique(due[due > now + APART])
        if len(later) > MOST_DUES:
            later = later[np.unique(np.linspace(0, len(later) - 1, MOST_DUES).astype(int))]
        last = float(due.max(initial=now))
        end = max(now, last) + 2.0 * work / (1.0 - self.reserve) + 1.0
        points = [now + near for near in NEAR if now + near < end]
        points += [now + (end - now) / 2, now + 3 * (end - now) / 4]
        announced = jobs.release[who][jobs.release[who] > now + APART]
        grid = np.unique(np.round(np.concatenate([[now, end], later, points, announced]), 6))
        keep = np.concatenate([[True], np.diff(grid) > APART])
        return np.asarray(grid[keep])

    def _usable(self, who: Any) -> list[Pattern]:
        """Return the kept patterns without the jobs that are gone."""
        present = set(who.tolist())
        cut = (tuple(pair for pair in pattern if pair[0] in present) for pattern in self.known)
        return [pattern for pattern in dict.fromkeys(cut) if pattern]

    def _keep(self, patterns: list[Pattern]) -> None:
        """Keep the patterns of this solution, and those of the last few."""
        for pattern in list(self.known):
            self.known[pattern] -= 1
            if self.known[pattern] <= 0:
                del self.known[pattern]
        for pattern in patterns:
            self.known[pattern] = 4


class _Master:
    """The restricted LP: columns in one engine that goes on from its last basis."""

    def __init__(
        self,
        owner: Relaxation,
        jobs: int,
        length: Floats,
        reserve: float,
        rest: Floats,
        beyond: Floats,
        full: float,
    ) -> None:
        import highspy

        self.owner, self.jobs, self.intervals = owner, jobs, len(length)
        self.scale = 1.0 / max(full, 1e-300)
        self.cost: list[float] = []
        self.what: list[tuple[int, Any]] = []
        self.seen: set[tuple[int, bytes]] = set()
        share = np.full(self.intervals, 1.0 - reserve)
        share[0] = 1.0
        rows = jobs + self.intervals
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = jobs, rows
        lp.col_cost_ = beyond * self.scale
        lp.col_lower_, lp.col_upper_ = np.zeros(jobs), np.full(jobs, np.inf)
        lp.row_lower_ = np.concatenate([rest, np.full(self.intervals, -np.inf)])
        lp.row_upper_ = np.concatenate([np.full(jobs, np.inf), length * share])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.arange(jobs + 1, dtype=np.int32)
        lp.a_matrix_.index_ = np.arange(jobs, dtype=np.int32)
        lp.a_matrix_.value_ = np.ones(jobs)
        self.highs = new_highs(presolve="off")
        self.highs.passModel(lp)

    def add_known(
        self, who: Any, speed: Floats, late: Floats, extra: Floats, known: list[Pattern]
    ) -> None:
        """Add kept patterns to every interval."""
        position = {int(job): q for q, job in enumerate(who)}
        number = self.owner.view.problem.vectors.number
        groups = speed.shape[1]
        rows = []
        for pattern in known:
            row = np.full(2 + self.jobs, -1, np.int64)
            counts = [0] * groups
            for job, group in pattern:
                row[2 + position[job]] = group
                counts[group] += 1
            vector = number.get(tuple(counts))
            if vector is None:
                continue
            row[1] = vector
            runs = np.flatnonzero(row[2:] >= 0)
            for i in np.flatnonzero(late[:, runs].max(axis=1) < NOT_YET):
                copy = row.copy()
                copy[0] = i
                rows.append(copy)
        if rows:
            self.add_rows(np.array(rows), speed, late, extra)

    def add_rows(self, rows: Any, speed: Floats, late: Floats, extra: Floats) -> bool:
        """Add columns as ``price_intervals`` writes them; return whether any is new."""
        power = self.owner.view.gpu.cost
        cost: list[float] = []
        starts: list[int] = []
        index: list[int] = []
        value: list[float] = []
        for row in rows:
            i, groups = int(row[0]), row[2:]
            key = (i, groups.tobytes())
            if key in self.seen:
                continue
            self.seen.add(key)
            runs = np.flatnonzero(groups >= 0)
            speeds = speed[runs, groups[runs]]
            starts.append(len(index))
            cost.append(
                float(power[row[1]] * extra[i] + (late[i, runs] * speeds).sum()) * self.scale
            )
            index += [*runs.tolist(), self.jobs + i]
            value += [*speeds.tolist(), 1.0]
            self.what.append((i, groups.copy()))
        if not cost:
            return False
        self.cost += cost
        self.highs.addCols(
            len(cost),
            np.array(cost),
            np.zeros(len(cost)),
            np.full(len(cost), np.inf),
            len(index),
            np.array(starts, dtype=np.int32),
            np.array(index, dtype=np.int32),
            np.array(value),
        )
        return True

    def solve(self) -> tuple[Floats, Floats]:
        """Return the worth of each job's work, and the worth of time per interval."""
        self.highs.run()
        solution = self.highs.getSolution()
        duals = np.array(solution.row_dual) / self.scale
        self.minutes = np.array(solution.col_value)[self.jobs :]
        return np.maximum(duals[: self.jobs], 0.0), np.maximum(-duals[self.jobs :], 0.0)

    def used(self, who: Any) -> list[Pattern]:
        """Return all patterns with minutes."""
        pairs = zip(self.what, self.minutes, strict=True)
        return [_pattern(who, groups) for (_, groups), minutes in pairs if minutes > 1e-6]


def _pattern(who: Any, groups: Any) -> Pattern:
    runs = np.flatnonzero(groups >= 0)
    return tuple((int(who[q]), int(groups[q])) for q in runs)
