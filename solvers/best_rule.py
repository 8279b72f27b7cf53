"""The best of several dispatch rules on every fixed partition: a quick, decent upper bound.

When to use: as a starting schedule for exact solvers, or when nothing better is at hand.
"""

from __future__ import annotations

from migopt.model import Instance
from migopt.results import Budget, Solver, SolveResult

REQUIRES = ()
PARAMETERS = {}
CLAIMS = "heuristic"

RULES = ("edf_fs", "edf_ss", "edf_ss_restricted", "llf", "lalf", "sjf")


def applies(instance: Instance) -> str | None:
    """Return None: policies run on every instance of kind ``schedule``."""
    return None if instance.kind == "schedule" else f"kind {instance.kind} is not covered"


def make() -> Solver:
    """Return a solver that simulates each rule with its best fixed partition, and without MIG."""
    return BestRule()


class BestRule:
    """Simulates policies and keeps the schedule of least cost."""

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the cheapest schedule found; the budget's time is looked at between policies."""
        import time

        from migopt.metrics import measure
        from migopt.registry import resolve
        from migopt.results import Outcome, StopReason

        start = time.perf_counter()
        policies = [f"{rule}+best_fixed" for rule in RULES]
        policies += ["edf_fs+no_mig"] if instance.mig_off else []
        best, stop, refused = None, StopReason.FINISHED, ""
        for policy in policies:
            if best and budget.time_limit_s and time.perf_counter() - start > budget.time_limit_s:
                stop = StopReason.TIME_LIMIT
                break
            try:
                result = resolve(policy).solve(instance, budget)
            except KeyboardInterrupt:
                stop = StopReason.INTERRUPTED
                break
            if result.schedule is None:
                refused = refused or result.message
                continue
            schedule = result.schedule
            cost = measure(instance, schedule).cost_exact
            if best is None or cost < best[0]:
                best = (cost, schedule, policy)
        wall_s = time.perf_counter() - start
        if best is None and stop is StopReason.INTERRUPTED:
            return SolveResult(Outcome.NOTHING, stop, wall_s=wall_s, message="interrupted")
        if best is None:
            return SolveResult(Outcome.INFEASIBLE_PARTITION, stop, wall_s=wall_s, message=refused)
        return SolveResult(
            Outcome.FEASIBLE,
            stop,
            best[1],
            wall_s=wall_s,
            message=f"best of {len(policies)}: {best[2]}",
        )
