"""A bound as a solver: it has a lower bound and no schedule."""

from __future__ import annotations

import time
from dataclasses import dataclass

from migopt.bounds.base import Bound
from migopt.model import Instance
from migopt.results import Budget, Outcome, SolveResult, StopReason


@dataclass(frozen=True)
class BoundSolver:
    """Answers with the bound's value.

    Attributes
    ----------
    bound : Bound
    certified : bool
        False for a published form that is no bound: its value then goes to ``detail`` only.
    """

    bound: Bound
    certified: bool = True

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Evaluate the bound; closed forms need no budget."""
        start = time.perf_counter()
        value = self.bound.bound(instance)
        if value.cost is None:
            return SolveResult(
                Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=value.not_applicable
            )
        detail = {
            "value": value.lower,
            "energy_uj": None if value.energy_uj is None else float(value.energy_uj),
            "weighted_tardiness_ms": float(value.weighted_tardiness_ms or 0),
            **value.detail,
        }
        return SolveResult(
            Outcome.BOUND_ONLY,
            StopReason.FINISHED,
            lower=value.lower if self.certified else None,
            proof="closed_form" if self.certified else "",
            wall_s=time.perf_counter() - start,
            detail=detail,
            message=""
            if self.certified
            else f"published value {value.lower:.6f}; not a valid bound",
        )
