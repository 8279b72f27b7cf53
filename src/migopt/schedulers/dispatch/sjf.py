"""SJF: shortest job first (by its remaining duration on the fastest slice), without preemption."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._in_order import InOrder
from migopt.schedulers.dispatch._plan import Plan
from migopt.schedulers.dispatch.llf import fastest_remaining_ms
from migopt.sim.rules import FASTEST, ORDER_SHORTEST


def make(argument: str = "") -> InOrder:
    """Return the rule; it takes no argument."""
    no_argument("sjf", argument)
    # A job that fits on no slice of the moment has no duration; it comes last and is not placed.
    return InOrder(
        lambda state, job: (fastest_remaining_ms(state, job) or 2**62, state.due_key(job)),
        Plan.put_fastest,
        ORDER_SHORTEST,
        FASTEST,
    )
