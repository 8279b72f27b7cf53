"""CP-SAT, exact without preemption on one given partition of the catalogue.

When to use: to compare with dispatch rules on that partition (``cpsat_fixed:partition=3`` beside
``edf_ss_restricted+static:3``). Its bound holds for that class of schedules only (``class_lower``).
"""

from __future__ import annotations

from migopt.model import Instance
from migopt.results import Solver

REQUIRES = ("ortools>=9.12",)
PARAMETERS = {"partition": (3, (1, 1_000_000)), "workers": (0, (0, 64))}
CLAIMS = "exact"


def applies(instance: Instance) -> str | None:
    """Return why the model does not cover the instance, or None; ``solve`` looks at the partition."""
    from migopt.exact.cpsat.case import why_not

    return why_not(instance)


def make(*, partition: int, workers: int) -> Solver:
    """Return the solver for partition number ``partition``; ``workers`` = 0 takes the budget's threads."""
    from migopt.exact.cpsat import CpSat

    return CpSat(partition, workers=workers)
