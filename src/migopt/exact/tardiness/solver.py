"""The solver: bound and search in stages of growing effort, on one partition or on each of the catalogue."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from migopt.bounds.base import float_below
from migopt.exact.cpsat.case import Case, cases, covers_instance
from migopt.exact.cpsat.decode import to_schedule
from migopt.exact.tardiness.coverage import class_name, why_not
from migopt.exact.tardiness.dual import Grid, ascend
from migopt.exact.tardiness.local_search import improve
from migopt.exact.tardiness.problem import HUGE, Problem, rows_of
from migopt.exact.tardiness.search import Search
from migopt.model import Instance
from migopt.results import Budget, Outcome, SolveResult, StopReason, TrajectoryPoint

ENGINE = "migopt tardiness search"


@dataclass(frozen=True, slots=True)
class Stage:
    """Effort: descents of the local search, cells of time, rounds of prices, first step, states kept."""

    descents: int
    cells: int
    rounds: int
    step: float
    states: int


STAGES = (
    Stage(5, 64, 30, 1.0, 1_000),
    Stage(20, 256, 80, 1.0, 8_000),
    Stage(60, 1024, 120, 1.0, 60_000),
    Stage(200, 4096, 80, 0.4, 400_000),
    Stage(500, 8192, 80, 0.3, 2_000_000),
)
#: Parts of the remaining gap that are proved one after the other when all of it is too much.
PARTS = (0.2, 0.4, 0.6, 0.8)


@dataclass
class Bounded:
    """A problem with the best schedule and bound known."""

    problem: Problem
    lower: int = 0
    cost: int = HUGE
    sequences: list[list[int]] | None = None
    price: Any = None
    states: int = 0
    stages: int = 0

    def __post_init__(self) -> None:
        n = self.problem.jobs
        self.lower = int(self.problem.least.sum())
        self._order = np.zeros((self.problem.machines, n), np.int64)
        self._count = np.zeros(self.problem.machines, np.int64)

    def local_search(self, descents: int, seed: int) -> None:
        """Improve the schedule by local search."""
        p = self.problem
        jobs = (p.release, p.due, p.weight, p.duration)
        cost = int(improve(jobs, self._order, self._count, descents, seed))
        if cost < self.cost:
            self.keep(
                cost,
                [self._order[m, : self._count[m]].tolist() for m in range(p.machines)],
            )

    def keep(self, cost: int, sequences: list[list[int]]) -> None:
        """Take a better schedule over."""
        self.cost, self.sequences = cost, sequences
        for m, jobs in enumerate(sequences):
            self._count[m] = len(jobs)
            self._order[m, : len(jobs)] = jobs

    def stage(self, stage: Stage, target: int, is_over: Callable[[], bool]) -> None:
        """Raise the bound towards ``target`` by prices, then by search; schedules below it are kept."""
        if self.price is None:
            self.price = np.full(self.problem.jobs, target / self.problem.jobs)
        grid = Grid(self.problem, target, stage.cells)
        bound, self.price = ascend(grid, self.price, stage.rounds, stage.step, is_over)
        self.lower = max(self.lower, min(bound, target))
        self.stages += 1
        if self.lower >= target or is_over():
            return
        if not self._search(grid, target, stage.states, is_over) and stage is STAGES[-1]:
            for part in PARTS:
                goal = self.lower + int(part * (target - self.lower)) + 1
                if is_over() or not self._search(grid, goal, stage.states, is_over):
                    return

    def _search(self, grid: Grid, target: int, states: int, is_over: Callable[[], bool]) -> bool:
        """Search below a target; return whether the question was settled."""
        found = Search(grid, target, states, is_over).run()
        self.states += found.states
        if found.cost is not None and found.sequences is not None and found.cost < self.cost:
            self.keep(found.cost, found.sequences)
        if found.complete:
            reached = target if found.cost is None else found.cost
            self.lower = max(self.lower, reached)
        return found.complete


def minimise(
    problem: Problem, *, seed: int = 0, is_over: Callable[[], bool] = lambda: False
) -> Bounded:
    """Return the best schedule and bound for one problem; they meet unless time or memory ran out."""
    bounded = Bounded(problem)
    run_stages([bounded], seed, is_over, lambda: None)
    return bounded


def run_stages(
    problems: Sequence[Bounded], seed: int, is_over: Callable[[], bool], tell: Callable[[], None]
) -> None:
    """Take several problems, of which the best schedule is wanted, through all stages."""
    for stage in STAGES:
        for bounded in problems:
            if is_over():
                return
            if bounded.lower < min(item.cost for item in problems):
                bounded.local_search(stage.descents, seed)
                tell()
        for bounded in sorted(problems, key=lambda item: item.lower):
            target = min(item.cost for item in problems)
            if bounded.lower >= target:
                continue
            if is_over():
                return
            bounded.stage(stage, target, is_over)
            tell()


@dataclass
class Tardiness:
    """Exact solver for weighted total tardiness without preemption under one partition for the whole run.

    Parameters
    ----------
    partition : int, "off" or None
        A partition of the catalogue (1-based), MIG off, or None: the solver chooses.
    should_stop : callable, optional
        Asked now and then; True ends the search with the best so far.

    Notes
    -----
    Energy must have no weight. ``class_lower`` bounds schedules of the class; it bounds the instance
    (``lower``) where the instance's own rules leave nothing else.
    """

    partition: int | str | None = None
    should_stop: Callable[[], bool] | None = None
    trajectory: list[TrajectoryPoint] = field(default_factory=list, init=False)

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the best schedule of the class and what is proved about it, within the budget."""
        began = time.perf_counter()
        self.trajectory = []
        reason = why_not(instance, self.partition)
        if reason is not None:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=reason)
        found = cases(instance, self.partition)
        kept = [case for case in found if case.misfit() is None]
        if not kept:
            misfit = found[0].misfit()
            assert misfit is not None
            message = f"job {misfit.id} fits no slice of {found[0].label}"
            return SolveResult(Outcome.INFEASIBLE_PARTITION, StopReason.FINISHED, message=message)
        try:
            problems = [Problem.of_case(case) for case in kept]
        except OverflowError:
            problems = []
        if not problems or any(problem.too_large() for problem in problems):
            message = "times and weights too large for sums in 64-bit integers"
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=message)
        run = _Run(self, instance, budget, kept, [Bounded(p) for p in problems], began)
        if instance.jobs:
            run.search()
        return run.result()


