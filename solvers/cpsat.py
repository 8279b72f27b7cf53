"""Non-preemptive schedules under one partition for the whole run, proved optimal by CP-SAT.

When to use: up to about a dozen jobs on one GPU. The partition is chosen by the solver, or fixed by
the parameter ``partition``. Starts from the best rule without preemption.
"""

from __future__ import annotations

from migopt.model import Instance
from migopt.results import Budget, Solver, SolveResult

REQUIRES = ("ortools>=9.12",)
PARAMETERS = {"partition": (0, (0, 100000)), "workers": (0, (0, 64))}
CLAIMS = "exact"

RULES = ("edf_fs_nonpreemptive", "edf_ss_nonpreemptive", "sjf")


def applies(instance: Instance) -> str | None:
    """Return None, or why the model does not cover the instance."""
    from migopt.exact.cpsat.solver import why_not

    return why_not(instance)


def make(*, partition: int = 0, workers: int = 0) -> Solver:
    """Return the solver; ``partition`` 0 lets it choose, ``workers`` 0 takes the budget's threads."""
    return StartedCpSat(partition or None, workers)


class StartedCpSat:
    """CP-SAT with the best non-preemptive rule's schedule as its start."""

    def __init__(self, partition: int | None, workers: int) -> None:
        self.partition, self.workers = partition, workers

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Simulate the rules, then let CP-SAT improve and prove."""
        from migopt.exact.cpsat import CpSat
        from migopt.metrics import measure
        from migopt.registry import resolve

        kept = f"static:{self.partition}" if self.partition else "best_fixed"
        starts = [resolve(f"{rule}+{kept}").solve(instance, budget).schedule for rule in RULES]
        found = [schedule for schedule in starts if schedule is not None]
        best = min(found, key=lambda schedule: measure(instance, schedule).cost_exact, default=None)
        return CpSat(self.partition, hint=best, workers=self.workers).solve(instance, budget)
