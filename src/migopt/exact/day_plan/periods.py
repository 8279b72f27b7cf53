"""Busy periods of a plan; see ``migopt.metrics.periods``."""

from migopt.metrics.periods import Period, busy_periods, gap_by_period

__all__ = ["Period", "busy_periods", "gap_by_period"]
