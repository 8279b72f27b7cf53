"""Clairvoyant day plan: local search on a priced list schedule, then the event-order LP.

When to use: an upper bound for a whole day on one GPU with free preemption, to hold against
``split_bound``. It knows all jobs from the start, so an online policy cannot be expected to reach it.
See docs/exact/day_plan.md.
"""

from __future__ import annotations

from typing import Any

from migopt.model import Instance

REQUIRES = ("numba>=0.60", "highspy>=1.7")
PARAMETERS = {}
CLAIMS = "heuristic"


def applies(instance: Instance) -> str | None:
    """Return why day plans do not cover the instance, or None."""
    from migopt.exact.day_plan import why_not

    return why_not(instance)


def make() -> Any:
    """Return the solver."""
    from migopt.exact.day_plan import DayPlan

    return DayPlan()
