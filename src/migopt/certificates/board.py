"""What a run knows so far: the cheapest checked schedule, the best bound of each solver, live numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from migopt.answer import Answer, judge
from migopt.certificates.certificate import PROOFS, Bound, Stage
from migopt.certificates.clock import Clock
from migopt.errors import MigoptError
from migopt.metrics import Metrics
from migopt.model import Instance, Schedule
from migopt.results import Outcome, SolveResult, active_gap, gap


@dataclass(frozen=True, slots=True)
class Progress:
    """Live state: seconds, step, best cost and bound (as its engine reports them now), gaps, the step's note."""

    wall_s: float
    stage: str
    upper: float | None
    lower: float | None
    gap: float | None
    active_gap: float | None
    note: str = ""


class CertificateError(MigoptError):
    """A solver claimed what cannot be true; the message has both numbers."""


class Board:
    """Collects results; every schedule is checked and scored, every bound held against the cost."""

    def __init__(
        self, instance: Instance, clock: Clock, tell: Callable[[Progress], None] | None
    ) -> None:
        self.instance, self.clock = instance, clock
        self._tell = tell
        self.schedule: Schedule | None = None
        self.metrics: Metrics | None = None
        self.cost: Fraction | None = None
        self.upper_by = ""
        self.bounds: dict[tuple[str, str], Bound] = {}
        self.stages: list[Stage] = []
        #: Why no legal schedule exists, where that is known.
        self.infeasible = ""
        #: Whether some step's schedule is proven optimal but for the rounding to milliseconds.
        self.optimal = False
        #: Whether some step had too little time left.
        self.too_late = False
        #: Most seconds that checking and scoring a schedule took.
        self.judge_s = 0.0
        #: Numbers that a running step reports; they count only once its result is in.
        self._live: tuple[float | None, float | None] = (None, None)

    @property
    def upper(self) -> float | None:
        """Cost of the best schedule."""
        return None if self.metrics is None else self.metrics.cost

    @property
    def lower(self) -> float | None:
        """The best bound."""
        return max((bound.lower for bound in self.bounds.values()), default=None)

    @property
    def closed(self) -> bool:
        """Whether upper and lower meet, to a millionth of the cost above the constant."""
        left = active_gap(self.instance, self.upper, self.lower)
        return left is not None and left <= 1e-6

    @property
    def completions_ms(self) -> Mapping[int, int] | None:
        """Completions in the best schedule."""
        return None if self.schedule is None else self.schedule.completions_ms()

    def take(self, name: str, result: SolveResult, **extra: Any) -> None:
        """Take a step's result.

        Raises
        ------
        CertificateError
            Its schedule breaks a rule or costs more than claimed and ticks account for, or its bound
            is above the cost of a schedule in hand.
        """
        answer = self.judge(name, result)
        if answer.claim_error:
            raise CertificateError(f"{name}: {answer.claim_error}")
        metrics = answer.metrics
        if metrics is not None and (self.cost is None or metrics.cost_exact < self.cost):
            self.schedule, self.metrics = result.schedule, metrics
            self.cost, self.upper_by = metrics.cost_exact, name
        if result.lower is not None and result.proof in PROOFS:
            self.add(_bound(name, result))
        self._require_order()
        self.optimal |= result.outcome is Outcome.OPTIMAL
        self.stages.append(
            Stage(
                name,
                str(result.outcome),
                round(result.wall_s, 3),
                answer.upper,
                result.lower,
                result.class_lower,
                result.class_name,
                extra.get("message", result.message),
            )
        )
        self._live = (None, None)
        self.tell(name)

    def judge(self, name: str, result: SolveResult) -> Answer:
        """Check and score a result's schedule, and note how long that takes."""
        began = time.perf_counter()
        answer = judge(self.instance, name, result, result.wall_s)
        self.judge_s = max(self.judge_s, time.perf_counter() - began)
        return answer

    def add(self, bound: Bound) -> None:
        """Keep a bound if it is the best of its solver and proof."""
        key = (bound.by, bound.proof)
        if key not in self.bounds or bound.lower > self.bounds[key].lower:
            self.bounds[key] = bound

    def skip(self, name: str, outcome: str, message: str) -> None:
        """Note a step that did not run."""
        self.stages.append(Stage(name, outcome, 0.0, message=message))

    def live(self, name: str, upper: float | None, lower: float | None, note: str = "") -> None:
        """Show what a running step reports."""
        self._live = (upper, lower)
        self.tell(name, note)

    def tell(self, name: str, note: str = "") -> None:
        """Report the state."""
        if self._tell is None:
            return
        uppers = [value for value in (self.upper, self._live[0]) if value is not None]
        lowers = [value for value in (self.lower, self._live[1]) if value is not None]
        upper, lower = min(uppers, default=None), max(lowers, default=None)
        both = (gap(upper, lower), active_gap(self.instance, upper, lower))
        self._tell(Progress(self.clock.spent, name, upper, lower, *both, note))

    def _require_order(self) -> None:
        if self.cost is None:
            return
        for bound in self.bounds.values():
            room = Fraction(0) if bound.proof != "engine" else abs(self.cost) * Fraction(1, 10**9)
            if Fraction(bound.lower) > self.cost + room:
                raise CertificateError(
                    f"the bound {bound.lower!r} by {bound.by} ({bound.proof}) is above the cost "
                    f"{float(self.cost)!r} of a legal schedule by {self.upper_by}"
                )


def _bound(name: str, result: SolveResult) -> Bound:
    assert result.lower is not None
    detail = result.detail
    return Bound(
        name,
        result.proof,
        result.lower,
        result.engine if result.proof == "engine" else "",
        tuple(detail.get("multipliers", ())) if result.proof == "multipliers" else (),
        detail.get("energy_part"),
        detail.get("tardiness_part"),
    )
