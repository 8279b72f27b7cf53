"""An instance as the flat array that the kernel reads; see ``layout`` for what lies where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from migopt.compiled import Ints
from migopt.model import GpuModel, Instance, Partition, Placement
from migopt.sim import layout as at
from migopt.sim.gpu_tables import (
    gpu_rows,
    partition_tables,
    power_rows,
    slice_types,
    slot_tables,
    type_rows,
)
from migopt.sim.job_tables import job_classes, job_tables, refuse_overflow
from migopt.sim.rules import met_weight


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
    types = slice_types(instance)
    classes = job_classes(instance, types)
    order, jobs, arrivals, groups = job_tables(instance, classes)
    slots = slot_tables(instance, types)
    refuse_overflow(instance, jobs, classes, len(slots.rows))
    partitions = partition_tables(instance)
    kinds = type_rows(instance, types, slots.rows)
    layout = _Layout()
    layout.header.update(_settings(instance))
    layout.header |= {
        at.SLOTS: len(slots.rows),
        at.TYPES: len(types),
        at.CLASSES: len(classes.rates),
    }
    layout.header |= {at.GROUPS: len(groups) - 1, at.PARTS: len(partitions.parts)}
    layout.header[at.PLACES] = slots.place_of.shape[1]
    layout.header[at.PINNED] = int((jobs[:, at.STOPPABLE] == 0).sum())
    layout.add(at.D_JOB, jobs)
    layout.add(at.D_ARRIVAL, arrivals)
    layout.add(at.D_RATE, classes.rates)
    layout.add(at.D_TYPE, kinds)
    layout.add(at.D_SLOT, slots.rows)
    layout.add(at.D_RANKED, slots.ranked)
    layout.add(at.D_GPU, gpu_rows(instance, partitions.first))
    layout.add(at.D_PART, partitions.rows)
    layout.add(at.D_ITEM, partitions.items)
    layout.add(at.D_PLACE, slots.place_of)
    layout.add(at.D_GROUP, groups)
    layout.add(at.D_POWER, power_rows(instance))
    _state_layout(layout, kinds, len(classes.rates), len(groups))
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
