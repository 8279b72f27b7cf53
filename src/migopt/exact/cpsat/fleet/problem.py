"""Instance in the integers of the fleet model: kinds of GPU, seats, durations, exact cost of a schedule.

A *seat* is (GPU, class of partitions, group of slices). A job takes one seat and a start. Jobs of one GPU
whose seats are of different classes never run within tau of each other: then, and only then, the
partition can be changed between them. So no variable says which partition is in force when.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from migopt.bounds.busy_vectors import BusyVectors, busy_vectors
from migopt.exact.cpsat.objective import Counts, Scale, split_power
from migopt.exact.cpsat.terms import JobTerms
from migopt.exact.partition_classes import PartitionClass, partition_classes
from migopt.model import OFF_PARTITION, GpuModel, Instance, Job

#: Beyond so many (job, seat) pairs the model takes too long to build.
MAX_SEATS = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """Where and when a job runs: GPU, class and group within the GPU's kind, start in time units."""

    gpu: int
    cls: int
    group: int
    start: int


Rows = tuple[Row, ...]


@dataclass(frozen=True)
class Kind:
    """GPUs of one model.

    Attributes
    ----------
    model : GpuModel
    gpus : tuple of int
        Their numbers.
    vectors : BusyVectors
    classes : tuple of PartitionClass
        MIG off last, if it is a choice.
    off : int or None
        Index of MIG off among the classes.
    extra_cost, levels : dict
        Cost per time unit and busy level per busy vector with MIG on.
    off_cost : int
        Cost per time unit of a job with MIG off.
    durations : tuple of tuple of (int or None)
        Per job and group, in time units.
    """

    model: GpuModel
    gpus: tuple[int, ...]
    vectors: BusyVectors
    classes: tuple[PartitionClass, ...]
    off: int | None
    extra_cost: dict[Counts, int]
    levels: dict[Counts, int]
    off_cost: int
    durations: tuple[tuple[int | None, ...], ...]

    @cached_property
    def split(self) -> tuple[tuple[int, ...], dict[int, int]]:
        """Cost per time unit of a busy slice by group, and of a busy level reached (``split_power``)."""
        return split_power(self.extra_cost, self.levels)

    @property
    def off_group(self) -> int:
        """Index of the group ``off``; -1 where there is none."""
        return len(self.vectors.groups) - 1 if self.off is not None else -1

    def compute(self, group: int) -> int:
        """Return the compute slices that count for the busy level: none with MIG off."""
        return 0 if group == self.off_group else self.vectors.compute[group]

    def linear_cost(self, group: int) -> int:
        """Return the cost per time unit of a slice of the group without its share of busy levels."""
        return self.off_cost if group == self.off_group else self.split[0][group]

    @cached_property
    def slope(self) -> Fraction:
        """Least cost per time unit and busy compute slice of any busy vector."""
        compute = self.vectors.compute
        return min(
            (
                Fraction(cost, sum(c * n for c, n in zip(compute, counts, strict=True)))
                for counts, cost in self.extra_cost.items()
                if any(counts)
            ),
            default=Fraction(0),
        )

    def modes(self, job: int) -> Iterator[tuple[int, int, int]]:
        """Yield (class, group, duration) of all places of a job on a GPU of this kind."""
        for c, kept in enumerate(self.classes):
            for k, duration in enumerate(self.durations[job]):
                if duration is not None and kept.slices[k]:
                    yield c, k, duration


