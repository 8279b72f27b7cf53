"""Day LP by column generation: a quick lower bound for whole days, certified by stored prices.

When to use: beside ``split_bound`` as a cross-check; it converges in seconds and is weak where most
jobs are late, since it lets jobs complete in fractions. See docs/bounds/lp.md.
"""

from __future__ import annotations

from typing import Any

from migopt.model import Instance

REQUIRES = ("numba>=0.60", "highspy>=1.7")
PARAMETERS = {"uniform": (0, (0, 10000))}
CLAIMS = "bound"


def applies(instance: Instance) -> str | None:
    """Return why the LP does not cover the instance, or None."""
    from migopt.bounds.split import why_not

    return why_not(instance)


def make(*, uniform: int) -> Any:
    """Return the bound as a solver; ``uniform`` grid points are added to releases and due dates."""
    from migopt.exact.lp_bound import LpBound

    return LpBound(int(uniform))
