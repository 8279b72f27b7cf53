"""Variable splitting bound: certified lower bound for whole days and small cases, proven by stored prices.

When to use: whenever the closed form is too weak; one or many GPUs, any preemption mode (it is a
relaxation), time for repartition included for scope gpu. See docs/bounds/split.md.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from migopt.interrupt import ctrl_c
from migopt.model import Instance
from migopt.results import Budget, SolveResult

REQUIRES = ("numba>=0.60", "highspy>=1.7")
PARAMETERS = {"lp_start": ("yes", ("yes", "no"))}
#: With so many jobs the ascent begins at the prices of the day LP, which takes some seconds.
LP_FROM, LP_TO = 50, 1500
LP_SHARE = 0.5
CLAIMS = "bound"


def applies(instance: Instance) -> str | None:
    """Return why the bound does not cover the instance, or None."""
    from migopt.bounds.split import why_not

    return why_not(instance)


def make(*, lp_start: str) -> Any:
    """Return the bound as a solver; ``lp_start=no`` begins at the chord price of power."""
    return _FromLp(lp_start == "yes")


class _FromLp:
    def __init__(self, lp_start: bool) -> None:
        self.lp_start = lp_start

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Solve the day LP if the instance is large, then ascend from its prices."""
        from migopt.bounds.split.solver import SplitBound

        if not self.lp_start or not LP_FROM <= len(instance.jobs) <= LP_TO:
            return SplitBound().solve(instance, budget)
        from migopt.exact.lp_bound import lp_prices

        began = time.perf_counter()
        limit = budget.time_limit_s
        with ctrl_c():  # one for both, or the second would not know
            prices = lp_prices(instance, 10.0 if limit is None else LP_SHARE * limit)
            spent = time.perf_counter() - began
            left = max(0.1, limit - spent) if limit is not None else None
            ascent = SplitBound(first_prices=tuple(prices))
            return ascent.solve(instance, replace(budget, time_limit_s=left))
