"""GPUs over time: busy level, power, energy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from migopt.errors import InputError
from migopt.model import FrozenMap, GpuModel, Instance, Placement, Schedule, Segment
from migopt.model.gpu import OFF_PROFILE

#: A step function of one GPU: (from this millisecond on, value); it holds until the next entry.
Steps = list[tuple[int, int]]
#: A sweep of one GPU: (from this millisecond on, busy level, runs with MIG off).
States = list[tuple[int, int, bool]]


def busy_profile(instance: Instance, schedule: Schedule) -> list[Steps]:
    """Return per GPU the step function of its busy level u: [(from_ms, u), ...].

    Each list starts at millisecond 0 (or earlier, if a segment does), holds only changes, and
    ends with level 0. A busy GPU with MIG off is at level C.
    """
    require_known(instance, schedule)
    return [
        [(time, level) for time, level, _ in states] for states in all_states(instance, schedule)
    ]


def power_profile(instance: Instance, schedule: Schedule) -> list[Steps | None]:
    """Return per GPU the step function of its power in mW, or None where a figure is missing."""
    require_known(instance, schedule)
    profiles: list[Steps | None] = []
    for model, states in zip(instance.gpus, all_states(instance, schedule), strict=True):
        powers = [power_mw(instance, model, level, off) for _, level, off in states]
        known = [power for power in powers if power is not None]
        times = [time for time, _, _ in states]
        profiles.append(list(zip(times, known, strict=True)) if len(known) == len(powers) else None)
    return profiles


def all_states(instance: Instance, schedule: Schedule) -> list[States]:
    """Return the sweep of every GPU."""
    per_gpu: list[list[Segment]] = [[] for _ in instance.gpus]
    for segment in schedule.segments:
        per_gpu[segment.gpu].append(segment)
    return [
        _states(model, segments) for model, segments in zip(instance.gpus, per_gpu, strict=True)
    ]


def _states(model: GpuModel, segments: Sequence[Segment]) -> States:
    """Sweep one GPU: changes only, level 0 at the end.

    A slice counts once however many jobs an illegal schedule puts on it, and the level never
    exceeds the GPU's compute slices.
    """
    events: list[tuple[int, int, Placement]] = []
    for segment in segments:
        if segment.end_ms > segment.start_ms:
            events.append((segment.start_ms, 1, segment.placement))
            events.append((segment.end_ms, -1, segment.placement))
    events.sort(key=itemgetter(0))
    slices = {profile.name: profile.compute_slices for profile in model.profiles}
    slices[OFF_PROFILE] = model.compute_slices
    running: dict[Placement, int] = {}
    states = [(min(0, events[0][0]) if events else 0, 0, False)]
    position = 0
    while position < len(events):
        time = events[position][0]
        while position < len(events) and events[position][0] == time:
            _, change, placement = events[position]
            running[placement] = running.get(placement, 0) + change
            if not running[placement]:
                del running[placement]
            position += 1
        level = min(model.compute_slices, sum(slices[place.profile] for place in running))
        off = any(place.profile == OFF_PROFILE for place in running)
        if states[-1][0] == time:
            states[-1] = (time, level, off)
        elif states[-1][1:] != (level, off):
            states.append((time, level, off))
    return states


def _spans(states: States, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Yield (duration, level, off) of the parts of a sweep within [start, end]."""
    for index, (time, level, off) in enumerate(states):
        until = states[index + 1][0] if index + 1 < len(states) else end
        duration = min(until, end) - max(time, start)
        if duration > 0:
            yield duration, level, off


def busy_level_ms(instance: Instance, states: list[States], window: int) -> FrozenMap:
    """Return per GPU key the milliseconds at each busy level in [0, window], over its GPUs."""
    levels = {model.key: [0] * (model.compute_slices + 1) for model in instance.gpu_models}
    for model, gpu_states in zip(instance.gpus, states, strict=True):
        for duration, level, _ in _spans(gpu_states, 0, window):
            levels[model.key][level] += duration
    return FrozenMap({key: tuple(row) for key, row in levels.items()})


def power_mw(instance: Instance, model: GpuModel, level: int, off: bool) -> int | None:
    """Return the power of one GPU, None where the instance has no figure and energy no weight."""
    curve = instance.power.get(model.key)
    if curve is None:
        if instance.weight_a > 0:
            raise InputError(
                f"energy has weight a = {instance.weight_a}, but {model.key} has no power curve",
                where=f"power.{model.key}",
            )
        return None
    top = model.compute_slices
    if len(curve.busy_mw) != top + 1:
        raise InputError(
            f"{model.key} needs {top + 1} figures, for 0 to {top} busy compute slices, "
            f"not {len(curve.busy_mw)}",
            where=f"power.{model.key}.busy_mw",
        )
    if not off:
        return int(curve.busy_mw[level])
    if curve.off_busy_mw is None and instance.weight_a > 0:
        raise InputError(
            f"energy has weight a = {instance.weight_a} and a job runs with MIG off, but the power "
            f"of {model.key} with MIG off is not given",
            where=f"power.{model.key}.off_busy_mw",
        )
    return None if curve.off_busy_mw is None else int(curve.off_busy_mw)


def energy(instance: Instance, states: list[States]) -> dict[str, Any]:
    """Return E and the energy of idle GPUs, the fields of Metrics that power decides."""
    total = idle = 0
    known = True
    for model, gpu_states in zip(instance.gpus, states, strict=True):
        idle_mw = power_mw(instance, model, 0, False)
        if idle_mw is None:
            known = False
            continue
        total += instance.horizon_ms * idle_mw
        first, last = gpu_states[0][0], gpu_states[-1][0]
        for duration, level, off in _spans(gpu_states, first, last):
            power = power_mw(instance, model, level, off)
            if power is None:
                known = False
            else:
                total += duration * (power - idle_mw)
        quiet = sum(d for d, level, _ in _spans(gpu_states, 0, instance.horizon_ms) if not level)
        idle += quiet * idle_mw
    return {"energy_uj": total if known else None, "idle_energy_uj": idle if known else None}


def require_known(instance: Instance, schedule: Schedule) -> None:
    """Raise InputError where the schedule names what the instance does not have."""
    for index, segment in enumerate(schedule.segments):
        where = f"segments[{index}]"
        if segment.job not in instance.job_by_id:
            raise InputError(f"the instance has no job {segment.job}", where=f"{where}.job")
        if not 0 <= segment.gpu < len(instance.gpus):
            raise InputError(
                f"no GPU {segment.gpu}; the instance has {len(instance.gpus)}", where=f"{where}.gpu"
            )
        profile = segment.placement.profile
        if profile != OFF_PROFILE:
            instance.gpus[segment.gpu].profile(profile, where=f"{where}.placement")
