"""CP-SAT, exact without preemption: one partition for the whole run, chosen by the solver.

When to use: up to a dozen jobs or so on one GPU, to see what no list rule finds. Where the instance
allows preemption or repartition, its bound holds for schedules without them only (``class_lower``).
Reference: Perron, Didier and Gay, "The CP-SAT-LP Solver", CP 2023.
"""

from __future__ import annotations

from migopt.model import Instance
from migopt.results import Solver

REQUIRES = ("ortools>=9.12",)
PARAMETERS = {"workers": (0, (0, 64))}
CLAIMS = "exact"


def applies(instance: Instance) -> str | None:
    """Return why the model does not cover the instance, or None."""
    from migopt.exact.cpsat.case import why_not

    return why_not(instance)


def make(*, workers: int) -> Solver:
    """Return the solver; ``workers`` = 0 takes the budget's threads."""
    from migopt.exact.cpsat import CpSat

    return CpSat(workers=workers)
