"""Variable splitting bound: certified lower bound for whole days and small cases, proven by stored prices.

When to use: whenever the closed form is too weak; one or many GPUs, any preemption mode (it is a
relaxation), time for repartition included for scope gpu. See docs/bounds/split.md.
"""

from __future__ import annotations

from typing import Any

from migopt.model import Instance

REQUIRES = ("numba>=0.60",)
PARAMETERS = {}
CLAIMS = "bound"


def applies(instance: Instance) -> str | None:
    """Return why the bound does not cover the instance, or None."""
    from migopt.bounds.split import why_not

    return why_not(instance)


def make() -> Any:
    """Return the bound as a solver."""
    from migopt.bounds.split.solver import SplitBound

    return SplitBound()
