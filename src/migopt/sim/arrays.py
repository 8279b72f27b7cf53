"""An instance as the flat array that the kernel reads; see ``layout`` for what lies where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from migopt.errors import NotApplicableError
from migopt.model import (
    OFF_PARTITION,
    OFF_PLACEMENT,
    OFF_PROFILE,
    GpuModel,
    Instance,
    Partition,
    Placement,
)
from migopt.sim import layout as at
from migopt.sim.rules import elasticity_class, met_weight

#: Types are bits of one word.
MOST_TYPES = 62
#: Room below 2^63 for sums of times.
MOST_TIME = 2**61

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Arrays:
    """An instance laid out for the kernel.

    Attributes
    ----------
    instance : Instance
    data : array of int64
        The kernel's ``D``.
    types : list of (GpuModel, profile)
    places : list of (gpu, Placement)
        Per slot.
    parts : list of (GPU key, Partition)
        The number of a partition in the kernel is its place here.
    order : array
        Job index (order of ids) of the kernel's job numbers (order of due dates).
    full_rate : array
        Per job class, the rate on the full MIG profile (see ``migopt.metrics``).
    """

    instance: Instance
    data: Ints
    types: list[tuple[GpuModel, str]]
    places: list[tuple[int, Placement]]
    parts: list[tuple[str, Partition]]
    order: Ints
    full_rate: list[int]

    @cached_property
    def part_numbers(self) -> dict[tuple[str, Partition], int]:
        """Kernel numbers of partitions."""
        return {part: number for number, part in enumerate(self.parts)}

    @cached_property
    def place_rank(self) -> Ints:
        """Per slot, its place in the order of GPU, then placement."""
        rank = np.empty(len(self.places), np.int64)
        rank[sorted(range(len(self.places)), key=self.places.__getitem__)] = np.arange(len(rank))
        return rank

    def first_parts(self, chosen: list[Partition]) -> Ints:
        """Return the kernel's numbers of one partition per GPU."""
        gpus = self.instance.gpus
        return np.array(
            [self.part_numbers[m.key, p] for m, p in zip(gpus, chosen, strict=True)], np.int64
        )

    def table(self, start: int, rows: int, width: int) -> Ints:
        """Return a view of one table of ``data``."""
        first = int(self.data[start])
        return self.data[first : first + rows * width].reshape(rows, width)

    @property
    def rates(self) -> Ints:
        """Rates by class and type."""
        return self.table(at.D_RATE, int(self.data[at.CLASSES]), int(self.data[at.TYPES]))

    @property
    def jobs(self) -> Ints:
        """Jobs in the kernel's order, fields as in ``layout``."""
        return self.table(at.D_JOB, int(self.data[at.JOBS]), at.JOB_D)


_RECENT: list[Arrays] = []


def arrays_of(instance: Instance) -> Arrays:
    """Return the layout of an instance; the last few are kept, by identity."""
    for arrays in _RECENT:
        if arrays.instance is instance:
            return arrays
    arrays = build_arrays(instance)
    _RECENT.insert(0, arrays)
    del _RECENT[4:]
    return arrays


def build_arrays(instance: Instance) -> Arrays:
    """Lay out an instance; raises NotApplicableError where 64-bit integers could overflow."""
    types = _types(instance)
    classes = _classes(instance, types)
    order, jobs, arrivals, groups = _jobs(instance, classes)
    slots = _slots(instance, types)
    _refuse_overflow(instance, jobs, classes, len(slots.rows))
    partitions = _partitions(instance)
    type_rows = _type_rows(instance, types, slots.rows)
    layout = _Layout()
    layout.header.update(_settings(instance))
    layout.header |= {
        at.SLOTS: len(slots.rows),
        at.TYPES: len(types),
        at.CLASSES: len(classes.rates),
    }
    layout.header |= {at.GROUPS: len(groups) - 1, at.PARTS: len(partitions.parts)}
    layout.header[at.PLACES] = slots.place_of.shape[1]
    layout.add(at.D_JOB, jobs)
    layout.add(at.D_ARRIVAL, arrivals)
    layout.add(at.D_RATE, classes.rates)
    layout.add(at.D_TYPE, type_rows)
    layout.add(at.D_SLOT, slots.rows)
    layout.add(at.D_RANKED, slots.ranked)
    layout.add(at.D_GPU, _gpu_rows(instance, partitions.first))
    layout.add(at.D_PART, partitions.rows)
    layout.add(at.D_ITEM, partitions.items)
    layout.add(at.D_PLACE, slots.place_of)
    layout.add(at.D_GROUP, groups)
    layout.add(at.D_POWER, _power_rows(instance))
    _state_layout(layout, type_rows, len(classes.rates), len(groups))
    return Arrays(
        instance, layout.data(), types, slots.places, partitions.parts, order, classes.full_rate
    )


