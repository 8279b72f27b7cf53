"""One choice of partition in the integers that the model counts in.

Slices that no job can tell apart form a *group* (``migopt.bounds.busy_vectors``); a partition is how
many slices it has of each group. Times are multiples of ``unit_ms``, the greatest common divisor of all
releases, due dates and durations: for a fixed order of starts and ends the best times solve a system
of differences, so some optimal schedule keeps to those multiples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from migopt.bounds.busy_vectors import BusyVectors, busy_vectors
from migopt.errors import InputError
from migopt.exact.cpsat.objective import Scale, split_power
from migopt.exact.cpsat.terms import JobTerms
from migopt.exact.partition_classes import covers, partition_classes
from migopt.model import OFF_PARTITION, Instance, Job, Partition

#: Beyond this many jobs the order of starts alone is thousands of choices.
MAX_JOBS = 40
#: Beyond this many (job, GPU) pairs the model with several GPUs takes too long to build.
MAX_JOB_GPUS = 160


@dataclass(frozen=True, slots=True)
class Row:
    """A job in a schedule of this class: its group of slices and its start, in time units."""

    group: int
    start: int


Rows = tuple[Row, ...]


@dataclass(frozen=True)
class Case(JobTerms):
    """A partition kept for the whole run, without preemption.

    Attributes
    ----------
    instance : Instance
    partition : Partition
        In force from 0 to the end; ``OFF_PARTITION`` for MIG off.
    label : str
        For messages: ``partition 3`` or ``MIG off``.
    scale : Scale
        Units of time and cost, the same for all cases of an instance.
    names : tuple of tuple of str
        Profile names per group.
    slices, compute : tuple of int
        Slices the partition has, and compute slices each of them takes, per group.
    extra_mw, levels : Mapping
        Power above idle and busy level per busy vector (counts per group).
    durations : tuple of tuple of (int or None)
        ``durations[j][k]`` in time units; None where job j does not fit group k.
    """

    instance: Instance
    partition: Partition
    label: str
    scale: Scale
    names: tuple[tuple[str, ...], ...]
    slices: tuple[int, ...]
    compute: tuple[int, ...]
    extra_mw: dict[tuple[int, ...], int]
    levels: dict[tuple[int, ...], int]
    durations: tuple[tuple[int | None, ...], ...]

    @property
    def count(self) -> int:
        """Number of jobs."""
        return len(self.durations)

    @cached_property
    def split(self) -> tuple[tuple[int, ...], dict[int, int]]:
        """Cost per time unit of a busy slice by group, and of a busy level reached (``split_power``)."""
        return split_power(self.extra_cost, self.levels)

    @cached_property
    def extra_cost(self) -> dict[tuple[int, ...], int]:
        """Cost per time unit of each busy vector."""
        return {counts: self.scale.per_mw * mw for counts, mw in self.extra_mw.items()}

    @cached_property
    def horizon(self) -> int:
        """Latest end that an optimal schedule needs: last release plus the sum of the longest runs."""
        longest = sum(max(p for p in row if p is not None) for row in self.durations)
        return max(self.release, default=0) + longest

    @cached_property
    def first(self) -> int:
        """Earliest release."""
        return min(self.release, default=0)

    def modes(self, job: int) -> Iterator[tuple[int, int]]:
        """Yield (group, duration) of every group that the job fits."""
        for group, duration in enumerate(self.durations[job]):
            if duration is not None:
                yield group, duration

    def duration(self, job: int, row: Row) -> int:
        """Return how long the job runs in that row."""
        duration = self.durations[job][row.group]
        assert duration is not None
        return duration

    def misfit(self) -> Job | None:
        """Return the first job that fits no slice of this partition, or None."""
        for job, row in zip(self.instance.jobs, self.durations, strict=True):
            if all(duration is None for duration in row):
                return job
        return None

    def cost(self, rows: Rows) -> int:
        """Return the exact cost above idle of a schedule, in the scale's unit."""
        total = 0
        events: list[tuple[int, int, int]] = []
        for job, row in enumerate(rows):
            end = row.start + self.duration(job, row)
            total += self.late_cost[job] * max(0, end - self.due[job])
            events += [(row.start, row.group, 1), (end, row.group, -1)]
        busy = [0] * len(self.slices)
        last = 0
        for time, group, change in sorted(events, key=lambda event: (event[0], event[2])):
            total += (time - last) * self.extra_cost[tuple(busy)]
            busy[group] += change
            last = time
        return total

    def root_bound(self) -> int:
        """Return a quick lower bound: what all jobs cost at least, each alone on its best group."""
        return max(-(-sum(alone) // scale) for scale, alone in self._alone)

    def latest(self, cutoff: int) -> list[int]:
        """Return the latest end of each job in a schedule that costs at most ``cutoff``.

        A job may be late by what the cutoff leaves once every other job costs its least.
        """
        found = []
        for j, weight in enumerate(self.late_cost):
            end = self.horizon
            if weight:
                for scale, alone in self._alone:
                    others = sum(alone) - alone[j]
                    room = max(0, scale * cutoff - others)
                    end = min(end, self.due[j] + room // (scale * weight))
            found.append(end)
        return found

    @cached_property
    def _alone(self) -> list[tuple[int, list[int]]]:
        """Two scales and each job's least cost in them.

        A busy slice of group k costs at least ``split[0][k]``, whatever else runs, and at least its
        compute slices times the least power per busy compute slice of any vector.
        """
        per_slice, _ = self.split
        slopes = [
            (cost, self.levels[counts]) for counts, cost in self.extra_cost.items() if any(counts)
        ]
        cost, level = min(slopes, key=lambda item: Fraction(*item), default=(0, 1))
        found = []
        for scale, rates in ((1, per_slice), (level, [cost * c for c in self.compute])):
            alone = [
                min(
                    rates[group] * duration
                    + scale * self.late_cost[j] * max(0, self.release[j] + duration - self.due[j])
                    for group, duration in self.modes(j)
                )
                for j in range(self.count)
            ]
            found.append((scale, alone))
        return found


def cases(instance: Instance, partition: int | str | None = None) -> list[Case]:
    """Return the choices of partition that differ, in the order of the catalogue, MIG off last.

    Parameters
    ----------
    instance : Instance
        With one GPU.
    partition : int, "off" or None
        Only this partition of the catalogue (1-based), only MIG off, or all that the instance allows.

    Notes
    -----
    A partition that has no more slices of any group than another is left out: whatever runs on it runs
    on the other.

    Raises
    ------
    InputError
        The catalogue has no such partition.
    """
    model, catalogue = instance.gpus[0], instance.catalogue(0)
    kept: list[tuple[BusyVectors, Partition, str, tuple[int, ...]]] = []
    if partition != "off":
        vectors = busy_vectors(instance, model, "mig")
        number = None if partition is None else int(partition)
        for found in partition_classes(vectors, catalogue, number):
            kept.append((vectors, found.partition, found.label, found.slices))
    if partition == "off" or (partition is None and instance.mig_off):
        kept.append((busy_vectors(instance, model, "off"), OFF_PARTITION, "MIG off", (1,)))
    durations = {id(vectors): _durations_ms(instance, vectors) for vectors, *_ in kept}
    times = {ms for rows in durations.values() for row in rows for ms in row if ms is not None}
    times |= {time for job in instance.jobs for time in (job.release_ms, job.due_ms)}
    scale = Scale.of(instance, math.gcd(*times) or 1)
    return [_case(instance, scale, durations[id(item[0])], *item) for item in kept]


def _case(
    instance: Instance,
    scale: Scale,
    durations: Sequence[Sequence[int | None]],
    vectors: BusyVectors,
    partition: Partition,
    label: str,
    slices: tuple[int, ...],
) -> Case:
    """Restrict the vectors and durations to the groups that the partition has."""
    groups = [k for k, count in enumerate(slices) if count]
    inside = {
        tuple(counts[k] for k in groups): b
        for b, counts in enumerate(vectors.counts)
        if covers(slices, counts)
    }
    return Case(
        instance,
        partition,
        label,
        scale,
        tuple(vectors.groups[k] for k in groups),
        tuple(slices[k] for k in groups),
        tuple(vectors.compute[k] for k in groups),
        {counts: vectors.extra_mw[b] for counts, b in inside.items()},
        {counts: vectors.levels[b] for counts, b in inside.items()},
        tuple(
            tuple(None if ms is None else ms // scale.unit_ms for ms in (row[k] for k in groups))
            for row in durations
        ),
    )


def _durations_ms(instance: Instance, vectors: BusyVectors) -> list[list[int | None]]:
    return [
        [job.duration_ms(rate) if rate else None for rate in vectors.rates(instance, job)]
        for job in instance.jobs
    ]


def why_not(instance: Instance, partition: int | str | None = None) -> str | None:
    """Return why the models do not cover an instance, or None."""
    if instance.kind != "schedule":
        return f"kind {instance.kind} is not covered"
    jobs, gpus = len(instance.jobs), len(instance.gpus)
    if jobs > MAX_JOBS:
        return f"{jobs} jobs: cpsat covers up to {MAX_JOBS}; use the day bound"
    if gpus > 1 and jobs * gpus > MAX_JOB_GPUS:
        return f"{jobs} jobs on {gpus} GPUs: cpsat covers up to {MAX_JOB_GPUS} pairs; use the day bound"
    if partition == "off" and not instance.mig_off:
        return "the instance does not allow MIG off"
    if isinstance(partition, int):
        try:
            for gpu in range(gpus):
                instance.catalogue(gpu)[partition]
        except InputError as error:
            return str(error)
    return why_no_power(instance, partition) if instance.weight_a else None


def why_no_power(instance: Instance, partition: int | str | None) -> str | None:
    """Return which power is missing, or None."""
    for model in instance.gpu_models:
        curve = instance.power.get(model.key)
        if curve is None:
            return "energy has weight, but no power curve is given"
        off = instance.mig_off and not isinstance(partition, int)
        if off and curve.off_busy_mw is None:
            return "energy has weight, but no power with MIG off is given"
    return None


def may_change(instance: Instance) -> bool:
    """Return whether the instance lets a partition follow another on some GPU."""
    long = any(len(instance.catalogues[model.key]) > 1 for model in instance.gpu_models)
    return instance.repartition.scope != "never" and long


def covers_instance(instance: Instance, partition: int | str | None) -> bool:
    """Return whether every legal schedule of the instance belongs to the class of this solver."""
    if any(instance.is_preemptible(job) for job in instance.jobs):
        return False
    if may_change(instance):
        # A change of some slices only is outside the model.
        return partition == "free" and instance.repartition.scope == "gpu"
    if partition in (None, "one", "free"):
        return True
    choices = {len(instance.catalogues[m.key]) + instance.mig_off for m in instance.gpu_models}
    return choices == {1}
