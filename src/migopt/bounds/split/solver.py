"""The splitting bound as a solver."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from migopt.bounds.base import float_below
from migopt.bounds.split.bound import split_bound, why_not
from migopt.bounds.split.problem import SplitProblem
from migopt.bounds.split.shares import bound_shares
from migopt.interrupt import ctrl_c
from migopt.model import Instance
from migopt.results import Budget, Outcome, SolveResult, StopReason, TrajectoryPoint

#: Processor seconds that the exact evaluation of the stored prices may take: so many, and so many per job
#: (a day of 500 jobs takes 1.1, one of 4,000 jobs 3.8); and the most of the budget that is kept for it.
EVALUATION_S, EVALUATION_PER_JOB_S, EVALUATION_SHARE = 0.3, 0.002, 0.5
DEFAULT_SECONDS = 30.0


def slowdown() -> float:
    """Return about how much longer than alone a processor second takes on this machine now."""
    if not hasattr(os, "getloadavg"):
        return 1.0
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def ascent_seconds(instance: Instance, seconds: float) -> float:
    """Return how much of ``seconds`` is left for the ascent, the exact evaluation taken off."""
    kept = slowdown() * (EVALUATION_S + EVALUATION_PER_JOB_S * len(instance.jobs))
    return max(0.05, seconds - min(kept, EVALUATION_SHARE * seconds))


@dataclass(frozen=True)
class SplitBound:
    """Lower bound for any instance, with the prices that prove it in ``detail["multipliers"]``.

    Attributes
    ----------
    completions_ms : mapping, optional
        Completions by job id in a good schedule, for the windows.
    first_prices : sequence of (SplitProblem, prices)
        Prices to begin with.
    """

    completions_ms: Mapping[int, int] | None = None
    first_prices: Sequence[tuple[SplitProblem, Any]] = ()

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the bound.

        ``detail`` holds ``multipliers`` (plain data, one per case), the bound's parts, and ``shares``
        (the bound above the constant by job in order of release, see ``bound_shares``).
        """
        start = time.perf_counter()
        reason = why_not(instance)
        if reason is not None:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=reason)
        if not instance.jobs:
            return SolveResult(
                Outcome.BOUND_ONLY,
                StopReason.FINISHED,
                lower=float_below(instance.constant_cost),
                proof="closed_form",
            )
        seconds = DEFAULT_SECONDS if budget.time_limit_s is None else budget.time_limit_s
        with ctrl_c() as noted:
            found = split_bound(
                instance,
                seconds=ascent_seconds(instance, seconds),
                threads=budget.threads,
                completions_ms=self.completions_ms,
                first_prices=self.first_prices,
                should_stop=lambda: noted.pressed,
            )
        return SolveResult(
            Outcome.BOUND_ONLY,
            StopReason.INTERRUPTED if noted.pressed else StopReason.TIME_LIMIT,
            lower=found.value,
            proof="multipliers",
            wall_s=time.perf_counter() - start,
            trajectory=tuple(TrajectoryPoint(at, None, value) for at, value in found.history),
            engine="migopt split bound",
            detail={
                "multipliers": [item.to_dict() for item in found.multipliers],
                "tardiness_part": found.tardiness_part,
                "energy_part": found.value - found.tardiness_part,
                "beyond_window": found.beyond,
                "shares": bound_shares(instance, found.multipliers, found.value),
            },
        )
