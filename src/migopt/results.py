"""What a solver is given and what it gives back: budgets, outcomes, bounds, gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from migopt.errors import InputError
from migopt.model import Instance, Schedule


class StopReason(StrEnum):
    """Why a solver stopped."""

    FINISHED = "finished"
    TIME_LIMIT = "time_limit"
    GAP_REACHED = "gap_reached"
    INTERRUPTED = "interrupted"
    ERROR = "error"


class Outcome(StrEnum):
    """What a solver has to show, whatever the reason it stopped."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    BOUND_ONLY = "bound_only"
    INFEASIBLE_PARTITION = "infeasible_partition"
    NOT_APPLICABLE = "not_applicable"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one run: wall seconds (None = none), relative active gap to stop at, threads, seed.

    Raises
    ------
    InputError
        Seconds or gap below 0 or no number, fewer than 1 thread, a seed below 0.
    """

    time_limit_s: float | None = 60.0
    gap: float = 0.0
    threads: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        limit = 0.0 if self.time_limit_s is None else self.time_limit_s
        for name, value, least in (
            ("time_limit_s", limit, 0),
            ("gap", self.gap, 0),
            ("threads", self.threads, 1),
            ("seed", self.seed, 0),
        ):
            if not value >= least:  # NaN is not
                raise InputError(f"must be at least {least}, not {value!r}", where=f"budget.{name}")


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """Best bounds known after ``wall_s`` seconds; a missing side is None."""

    wall_s: float
    upper: float | None
    lower: float | None


@dataclass(frozen=True, slots=True)
class Live:
    """What a running solver reports: seconds, best cost and bound so far, and a note (phase, grid size).

    A solver that reports has a method ``listening(tell)``, which returns it with ``tell`` called now and then.
    """

    wall_s: float
    upper: float | None
    lower: float | None
    note: str = ""


@dataclass(frozen=True)
class SolveResult:
    """The answer of a solver, bound or policy.

    Attributes
    ----------
    outcome, stop : Outcome, StopReason
        Two axes: what was found, and why the run ended.
    schedule : Schedule or None
        The best schedule; its cost is whatever ``measure`` says, not what the solver believes.
    lower : float or None
        A bound that no schedule of the *instance* can beat, in units of cost; kept also without a schedule.
    class_lower, class_name : float or None, str
        A bound that holds only for a narrower class (say, ``one partition, no preemption``), and its name.
    proof : str
        ``multipliers``, ``engine``, ``closed_form`` or empty.
    claimed_upper : float or None
        The solver's own unrounded objective value, for comparison with ``measure``.
    wall_s : float
        Wall time.
    trajectory : tuple of TrajectoryPoint
        How the bounds moved.
    engine : str
        Engine and version that claims the bound.
    detail : Mapping
        Documented extras of the solver (statistics, multipliers).
    message : str
        One line for people, for instance why it does not apply.
    """

    outcome: Outcome
    stop: StopReason
    schedule: Schedule | None = None
    lower: float | None = None
    class_lower: float | None = None
    class_name: str = ""
    proof: str = ""
    claimed_upper: float | None = None
    wall_s: float = 0.0
    trajectory: tuple[TrajectoryPoint, ...] = ()
    engine: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""


@runtime_checkable
class Solver(Protocol):
    """Anything that answers an instance within a budget."""

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the best schedule and bound found within ``budget``."""
        ...


def gap(upper: float | None, lower: float | None) -> float | None:
    """Return (upper - lower) / upper; 0 when both are equal.

    None when a side is missing, or when the upper one is 0 and the lower one below it, which no
    relative number describes.
    """
    if upper is None or lower is None or (upper == 0 and lower != 0):
        return None
    if upper == lower:
        return 0.0
    return (upper - lower) / upper


def active_gap(instance: Instance, upper: float | None, lower: float | None) -> float | None:
    """Return the gap with the constant a H sum_g P_g(0) / (a + 1) taken out of both sides.

    The constant is what an idle day costs; with it in, a long quiet day makes any gap look small.
    """
    return gap_above(float(instance.constant_cost), upper, lower)


def gap_above(constant: float, upper: float | None, lower: float | None) -> float | None:
    """Return the gap with ``constant`` taken out of both sides (for records, which hold no instance)."""
    if upper is None or lower is None:
        return None
    return gap(_minus(upper, constant), _minus(lower, constant))


def _minus(value: float, constant: float) -> float:
    # A lower bound equal to the constant must not become -1e-17 by float subtraction.
    rest = float(Fraction(value) - Fraction(constant))
    return 0.0 if abs(rest) <= 1e-12 * max(1.0, abs(value)) else rest