class _Layout:
    """Collects tables and where they begin."""

    def __init__(self) -> None:
        self.header: dict[int, int] = {}
        self.tables: list[Ints] = []
        self.length = at.HEADER_D

    def add(self, field: int, table: Any) -> None:
        flat = np.asarray(table, np.int64).ravel()
        self.header[field] = self.length
        self.tables.append(flat)
        self.length += len(flat)

    def data(self) -> Ints:
        head = np.zeros(at.HEADER_D, np.int64)
        for field, value in self.header.items():
            head[field] = value
        return np.concatenate([head, *self.tables])


def _settings(instance: Instance) -> dict[int, int]:
    preemption = instance.preemption
    weight = met_weight(instance.weight_a)
    return {
        at.JOBS: len(instance.jobs),
        at.GPUS: len(instance.gpus),
        at.OVERHEAD: preemption.resume_overhead_ms if preemption.mode == "cost" else 0,
        at.SCOPE: ("gpu", "slices", "never").index(instance.repartition.scope),
        at.TAU: instance.repartition.tau_ms,
        at.HORIZON: instance.horizon_ms,
        at.LEVELS: max(model.compute_slices for model in instance.gpu_models) + 1,
        at.WEIGHT_P: weight.numerator,
        at.WEIGHT_Q: weight.denominator,
    }


# --- jobs ------------------------------------------------------------------------------------


def _types(instance: Instance) -> list[tuple[GpuModel, str]]:
    types = []
    for model in instance.gpu_models:
        types += [(model, profile) for profile in instance.profiles_in_use[model.key]]
        if instance.mig_off:
            types.append((model, OFF_PROFILE))
    if len(types) > MOST_TYPES:
        raise NotApplicableError(
            f"the compiled simulator takes up to {MOST_TYPES} kinds of slices, not {len(types)}"
        )
    return types


@dataclass(frozen=True)
class _Classes:
    """Jobs of equal speed everywhere: the class of each job, then per class rates, full rate, elasticity."""

    of_job: Ints
    rates: Ints
    full_rate: list[int]
    elasticity: Ints


def _classes(instance: Instance, types: list[tuple[GpuModel, str]]) -> _Classes:
    by_table: dict[tuple[int, int], int] = {}
    numbers: dict[tuple[int, ...], int] = {}
    of_job = np.empty(len(instance.jobs), np.int64)
    for position, job in enumerate(instance.jobs):
        # Jobs share rate tables, so the table's identity stands for its content here.
        key = (id(job.rates), job.memory_bytes)
        found = by_table.get(key)
        if found is None:
            row = [instance.rate(job, model, profile) for model, profile in types]
            full = max(instance.rate(job, m, m.full_profile.name) for m in instance.gpu_models)
            row += [full, elasticity_class(instance, job)]
            found = by_table[key] = numbers.setdefault(tuple(row), len(numbers))
        of_job[position] = found
    rows = np.array(list(numbers), np.int64).reshape(len(numbers), len(types) + 2)
    full_rate = [key[-2] or max(key[:-2], default=0) for key in numbers]
    return _Classes(of_job, rows[:, :-2].copy(), full_rate, rows[:, -1].copy())


def _columns(instance: Instance) -> dict[str, Ints]:
    jobs, count = instance.jobs, len(instance.jobs)
    try:
        return {
            "release": np.fromiter((j.release_ms for j in jobs), np.int64, count),
            "due": np.fromiter((j.due_ms for j in jobs), np.int64, count),
            "work": np.fromiter((j.work for j in jobs), np.int64, count),
            "weight": np.fromiter((j.weight for j in jobs), np.int64, count),
            "stoppable": np.fromiter((instance.is_preemptible(j) for j in jobs), np.int64, count),
        }
    except OverflowError:
        raise NotApplicableError("a time, a weight or an amount of work exceeds 64 bits") from None


