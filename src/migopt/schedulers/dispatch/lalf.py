"""LALF: least average laxity first, laxity measured with the mean duration over the partition's slices."""

from __future__ import annotations

from migopt.schedulers.dispatch._laxity import LeastLaxityFirst, settings
from migopt.sim import SimState
from migopt.sim.rules import ORDER_MEAN_LAXITY
from migopt.units import ceil_div


def mean_remaining_ms(state: SimState, job: int) -> int | None:
    """Return the mean remaining duration over the slices on which the job fits, rounded up; None if none."""
    timed = [state.remaining_ms(job, place) for place in state.slices]
    fitting = [remaining for remaining in timed if remaining is not None]
    return ceil_div(sum(fitting), len(fitting)) if fitting else None


def make(argument: str = "") -> LeastLaxityFirst:
    """Return the rule; the argument may set ``threshold_ms`` (60000) and ``max_stops`` (3)."""
    return LeastLaxityFirst(mean_remaining_ms, ORDER_MEAN_LAXITY, *settings("lalf", argument))
