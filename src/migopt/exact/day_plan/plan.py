"""The day plan solver: a first order of events, better ones stretch by stretch, decode to ticks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from migopt.bounds.split.bound import cases
from migopt.exact.day_plan.annealing import anneal_day
from migopt.exact.day_plan.lp_start import lp_order
from migopt.exact.day_plan.order import events_of, improve
from migopt.exact.day_plan.program import DayOrder
from migopt.exact.day_plan.start import start_walk
from migopt.exact.day_plan.stretches import Found, improve_stretches, transplanted
from migopt.exact.interval_milp.decode import compared, roundings
from migopt.exact.interval_milp.orders import is_valid
from migopt.exact.one_gpu import OneGpu, one_gpu
from migopt.exact.partition_classes import why_no_partition
from migopt.interrupt import CtrlC, ctrl_c
from migopt.metrics import measure
from migopt.metrics.periods import gap_by_period
from migopt.model import Instance, Schedule
from migopt.results import Budget, Live, Outcome, SolveResult, StopReason, TrajectoryPoint

#: Most of the time for the day LPs (which end long before), and for exchanges in their order.
LP_SHARE, EXCHANGE_SHARE = 0.5, 0.1
#: A case whose plan is this much dearer than the best one's gets no more time.
HOPELESS = 1.2
#: Share of the time for annealing, where tardiness is the share LATE of the LP plan's cost or more; in
#: proportion below that. Shares that are smaller than LEAST_SEARCH are not worth it.
SEARCH_SHARE, LATE, LEAST_SEARCH = 0.5, 0.1, 0.03
#: Most cases (partitions where none may change) for which plans are annealed.
MOST_CASES = 3
#: Time kept for the last event-order LP and the decoding: so many times what they took before, and the
#: most of the limit. A stretch may be searched for LONGER seconds, or that share of the limit, beyond its end.
LAST_TIMES, LAST_SHARE, LONGER, LONGER_SHARE = 1.5, 0.3, 0.2, 0.01
#: An order found by annealing is solved and improved in so many times what the last one took to solve.
ORDER_TIMES = 3.0
#: Time a run takes when the budget sets no limit.
DEFAULT_SECONDS = 60.0


def why_not(instance: Instance) -> str | None:
    """Return why day plans do not cover the instance, or None."""
    if instance.kind != "schedule":
        return f"day plans solve kind schedule, not {instance.kind}"
    if len(instance.gpus) != 1:
        return f"{len(instance.gpus)} GPUs: day plans cover one"
    if instance.preemption.mode != "free":
        return f"preemption {instance.preemption.mode}: day plans stop and resume jobs freely"
    fixed = sum(not job.preemptible for job in instance.jobs)
    if fixed:
        return f"{fixed} jobs may not be stopped: day plans stop and resume jobs freely"
    return None


@dataclass(frozen=True)
class DayPlan:
    """Clairvoyant schedule of a day on one GPU, jobs stopped and resumed freely.

    Attributes
    ----------
    progress : callable, optional
        Called with (seconds, cost) when a better schedule is in hand.
    """

    progress: Callable[[float, float], None] | None = None

    def listening(self, tell: Callable[[Live], None]) -> DayPlan:
        """Return the solver with ``tell`` called when a better schedule is in hand."""
        return DayPlan(lambda seconds, cost: tell(Live(seconds, cost, None)))

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the best schedule found within the budget; it proves no bound.

        ``detail``: ``rounding`` (what ticks added), ``tick_allowance`` (the most that they may add),
        ``stretches`` searched and ``improved``, ``exact`` (jobs in busy periods whose plan was proven
        best), ``exact_gain`` (what the interval MILP saved there), and ``periods``, the cost of every
        busy period (``Period.as_dict``).
        """
        reason = why_not(instance)
        if reason is not None:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=reason)
        began = time.perf_counter()
        if not instance.jobs:
            first = (instance.catalogue(0)[1],)
            return SolveResult(Outcome.FEASIBLE, StopReason.FINISHED, Schedule(first, ()))
        problems = _problems(instance)
        if not problems:
            return SolveResult(
                Outcome.INFEASIBLE_PARTITION,
                StopReason.FINISHED,
                message=why_no_partition(instance) or "no schedule runs every job",
            )
        limit = DEFAULT_SECONDS if budget.time_limit_s is None else budget.time_limit_s
        history: list[TrajectoryPoint] = []

        def tell(cost: float) -> None:
            now = time.perf_counter() - began
            history.append(TrajectoryPoint(now, cost, None))
            if self.progress is not None:
                self.progress(now, cost)

        runs = [Found(problem, DayOrder(problem)) for problem in problems]
        with ctrl_c(CtrlC(raises=True)):
            stop = _improve(runs, began, limit, budget.seed, tell)
        found = min(runs, key=lambda item: item.cost)
        if found.plan is not None:
            _finish(found, began + limit, budget.seed, tell)
        schedule = found.schedule
        claimed = (np.inf if found.plan is None else found.plan.cost) + float(
            instance.constant_cost
        )
        return SolveResult(
            Outcome.NOTHING if schedule is None else Outcome.FEASIBLE,
            stop,
            schedule,
            claimed_upper=None if found.plan is None else claimed,
            wall_s=time.perf_counter() - began,
            trajectory=tuple(history),
            engine="migopt day plan",
            detail={
                "periods": []
                if schedule is None
                else [period.as_dict() for period in gap_by_period(instance, schedule)],
                "stretches": found.tried,
                "improved": found.improved,
                "exact": found.exact,
                "exact_gain": found.exact_gain,
                "rounding": None if found.plan is None else found.decoded - claimed,
                "tick_allowance": None
                if found.plan is None or schedule is None
                else compared(found.problem, found.plan, schedule).allowance,
            },
            message="" if schedule is not None else "no plan was found",
        )


