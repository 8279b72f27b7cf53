"""The search over cases: short runs first, longer ones for what stays open, until proved or out of time."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

from ortools.sat.python import cp_model

from migopt.bounds.base import float_below
from migopt.exact.cpsat.case import cases, covers_instance, may_change, why_not
from migopt.exact.cpsat.decode import to_schedule
from migopt.exact.cpsat.fleet import decode as fleet_decode
from migopt.exact.cpsat.fleet.problem import Fleet, Rows, fleet
from migopt.exact.cpsat.fleet.search import FleetSearch
from migopt.exact.cpsat.fleet.start import first_rows
from migopt.exact.cpsat.model import CaseModel, Status, run
from migopt.exact.cpsat.progress import Progress
from migopt.exact.cpsat.start import improve
from migopt.model import Instance, Schedule
from migopt.results import Budget, Live, Outcome, SolveResult, StopReason, TrajectoryPoint

ENGINE = f"CP-SAT, OR-Tools {version('ortools')}"
#: Seconds of the first run of each case; each round takes twice as long.
FIRST_SLICE_S = 1.0
GROWTH = 2.0
#: With changing partitions on one GPU the best single partition is looked for first, so long at most.
ONE_SHARE, ONE_SHARE_S = 0.15, 20.0


class CpSat:
    """Non-preemptive schedules by CP-SAT: one GPU or several, partitions kept or changed.

    Parameters
    ----------
    partition : int, "off", "one", "free" or None
        A partition of the catalogue (1-based) for every GPU, MIG off, ``one`` or None: every GPU keeps one that the
        solver chooses, ``free``: they change where the instance allows it, each change taking tau. MIG
        off is among the choices where the instance allows it.
    hint : Schedule, optional
        A schedule to start from; its order of starts is used, and all of it where it belongs to the class.
    workers : int
        Threads; 0 takes the budget's.
    on_event : callable, optional
        Called with each improvement of the bounds, from the engine's threads.

    Attributes
    ----------
    last_event : TrajectoryPoint or None
        The latest improvement, for progress displays.

    Notes
    -----
    The result is exact for its class. It bounds the instance (``lower``) only where the instance's own
    rules leave nothing else: no job may be stopped, and the solver chose among all partitions, with all
    changes that are allowed. Otherwise ``class_lower`` holds the bound.
    """

    def __init__(
        self,
        partition: int | str | None = None,
        *,
        hint: Schedule | None = None,
        workers: int = 0,
        on_event: Callable[[TrajectoryPoint], None] | None = None,
    ) -> None:
        self.partition = None if partition == "one" else partition
        self.hint, self.workers = hint, workers
        self.last_event: TrajectoryPoint | None = None
        self._on_event = on_event

    def listening(self, tell: Callable[[Live], None]) -> CpSat:
        """Return the solver with ``tell`` called as the bounds of its class move."""

        def event(point: TrajectoryPoint) -> None:
            tell(Live(point.wall_s, point.upper, point.lower, "of its class"))

        return CpSat(self.partition, hint=self.hint, workers=self.workers, on_event=event)

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the best schedule of the class and what is proved about it, within the budget."""
        began = time.perf_counter()
        reason = why_not(instance, self.partition)
        if reason is not None:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=reason)
        changing = self.partition == "free" and may_change(instance)
        if changing or len(instance.gpus) > 1:
            return self._solve_fleet(instance, budget, began)
        chosen = None if self.partition == "free" else self.partition
        found = cases(instance, chosen)
        misfits = [(case, case.misfit()) for case in found]
        kept = [case for case, misfit in misfits if misfit is None]
        if not kept:
            message = "; ".join(
                f"job {misfit.id} fits no slice of {case.label}"
                for case, misfit in misfits[:3]
                if misfit is not None
            )
            return SolveResult(
                Outcome.INFEASIBLE_PARTITION, StopReason.FINISHED, message=message, engine=ENGINE
            )
        try:
            progress = Progress(instance, kept, self.hint, budget.gap, self._note)
        except ValueError as error:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=str(error))
        search = Search(progress, budget, self.workers or budget.threads, began)
        stop = search.run()
        return self._result(instance, progress, search, stop, began)

    def _solve_fleet(self, instance: Instance, budget: Budget, began: float) -> SolveResult:
        """Solve with several GPUs or changing partitions."""
        threads = self.workers or budget.threads
        try:
            problem = fleet(instance, self.partition)
            misfit = problem.misfit()
            if misfit is not None:
                return _infeasible(f"job {misfit.id} fits no slice of {_choice(self.partition)}")
            problem.check_power()
        except ValueError as error:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=str(error))
        try:
            rows, interrupted = self._first(problem, budget)
        except ValueError as error:
            return _infeasible(str(error))
        search = FleetSearch(problem, rows, budget, threads, began, self._note)
        stop = StopReason.INTERRUPTED if interrupted else search.search()
        return self._fleet_result(instance, problem, search, stop, began)

    def _first(self, problem: Fleet, budget: Budget) -> tuple[Rows, bool]:
        """Return a schedule to start from, and whether Ctrl-C came meanwhile."""
        limit = math.inf if budget.time_limit_s is None else budget.time_limit_s
        hints = [] if self.hint is None else [self.hint]
        instance, interrupted = problem.instance, False
        try:
            if len(instance.gpus) == 1 and limit > 0 and instance.jobs:
                # The best schedule on one partition, found in a short run.
                short = Budget(
                    min(ONE_SHARE_S, ONE_SHARE * limit), 0.0, budget.threads, budget.seed
                )
                kept = CpSat(None, hint=self.hint, workers=self.workers).solve(instance, short)
                hints += [] if kept.schedule is None else [kept.schedule]
                interrupted = kept.stop is StopReason.INTERRUPTED
            seconds = 0.0 if interrupted else min(2.0, 0.1 * limit)
            return first_rows(problem, hints, budget.seed, seconds), interrupted
        except KeyboardInterrupt:
            return first_rows(problem, hints, budget.seed, 0.0), True

    def _fleet_result(
        self,
        instance: Instance,
        problem: Fleet,
        search: FleetSearch,
        stop: StopReason,
        began: float,
    ) -> SolveResult:
        lower = float_below(search.cost(search.bound))
        whole, proved = covers_instance(instance, self.partition), search.proved
        schedule = fleet_decode.to_schedule(problem, search.rows, "cpsat")
        what = f"{len(schedule.reconfigurations)} changes of partition"
        return SolveResult(
            outcome=Outcome.OPTIMAL if proved and whole else Outcome.FEASIBLE,
            stop=stop,
            schedule=schedule,
            lower=lower if whole else None,
            class_lower=lower,
            class_name=class_name(self.partition, len(instance.gpus)),
            proof="engine",
            claimed_upper=float(search.cost(search.best)),
            wall_s=time.perf_counter() - began,
            trajectory=tuple(search.trajectory),
            engine=ENGINE,
            detail={"runs": search.runs, "unit_ms": problem.scale.unit_ms},
            message=_message(what, proved, whole),
        )

    def _note(self, point: TrajectoryPoint) -> None:
        self.last_event = point
        if self._on_event is not None:
            self._on_event(point)

    def _result(
        self,
        instance: Instance,
        progress: Progress,
        search: Search,
        stop: StopReason,
        began: float,
    ) -> SolveResult:
        best = progress.best_case
        case = progress.cases[best]
        lower = float_below(progress.cost(progress.bound))
        proved = search.proved
        whole = covers_instance(instance, self.partition)
        detail: dict[str, Any] = {
            "partition": case.label,
            "cases": {
                case.label: {"lower": float_below(progress.cost(bound)), "runs": runs}
                for case, bound, runs in zip(
                    progress.cases, progress.lower, search.runs, strict=True
                )
            },
            "unit_ms": case.scale.unit_ms,
        }
        return SolveResult(
            outcome=Outcome.OPTIMAL if proved and whole else Outcome.FEASIBLE,
            stop=stop,
            schedule=to_schedule(case, progress.rows[best], "cpsat"),
            lower=lower if whole else None,
            class_lower=lower,
            class_name=class_name(chosen_name(self.partition, instance)),
            proof="engine",
            claimed_upper=float(progress.cost(progress.best)),
            wall_s=time.perf_counter() - began,
            trajectory=tuple(progress.trajectory),
            engine=ENGINE,
            detail=detail,
            message=_message(f"best on {case.label}", proved, whole),
        )