def _jobs(instance: Instance, classes: _Classes) -> tuple[Ints, Ints, Ints, Ints]:
    """Return job indices in order of due date, their rows, the order of arrival, and the groups."""
    columns = _columns(instance)
    count = len(instance.jobs)
    index = np.arange(count, dtype=np.int64)
    order = np.lexsort((index, columns["release"], columns["due"])).astype(np.int64)
    rows = np.zeros((count, at.JOB_D), np.int64)
    rows[:, at.RELEASE] = columns["release"][order]
    rows[:, at.DUE] = columns["due"][order]
    rows[:, at.WORK] = columns["work"][order]
    rows[:, at.WEIGHT] = columns["weight"][order]
    rows[:, at.STOPPABLE] = columns["stoppable"][order]
    rows[:, at.INDEX] = order
    kinds = classes.of_job[order]
    rows[:, at.CLASS] = kinds
    by_release = np.lexsort((index, rows[:, at.RELEASE])).astype(np.int64)
    rows[by_release, at.FIFO] = index
    rows[:, at.ELASTIC] = classes.elasticity[kinds] * count + index
    masks = ((classes.rates > 0).astype(np.int64) << np.arange(classes.rates.shape[1])).sum(axis=1)
    distinct, of_class = np.unique(masks, return_inverse=True)
    rows[:, at.GROUP] = of_class.reshape(-1)[kinds]
    sizes = np.bincount(rows[:, at.GROUP], minlength=len(distinct))
    heaps = 2 * np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    # The last group is the pool, which takes every job.
    groups = np.column_stack([np.append(distinct, -1), heaps])
    arrivals = np.lexsort((order, rows[:, at.RELEASE])).astype(np.int64)
    return order, rows, arrivals, groups


