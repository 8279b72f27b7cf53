"""Clairvoyant plans for whole days on one GPU: local search, event-order LP, gap by busy period."""

from migopt.exact.day_plan.periods import Period, busy_periods, gap_by_period, gap_svg, gap_table
from migopt.exact.day_plan.plan import DayPlan, why_not

__all__ = [
    "DayPlan",
    "Period",
    "busy_periods",
    "gap_by_period",
    "gap_svg",
    "gap_table",
    "why_not",
]
