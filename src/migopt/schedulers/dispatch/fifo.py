"""FIFO: first come, first served, on the fastest idle slice, without preemption."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._in_order import InOrder
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim.rules import FASTEST, ORDER_RELEASE


def make(argument: str = "") -> InOrder:
    """Return the rule; it takes no argument."""
    no_argument("fifo", argument)
    return InOrder(
        lambda state, job: (state.instance.jobs[job].release_ms, state.due_key(job)),
        Plan.put_fastest,
        ORDER_RELEASE,
        FASTEST,
    )
