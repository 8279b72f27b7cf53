"""EDF-FS without preemption: waiting jobs by due date, each on the fastest idle slice."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._in_order import InOrder
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim.rules import FASTEST, ORDER_DUE


def make(argument: str = "") -> InOrder:
    """Return the rule; it takes no argument."""
    no_argument("edf_fs_nonpreemptive", argument)
    return InOrder(lambda state, job: state.due_key(job), Plan.put_fastest, ORDER_DUE, FASTEST)