@dataclass(frozen=True)
class Fleet(JobTerms):
    """The problem: kinds, whether partitions change, units.

    ``changing`` is False where every GPU keeps one partition.
    """

    instance: Instance
    scale: Scale
    kinds: tuple[Kind, ...]
    kind_of: tuple[int, ...]
    changing: bool
    tau: int

    @property
    def count(self) -> int:
        """Number of jobs."""
        return len(self.instance.jobs)

    @cached_property
    def horizon(self) -> int:
        """Latest end that an optimal schedule needs: last release, all longest runs, a change before each."""
        longest = sum(max(d for *_, d in self.all_modes(j)) for j in range(self.count))
        return max(self.release, default=0) + longest + self.tau * self.count

    def kind(self, gpu: int) -> Kind:
        """Return the kind of a GPU."""
        return self.kinds[self.kind_of[gpu]]

    def all_modes(self, job: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield (kind, class, group, duration) of all places of a job."""
        for number, kind in enumerate(self.kinds):
            for c, k, duration in kind.modes(job):
                yield number, c, k, duration

    def seats(self, job: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield (gpu, class, group, duration) of all seats of a job."""
        for gpu, number in enumerate(self.kind_of):
            for c, k, duration in self.kinds[number].modes(job):
                yield gpu, c, k, duration

    def duration(self, job: int, row: Row) -> int:
        """Return how long the job runs in that row."""
        duration = self.kind(row.gpu).durations[job][row.group]
        assert duration is not None
        return duration

    def end(self, job: int, row: Row) -> int:
        """Return when the job ends in that row."""
        return row.start + self.duration(job, row)

    def misfit(self) -> Job | None:
        """Return the first job that has no seat, or None."""
        for j, job in enumerate(self.instance.jobs):
            if next(self.all_modes(j), None) is None:
                return job
        return None

    def check_power(self) -> None:
        """Raise ValueError where power cannot be written by slices and levels."""
        for kind in self.kinds:
            _ = kind.split

    def cost(self, rows: Rows) -> int:
        """Return the exact cost above idle of a schedule, in the scale's unit."""
        total = 0
        for j, row in enumerate(rows):
            total += self.late_cost[j] * max(0, self.end(j, row) - self.due[j])
        for gpu in range(len(self.kind_of)):
            kind = self.kind(gpu)
            for counts, length in self.busy(rows, gpu):
                if kind.off is not None and counts[kind.off_group]:
                    total += length * kind.off_cost
                else:
                    total += length * kind.extra_cost[counts]
        return total

    def cost_exact(self, rows: Rows) -> Fraction:
        """Return the cost of the instance, idle energy included."""
        return self.scale.cost(self.instance, self.cost(rows))

    def busy(self, rows: Rows, gpu: int) -> Iterator[tuple[Counts, int]]:
        """Yield (busy vector, time) between neighbouring events of a GPU, idle time left out."""
        events = []
        for j, row in enumerate(rows):
            if row.gpu == gpu:
                events += [(self.end(j, row), -1, row.group), (row.start, 1, row.group)]
        counts = [0] * len(self.kind(gpu).vectors.groups)
        last = 0
        for time, change, group in sorted(events):
            if time > last and any(counts):
                yield tuple(counts), time - last
            counts[group] += change
            last = time

    def legal(self, rows: Rows) -> bool:
        """Return whether rows keep releases, slices, tau between classes, and MIG off for good."""
        for j, row in enumerate(rows):
            if row.start < self.release[j]:
                return False
            for i in range(j):
                other = rows[i]
                if other.gpu != row.gpu or other.cls == row.cls:
                    continue
                off = self.kind(row.gpu).off
                if not self.changing or off in (row.cls, other.cls):
                    return False
                apart = row.start - self.end(i, other), other.start - self.end(j, row)
                if max(apart) < self.tau:
                    return False
        for gpu in range(len(self.kind_of)):
            classes = self.kind(gpu).classes
            for c, kept in enumerate(classes):
                inside = tuple(row if (row.gpu, row.cls) == (gpu, c) else None for row in rows)
                if not self._fits(inside, kept.slices):
                    return False
        return True

    def _fits(self, rows: tuple[Row | None, ...], slices: tuple[int, ...]) -> bool:
        events = []
        for j, row in enumerate(rows):
            if row is not None:
                events += [(row.start, 1, row.group), (self.end(j, row), -1, row.group)]
        busy = [0] * len(slices)
        for _, change, group in sorted(events):
            busy[group] += change
            if busy[group] > slices[group]:
                return False
        return True

    @cached_property
    def alone(self) -> list[int]:
        """Least cost of each job: late as little as alone, at the least power per compute slice."""
        found = []
        for j in range(self.count):
            costs = []
            for number, _, k, duration in self.all_modes(j):
                kind = self.kinds[number]
                if k == kind.off_group:
                    energy = kind.off_cost * duration
                else:
                    energy = math.floor(kind.slope * kind.compute(k) * duration)
                late = max(0, self.release[j] + duration - self.due[j])
                costs.append(energy + self.late_cost[j] * late)
            found.append(min(costs))
        return found

    def root_bound(self) -> int:
        """Return a quick lower bound: what all jobs cost at least."""
        return sum(self.alone)

    def latest(self, cutoff: int) -> list[int]:
        """Return the latest end of each job in a schedule that costs at most ``cutoff``."""
        found = []
        for j, weight in enumerate(self.late_cost):
            end = self.horizon
            if weight:
                room = max(0, cutoff - self.root_bound() + self.alone[j])
                # What the job itself costs when it is late is at least its least energy.
                end = min(end, self.due[j] + (room - self._least_energy(j)) // weight)
            found.append(max(end, self.release[j]))
        return found

    def _least_energy(self, j: int) -> int:
        costs = []
        for number, _, k, duration in self.all_modes(j):
            kind = self.kinds[number]
            off = k == kind.off_group
            rate = Fraction(kind.off_cost) if off else kind.slope * kind.compute(k)
            costs.append(math.floor(rate * duration))
        return min(costs)


def fleet(instance: Instance, partition: int | str | None) -> Fleet:
    """Return the problem of an instance.

    Parameters
    ----------
    instance : Instance
    partition : int, str or None
        ``free``: partitions change where the instance allows it; ``one`` or None: every GPU keeps one, chosen
        by the solver; a number: every GPU keeps that one of its catalogue; ``off``: MIG off.

    Raises
    ------
    InputError
        A catalogue has no such partition.
    """
    changing = partition == "free" and instance.repartition.scope != "never"
    tau_ms = instance.repartition.tau_ms if changing else 0
    raw = [_raw_kind(instance, model, partition) for model in instance.gpu_models]
    times = {ms for _, _, rows in raw for row in rows for ms in row if ms is not None}
    times |= {time for job in instance.jobs for time in (job.release_ms, job.due_ms)}
    scale = Scale.of(instance, math.gcd(tau_ms, *times) or 1)
    kinds = []
    for vectors, classes, rows in raw:
        model = vectors.model
        gpus = tuple(g for g, other in enumerate(instance.gpus) if other.key == model.key)
        kinds.append(_kind(instance, scale, gpus, vectors, classes, rows))
    keys = [model.key for model in instance.gpu_models]
    kind_of = tuple(keys.index(model.key) for model in instance.gpus)
    changing &= any(len(kind.classes) - (kind.off is not None) > 1 for kind in kinds)
    return Fleet(instance, scale, tuple(kinds), kind_of, changing, tau_ms // scale.unit_ms)


Durations = list[list[int | None]]


def _raw_kind(
    instance: Instance, model: GpuModel, partition: int | str | None
) -> tuple[BusyVectors, list[PartitionClass], Durations]:
    has_off = instance.mig_off and not isinstance(partition, int)
    vectors = busy_vectors(instance, model, "both" if has_off else "mig")
    number = partition if isinstance(partition, int) else None
    classes: list[PartitionClass] = []
    if partition != "off":
        classes = partition_classes(vectors, instance.catalogues[model.key], number)
    if has_off:
        slices = (0,) * (len(vectors.groups) - 1) + (1,)
        classes.append(PartitionClass(0, OFF_PARTITION, slices))
    rows: Durations = [
        [job.duration_ms(rate) if rate else None for rate in vectors.rates(instance, job)]
        for job in instance.jobs
    ]
    return vectors, classes, rows


def _kind(
    instance: Instance,
    scale: Scale,
    gpus: tuple[int, ...],
    vectors: BusyVectors,
    classes: list[PartitionClass],
    rows: Durations,
) -> Kind:
    mig = [b for b in range(len(vectors)) if b != vectors.off_vector]
    off = next((c for c, kept in enumerate(classes) if kept.partition.is_off), None)
    off_mw = 0 if vectors.off_vector is None else vectors.extra_mw[vectors.off_vector]
    return Kind(
        vectors.model,
        gpus,
        vectors,
        tuple(classes),
        off,
        {vectors.counts[b]: scale.per_mw * vectors.extra_mw[b] for b in mig},
        {vectors.counts[b]: vectors.levels[b] for b in mig},
        scale.per_mw * off_mw,
        tuple(tuple(None if ms is None else ms // scale.unit_ms for ms in row) for row in rows),
    )
