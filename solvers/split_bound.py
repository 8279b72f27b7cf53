"""Variable splitting bound: prices per job, interval and profile, for whole days and small cases.

When to use: whenever the closed form is too weak; a day of 500 jobs takes about half a minute. The
bound is evaluated again from its stored multipliers in exact arithmetic. Repartition time is inside
for scope ``gpu``. See the bound's page in the docs.
"""

from __future__ import annotations

from migopt.model import Instance
from migopt.results import Budget, Solver, SolveResult

REQUIRES = ("numba>=0.60",)
PARAMETERS = {}
CLAIMS = "bound"


def applies(instance: Instance) -> str | None:
    """Return None, or why the bound does not cover the instance."""
    from migopt.bounds.split import why_not

    return why_not(instance)


def make() -> Solver:
    """Return the bound as a solver."""
    return SplitBound()


class SplitBound:
    """Ascends within the budget; windows are as wide as the best simple rule needs."""

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the bound with its multipliers."""
        import time

        from migopt.bounds.split import split_bound
        from migopt.registry import resolve
        from migopt.results import Outcome, StopReason, TrajectoryPoint

        start = time.perf_counter()
        good = resolve("edf_ss+best_fixed").solve(instance, budget).schedule
        limit = 30.0 if budget.time_limit_s is None else budget.time_limit_s
        # A tenth of the time is kept for the exact evaluation at the end.
        seconds = max(0.1, 0.9 * limit - (time.perf_counter() - start))
        found = split_bound(
            instance,
            seconds=seconds,
            threads=budget.threads,
            completions_ms=None if good is None else good.completions_ms(),
        )
        wall_s = time.perf_counter() - start
        return SolveResult(
            Outcome.BOUND_ONLY,
            StopReason.TIME_LIMIT if wall_s >= 0.9 * limit else StopReason.FINISHED,
            lower=found.value,
            proof="multipliers",
            wall_s=wall_s,
            trajectory=tuple(TrajectoryPoint(at, None, value) for at, value in found.history),
            engine="migopt",
            detail={
                "tardiness_part": found.tardiness_part,
                "multipliers": [case.to_dict() for case in found.multipliers],
            },
        )
