"""LLF: least laxity first, laxity measured on the fastest slice of the partition."""

from __future__ import annotations

from migopt.schedulers.dispatch._laxity import LeastLaxityFirst, settings
from migopt.sim import SimState
from migopt.sim.rules import ORDER_LAXITY


def fastest_remaining_ms(state: SimState, job: int) -> int | None:
    """Return the remaining duration on the fastest slice that can run a job now; None if none fits."""
    timed = [state.remaining_ms(job, place) for place in state.slices]
    return min((remaining for remaining in timed if remaining is not None), default=None)


def make(argument: str = "") -> LeastLaxityFirst:
    """Return the rule; the argument may set ``threshold_ms`` (60000) and ``max_stops`` (3)."""
    return LeastLaxityFirst(fastest_remaining_ms, ORDER_LAXITY, *settings("llf", argument))
