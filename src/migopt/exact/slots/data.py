"""The data of both slot models, in integers: grid, partitions, work, demands, costs.

Slot t lasts from ``origin_ms + t slot_ms`` to ``origin_ms + (t + 1) slot_ms``. Jobs start, stop and move,
and partitions change, at its beginning only. A change loses tau of the slot in which it happens. A
slice that runs a job is charged to the end of the slot, and a job counts as done at the end of the
slot in which its work is done.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from migopt.bounds.busy_vectors import BusyVectors, busy_vectors
from migopt.errors import InfeasiblePartitionError, InputError
from migopt.exact.cpsat.objective import Scale
from migopt.exact.partition_classes import EXAMPLES, partition_classes
from migopt.model import OFF_PARTITION, Instance, Job, Partition
from migopt.units import ceil_div

MAX_JOBS = 20
#: More slots than this are refused: the models have a variable per job, group and slot.
MAX_SLOTS = 400
#: Default: the time from the first release on, with all work on fast slices, fills so many slots.
DEFAULT_SLOTS = 24


@dataclass(frozen=True, slots=True)
class SlotClass:
    """A choice of partition: what it is called and how many slices of each group it has."""

    label: str
    partition: Partition
    slices: tuple[int, ...]


@dataclass(frozen=True)
class SlotData:
    """An instance on a grid of slots.

    Attributes
    ----------
    instance : Instance
    partition : str or int
        ``free``, ``one``, or a number of the catalogue.
    origin_ms, slot_ms, tau_ms : int
        Begin of slot 0, length of a slot, time that a change loses.
    slots : int
        Number of slots T; later ones cannot matter.
    classes : tuple of SlotClass
        MIG off last, if allowed.
    off : int or None
        Index of MIG off among the classes.
    names : tuple of tuple of str
        Profile names per group; ``off`` is a group of its own, the last.
    compute : tuple of int
        Compute slices per group that count for the busy level; 0 for ``off``.
    full, loss : tuple of tuple of int
        Per job and group: work per slot, and what of it a change loses; 0 where the job does not fit.
    need : tuple of int
        Work of each job, in the unit of ``full``.
    first, last : tuple of int
        First and last slot in which a job may run.
    stays : tuple of bool
        Jobs that run on one slice without a stop.
    level_cost : dict of int to int
        Cost of a slot with so many busy compute slices; empty without weight on energy.
    off_cost : int
        Cost of a slot with MIG off and a job running.
    late : tuple of tuple of int
        ``late[j][t]``: cost of job j not being done by the beginning of slot t.
    cost_unit : Fraction
        What one unit of these costs is worth.
    """

    instance: Instance
    partition: str | int
    origin_ms: int
    slot_ms: int
    tau_ms: int
    slots: int
    classes: tuple[SlotClass, ...]
    off: int | None
    names: tuple[tuple[str, ...], ...]
    compute: tuple[int, ...]
    full: tuple[tuple[int, ...], ...]
    loss: tuple[tuple[int, ...], ...]
    need: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    stays: tuple[bool, ...]
    level_cost: dict[int, int]
    off_cost: int
    late: tuple[tuple[int, ...], ...]
    cost_unit: Fraction

    @property
    def jobs(self) -> range:
        """Indices of the jobs."""
        return range(len(self.need))

    @property
    def groups(self) -> range:
        """Indices of the groups."""
        return range(len(self.names))

    @property
    def changing(self) -> bool:
        """Whether the partition may change: there are two that can follow each other."""
        return self.partition == "free" and len(self.classes) - (self.off is not None) > 1

    def class_slot(self, c: int, t: int) -> int:
        """Return the slot whose variable says whether class c is in force in slot t."""
        return t if self.changing and c != self.off else 0

    def fitting(self, j: int) -> list[int]:
        """Return the groups that job j fits."""
        return [k for k in self.groups if self.full[j][k]]

    def run_slots(self, j: int, k: int, lost: int = 0) -> int:
        """Return how many slots job j needs on group k if changes lose ``lost`` of its work."""
        return ceil_div(self.need[j] + lost, self.full[j][k])

    def begin_ms(self, t: int) -> int:
        """Return when slot t begins."""
        return self.origin_ms + t * self.slot_ms

    def cost(self, objective: int) -> Fraction:
        """Return an objective as a cost of the instance."""
        return self.instance.constant_cost + objective * self.cost_unit

    def class_name(self) -> str:
        """Return the class of schedules in which the model is exact."""
        what = {
            "free": "partition changes allowed" if self.changing else "one partition",
            "one": "one partition for the whole run",
        }.get(str(self.partition), f"partition {self.partition}")
        every = f"every {self.slot_ms / 1000:g} s from {self.origin_ms / 1000:g} s on"
        return f"acts {every} only, slices held to the end of the slot, {what}"


def why_not(
    instance: Instance, partition: str | int = "free", slot_ms: int = 0, slots: int = 0
) -> str | None:
    """Return why the slot models do not cover an instance, or None."""
    if instance.kind != "schedule":
        return f"the slot models solve kind schedule, not {instance.kind}"
    if len(instance.gpus) != 1:
        return f"{len(instance.gpus)} GPUs: the slot models cover one; use cpsat or the day bound"
    if len(instance.jobs) > MAX_JOBS:
        jobs = len(instance.jobs)
        return f"{jobs} jobs: the slot models cover up to {MAX_JOBS}; use the day plan"
    if isinstance(partition, int):
        try:
            instance.catalogue(0)[partition]
        except InputError as error:
            return str(error)
    if instance.weight_a:
        curve = instance.power.get(instance.gpus[0].key)
        if curve is None:
            return "energy has weight, but no power curve is given"
        if list(curve.busy_mw) != sorted(curve.busy_mw):
            return "power falls where more slices are busy: a slice held too long would save energy"
        if instance.mig_off and curve.off_busy_mw is None:
            return "energy has weight, but no power with MIG off is given"
        if instance.mig_off and (curve.off_busy_mw or 0) < curve.idle_mw:
            return "a busy GPU with MIG off takes less power than an idle one"
    tau_ms = instance.repartition.tau_ms
    if slot_ms and partition == "free" and may_change(instance) and slot_ms <= tau_ms:
        return f"slots of {slot_ms} ms: a change takes {tau_ms} ms; take longer slots"
    return None


def may_change(instance: Instance) -> bool:
    """Return whether the instance lets a partition follow another."""
    return instance.repartition.scope != "never" and len(instance.catalogue(0)) > 1


def slot_data(
    instance: Instance, partition: str | int = "free", slot_ms: int = 0, slots: int = 0
) -> SlotData:
    """Return the data of the slot models; ``why_not`` must be None.

    Parameters
    ----------
    instance : Instance
    partition : str or int
        ``free``: it may change, where the instance allows that; ``one``: one for the whole run, chosen by
        the model; a number of the catalogue.
    slot_ms : int
        Length of a slot; 0 chooses it such that the work fills about ``slots`` slots.
    slots : int
        0 means ``DEFAULT_SLOTS``.

    Raises
    ------
    InfeasiblePartitionError
        A job fits none of the partitions that are left.
    """
    if partition == "free" and not may_change(instance):
        partition = "one"
    vectors = busy_vectors(instance, instance.gpus[0], "both" if instance.mig_off else "mig")
    classes = _classes(instance, vectors, partition)
    changing = partition == "free" and len([c for c in classes if not c.partition.is_off]) > 1
    classes = _fitting(instance, vectors, classes, changing)
    tau_ms = instance.repartition.tau_ms if changing else 0
    slot_ms = slot_ms or _default_slot(instance, slots or DEFAULT_SLOTS, tau_ms)
    return _on_grid(instance, vectors, partition, classes, tau_ms, slot_ms)


def _classes(instance: Instance, vectors: BusyVectors, partition: str | int) -> list[SlotClass]:
    number = partition if isinstance(partition, int) else None
    found = [
        SlotClass(kept.label, kept.partition, kept.slices)
        for kept in partition_classes(vectors, instance.catalogue(0), number)
    ]
    if number is None and instance.mig_off:
        off = (0,) * (len(vectors.groups) - 1) + (1,)
        found.append(SlotClass("MIG off", OFF_PARTITION, off))
    return found


def _fitting(
    instance: Instance, vectors: BusyVectors, classes: list[SlotClass], changing: bool
) -> list[SlotClass]:
    """Leave out choices on which a job cannot run; changing partitions are one choice together."""
    together = [c for c in classes if not c.partition.is_off] if changing else []
    choices = [[c] for c in classes if c not in together]
    choices += [together] if together else []
    kept: list[SlotClass] = []
    misfits: list[tuple[int, str]] = []
    for choice in choices:
        out = _misfit(instance, vectors, choice)
        if out is None:
            kept += choice
        else:
            misfits.append((out.id, " or ".join(c.label for c in choice[:EXAMPLES])))
    if not kept:
        more = f", and {len(misfits) - EXAMPLES} more" if len(misfits) > EXAMPLES else ""
        told = ", ".join(f"job {job} fits no slice of {label}" for job, label in misfits[:EXAMPLES])
        raise InfeasiblePartitionError(told + more, misfits[0][0])
    return [c for c in classes if c in kept]


def _misfit(instance: Instance, vectors: BusyVectors, choice: list[SlotClass]) -> Job | None:
    for job in instance.jobs:
        rates = vectors.rates(instance, job)
        if not any(n and rate for c in choice for n, rate in zip(c.slices, rates, strict=True)):
            return job
    return None


def _default_slot(instance: Instance, slots: int, tau_ms: int) -> int:
    """Return a slot length in whole seconds where that is long enough to matter, above two tau."""
    if not instance.jobs:
        return max(1000, 2 * tau_ms)
    releases = [job.release_ms for job in instance.jobs]
    quickest = [
        job.duration_ms(max(rate for _, _, rate in instance.options(job))) for job in instance.jobs
    ]
    length = ceil_div(max(releases) - min(releases) + sum(quickest), slots)
    if length > 10_000:
        length = 1000 * ceil_div(length, 1000)
    return max(length, 2 * tau_ms, 1)


def _on_grid(
    instance: Instance,
    vectors: BusyVectors,
    partition: str | int,
    classes: list[SlotClass],
    tau_ms: int,
    slot_ms: int,
) -> SlotData:
    jobs = instance.jobs
    origin = min((job.release_ms for job in jobs), default=0)
    full, loss, need = [], [], []
    for job in jobs:
        rates = vectors.rates(instance, job)
        rates = tuple(r if any(c.slices[k] for c in classes) else 0 for k, r in enumerate(rates))
        amounts = [amount for r in rates if r for amount in (r * slot_ms, r * tau_ms) if amount]
        # All totals are multiples of the divisor, so the work may be rounded up to one.
        unit = math.gcd(*amounts)
        full.append(tuple(r * slot_ms // unit for r in rates))
        loss.append(tuple(r * tau_ms // unit for r in rates))
        need.append(ceil_div(job.work, unit))
    has_off = vectors.off_vector is not None
    free = instance.preemption.mode == "free"
    data = SlotData(
        instance,
        partition,
        origin,
        slot_ms,
        tau_ms,
        0,
        tuple(classes),
        next((i for i, c in enumerate(classes) if c.partition.is_off), None),
        vectors.groups,
        tuple(
            0 if has_off and k == len(vectors.groups) - 1 else c
            for k, c in enumerate(vectors.compute)
        ),
        tuple(full),
        tuple(loss),
        tuple(need),
        tuple(ceil_div(job.release_ms - origin, slot_ms) for job in jobs),
        (),
        # With a cost per resume nothing is stopped, so the plan never pays it.
        tuple(not (free and job.preemptible) for job in jobs),
        {},
        0,
        (),
        Fraction(1),
    )
    most = _longest(data)
    return with_last(_with_costs(data, vectors, most), [most - 1] * len(jobs))


def _longest(data: SlotData) -> int:
    """Return a number of slots in which some optimal plan ends.

    After the last release a slot without work can be left out unless a change happens in it, and
    two such slots in a row can be joined. Every other slot brings some job at least its slowest
    slot's work less what a change loses.
    """
    busy = 0
    for j in data.jobs:
        least = min(data.full[j][k] - data.loss[j][k] for k in data.fitting(j))
        busy += ceil_div(data.need[j], least)
    return max(data.first, default=0) + (2 * busy + 1 if data.changing else busy)


def _with_costs(data: SlotData, vectors: BusyVectors, slots: int) -> SlotData:
    """Add the costs, divided by their greatest common divisor."""
    instance, length = data.instance, data.slot_ms
    scale = Scale.of(instance, 1)
    levels: dict[int, int] = {}
    off = 0
    if instance.weight_a:
        curve = instance.power[instance.gpus[0].key]
        top = max(
            sum(c * n for c, n in zip(data.compute, cl.slices, strict=True)) for cl in data.classes
        )
        for level in range(1, top + 1):
            busy = curve.busy_mw[min(level, len(curve.busy_mw) - 1)] - curve.idle_mw
            levels[level] = scale.per_mw * busy * length
        if data.off is not None and curve.off_busy_mw is not None:
            off = scale.per_mw * (curve.off_busy_mw - curve.idle_mw) * length
    late = []
    for job in instance.jobs:
        over = [
            max(0, data.begin_ms(t + 1) - job.due_ms) * scale.per_late * job.weight
            for t in range(slots)
        ]
        late.append([over[0], *(b - a for a, b in pairwise(over))])
    common = math.gcd(off, *levels.values(), *(cost for row in late for cost in row)) or 1
    return replace(
        data,
        level_cost={level: cost // common for level, cost in levels.items()},
        off_cost=off // common,
        late=tuple(tuple(cost // common for cost in row) for row in late),
        cost_unit=scale.cost_unit * common,
    )


def with_last(data: SlotData, last: Sequence[int]) -> SlotData:
    """Return the data with other last slots, and as many slots as they need."""
    slots = max(last, default=0) + 1
    late = tuple(row[:slots] for row in data.late)
    return replace(data, last=tuple(last), slots=slots, late=late)


def narrowed(data: SlotData, cutoff: int) -> SlotData:
    """Return the data with the last slots that a plan of cost at most ``cutoff`` can use.

    A job may be late by what the cutoff leaves once every other job costs its least.
    """
    least = [_least(data, j) for j in data.jobs]
    last = []
    for j in data.jobs:
        room = cutoff - sum(least) + least[j]
        total, t = 0, -1
        while t + 1 < data.slots and total + data.late[j][t + 1] <= room:
            t += 1
            total += data.late[j][t]
        last.append(t)
    return with_last(data, last)


def _least(data: SlotData, j: int) -> int:
    """Return what job j costs at least: late as little as alone, power at its least per compute slice."""
    per_slice = min(
        (Fraction(cost, level) for level, cost in data.level_cost.items()), default=Fraction(0)
    )
    found = []
    for k in data.fitting(j):
        slots = data.run_slots(j, k)
        is_off = data.off is not None and data.compute[k] == 0
        energy = (
            data.off_cost * slots if is_off else math.floor(per_slice * data.compute[k] * slots)
        )
        found.append(energy + sum(data.late[j][: data.first[j] + slots]))
    return min(found)
