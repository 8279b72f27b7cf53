"""From a plan and a bound on the grid to a result: an upper bound for continuous time, never a lower one."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction

from migopt.bounds.base import float_below
from migopt.errors import InfeasiblePartitionError
from migopt.exact.slots.data import MAX_SLOTS, SlotData, narrowed, slot_data, why_not
from migopt.exact.slots.plan import Plan, cost, to_schedule
from migopt.exact.slots.start import first_plan
from migopt.model import Instance
from migopt.results import Outcome, SolveResult, StopReason, TrajectoryPoint


@dataclass
class Found:
    """The best plan and the bound so far, in the data's unit."""

    data: SlotData
    plan: Plan
    began: float
    lower: float = 0.0
    trajectory: list[TrajectoryPoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.upper = cost(self.data, self.plan)
        self._note()

    def plan_found(self, plan: Plan) -> None:
        """Take a whole plan if it is better."""
        value = cost(self.data, plan)
        if value < self.upper:
            self.plan, self.upper = plan, value
            self._note()

    def bound_found(self, lower: float) -> None:
        """Take a lower bound for the grid."""
        if math.isfinite(lower) and lower > self.lower:
            self.lower = lower

    @property
    def bound(self) -> float:
        """The bound, at most the best plan's cost."""
        return min(self.lower, self.upper)

    def _note(self) -> None:
        # The grid's bound is none for the schedule's cost, which leaves slices in the middle of slots.
        upper = float(self.data.cost(self.upper))
        self.trajectory.append(TrajectoryPoint(time.perf_counter() - self.began, upper, None))


def as_cost(data: SlotData, objective: float) -> float:
    """Return an objective as a cost, rounded down."""
    return float_below(data.instance.constant_cost + Fraction(objective) * data.cost_unit)


def prepare(
    instance: Instance, partition: str | int, slot_ms: int, slots: int, began: float
) -> Found | SolveResult:
    """Return the narrowed data with a first plan, or the result where there is none."""
    reason = why_not(instance, partition, slot_ms, slots)
    if reason is not None:
        return _not_applicable(reason)
    try:
        data = slot_data(instance, partition, slot_ms, slots)
    except InfeasiblePartitionError as error:
        return SolveResult(Outcome.INFEASIBLE_PARTITION, StopReason.FINISHED, message=str(error))
    plan = first_plan(data)
    data = narrowed(data, cost(data, plan))
    if data.slots > MAX_SLOTS:
        return _not_applicable(
            f"{data.slots} slots of {data.slot_ms} ms: the slot models cover up to {MAX_SLOTS}; "
            "take longer slots"
        )
    return Found(data, Plan(plan.classes[: data.slots], plan.runs), began)


def _not_applicable(reason: str) -> SolveResult:
    return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=reason)


def answer(found: Found, stop: StopReason, engine: str, origin: str, note: str = "") -> SolveResult:
    """Return the result: the plan's schedule, the bound of the class, the grid."""
    data = found.data
    proved = stop is StopReason.FINISHED
    value, bound = float(data.cost(found.upper)), as_cost(data, found.bound)
    what = "optimal" if proved else "best found"
    message = (
        f"{what} on a grid of {data.slot_ms / 1000:g} s, where it counts {value:.6f}; "
        "an upper bound for continuous time, no bound from below"
    )
    return SolveResult(
        Outcome.FEASIBLE,
        stop,
        to_schedule(data, found.plan, origin),
        wall_s=time.perf_counter() - found.began,
        trajectory=tuple(found.trajectory),
        engine=engine,
        detail={
            "grid": {
                "origin_ms": data.origin_ms,
                "slot_ms": data.slot_ms,
                "slots": data.slots,
                "class": data.class_name(),
                "value": value,
                "lower": bound,
                "objective": found.upper,
                "optimal": proved,
            },
            "partition": ", ".join(
                dict.fromkeys(data.classes[c].label for c in found.plan.classes)
            ),
        },
        message=f"{message}; {note}" if note else message,
    )
