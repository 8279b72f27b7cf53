"""The day plan solver: search, event-order LP with exchanges, decode to ticks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from migopt.bounds.split.bound import cases
from migopt.exact.day_plan.order import events_of, improve
from migopt.exact.day_plan.periods import gap_by_period
from migopt.exact.day_plan.program import DayOrder
from migopt.exact.day_plan.search import anneal
from migopt.exact.day_plan.start import Walk, start_walk
from migopt.exact.event_order import OrderPlan
from migopt.exact.interval_milp.decode import compared, roundings
from migopt.exact.interval_milp.orders import is_valid
from migopt.exact.one_gpu import OneGpu, one_gpu
from migopt.metrics import measure
from migopt.model import Instance, Schedule
from migopt.results import Budget, Outcome, SolveResult, StopReason, TrajectoryPoint

#: Trials between two looks at the clock.
CHUNK = 5000
#: Shares of the time: the whole day, single busy periods, event orders (the rest).
WHOLE_SHARE, PERIOD_SHARE = 0.45, 0.25
#: Time, as a share of the budget, worth another round; and most rounds.
MORE_SHARE, MOST_ROUNDS = 0.1, 20
#: Temperatures as fractions of the cost above idle.
HOT, COLD = 3e-4, 3e-7
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


@dataclass
class _Found:
    """Best schedule of one case so far."""

    problem: OneGpu
    walk: Walk
    plan: OrderPlan | None = None
    schedule: Schedule | None = None
    cost: float = np.inf


@dataclass(frozen=True)
class DayPlan:
    """Clairvoyant schedule of a day on one GPU, jobs stopped and resumed freely.

    Attributes
    ----------
    progress : callable, optional
        Called with (seconds, cost) when a better schedule is in hand.
    """

    progress: Callable[[float, float], None] | None = None

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the best schedule found within the budget; it proves no bound.

        ``detail``: ``search_cost`` before the event-order LP, ``rounding`` (what ticks added), and
        ``periods``, the cost of every busy period (``Period.as_dict``).
        """
        reason = why_not(instance)
        if reason is not None:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=reason)
        began = time.perf_counter()
        if not instance.jobs:
            first = (instance.catalogue(0)[1],)
            return SolveResult(Outcome.FEASIBLE, StopReason.FINISHED, Schedule(first, ()))
        limit = DEFAULT_SECONDS if budget.time_limit_s is None else budget.time_limit_s
        history: list[TrajectoryPoint] = []

        def tell(cost: float) -> None:
            now = time.perf_counter() - began
            history.append(TrajectoryPoint(now, cost, None))
            if self.progress is not None:
                self.progress(now, cost)

        found = min(
            (_begin(problem) for problem in _problems(instance)), key=lambda item: item.walk.cost
        )
        deadline = began + limit
        _search(found, began, began + (WHOLE_SHARE + PERIOD_SHARE) * limit, budget.seed)
        _orders(found, deadline, budget.seed, tell)
        # An order that allows no more exchange leaves time: back to the worst periods, and again.
        number = 1
        while (
            left := deadline - time.perf_counter()
        ) > MORE_SHARE * limit and number < MOST_ROUNDS:
            _periods(found, time.perf_counter() + left / 2, budget.seed + 7919 * number)
            _orders(found, deadline, budget.seed + number, tell)
            number += 1
        schedule = found.schedule
        claimed = (np.inf if found.plan is None else found.plan.cost) + float(
            instance.constant_cost
        )
        return SolveResult(
            Outcome.NOTHING if schedule is None else Outcome.FEASIBLE,
            StopReason.TIME_LIMIT,
            schedule,
            claimed_upper=None if found.plan is None else claimed,
            wall_s=time.perf_counter() - began,
            trajectory=tuple(history),
            engine="migopt day plan",
            detail={
                "search_cost": found.walk.cost + float(instance.constant_cost),
                "periods": []
                if schedule is None
                else [period.as_dict() for period in gap_by_period(instance, schedule)],
                "rounding": None if found.plan is None else found.cost - claimed,
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


def _begin(problem: OneGpu) -> _Found:
    return _Found(problem, start_walk(problem))


def _search(found: _Found, began: float, deadline: float, seed: int) -> None:
    """Anneal over the whole day, then in busy periods, the more the worse they are."""
    walk, jobs = found.walk, found.problem.jobs
    number = 0
    until = began + (deadline - began) * WHOLE_SHARE / (WHOLE_SHARE + PERIOD_SHARE)
    start = time.perf_counter()
    while (now := time.perf_counter()) < until:
        done = (now - start) / max(until - start, 1e-9)
        _chunk(walk, 0, jobs, HOT * (COLD / HOT) ** done, CHUNK, seed, number)
        number += 1
    _periods(found, deadline, seed)


def _periods(found: _Found, deadline: float, seed: int) -> None:
    """Anneal single busy periods, drawn by how much their cost is above each job's least energy."""
    walk = found.walk
    number = 500_000
    draw = np.random.default_rng(seed)
    while time.perf_counter() < deadline:
        spans = _ranges(walk, found.problem)
        excess = np.array([max(cost, 0.0) for _, _, cost in spans])
        if excess.sum() <= 0:
            break
        low, high, _ = spans[int(draw.choice(len(spans), p=excess / excess.sum()))]
        trials = min(CHUNK, 1500 * (high - low))
        for heat in (3e-4, 3e-5, 3e-6, 3e-7):
            _chunk(walk, low, high, heat, trials, seed, number)
            number += 1


def _chunk(
    walk: Walk, low: int, high: int, heat: float, trials: int, seed: int, number: int
) -> None:
    """Anneal at one temperature (a fraction of the cost) and go on from the best rule of the chunk."""
    scale = max(abs(walk.cost), 1e-12)
    anneal(
        walk.day,
        walk.rule,
        walk.course,
        walk.spare,
        walk.scratch,
        low,
        high,
        trials,
        heat * scale,
        heat * scale * 0.5,
        walk.top,
        seed * 1_000_003 + number,
    )
    walk.replay()


def _ranges(walk: Walk, problem: OneGpu) -> list[tuple[int, int, float]]:
    """Return busy periods as ranges of arrivals, with their cost above each job's least energy."""
    total = walk.day.release.size
    starts = [n for n in range(total) if walk.course.present[n] == 0]
    single = np.full(problem.groups, np.inf)
    for b, counts in enumerate(problem.counts):
        if counts.sum() == 1:
            single[int(np.argmax(counts))] = problem.vector_cost[b]
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(problem.speed > 0, single / problem.speed, np.inf).min(axis=1)
    chord = problem.vector_cost[-1] / max(problem.vectors.levels[-1], 1)
    share = chord * np.array(problem.vectors.compute)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(problem.speed > 0, share / problem.speed, np.inf).min(axis=1)
    least = np.minimum(least, alone)[walk.order]
    spans = list(zip(starts, [*starts[1:], total], strict=True))
    cost = walk.course.cost
    return [(a, b, float(cost[b] - cost[a] - least[a:b].sum())) for a, b in spans]


def _orders(found: _Found, deadline: float, seed: int, tell: Callable[[float], None]) -> None:
    """Solve the event-order LP of the search's course, improve its order, decode to ticks."""
    problem = found.problem
    changes = problem.tau > 0
    log = found.walk.events()
    order, first = events_of(log, found.walk.order, changes)
    if not is_valid(order):
        return
    solver = DayOrder(problem)
    # The first LP has to be solved whatever the time: without it there is no schedule.
    plan = solver.solve(order, first)
    if plan is None:
        return
    found.plan = plan
    tell(float(plan.cost) + problem.constant)
    plan = improve(solver, plan, deadline, seed)
    if found.schedule is None or plan.cost < found.plan.cost:
        found.plan = plan
        _decode(found, tell)


def _decode(found: _Found, tell: Callable[[float], None]) -> None:
    """Round the plan to ticks; keep the cheaper rounding."""
    problem, plan = found.problem, found.plan
    assert plan is not None
    for schedule in roundings(problem, plan):
        cost = float(measure(problem.instance, schedule).cost)
        if cost < found.cost:
            found.schedule, found.cost = schedule, cost
    tell(float(found.cost))