class _Run:
    def __init__(
        self,
        solver: Tardiness,
        instance: Instance,
        budget: Budget,
        kept: list[Case],
        problems: list[Bounded],
        began: float,
    ) -> None:
        self.solver, self.instance, self.budget = solver, instance, budget
        self.cases, self.problems, self.began = kept, problems, began
        self.stop = StopReason.FINISHED

    def is_over(self) -> bool:
        """Return whether time is up, the gap small enough or the search to be ended; keep the reason."""
        limit = self.budget.time_limit_s
        if limit is not None and time.perf_counter() - self.began >= limit:
            self.stop = StopReason.TIME_LIMIT
        elif self.solver.should_stop is not None and self.solver.should_stop():
            self.stop = StopReason.INTERRUPTED
        elif self.lower < self.upper and self.lower >= self.upper * (1 - self.budget.gap):
            self.stop = StopReason.GAP_REACHED
        return self.stop is not StopReason.FINISHED

    @property
    def upper(self) -> int:
        """Least cost known over all partitions."""
        return min(item.cost for item in self.problems)

    @property
    def lower(self) -> int:
        """Least bound over all partitions, at most the least cost."""
        return min(self.upper, *(item.lower for item in self.problems))

    def cost(self, units: int) -> float:
        """Return a value of the problem as cost of the instance."""
        return float(self.cases[0].scale.cost(self.instance, units))

    def tell(self) -> None:
        """Note how the bounds moved."""
        upper = self.cost(self.upper) if self.upper < HUGE else None
        point = TrajectoryPoint(time.perf_counter() - self.began, upper, self.cost(self.lower))
        past = self.solver.trajectory
        if not past or (past[-1].upper, past[-1].lower) != (point.upper, point.lower):
            past.append(point)

    def search(self) -> None:
        """Run all stages; Ctrl-C keeps the best so far."""
        try:
            self.problems[0].local_search(0, self.budget.seed)
            run_stages(self.problems, self.budget.seed, self.is_over, self.tell)
        except KeyboardInterrupt:
            self.stop = StopReason.INTERRUPTED

    def result(self) -> SolveResult:
        """Put the answer together."""
        if not self.instance.jobs:
            for item in self.problems:
                item.keep(0, [[] for _ in range(item.problem.machines)])
        best = min(range(len(self.problems)), key=lambda c: self.problems[c].cost)
        item, case = self.problems[best], self.cases[best]
        assert item.sequences is not None
        rows = rows_of(case, item.problem, item.sequences)
        proved = self.lower >= self.upper
        whole = covers_instance(self.instance, self.solver.partition)
        lower = float_below(self.cases[0].scale.cost(self.instance, self.lower))
        message = f"best on {case.label}"
        if not proved and self.stop is StopReason.FINISHED:
            message += "; not proved: the search would need more memory"
        elif proved:
            message += "; optimal" if whole else "; optimal for its class, not for the instance"
        return SolveResult(
            outcome=Outcome.OPTIMAL if proved and whole else Outcome.FEASIBLE,
            stop=self.stop if not proved else StopReason.FINISHED,
            schedule=to_schedule(case, rows, "tardiness"),
            lower=lower if whole else None,
            class_lower=lower,
            class_name=class_name(self.solver.partition),
            proof="engine",
            claimed_upper=self.cost(self.upper),
            wall_s=time.perf_counter() - self.began,
            trajectory=tuple(self.solver.trajectory),
            engine=ENGINE,
            detail={
                "partition": case.label,
                "proved": proved,
                "states": sum(p.states for p in self.problems),
                "stages": max(p.stages for p in self.problems),
            },
            message=message,
        )
