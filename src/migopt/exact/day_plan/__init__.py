"""Clairvoyant plans for whole days on one GPU: local search, then the event-order LP."""

from migopt.exact.day_plan.plan import DayPlan, why_not

__all__ = [
    "DayPlan",
    "why_not",
]
