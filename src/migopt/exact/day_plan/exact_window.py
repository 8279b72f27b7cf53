"""Exact windows: a small busy period handed to the interval MILP, which finds its optimum and proves it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from migopt.exact.day_plan.stretch import Stretch
from migopt.exact.event_order import Event, OrderPlan
from migopt.exact.interval_milp import IntervalMilp
from migopt.exact.interval_milp.orders import order_of_schedule
from migopt.exact.one_gpu import OneGpu
from migopt.model import Instance
from migopt.results import Budget, StopReason
from migopt.units import MS_PER_MINUTE

#: Most jobs of a window; the interval MILP closes most cases of so many in a few seconds.
MOST_JOBS = 7
#: Relative gap at which a window counts as closed.
CLOSED = 1e-4


@dataclass(frozen=True)
class ExactWindow:
    """What the interval MILP says of a window.

    Attributes
    ----------
    plan : OrderPlan or None
        Best plan of the stretch with the MILP's order of events, if it has one.
    lower : float
        No plan of these jobs by themselves costs less, whatever partition it starts with.
    """

    plan: OrderPlan | None
    lower: float

    def closes(self, cost: float) -> bool:
        """Return whether a plan of this cost is the best there is, to 0.01 %."""
        return self.lower >= cost * (1 - CLOSED)


def suits(day: OneGpu, stretch: Stretch) -> bool:
    """Return whether a stretch is a small busy period, with jobs that come and complete within."""
    alone = not stretch.carried and not stretch.going_on
    return alone and 2 <= len(stretch.jobs) <= MOST_JOBS and day.vectors.off_vector is None


def exact_window(day: OneGpu, stretch: Stretch, seconds: float, seed: int) -> ExactWindow:
    """Solve a window that ``suits`` by the interval MILP within ``seconds``.

    With weight a W / W', where W and W' are the sums of the weights of the day's jobs and the window's,
    energy and lateness have the ratio that they have in the day; the day's cost is ``factor`` times the
    window's.
    """
    instance, start = _instance(day, stretch)
    partition: Literal["free"] | int = day.class_numbers[0] if len(day.classes) == 1 else "free"
    answer = IntervalMilp(partition=partition).solve(instance, Budget(seconds, seed=seed))
    if answer.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt  # which the engine's callbacks swallowed
    shares = Fraction(instance.total_weight, day.instance.total_weight)
    factor = float(shares * (instance.weight_a + 1) / (day.instance.weight_a + 1))
    lower = 0.0
    if answer.lower is not None:
        lower = (answer.lower - float(instance.constant_cost)) * factor
    if answer.schedule is None:
        return ExactWindow(None, lower)
    own = sorted(range(len(stretch.jobs)), key=lambda q: day.instance.jobs[stretch.jobs[q]].id)
    rows = [stretch.jobs[q] for q in own]
    minute = start / MS_PER_MINUTE
    view = replace(
        day,
        instance=instance,
        release=day.release[rows] - minute,
        due=day.due[rows] - minute,
        speed=day.speed[rows],
        late_cost=day.late_cost[rows],
    )
    order = order_of_schedule(view, answer.schedule)
    if order is None:
        return ExactWindow(None, lower)
    events = [
        event._replace(who=own[event.who]) if event.kind in ("release", "done") else event
        for event in order[0]
    ]
    while events and events[-1].kind in ("off", "on"):
        events.pop()
    if stretch.first is not None and order[1] is not None and order[1] != stretch.first:
        events[:0] = [Event("off", -1), Event("on", order[1])]
    plan = stretch.solver(day).solve(*stretch.order(tuple(events)), latest=stretch.latest)
    return ExactWindow(plan, lower)


def _instance(day: OneGpu, stretch: Stretch) -> tuple[Instance, int]:
    """Return the window's jobs as an instance of their own, and the millisecond that is its time 0."""
    jobs = [day.instance.jobs[j] for j in stretch.jobs]
    start = min(job.release_ms for job in jobs)
    moved = tuple(
        replace(job, release_ms=job.release_ms - start, due_ms=max(0, job.due_ms - start))
        for job in jobs
    )
    weight = sum(job.weight for job in jobs)
    return day.instance.replace(
        jobs=moved,
        weight_a=day.instance.weight_a * Fraction(day.instance.total_weight, weight),
        horizon_ms=1,
        mig_off=False,
    ), start
