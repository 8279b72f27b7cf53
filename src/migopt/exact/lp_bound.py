"""The day LP by column generation: jobs may be split over slices and time, completions are fractional.

One column per (interval, busy vector, assignment of jobs to its slices), in minutes; one row per job
(its work is done) and per interval (its time). A minute of job j in an interval that starts at or
after its due date costs beta_j (t_i - d_j + q_j / 2) times the fraction of the job done in it, which
no schedule's tardiness undercuts. Every dual solution pi gives a Lagrangian bound, and more: the
prices pi_jik = max(0, pi_j - late_ji) s_jk are prices of the splitting bound, which is at least as
strong there. So the bound is certified by the same exact evaluation of stored prices.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from migopt.bounds.base import float_below
from migopt.bounds.split.bound import FINAL_PARTS, cases, why_not
from migopt.bounds.split.exact import evaluate_multipliers, round_down
from migopt.bounds.split.gpu_part import free_part
from migopt.bounds.split.multipliers import Multipliers, round_prices
from migopt.bounds.split.problem import Floats, Kind, SplitProblem, build_problem
from migopt.bounds.split.shares import bound_shares
from migopt.exact._highs import engine_name, new_highs
from migopt.exact.event_order import Assignment
from migopt.interrupt import ctrl_c
from migopt.model import Instance
from migopt.results import Budget, Outcome, SolveResult, StopReason, TrajectoryPoint

#: Relative gap between master and Lagrangian bound at which the LP counts as solved.
CONVERGED = 1e-3
#: Weight of the best duals so far in the ones that are priced.
SMOOTHING = 0.5
DEFAULT_SECONDS = 60.0
#: Minutes below which a piece of the solution does not count.
SHORTEST = 1e-9
#: The engine's word for a primal solution that keeps all rows.
FEASIBLE_POINT = 2


@dataclass
class LpResult:
    """Result of one case: bounds above the constant, prices, and the rounds (seconds, lower, master)."""

    problem: SplitProblem
    prices: Floats
    lower: float
    master: float
    rounds: list[tuple[float, float, float]]
    columns: int

    @property
    def converged(self) -> bool:
        """Whether master and Lagrangian bound agree to 0.1 %."""
        return self.master - self.lower <= CONVERGED * max(abs(self.master), 1e-12)


class DayLp:
    """Column generation for one case of an instance."""

    def __init__(self, problem: SplitProblem) -> None:
        self.problem = problem
        self.jobs = problem.speed.shape[0]
        self.intervals = problem.lengths.size
        self.owner = np.repeat(np.arange(self.jobs), np.diff(problem.pair0))
        self.interval = (
            np.arange(self.owner.size) - problem.pair0[self.owner] + problem.first[self.owner]
        )
        with np.errstate(divide="ignore"):
            quickest = np.nan_to_num(1.0 / problem.speed.max(axis=1), posinf=0.0)
        begin = problem.times[self.interval]
        due = problem.due[self.owner]
        after = begin >= due
        #: Cost per fraction of the job done in the interval.
        self.late = np.where(
            after, problem.beta[self.owner] * (begin - due + quickest[self.owner] / 2), 0.0
        )
        #: What leaving a job to the time beyond its window costs: no dual can be larger.
        self.most = problem.beta * np.maximum(0.0, problem.times[problem.last] - problem.due)
        # Energy makes work dear even where lateness is cheap.
        power = max((float(kind.cost.max()) for kind in problem.kinds), default=0.0)
        self.most = np.maximum(self.most, 2.0 * power * quickest + problem.beta * quickest)
        rates = max(problem.step_scale, 1e-300)
        self.scale = 10.0 / rates

    def prices(self, duals: Floats) -> Floats:
        """Return the splitting prices that belong to duals of the jobs, per minute."""
        left = np.maximum(duals[self.owner] - self.late, 0.0)
        return np.ascontiguousarray(left[:, None] * self.problem.speed[self.owner])

    def solve(self, deadline: float, should_stop: Callable[[], bool] | None = None) -> LpResult:
        """Generate columns until converged, out of time or told to stop."""
        began = time.perf_counter()
        self._build()
        rounds: list[tuple[float, float, float]] = []
        best, centre = -np.inf, np.zeros(self.jobs)
        kept, master = self.prices(centre), np.inf
        while True:
            left = deadline - time.perf_counter()
            if np.isfinite(left):
                # Duals of an unfinished solution are prices like any others.
                self.highs.setOptionValue("time_limit", self.highs.getRunTime() + max(left, 0.1))
            self.highs.run()
            solution = self.highs.getSolution()
            self.feasible = bool(solution.value_valid) and (
                self.highs.getInfo().primal_solution_status == FEASIBLE_POINT
            )
            self.solution = solution.col_value
            if not solution.dual_valid and rounds:
                return self._result(kept, best, master, rounds)
            duals = np.maximum(np.array(solution.row_dual)[: self.jobs], 0.0) / self.scale
            master = self.highs.getObjectiveValue() / self.scale
            added = False
            # In-out: price between the best duals and the master's; at the master's if that adds nothing.
            for weight in (SMOOTHING, 0.0):
                tried = weight * centre + (1.0 - weight) * duals if rounds else duals
                prices = self.prices(tried)
                lower, added = self._price(prices, tried)
                if lower > best:
                    best, centre, kept = lower, tried, prices
                if added:
                    break
            rounds.append((time.perf_counter() - began, best, master))
            solved = master - best <= CONVERGED * max(abs(master), 1e-12)
            stopped = should_stop is not None and should_stop()
            if solved or not added or stopped or time.perf_counter() > deadline:
                return self._result(kept, best, master, rounds)

    def _result(
        self, prices: Floats, lower: float, master: float, rounds: list[tuple[float, float, float]]
    ) -> LpResult:
        """Return the best round's prices; none at all where those of a run cut short are worse than that."""
        if lower < 0.0:
            prices, lower = np.zeros_like(prices), 0.0
        return LpResult(self.problem, prices, lower, master, rounds, len(self.known))

    def _build(self) -> None:
        import highspy

        p = self.problem
        rows = self.jobs + self.intervals * len(p.kinds)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.jobs, rows
        lp.col_cost_ = self.most * self.scale
        lp.col_lower_, lp.col_upper_ = np.zeros(self.jobs), np.full(self.jobs, np.inf)
        time_left = [kind.count * p.lengths for kind in p.kinds]
        lp.row_lower_ = np.concatenate([np.ones(self.jobs), np.full(rows - self.jobs, -np.inf)])
        lp.row_upper_ = np.concatenate([np.full(self.jobs, np.inf), *time_left])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.arange(self.jobs + 1, dtype=np.int32)
        lp.a_matrix_.index_ = np.arange(self.jobs, dtype=np.int32)
        lp.a_matrix_.value_ = np.ones(self.jobs)
        self.highs = new_highs(presolve="off")
        self.highs.passModel(lp)
        self.known: set[tuple[int, bytes]] = set()
        self.pieces_of: list[tuple[int, int, Assignment]] = []

    def pieces(self) -> list[tuple[int, Assignment, float]] | None:
        """Return (interval, assignment, minutes) of the last master solution, in order of interval.

        None where the last run was stopped before it had one.
        """
        if not self.feasible:
            return None
        minutes = self.solution[self.jobs :]
        used = [
            (interval, item, float(amount))
            for (_, interval, item), amount in zip(self.pieces_of, minutes, strict=False)
            if amount > SHORTEST
        ]
        return sorted(used, key=lambda piece: piece[0])

    def _price(self, prices: Floats, duals: Floats) -> tuple[float, bool]:
        """Return the Lagrangian bound at these duals, and whether new columns were added."""
        p = self.problem
        value = float(np.minimum(duals, self.most).sum())
        added = False
        for number, kind in enumerate(p.kinds):
            starts, pairs = p.by_interval
            rate = np.empty(self.intervals)
            minutes = np.zeros_like(prices)
            inside = np.ones(kind.cost.size, np.bool_)
            free_part(
                0,
                self.intervals,
                starts,
                pairs,
                prices,
                kind.offset,
                kind.tables,
                kind.cost,
                inside,
                rate,
                1.0,
                minutes,
            )
            value -= kind.count * float(rate @ p.lengths)
            added = self._add(number, kind, minutes) or added
        return value, added

    def _add(self, number: int, kind: Kind, minutes: Floats) -> bool:
        p = self.problem
        rows, groups = np.nonzero(minutes > 0.5)
        where = self.interval[rows]
        order = np.argsort(where, kind="stable")
        rows, groups, where = rows[order], groups[order], where[order]
        cuts = np.flatnonzero(np.diff(where, prepend=-1))
        cost, starts, index, value = [], [0], [], []
        for begin, end in pairwise([*cuts.tolist(), len(where)]):
            mine, column = rows[begin:end], groups[begin:end]
            i = int(where[begin])
            key = (number * self.intervals + i, mine.tobytes() + column.tobytes())
            if key in self.known:
                continue
            self.known.add(key)
            counts = np.bincount(column - kind.offset, minlength=kind.groups)
            vector = kind.vectors.number[tuple(int(n) for n in counts)]
            speeds = p.speed[self.owner[mine], column]
            pairs = tuple(zip(self.owner[mine].tolist(), column.tolist(), strict=True))
            self.pieces_of.append((number, i, (vector, pairs)))
            cost.append((kind.cost[vector] + float((self.late[mine] * speeds).sum())) * self.scale)
            index += [*self.owner[mine].tolist(), self.jobs + number * self.intervals + i]
            value += [*speeds.tolist(), 1.0]
            starts.append(len(index))
        if cost:
            self.highs.addCols(
                len(cost),
                np.array(cost),
                np.zeros(len(cost)),
                np.full(len(cost), np.inf),
                len(index),
                np.array(starts[:-1], dtype=np.int32),
                np.array(index, dtype=np.int32),
                np.array(value),
            )
        return bool(cost)


