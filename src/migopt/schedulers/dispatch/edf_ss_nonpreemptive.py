"""EDF-SS without preemption: waiting jobs by due date, each on the slowest idle slice in time, else the fastest."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._in_order import InOrder
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim.rules import ORDER_DUE, SLOWEST_ON_TIME


def _put(plan: Plan, job: int) -> bool:
    return plan.put_slowest_on_time(job) or plan.put_fastest(job)


def make(argument: str = "") -> InOrder:
    """Return the rule; it takes no argument."""
    no_argument("edf_ss_nonpreemptive", argument)
    return InOrder(lambda state, job: state.due_key(job), _put, ORDER_DUE, SLOWEST_ON_TIME)
