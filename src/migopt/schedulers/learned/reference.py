"""A learned policy on the reference simulator: what it sees, written to be read; slow where it forecasts.

``sim.episodes`` computes the same in compiled code; the tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from migopt.metrics.gpu_time import power_mw
from migopt.model import Partition
from migopt.schedulers.learned.checkpoint import LearnedPolicy
from migopt.schedulers.learned.view import MS_PER_MIN, UJ_PER_WMIN, View
from migopt.sim import Dispatcher, PartitionDecision, SimState
from migopt.sim.fork import Fork
from migopt.sim.state import Cause
from migopt.units import MS_PER_DAY, MS_PER_HOUR, ceil_div

FAR_MIN = 1440.0
Make = Callable[[], Dispatcher]


def decide(policy: LearnedPolicy, state: SimState, dispatcher: Make | None) -> PartitionDecision:
    """Return the decision of a policy for the instance's only GPU."""
    catalogue = state.instance.catalogue(0)
    present = state.partitions[0]
    if present is None:
        return PartitionDecision(catalogue[policy.first])
    if not state.cause & (Cause.ARRIVAL | Cause.COMPLETION) or present.is_off:
        return PartitionDecision()
    states = see(policy.encoder.view, state, dispatcher)[None]
    masks = np.array([[not state.why_not_repartition(0, p) or p == present for p in catalogue]])
    return PartitionDecision(
        catalogue[int(policy.encoder.choose(policy.network, states, masks)[0])]
    )


def see(view: View, state: SimState, dispatcher: Make | None) -> np.ndarray[Any, Any]:
    """Return the state that a view shows of GPU 0 at a decision."""
    present = state.partitions[0]
    assert present is not None
    number = state.instance.catalogue(0).number(present)
    hour = (state.now_ms % MS_PER_DAY) / MS_PER_HOUR
    binned = view.layout == "paper-binned"
    row = [float(number or 0), hour // 1 if binned else hour]
    active = sorted({*state.waiting, *state.running}, key=state.due_key)
    if not view.layout.startswith("paper"):
        row += [len(active), len(state.running)]
    for place in range(view.jobs):
        row += _job(view, state, active[place] if place < len(active) else None)
    if view.layout == "forecast":
        assert dispatcher is not None
        for target in state.instance.catalogue(0):
            stays = target == present or state.why_not_repartition(0, target) is not None
            row += _forecast(view, state, present if stays else target, dispatcher)
    return np.array(row, np.float32)


def _job(view: View, state: SimState, job: int | None) -> list[float]:
    width = 2 if view.layout.startswith("paper") else 3
    if job is None:
        return [0.0 if view.layout == "paper-binned" else FAR_MIN, *[0.0] * (width - 1)]
    due = min(FAR_MIN, (state.instance.jobs[job].due_ms - state.now_ms) / MS_PER_MIN)
    if width == 3:
        return [due, _mean_ms(state, job, standing=False) / MS_PER_MIN, float(job in state.running)]
    mean = _mean_ms(state, job, standing=True) / MS_PER_MIN
    if view.layout == "paper":
        return [due, mean]
    edges = ((due, view.due_edges_min), (mean, view.mean_edges_min))
    return [float(1 + sum(value > edge for edge in bounds)) for value, bounds in edges]


def _mean_ms(state: SimState, job: int, *, standing: bool) -> int:
    """Return the mean remaining duration over the standing slices, or over all kinds of slices, rounded up."""
    if standing:
        found = [state.remaining_ms(job, place) for place in state.slices]
        known = [ms for ms in found if ms is not None]
        if known:
            return ceil_div(sum(known), len(known))
    instance = state.instance
    model = instance.gpus[0]
    kinds = [*instance.profiles_in_use[model.key], *["off"] * instance.mig_off]
    rates = [instance.rate(instance.jobs[job], model, kind) for kind in kinds]
    each = [ceil_div(state.work_left(job), rate) for rate in rates if rate]
    return ceil_div(sum(each), len(each))


def _forecast(view: View, state: SimState, target: Partition, dispatcher: Make) -> list[float]:
    fork = Fork(state)
    never = fork.play(0, PartitionDecision(target), dispatcher())
    rest, jobs = fork.rest(), state.instance.jobs
    ends = {segment.job: segment.end_ms for segment in rest.segments}
    done = [job for job in {*state.waiting, *state.running} if job not in fork.state.waiting]
    late = sum(jobs[j].weight * max(0, ends[jobs[j].id] - jobs[j].due_ms) for j in done)
    energy = _energy_uj(state, fork) * (view.job_minutes_per_wmin / UJ_PER_WMIN)
    span = (fork.state.now_ms - state.now_ms) / MS_PER_MIN
    return [energy, late / MS_PER_MIN + never * FAR_MIN, span]


def _energy_uj(state: SimState, fork: Fork) -> int:
    """Return the energy above idle of what a fork played."""
    instance, total = state.instance, 0
    model = instance.gpus[0]
    moments = sorted({t for s in fork.rest().segments for t in (s.start_ms, s.end_ms)})
    idle = power_mw(instance, model, 0, False) or 0
    for begin, end in pairwise(moments):
        busy = sum(
            model.profile(s.placement.profile).compute_slices
            for s in fork.rest().segments
            if s.start_ms <= begin and s.end_ms >= end
        )
        level = min(busy, model.compute_slices)
        total += (end - begin) * ((power_mw(instance, model, level, False) or 0) - idle)
    return total