def lp_prices(instance: Instance, seconds: float) -> list[tuple[SplitProblem, Floats]]:
    """Return splitting prices from the LP of each case, to begin an ascent with."""
    out = []
    todo = cases(instance)
    for case in todo:
        problem = build_problem(instance, case, uniform=0)
        with ctrl_c() as noted:
            until = time.perf_counter() + seconds / len(todo)
            result = DayLp(problem).solve(until, lambda: noted.pressed)
        out.append((problem, result.prices))
    return out


@dataclass(frozen=True)
class LpBound:
    """Lower bound by the day LP, for one or many GPUs; certified by stored prices.

    Attributes
    ----------
    uniform : int
        Uniform grid points beside releases and due dates.
    """

    uniform: int = 0

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the bound; ``detail``: ``multipliers``, ``shares`` of the jobs, ``rounds``, the LP's own value."""
        reason = why_not(instance)
        if reason is not None:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=reason)
        start = time.perf_counter()
        if not instance.jobs:
            idle = float_below(instance.constant_cost)
            return SolveResult(
                Outcome.BOUND_ONLY, StopReason.FINISHED, lower=idle, proof="closed_form"
            )
        limit = DEFAULT_SECONDS if budget.time_limit_s is None else budget.time_limit_s
        found: list[tuple[Fraction, Multipliers, LpResult]] = []
        with ctrl_c() as noted:
            for case in cases(instance):
                problem = build_problem(instance, case, uniform=self.uniform)
                result = DayLp(problem).solve(start + 0.9 * limit, lambda: noted.pressed)
                multipliers = round_prices(problem, result.prices, FINAL_PARTS)
                found.append((evaluate_multipliers(instance, multipliers), multipliers, result))
        lower, _, first = min(found, key=lambda item: item[0])
        constant = float(instance.constant_cost)
        done = all(item[2].converged for item in found)
        return SolveResult(
            Outcome.BOUND_ONLY,
            _stop(done, noted.pressed),
            lower=round_down(lower),
            proof="multipliers",
            wall_s=time.perf_counter() - start,
            trajectory=tuple(TrajectoryPoint(t, None, v + constant) for t, v, _ in first.rounds),
            engine=engine_name(),
            detail={
                **_detail(found, first, constant),
                "shares": bound_shares(instance, [item[1] for item in found], round_down(lower)),
            },
        )


def _stop(done: bool, interrupted: bool) -> StopReason:
    if done:
        return StopReason.FINISHED
    return StopReason.INTERRUPTED if interrupted else StopReason.TIME_LIMIT


def _detail(found: list[Any], decides: LpResult, constant: float) -> dict[str, Any]:
    return {
        "multipliers": [item[1].to_dict() for item in found],
        "lagrangian": decides.lower + constant,
        "master": decides.master + constant,
        "rounds": len(decides.rounds),
        "columns": decides.columns,
        "converged": decides.converged,
    }
