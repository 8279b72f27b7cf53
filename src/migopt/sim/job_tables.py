"""The job side of an instance as the kernel reads it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from migopt.compiled import Ints
from migopt.errors import NotApplicableError
from migopt.model import GpuModel, Instance
from migopt.sim import layout as at
from migopt.sim.rules import elasticity_class, met_weight

#: Room below 2^63 for sums of times.
MOST_TIME = 2**61


@dataclass(frozen=True)
class Classes:
    """Jobs of equal speed everywhere: the class of each job, then per class rates, full rate, elasticity."""

    of_job: Ints
    rates: Ints
    full_rate: list[int]
    elasticity: Ints


def job_classes(instance: Instance, types: list[tuple[GpuModel, str]]) -> Classes:
    """Sort jobs into classes of equal speed on every type."""
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
    return Classes(of_job, rows[:, :-2].copy(), full_rate, rows[:, -1].copy())


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


def job_tables(instance: Instance, classes: Classes) -> tuple[Ints, Ints, Ints, Ints]:
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


def refuse_overflow(instance: Instance, jobs: Ints, classes: Classes, slots: int) -> None:
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
