"""CEDF: classes of elasticity first, then due date; GPUs with large slices first (SMART-MIG)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._gpu_order import put_on_first_gpu
from migopt.schedulers.dispatch._in_order import InOrder
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim import SimState
from migopt.sim.rules import CEDF, ORDER_CLASS, elasticity_class


def _key(state: SimState, job: int) -> Any:
    return (elasticity_class(state.instance, state.instance.jobs[job]), state.due_key(job))


def _put(plan: Plan, job: int) -> bool:
    def order(gpu: int) -> Any:
        sizes = [place.compute_slices for place in plan.state.slices if place.gpu == gpu]
        return (-Fraction(sum(sizes), len(sizes)), -len(plan.jobs_on(gpu)), gpu)

    return put_on_first_gpu(plan, job, order)


def make(argument: str = "") -> InOrder:
    """Return the rule; it takes no argument.

    Running jobs stay; waiting jobs by class (1 needs large slices most), then due date. GPUs by
    the mean compute slices of the slices that stand, descending, then as ``edf_mp``.
    """
    no_argument("cedf", argument)
    return InOrder(_key, _put, ORDER_CLASS, CEDF)
