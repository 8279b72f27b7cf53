"""The search on the fleet model: the relaxed model first, then the full one, in runs that grow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

from ortools.sat.python import cp_model

from migopt.bounds.base import float_below
from migopt.exact.cpsat.fleet.decode import in_gpu_order
from migopt.exact.cpsat.fleet.model import FleetModel, run
from migopt.exact.cpsat.fleet.problem import Fleet, Rows
from migopt.exact.cpsat.model import Run, Status
from migopt.results import Budget, StopReason, TrajectoryPoint

FIRST_RUN_S = 3.0
GROWTH = 2.0
#: The relaxed model gets at most this share of the time.
RELAXED_SHARE = 0.3


class FleetSearch:
    """Best schedule and bound so far, and the runs that improve them.

    Attributes
    ----------
    rows : Rows
    lower : int
        Lower bound on the cost above idle of every schedule of the class.
    proved : bool
    """

    def __init__(
        self,
        fleet: Fleet,
        rows: Rows,
        budget: Budget,
        threads: int,
        began: float,
        on_event: Callable[[TrajectoryPoint], None] | None = None,
    ) -> None:
        self.fleet, self.rows, self.budget, self.threads = fleet, rows, budget, max(1, threads)
        self.began, self._on_event = began, on_event
        self.deadline = math.inf if budget.time_limit_s is None else began + budget.time_limit_s
        self.best = fleet.cost(rows)
        self.lower = fleet.root_bound()
        self.trajectory: list[TrajectoryPoint] = []
        self.proved = False
        self.runs = 0
        self._solver: cp_model.CpSolver | None = None

    @property
    def bound(self) -> int:
        """The lower bound, at most the best cost."""
        return min(self.best, self.lower)

    def search(self) -> StopReason:
        """Search until proved, within the gap, out of time, or interrupted (Ctrl-C)."""
        exact = not any(kind.split[1] for kind in self.fleet.kinds)
        relaxed_until = self.began + RELAXED_SHARE * (self.deadline - self.began)
        seconds, number = FIRST_RUN_S, 0
        try:
            self._note()
            while not self._closed():
                left = self.deadline - time.perf_counter()
                if left <= 0:
                    return StopReason.TIME_LIMIT
                end = self._run(min(seconds, left), number, exact)
                if end.status is Status.OPTIMAL and exact:
                    self.proved = True
                    return StopReason.FINISHED
                exact |= end.status is Status.OPTIMAL or time.perf_counter() > relaxed_until
                exact |= number >= 1
                seconds, number = seconds * GROWTH, number + 1
        except KeyboardInterrupt:
            return StopReason.INTERRUPTED
        self.proved = self.bound >= self.best
        return StopReason.FINISHED if self.proved else StopReason.GAP_REACHED

    def _closed(self) -> bool:
        return self.best - self.bound <= max(0, int(self.best * Fraction(self.budget.gap)))

    def _run(self, seconds: float, number: int, exact: bool) -> Run:
        """Run the engine once, in a thread of its own, so that Ctrl-C is heard."""
        self.runs += 1
        self.rows = in_gpu_order(self.fleet, self.rows)
        built = FleetModel(self.fleet, self.best, self.rows, exact)
        solver = self._solver = self._settings(seconds, number)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(run, built, solver, self._found, self._bounded)
            try:
                end = future.result()
            except KeyboardInterrupt:
                solver.stop_search()
                self._bounded(future.result().lower)
                raise
        self._bounded(end.lower)
        return end

    def _settings(self, seconds: float, number: int) -> cp_model.CpSolver:
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        if math.isfinite(seconds):
            parameters.max_time_in_seconds = seconds
        parameters.random_seed = self.budget.seed
        parameters.num_workers = self.threads
        parameters.catch_sigint_signal = False
        parameters.linearization_level = 2
        parameters.use_strong_propagation_in_disjunctive = True
        if self.threads == 1:
            parameters.use_objective_lb_search = number % 2 == 1
        return solver

    def _found(self, rows: Rows) -> None:
        cost = self.fleet.cost(rows)
        if cost < self.best:
            self.best, self.rows = cost, rows
            self._improved()

    def _bounded(self, lower: int) -> None:
        if lower > self.lower:
            self.lower = lower
            self._improved()

    def _improved(self) -> None:
        self._note()
        if self._solver is not None and self._closed():
            self._solver.stop_search()

    def cost(self, objective: int) -> Fraction:
        """Return an objective as a cost of the instance."""
        return self.fleet.scale.cost(self.fleet.instance, objective)

    def _note(self) -> None:
        upper, lower = float(self.cost(self.best)), float_below(self.cost(self.bound))
        last = self.trajectory[-1] if self.trajectory else None
        if last is None or (last.upper, last.lower) != (upper, lower):
            point = TrajectoryPoint(time.perf_counter() - self.began, upper, lower)
            self.trajectory.append(point)
            if self._on_event is not None:
                self._on_event(point)
