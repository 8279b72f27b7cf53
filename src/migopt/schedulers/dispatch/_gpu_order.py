"""Cluster rules that look at GPUs one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from migopt.schedulers.dispatch._plan import Plan


def put_on_first_gpu(plan: Plan, job: int, order: Callable[[int], Any]) -> bool:
    """Plan the job on the first GPU with a free slice in time, there on the slowest such slice.

    Where no GPU has one, plan it on the fastest free slice anywhere; False if none fits.
    """
    in_time = plan.on_time(job, plan.timed(job, plan.free()))
    if not in_time:
        return plan.put_fastest(job)
    gpu_of = {position: plan.state.slices[position].gpu for _, position in in_time}
    first = min(set(gpu_of.values()), key=order)
    there = [(remaining, position) for remaining, position in in_time if gpu_of[position] == first]
    plan.put(job, max(there, key=lambda item: item[0])[1])
    return True