def _refuse_overflow(instance: Instance, jobs: Ints, classes: _Classes, slots: int) -> None:
    """Raise NotApplicableError unless every sum the kernel forms stays below 2^62."""
    if not len(jobs):
        return
    slowest = np.where(classes.rates > 0, classes.rates, np.iinfo(np.int64).max).min(axis=1)
    longest = (jobs[:, at.WORK] // slowest[jobs[:, at.CLASS]] + 1).astype(object)
    overhead = instance.preemption.resume_overhead_ms
    last = int(jobs[:, at.RELEASE].max()) + int(longest.sum()) + overhead * len(jobs)
    last = max(last, instance.horizon_ms, int(jobs[:, at.DUE].max()))
    peak = max((max(c.busy_mw) + (c.off_busy_mw or 0) for c in instance.power.values()), default=0)
    heaviest = int(jobs[:, at.WEIGHT].max())
    if (
        last * max(heaviest * len(jobs), slots + 1) >= MOST_TIME
        or met_weight(instance.weight_a).numerator * peak >= MOST_TIME
        or min(int(jobs[:, at.RELEASE].min()), int(jobs[:, at.WORK].min()) - 1) < 0
        or int(jobs[:, at.DUE].min()) < -MOST_TIME
    ):
        raise NotApplicableError("times so long that sums may exceed 64 bits")


# --- GPUs ------------------------------------------------------------------------------------


def _placements(instance: Instance, model: GpuModel) -> list[Placement]:
    """Return every placement that a partition of the model may hold, ``off`` first if allowed."""
    used = {place for partition in instance.catalogues[model.key] for place in partition}
    return ([OFF_PLACEMENT] if instance.mig_off else []) + sorted(used)


@dataclass(frozen=True)
class _Slots:
    """Slots by type, GPU, start: their rows, their order of size, and where to find them."""

    rows: Ints
    ranked: Ints
    place_of: Ints
    places: list[tuple[int, Placement]]


def _slots(instance: Instance, types: list[tuple[GpuModel, str]]) -> _Slots:
    numbers = {(model.key, profile): number for number, (model, profile) in enumerate(types)}
    items = {model.key: _placements(instance, model) for model in instance.gpu_models}
    most = max((len(places) for places in items.values()), default=0)
    found = [
        (numbers[model.key, place.profile], gpu, place.start, item, place)
        for gpu, model in enumerate(instance.gpus)
        for item, place in enumerate(items[model.key])
    ]
    found.sort(key=lambda row: row[:3])
    place_of = np.full((len(instance.gpus), most), -1, np.int64)
    rows = np.zeros((len(found), at.SLOT_D), np.int64)
    for slot, (kind, gpu, _, item, _) in enumerate(found):
        place_of[gpu, item] = slot
        rows[slot, at.L_GPU], rows[slot, at.L_TYPE] = gpu, kind
    sizes = [_size(*types[kind]) for kind, *_ in found]
    ranked = sorted(range(len(found)), key=lambda s: (*sizes[s], found[s][1], found[s][2]))
    rows[ranked, at.L_RANK] = np.arange(len(found))
    return _Slots(rows, np.array(ranked, np.int64), place_of, [(row[1], row[4]) for row in found])


def _size(model: GpuModel, profile: str) -> tuple[int, int]:
    if profile == OFF_PROFILE:
        return model.compute_slices, model.memory_units
    known = model.profile(profile)
    return known.compute_slices, known.memory_units


def _type_rows(instance: Instance, types: list[tuple[GpuModel, str]], slots: Ints) -> Ints:
    rows = np.zeros((len(types), at.TYPE_D), np.int64)
    counts = (
        np.bincount(slots[:, at.L_TYPE], minlength=len(types))
        if len(slots)
        else np.zeros(len(types))
    )
    models = [model.key for model in instance.gpu_models]
    first = word = summary = 0
    for kind, (model, profile) in enumerate(types):
        words = -(-int(counts[kind]) // 64)
        rows[kind] = [
            _size(model, profile)[0],
            first,
            word,
            summary,
            words,
            models.index(model.key),
            profile == OFF_PROFILE,
            0,
        ]
        first, word, summary = first + int(counts[kind]), word + words, summary + -(-words // 64)
    return rows


@dataclass(frozen=True)
class _Partitions:
    """Partitions of all models, ``off`` first of each: rows, placements in them, first number per model."""

    parts: list[tuple[str, Partition]]
    rows: Ints
    items: Ints
    first: dict[str, int]


def _partitions(instance: Instance) -> _Partitions:
    parts: list[tuple[str, Partition]] = []
    rows: list[tuple[int, int]] = []
    items: list[int] = []
    first: dict[str, int] = {}
    for model in instance.gpu_models:
        first[model.key] = len(parts)
        places = {place: item for item, place in enumerate(_placements(instance, model))}
        for partition in (OFF_PARTITION, *instance.catalogues[model.key]):
            start = len(items)
            # Without mig_off the number of ``off`` stays reserved, with nothing in it.
            items += [places[place] for place in partition if place in places]
            rows.append((start, len(items)))
            parts.append((model.key, partition))
    return _Partitions(parts, np.array(rows, np.int64), np.array(items, np.int64), first)


def _gpu_rows(instance: Instance, first: dict[str, int]) -> Ints:
    models = [model.key for model in instance.gpu_models]
    rows = [(models.index(m.key), first[m.key], m.compute_slices, 0) for m in instance.gpus]
    return np.array(rows, np.int64)


def _power_rows(instance: Instance) -> Ints:
    """Return power per model and busy level, then with MIG off; zeros where no curve is given."""
    levels = max(model.compute_slices for model in instance.gpu_models) + 1
    rows = np.zeros((len(instance.gpu_models), levels + 1), np.int64)
    for row, model in zip(rows, instance.gpu_models, strict=True):
        curve = instance.power.get(model.key)
        if curve is not None:
            row[: len(curve.busy_mw)] = curve.busy_mw
            row[levels] = curve.busy_mw[-1] if curve.off_busy_mw is None else curve.off_busy_mw
    return rows


# --- the state -------------------------------------------------------------------------------


def _state_layout(layout: _Layout, types: Ints, classes: int, groups: int) -> None:
    """Reserve the tables of S."""
    header = layout.header
    jobs, slots, gpus = header[at.JOBS], header[at.SLOTS], header[at.GPUS]
    words = int(types[:, at.T_WORDS].sum())
    summaries = int((-(-types[:, at.T_WORDS] // 64)).sum())
    sizes = {
        at.S_JOB: jobs * at.JOB_S,
        at.S_SLOT: slots * at.SLOT_S,
        at.S_ENDS: 2 * slots,
        at.S_WAIT_SIZE: groups,
        at.S_WAIT: 4 * jobs + 2 * slots,
        at.S_WAIT_POS: jobs,
        at.S_WORD: words,
        at.S_SUMMARY: summaries,
        at.S_TYPE: len(types) * at.TYPE_S,
        at.S_VICTIM: 2 * slots,
        at.S_GPU: gpus * at.GPU_S,
        at.S_LEVEL: gpus * header[at.LEVELS],
        at.S_QUEUE: gpus,
        at.S_CLASS_MS: classes * len(types),
        at.S_URGENT: 2 * jobs,
        at.S_URGENT_POS: jobs,
        at.S_RECENT: 2 * jobs,
        at.S_LIST: 3 * slots,
    }
    first = at.HEADER_S
    for field, size in sizes.items():
        header[field] = first
        first += size
    header[at.S_SIZE] = first