def _problems(instance: Instance) -> list[OneGpu]:
    """Return the float views to choose from: MIG on (each partition if none may change), MIG off."""
    out: list[OneGpu] = []
    for case in cases(instance):
        if case == "mig" and instance.repartition.scope == "never":
            whole = one_gpu(instance, "mig")
            for number in whole.class_numbers:
                fits = instance.catalogue(0)[number].profiles
                names = {whole.vectors.group_of[name] for name in fits}
                if all(whole.speed[j, list(names)].max() > 0 for j in range(whole.jobs)):
                    out.append(one_gpu(instance, "mig", partition=number))
        else:
            out.append(one_gpu(instance, case))
    return out


def _improve(
    runs: list[Found], began: float, limit: float, seed: int, tell: Callable[[float], None]
) -> StopReason:
    """Search until the limit, or until Ctrl-C, which keeps the best so far."""
    try:
        _first_plans(runs, began, limit, seed, tell)
        best = min(runs, key=lambda item: item.cost)
        if best.plan is not None:
            _decode(best, tell)  # tells how long that takes
        kept = min(LAST_TIMES * (best.solve_s + best.decode_s), LAST_SHARE * limit)
        kept += min(LONGER, LONGER_SHARE * limit)
        improve_stretches(best, began + limit - kept, seed, tell)
    except KeyboardInterrupt:
        if all(found.plan is None for found in runs):
            _from_search(runs[0], time.perf_counter(), 0.0, seed, tell)
        return StopReason.INTERRUPTED
    return StopReason.TIME_LIMIT


def _first_plans(
    runs: list[Found], began: float, limit: float, seed: int, tell: Callable[[float], None]
) -> None:
    """Make plans from the day LP and, where tardiness matters, by annealing."""
    end = began + limit
    for found in runs:
        if time.perf_counter() > end and any(other.plan is not None for other in runs):
            break
        _from_lp(found, LP_SHARE * limit / len(runs), EXCHANGE_SHARE * limit, seed, tell)
    best = min(runs, key=lambda item: item.cost)
    late = best.tardiness() / best.cost if best.plan is not None and best.cost > 0 else 1.0
    share = SEARCH_SHARE * min(1.0, late / LATE)
    runs.sort(key=lambda item: item.cost)
    runs[:] = [found for found in runs[:MOST_CASES] if found.cost <= HOPELESS * best.cost]
    for number, found in enumerate(runs):
        # Half of the time is for the best case, half of the rest for the next.
        part = share if len(runs) == 1 else share * 0.5 ** (number + 1)
        worth = part > LEAST_SEARCH and time.perf_counter() < end
        if worth or best.plan is None:
            _from_search(found, end, max(part, 0.1) * limit, seed, tell)


def _from_lp(
    found: Found, seconds: float, more: float, seed: int, tell: Callable[[float], None]
) -> None:
    """Take the order of events of the day LP, then exchange events for ``more`` seconds at most."""
    start = lp_order(found.problem, max(0.05, seconds))
    if start is None or not is_valid(start.events):
        return
    found.shares = start
    plan = found.solve_day(start.events, start.first)
    if plan is not None:
        found.offer(improve(found.solver, plan, time.perf_counter() + more, seed))
        tell(found.cost + found.problem.constant)


def _from_search(
    found: Found, deadline: float, seconds: float, seed: int, tell: Callable[[float], None]
) -> None:
    """Anneal prices of a list schedule; take its order, or the best stretches of both.

    Annealing takes ``seconds``, or less where its order could not be used before the deadline.
    """
    now = time.perf_counter()
    last = (
        deadline - LAST_SHARE * max(0.0, deadline - now) / 2 if found.plan is not None else np.inf
    )
    until = min(now + seconds, max(now, last - ORDER_TIMES * found.solve_s))
    walk = start_walk(found.problem)
    anneal_day(found.problem, walk, now, until, seed)
    order, first = events_of(walk.events(), walk.order, found.problem.tau > 0)
    if not is_valid(order):
        return
    plan = found.solve_day(order, first, deadline=last)
    if plan is None:
        return
    more = min(last, time.perf_counter() + 0.2 * (until - now))
    plan = improve(found.solver, plan, more, seed)
    other = found.plan
    found.offer(plan)
    if other is not None and found.plan is not None:
        dearer = plan if found.plan is other else other
        better = transplanted(found.problem, found.plan, dearer, last)
        found.offer(better)
    tell(found.cost + found.problem.constant)


def _finish(found: Found, deadline: float, seed: int, tell: Callable[[float], None]) -> None:
    """Solve the LP of the whole day's order once more, and round to ticks."""
    assert found.plan is not None
    deadline -= LAST_TIMES * found.decode_s
    plan = found.solve_day(found.plan.events, found.plan.first, deadline=deadline)
    if plan is not None:
        # Pasted stretches may miss work by rounding; the LP of the day does not.
        found.plan = improve(found.solver, plan, deadline, seed)
    _decode(found, tell)


def _decode(found: Found, tell: Callable[[float], None]) -> None:
    """Round the plan to ticks; keep the cheaper rounding."""
    problem, plan, began = found.problem, found.plan, time.perf_counter()
    assert plan is not None
    for schedule in roundings(problem, plan):
        cost = float(measure(problem.instance, schedule).cost)
        if cost < found.decoded:
            found.schedule, found.decoded = schedule, cost
    found.decode_s = time.perf_counter() - began
    tell(found.decoded)