class Search:
    """Rounds of runs over the cases that are still open.

    Each round gives every open case a run twice as long as the round before, on a model whose cutoff is
    just below the best cost known: the relaxed model until that is solved, then the full one. Rounds take
    turns between three ways to search, none of which wins everywhere.
    """

    def __init__(self, progress: Progress, budget: Budget, threads: int, began: float) -> None:
        self.progress, self.budget, self.threads = progress, budget, max(1, threads)
        self.deadline = math.inf if budget.time_limit_s is None else began + budget.time_limit_s
        self.runs = [0] * len(progress.cases)
        self._relaxed = [bool(case.split[1]) for case in progress.cases]
        self.proved = False
        self._interrupted = threading.Event()
        self._solvers: set[cp_model.CpSolver] = set()
        self._lock = threading.Lock()

    def run(self) -> StopReason:
        """Search until proved, within the gap, out of time, or interrupted (Ctrl-C)."""
        try:
            self._local_search()
            return self._rounds()
        except KeyboardInterrupt:
            return StopReason.INTERRUPTED

    def _rounds(self) -> StopReason:
        progress = self.progress
        slice_s, round_number = FIRST_SLICE_S, 0
        while (waiting := progress.open_cases()) and time.perf_counter() < self.deadline:
            share = (self.deadline - time.perf_counter()) / len(waiting)
            lanes = min(self.threads, len(waiting))
            seconds = min(max(slice_s, 0.05 * share), share * lanes)
            self._round(waiting, seconds, round_number, lanes)
            slice_s, round_number = slice_s * GROWTH, round_number + 1
        if progress.open_cases():
            return StopReason.TIME_LIMIT
        self.proved = self.budget.gap <= 0 or progress.bound >= progress.best
        return StopReason.FINISHED if self.proved else StopReason.GAP_REACHED

    def _local_search(self) -> None:
        """Improve every case's first schedule a little, and the best cases' more."""
        progress, draw = self.progress, random.Random(self.budget.seed)
        for cases_kept, tries in ((len(progress.cases), 20), (3, 200)):
            for c in progress.by_cost()[:cases_kept]:
                if time.perf_counter() < self.deadline and c in progress.open_cases():
                    case = progress.cases[c]
                    rows = improve(case, progress.rows[c], tries * case.count, draw)
                    progress.schedule_found(c, rows)

    def _round(self, waiting: list[int], seconds: float, number: int, lanes: int) -> None:
        """Run every waiting case once, in ``lanes`` threads; on Ctrl-C stop the engines, then go on raising."""
        with ThreadPoolExecutor(lanes) as pool:
            futures = [
                pool.submit(self._run_case, c, seconds, number, self.threads // lanes)
                for c in waiting
            ]
            try:
                for future in futures:
                    future.result()
            except KeyboardInterrupt:
                self._interrupted.set()
                with self._lock:
                    for solver in self._solvers:
                        solver.stop_search()
                raise

    def _run_case(self, c: int, seconds: float, number: int, workers: int) -> None:
        progress = self.progress
        cutoff = progress.cutoff
        seconds = min(seconds, self.deadline - time.perf_counter())
        if self._interrupted.is_set() or seconds <= 0 or progress.lower[c] > cutoff:
            return
        self.runs[c] += 1
        relaxed = self._relaxed[c]
        windows = number % 3 == 1
        built = CaseModel(progress.cases[c], cutoff, progress.rows[c], not relaxed, windows)
        solver = self._solver(seconds, number, workers)
        with self._lock:
            self._solvers.add(solver)
        try:
            if not self._interrupted.is_set():
                end = run(
                    built,
                    solver,
                    lambda rows: progress.schedule_found(c, rows),
                    lambda lower: progress.bound_found(c, lower),
                )
                progress.bound_found(c, end.lower)
                if end.status == Status.OPTIMAL and relaxed:
                    self._relaxed[c] = False
                elif end.status == Status.OPTIMAL:
                    progress.settled.add(c)
        finally:
            with self._lock:
                self._solvers.discard(solver)

    def _solver(self, seconds: float, number: int, workers: int) -> cp_model.CpSolver:
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.max_time_in_seconds = seconds
        parameters.random_seed = self.budget.seed
        parameters.num_workers = max(1, workers)
        parameters.catch_sigint_signal = False
        # The level times are a linear program once the order is fixed; without the full
        # linear relaxation the engine closes in on its optimum by millisecond steps.
        parameters.linearization_level = 2
        # Start times of jobs on one slice are differences, too: the plain propagation takes minutes
        # where the strong one takes a tenth of a second.
        parameters.use_strong_propagation_in_disjunctive = True
        if workers > 1:
            parameters.subsolvers.extend(
                ["max_lp", "objective_lb_search_max_lp", "reduced_costs", "lb_tree_search"]
            )
        else:
            parameters.use_objective_lb_search = number % 3 == 2
        return solver


def chosen_name(partition: int | str | None, instance: Instance) -> int | str | None:
    """Return the partition choice that was made: ``free`` is one where nothing may change."""
    return None if partition == "free" and not may_change(instance) else partition


def class_name(partition: int | str | None, gpus: int = 1) -> str:
    """Return the class in which the solver is exact."""
    if partition == "free":
        return "no preemption"
    if partition is None:
        where = "one partition" if gpus == 1 else "one partition per GPU"
        return f"no preemption, {where} for the whole run"
    return f"no preemption, {_choice(partition)}"


def _choice(partition: int | str | None) -> str:
    if partition in (None, "free"):
        return "any partition"
    return "MIG off" if partition == "off" else f"partition {partition}"


def _infeasible(message: str) -> SolveResult:
    return SolveResult(
        Outcome.INFEASIBLE_PARTITION, StopReason.FINISHED, message=message, engine=ENGINE
    )


def _message(what: str, proved: bool, whole: bool) -> str:
    if proved and not whole:
        return f"{what}; optimal in its class only: no bound for the instance"
    return f"{what}; optimal" if proved else what
