"""A solver's result as the independent checker and ``measure`` see it, and whether its claims can be true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from migopt.check import Violation, check
from migopt.errors import InputError
from migopt.metrics import Metrics, measure
from migopt.model import Instance, Schedule
from migopt.results import Outcome, SolveResult, active_gap, gap

#: Relative room for the float error of a lower bound against an exactly measured cost.
CLAIM_TOLERANCE = 1e-9
#: Relative room for an engine's tolerances between its unrounded value and the schedule's cost above idle.
MODEL_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Answer:
    """A solver's result, its schedule checked by the independent checker and scored by ``measure``.

    Attributes
    ----------
    solver : str
        The name asked for.
    instance : Instance
    result : SolveResult
        What the solver said.
    metrics : Metrics or None
        The score of its schedule.
    violations : tuple of Violation
        Rules that its schedule breaks; such a schedule gives no upper bound.
    wall_s : float
        Wall time of the solver, checking not included.
    """

    solver: str
    instance: Instance
    result: SolveResult
    metrics: Metrics | None
    violations: tuple[Violation, ...]
    wall_s: float

    @property
    def schedule(self) -> Schedule | None:
        """The solver's schedule."""
        return self.result.schedule

    @property
    def upper(self) -> float | None:
        """Cost of the schedule, None when there is none or it is illegal."""
        return None if self.metrics is None or self.violations else self.metrics.cost

    @property
    def lower(self) -> float | None:
        """The solver's own lower bound for the instance, in units of cost."""
        return self.result.lower

    @property
    def gap(self) -> float | None:
        """(upper - lower) / upper."""
        return gap(self.upper, self.lower)

    @property
    def active_gap(self) -> float | None:
        """The gap without the constant cost of idle power."""
        return active_gap(self.instance, self.upper, self.lower)

    @property
    def outcome(self) -> Outcome:
        """What the solver has to show."""
        return self.result.outcome

    @property
    def claim_error(self) -> str:
        """Why the solver's claims cannot be true; empty when nothing speaks against them."""
        if self.violations:
            return f"its schedule breaks a rule: {self.violations[0]}"
        upper, lower = self.upper, self.lower
        if (
            upper is not None
            and lower is not None
            and lower > upper + CLAIM_TOLERANCE * max(1.0, abs(upper))
        ):
            return f"its lower bound {lower!r} is above the cost {upper!r} of its own schedule"
        return self._claimed_too_low()

    def _claimed_too_low(self) -> str:
        """Say when the schedule costs more than claimed and ticks do not account for it."""
        claimed, upper = self.result.claimed_upper, self.upper
        if claimed is None or upper is None:
            return ""
        allowance = float(self.result.detail.get("tick_allowance") or 0.0)
        above_idle = abs(claimed - float(self.instance.constant_cost))
        # A cost of the size of the constant is added in floats on both sides.
        room = MODEL_TOLERANCE * above_idle + CLAIM_TOLERANCE * max(abs(claimed), 1e-6)
        if upper <= claimed + allowance + room:
            return ""
        return (
            f"its schedule costs {upper!r}, more than the {claimed!r} claimed and the "
            f"{allowance!r} that whole milliseconds account for"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain data, for JSON."""
        result = self.result
        return {
            "solver": self.solver,
            "upper": self.upper,
            "lower": self.lower,
            "gap": self.gap,
            "active_gap": self.active_gap,
            "outcome": str(result.outcome),
            "stop": str(result.stop),
            "class_lower": result.class_lower,
            "class_name": result.class_name,
            "proof": result.proof,
            "engine": result.engine,
            "message": result.message,
            "wall_s": self.wall_s,
            "claim_error": self.claim_error,
            "violations": [str(violation) for violation in self.violations],
            "metrics": None if self.metrics is None else self.metrics.as_dict(),
        }


def judge(instance: Instance, name: str, result: SolveResult, wall_s: float) -> Answer:
    """Check and score the schedule of a result; raises InputError as ``measure`` does."""
    if result.schedule is None:
        return Answer(name, instance, result, None, (), wall_s)
    violations = tuple(check(instance, result.schedule))
    try:
        metrics = measure(instance, result.schedule)
    except InputError:
        if not violations:
            raise
        metrics = None  # it names jobs or placements that do not exist; the violations say which
    return Answer(name, instance, result, metrics, violations, wall_s)
