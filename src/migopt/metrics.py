"""The only definition of every reported number of a schedule.

``measure`` reads a schedule as it stands: it does not judge it (``migopt.check`` does), and it
computes nothing with floats that decides anything. Energy, tardiness and times are exact integers;
properties turn them into minutes and W·min for people.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any

from migopt.errors import InputError
from migopt.model import FrozenMap, GpuModel, Instance, Job, Placement, Schedule, Segment
from migopt.model.gpu import OFF_PROFILE
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN, minutes, wmin

#: A step function of one GPU: (from this millisecond on, value); it holds until the next entry.
Steps = list[tuple[int, int]]
#: A sweep of one GPU: (from this millisecond on, busy level, runs with MIG off).
States = list[tuple[int, int, bool]]


@dataclass(frozen=True)
class Metrics:
    """Every number that is reported about one schedule of one instance.

    Attributes
    ----------
    weight_a, total_weight, constant_cost, horizon_ms : Fraction, int, Fraction, int
        Copied from the instance, so that the cost can be formed from the parts below.
    window_ms : int
        max(H, makespan): the span [0, window] over which shares, utilisation and STP are averaged.
    jobs, jobs_without_run : int
        Jobs of the instance, and those that no segment runs (0 in a legal schedule). Such a job
        counts as completed at the end of the window, or at its release if that is later.
    energy_uj : int or None
        E = H sum_g P_g(0) + sum_g integral of (P(u(t)) - P(0)) dt over all time, in microjoules;
        None when energy has no weight and some power figure is missing.
    idle_energy_uj : int or None
        P(0) while u = 0, over [0, H], summed over GPUs, in microjoules; None like ``energy_uj``.
    weighted_tardiness_ms, total_tardiness_ms, max_tardiness_ms : int
        Sum of w_j T_j, sum of T_j, largest T_j, with T_j = max(C_j - d_j, 0).
    jobs_late : int
        Jobs with T_j > 0.
    makespan_ms : int
        End of the last segment.
    total_jct_ms, p95_jct_ms : int
        Sum, and 95th percentile by nearest rank, of completion minus release.
    mean_relative_jct : float
        Mean of JCT_j v_j / W_j, v_j the rate on the full MIG profile (7g on A100; the fastest of
        several GPU models; the job's fastest option where it fits no full profile). Dimensionless.
    stp : float
        System throughput: sum over running jobs of q_j / p_j = v / max v, time-averaged. A resume
        overhead counts as running.
    preemptions : int
        Times a job stopped before its completion and did not go on at that very tick on the same
        placement of the same GPU.
    repartitions : int
        Reconfigurations, of all GPUs.
    busy_level_ms : FrozenMap
        GPU key to a tuple: milliseconds at busy level 0 .. C in [0, window], summed over the GPUs
        of that model. A busy GPU with MIG off is at level C.
    busy_slice_ms, capacity_slice_ms : int
        Integral of u, and C x window, summed over GPUs.
    """

    weight_a: Fraction
    total_weight: int
    constant_cost: Fraction
    horizon_ms: int
    window_ms: int
    jobs: int
    jobs_without_run: int
    energy_uj: int | None
    idle_energy_uj: int | None
    weighted_tardiness_ms: int
    total_tardiness_ms: int
    max_tardiness_ms: int
    jobs_late: int
    makespan_ms: int
    total_jct_ms: int
    p95_jct_ms: int
    mean_relative_jct: float
    stp: float
    preemptions: int
    repartitions: int
    busy_level_ms: FrozenMap
    busy_slice_ms: int
    capacity_slice_ms: int

    @property
    def mean_tardiness_exact_min(self) -> Fraction:
        """Weighted mean tardiness in minutes, exact."""
        return Fraction(self.weighted_tardiness_ms, self.total_weight * MS_PER_MINUTE)

    @property
    def energy_cost_exact(self) -> Fraction:
        """The energy part of the cost, a E / (a + 1), E in W·min; 0 when energy has no weight."""
        if not self.weight_a or self.energy_uj is None:
            return Fraction(0)
        return self.weight_a * Fraction(self.energy_uj, UJ_PER_WMIN) / (self.weight_a + 1)

    @property
    def tardiness_cost_exact(self) -> Fraction:
        """The tardiness part of the cost, meanT / (a + 1), in minutes."""
        return self.mean_tardiness_exact_min / (self.weight_a + 1)

    @property
    def cost_exact(self) -> Fraction:
        """ET = (a E + meanT) / (a + 1), E in W·min, mean tardiness in minutes, exact."""
        return self.energy_cost_exact + self.tardiness_cost_exact

    @property
    def cost(self) -> float:
        """``cost_exact``, rounded once to a float."""
        return float(self.cost_exact)

    @property
    def energy_cost(self) -> float:
        """``energy_cost_exact`` as a float."""
        return float(self.energy_cost_exact)

    @property
    def tardiness_cost(self) -> float:
        """``tardiness_cost_exact`` as a float."""
        return float(self.tardiness_cost_exact)

    @property
    def active_cost(self) -> float:
        """The cost less the constant a H sum_g P_g(0) / (a + 1) that no schedule changes."""
        return float(self.cost_exact - self.constant_cost)

    @property
    def energy_wmin(self) -> float | None:
        """Energy in W·min."""
        return None if self.energy_uj is None else wmin(self.energy_uj)

    @property
    def energy_kwh(self) -> float | None:
        """Energy in kWh (60,000 W·min)."""
        if self.energy_uj is None:
            return None
        return float(Fraction(self.energy_uj, 60_000 * UJ_PER_WMIN))

    @property
    def idle_energy_wmin(self) -> float | None:
        """Energy of idle GPUs in [0, H], in W·min."""
        return None if self.idle_energy_uj is None else wmin(self.idle_energy_uj)

    @property
    def mean_tardiness_min(self) -> float:
        """Weighted mean tardiness in minutes."""
        return float(self.mean_tardiness_exact_min)

    @property
    def max_tardiness_min(self) -> float:
        """Largest tardiness in minutes."""
        return minutes(self.max_tardiness_ms)

    @property
    def makespan_min(self) -> float:
        """Makespan in minutes."""
        return minutes(self.makespan_ms)

    @property
    def mean_jct_min(self) -> float:
        """Mean of completion minus release, in minutes; 0 without jobs."""
        return minutes(Fraction(self.total_jct_ms, self.jobs or 1))

    @property
    def p95_jct_min(self) -> float:
        """95th percentile (nearest rank) of completion minus release, in minutes."""
        return minutes(self.p95_jct_ms)

    @property
    def utilisation(self) -> float:
        """Share of compute slices that run a job, over [0, window]."""
        return self.busy_slice_ms / self.capacity_slice_ms if self.capacity_slice_ms else 0.0

    @property
    def busy_level_share(self) -> dict[str, tuple[float, ...]]:
        """GPU key to the share of GPU time at busy level 0 .. C, over [0, window]."""
        return {
            key: tuple(ms / sum(levels) if sum(levels) else 0.0 for ms in levels)
            for key, levels in self.busy_level_ms.items()
        }

    def as_dict(self) -> dict[str, Any]:
        """Return every number under a name that says its unit, ready for JSON."""
        return {
            "cost": self.cost,
            "energy_cost": self.energy_cost,
            "tardiness_cost": self.tardiness_cost,
            "active_cost": self.active_cost,
            "constant_cost": float(self.constant_cost),
            "weight_a": str(self.weight_a),
            "energy_wmin": self.energy_wmin,
            "energy_kwh": self.energy_kwh,
            "energy_uj": self.energy_uj,
            "idle_energy_wmin": self.idle_energy_wmin,
            "mean_tardiness_min": self.mean_tardiness_min,
            "max_tardiness_min": self.max_tardiness_min,
            "weighted_tardiness_ms": self.weighted_tardiness_ms,
            "total_tardiness_ms": self.total_tardiness_ms,
            "jobs": self.jobs,
            "jobs_without_run": self.jobs_without_run,
            "jobs_late": self.jobs_late,
            "makespan_min": self.makespan_min,
            "makespan_ms": self.makespan_ms,
            "mean_jct_min": self.mean_jct_min,
            "p95_jct_min": self.p95_jct_min,
            "mean_relative_jct_ratio": self.mean_relative_jct,
            "stp_ratio": self.stp,
            "preemptions": self.preemptions,
            "repartitions": self.repartitions,
            "utilisation_share": self.utilisation,
            "busy_level_share": {key: list(row) for key, row in self.busy_level_share.items()},
            "busy_level_ms": {key: list(row) for key, row in self.busy_level_ms.items()},
            "horizon_ms": self.horizon_ms,
            "window_ms": self.window_ms,
        }


def measure(instance: Instance, schedule: Schedule) -> Metrics:
    """Compute every reported number of ``schedule``; the schedule need not be legal.

    Raises
    ------
    InputError
        Energy has weight but a power figure that the schedule needs is missing (names the field);
        the schedule names a job, GPU or profile that the instance does not have.
    """
    _require_known(instance, schedule)
    makespan = max((segment.end_ms for segment in schedule.segments), default=0)
    window = max(instance.horizon_ms, makespan)
    states = _all_states(instance, schedule)
    levels = _busy_level_ms(instance, states, window)
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
        stp=_stp(instance, schedule.segments, window),
        **_energy(instance, states),
        **_times(instance, schedule, window),
    )


def busy_profile(instance: Instance, schedule: Schedule) -> list[Steps]:
    """Return per GPU the step function of its busy level u: [(from_ms, u), ...].

    Each list starts at millisecond 0 (or earlier, if a segment does), holds only changes, and
    ends with level 0. A busy GPU with MIG off is at level C.
    """
    _require_known(instance, schedule)
    return [
        [(time, level) for time, level, _ in states] for states in _all_states(instance, schedule)
    ]


def power_profile(instance: Instance, schedule: Schedule) -> list[Steps | None]:
    """Return per GPU the step function of its power in mW, or None where a figure is missing."""
    _require_known(instance, schedule)
    profiles: list[Steps | None] = []
    for model, states in zip(instance.gpus, _all_states(instance, schedule), strict=True):
        powers = [_power_mw(instance, model, level, off) for _, level, off in states]
        known = [power for power in powers if power is not None]
        times = [time for time, _, _ in states]
        profiles.append(list(zip(times, known, strict=True)) if len(known) == len(powers) else None)
    return profiles


# --- one GPU over time -----------------------------------------------------------------------


def _all_states(instance: Instance, schedule: Schedule) -> list[States]:
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


def _busy_level_ms(instance: Instance, states: list[States], window: int) -> FrozenMap:
    levels = {model.key: [0] * (model.compute_slices + 1) for model in instance.gpu_models}
    for model, gpu_states in zip(instance.gpus, states, strict=True):
        for duration, level, _ in _spans(gpu_states, 0, window):
            levels[model.key][level] += duration
    return FrozenMap({key: tuple(row) for key, row in levels.items()})


# --- energy ----------------------------------------------------------------------------------


def _power_mw(instance: Instance, model: GpuModel, level: int, off: bool) -> int | None:
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


def _energy(instance: Instance, states: list[States]) -> dict[str, Any]:
    total = idle = 0
    known = True
    for model, gpu_states in zip(instance.gpus, states, strict=True):
        idle_mw = _power_mw(instance, model, 0, False)
        if idle_mw is None:
            known = False
            continue
        total += instance.horizon_ms * idle_mw
        first, last = gpu_states[0][0], gpu_states[-1][0]
        for duration, level, off in _spans(gpu_states, first, last):
            power = _power_mw(instance, model, level, off)
            if power is None:
                known = False
            else:
                total += duration * (power - idle_mw)
        quiet = sum(d for d, level, _ in _spans(gpu_states, 0, instance.horizon_ms) if not level)
        idle += quiet * idle_mw
    return {"energy_uj": total if known else None, "idle_energy_uj": idle if known else None}


# --- jobs ------------------------------------------------------------------------------------


def _times(instance: Instance, schedule: Schedule, window: int) -> dict[str, Any]:
    done = schedule.completions_ms()
    jct, late = [], []
    weighted = 0
    relative = []
    rates: dict[tuple[int, int], tuple[int, int]] = {}
    for job in instance.jobs:
        completion = done.get(job.id, max(window, job.release_ms))
        tardiness = max(completion - job.due_ms, 0)
        weighted += job.weight * tardiness
        jct.append(completion - job.release_ms)
        if tardiness:
            late.append(tardiness)
        full = _full_and_best_rate(instance, job, rates)[0]
        relative.append(jct[-1] * full / job.work if job.work else 0.0)
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


def _full_and_best_rate(
    instance: Instance, job: Job, cache: dict[tuple[int, int], tuple[int, int]]
) -> tuple[int, int]:
    """Return the job's rate on the full MIG profile and its best rate anywhere (0 if none)."""
    # Jobs share rate tables, so the table's identity stands for its content here.
    key = (id(job.rates), job.memory_bytes)
    if key not in cache:
        best = max((rate for _, _, rate in instance.options(job)), default=0)
        full = max(
            (instance.rate(job, model, model.full_profile.name) for model in instance.gpu_models),
            default=0,
        )
        cache[key] = (full or best, best)
    return cache[key]


def _stp(instance: Instance, segments: Sequence[Segment], window: int) -> float:
    if not window:
        return 0.0
    cache: dict[tuple[int, int], tuple[int, int]] = {}
    progress = []
    for segment in segments:
        job = instance.job_by_id[segment.job]
        best = _full_and_best_rate(instance, job, cache)[1]
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


def _require_known(instance: Instance, schedule: Schedule) -> None:
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
