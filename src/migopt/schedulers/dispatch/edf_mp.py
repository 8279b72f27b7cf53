"""EDF-MP: earliest due date first, packed onto the fullest GPU that is in time (SMART-MIG)."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._gpu_order import put_on_first_gpu
from migopt.schedulers.dispatch._in_order import InOrder
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim.rules import EDF_MP, ORDER_DUE


def _put(plan: Plan, job: int) -> bool:
    return put_on_first_gpu(plan, job, lambda gpu: (-len(plan.jobs_on(gpu)), gpu))


def make(argument: str = "") -> InOrder:
    """Return the rule; it takes no argument.

    Running jobs stay; waiting jobs in order of due date. GPUs in order of occupied slices,
    descending; within the first GPU that has a free slice in time, the slowest such slice; if none
    has one, the fastest free slice anywhere.
    """
    no_argument("edf_mp", argument)
    return InOrder(lambda state, job: state.due_key(job), _put, ORDER_DUE, EDF_MP)
