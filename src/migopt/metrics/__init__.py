"""The only definition of every reported number of a schedule.

``measure`` reads a schedule as it stands: it does not judge it (``migopt.check`` does), and it
computes nothing with floats that decides anything. Energy, tardiness and times are exact integers;
properties turn them into minutes and W·min for people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from migopt.metrics.gpu_time import (
    Steps,
    all_states,
    busy_level_ms,
    busy_profile,
    energy,
    power_profile,
    require_known,
)
from migopt.metrics.values import Metrics
from migopt.model import Instance, Schedule, Segment

__all__ = ["Metrics", "Steps", "busy_profile", "measure", "power_profile"]


def measure(instance: Instance, schedule: Schedule) -> Metrics:
    """Compute every reported number of ``schedule``; the schedule need not be legal.

    Raises
    ------
    InputError
        Energy has weight but a power figure that the schedule needs is missing (names the field);
        the schedule names a job, GPU or profile that the instance does not have.
    """
    require_known(instance, schedule)
    makespan = max((segment.end_ms for segment in schedule.segments), default=0)
    window = max(instance.horizon_ms, makespan)
    states = all_states(instance, schedule)
    levels = busy_level_ms(instance, states, window)
    speeds = _speeds(instance)
    return Metrics(
        weight_a=instance.weight_a,
        total_weight=instance.total_weight,
        constant_cost=instance.constant_cost,
        horizon_ms=instance.horizon_ms,
        window_ms=window,
        makespan_ms=makespan,
        preemptions=_preemptions(schedule.segments),
        repartitions=len(schedule.reconfigurations),
        busy_level_ms=levels,
        busy_slice_ms=sum(u * ms for row in levels.values() for u, ms in enumerate(row)),
        capacity_slice_ms=window * sum(model.compute_slices for model in instance.gpus),
        stp=_stp(instance, schedule.segments, window, speeds),
        **energy(instance, states),
        **_times(instance, schedule, window, speeds),
    )


def _times(
    instance: Instance, schedule: Schedule, window: int, speeds: dict[int, tuple[int, int]]
) -> dict[str, Any]:
    done = schedule.completions_ms()
    jct, late = [], []
    weighted = 0
    relative = []
    for job in instance.jobs:
        completion = done.get(job.id, max(window, job.release_ms))
        tardiness = max(completion - job.due_ms, 0)
        weighted += job.weight * tardiness
        jct.append(completion - job.release_ms)
        if tardiness:
            late.append(tardiness)
        relative.append(jct[-1] * speeds[job.id][0] / job.work if job.work else 0.0)
    rank = -(-95 * len(jct) // 100)
    return {
        "jobs": len(instance.jobs),
        "jobs_without_run": sum(job.id not in done for job in instance.jobs),
        "weighted_tardiness_ms": weighted,
        "total_tardiness_ms": sum(late),
        "max_tardiness_ms": max(late, default=0),
        "jobs_late": len(late),
        "total_jct_ms": sum(jct),
        "p95_jct_ms": sorted(jct)[rank - 1] if jct else 0,
        "mean_relative_jct": math.fsum(relative) / len(relative) if relative else 0.0,
    }


def _speeds(instance: Instance) -> dict[int, tuple[int, int]]:
    """Return per job id its rate on the full MIG profile (else its best) and its best rate."""
    # Jobs often share one rate table; its identity then stands for its content.
    known: dict[tuple[int, int], tuple[int, int]] = {}
    full_profiles = [(model, model.full_profile.name) for model in instance.gpu_models]
    speeds = {}
    for job in instance.jobs:
        key = (id(job.rates), job.memory_bytes)
        if key not in known:
            best = max((rate for _, _, rate in instance.options(job)), default=0)
            full = max((instance.rate(job, *place) for place in full_profiles), default=0)
            known[key] = (full or best, best)
        speeds[job.id] = known[key]
    return speeds


def _stp(
    instance: Instance, segments: Sequence[Segment], window: int, speeds: dict[int, tuple[int, int]]
) -> float:
    if not window:
        return 0.0
    progress = []
    for segment in segments:
        job = instance.job_by_id[segment.job]
        best = speeds[job.id][1]
        duration = segment.end_ms - max(segment.start_ms, 0)
        if best and duration > 0:
            rate = instance.rate(job, instance.gpus[segment.gpu], segment.placement.profile)
            progress.append(duration * rate / best)
    return math.fsum(progress) / window


def _preemptions(segments: Sequence[Segment]) -> int:
    last: dict[int, Segment] = {}
    count = 0
    for segment in segments:
        before = last.get(segment.job)
        if before is not None:
            goes_on = (before.end_ms, before.gpu, before.placement) == (
                segment.start_ms,
                segment.gpu,
                segment.placement,
            )
            count += not goes_on
        last[segment.job] = segment
    return count
