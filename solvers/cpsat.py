"""CP-SAT, exact without preemption: one GPU or several, partitions that change with tau or are kept.

When to use: up to ten jobs or so, to see what no list rule finds; with ``partition=one`` some more. Where
the instance allows preemption, its bound holds for schedules without it only (``class_lower``).
Reference: Perron, Didier and Gay, "The CP-SAT-LP Solver", CP 2023.
"""

from __future__ import annotations

from typing import Any

from migopt.model import Instance

REQUIRES = ("ortools>=9.12",)
PARAMETERS = {"partition": ("free", None), "workers": (0, (0, 64))}
CLAIMS = "exact"


def applies(instance: Instance) -> str | None:
    """Return why the model does not cover the instance, or None."""
    from migopt.exact.cpsat.case import why_not

    return why_not(instance)


def make(*, partition: str, workers: int) -> Any:
    """Return the solver; ``partition`` is free, one or a number; ``workers`` = 0 takes the budget's threads."""
    from migopt.exact.cpsat import CpSat
    from migopt.exact.partition_choice import partition_choice

    return CpSat(partition_choice("cpsat", partition), workers=workers)
