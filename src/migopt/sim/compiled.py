"""Runs on the compiled simulator: a schedule, or only its figures; equal to the reference's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from migopt.compiled import Ints
from migopt.errors import InfeasiblePartitionError, PolicyError
from migopt.metrics import Metrics
from migopt.metrics.gpu_time import power_mw
from migopt.model import FrozenMap, Instance, Partition, Reconfiguration, Schedule, Segment
from migopt.sim import kernel
from migopt.sim import layout as at
from migopt.sim.arrays import Arrays
from migopt.sim.rules import CompiledRule, PartitionPlan


def rule_array(rule: CompiledRule, plan: PartitionPlan | None = None) -> Ints:
    """Return a rule, and how partitions change, as ``kernel.reset`` reads them."""
    entries = plan.timetable if plan is not None else ()
    flat = [item for entry in entries for item in entry]
    mode = at.TIMETABLE if entries else at.FIXED
    return np.array(
        [rule.scope, rule.order, rule.choice, rule.threshold_ms, rule.max_stops, mode, *flat],
        np.int64,
    )


def seed_word(seed: int) -> int:
    """Return a seed as a signed 64-bit word."""
    return (seed + 2**63) % 2**64 - 2**63


class CompiledRun:
    """One run of built-in rules on an instance.

    Parameters
    ----------
    arrays : Arrays
    rule : CompiledRule
    plan : PartitionPlan
    seed : int
    record : bool
        Whether segments are kept; without them only figures come out.
    """

    def __init__(
        self,
        arrays: Arrays,
        rule: CompiledRule,
        plan: PartitionPlan,
        *,
        seed: int = 0,
        record: bool = True,
    ) -> None:
        self.arrays, self.plan = arrays, plan
        D = arrays.data
        room = 3 * int(D[at.SLOTS]) + int(D[at.GPUS]) + 1
        self.capacity = capacity = max(4096, 4 * room) if record else 0
        self.room, self.seed = room, seed_word(seed)
        self.scratch: Ints | None = None
        program = rule_array(rule, plan)
        self.state = np.empty(int(D[at.S_SIZE]) + len(program) + at.LOG_S * capacity, np.int64)
        self.log: list[Ints] = []
        kernel.reset(D, self.state, program, self.seed, capacity)
        kernel.start(D, self.state, arrays.first_parts(plan.first))

    def play(self) -> CompiledRun:
        """Play to the end; raises as ``migopt.sim.simulate`` does where the run cannot end."""
        while True:
            status = self._play()
            self.empty_log()
            if status == at.FINISHED_RUN:
                return self
            if status != at.LOG_FULL:
                self.refuse(status)

    def _play(self) -> int:
        D, rule, steer = self.arrays.data, self.plan.ahead, self.plan.steer
        if rule is None and steer is None:
            return int(kernel.play(D, self.state))
        if self.scratch is None:
            self.scratch = np.empty(int(D[at.S_SIZE]), np.int64)
        if rule is None:
            return self._play_steered(steer, self.scratch)
        from migopt.sim import ahead

        instance = self.arrays.instance
        counts = [len(instance.catalogue(gpu)) for gpu in range(len(instance.gpus))]
        settings = np.array([self.seed, rule.keep], np.int64)
        money = np.array([rule.energy, rule.tardiness, rule.margin])
        return int(ahead.play_ahead(D, self.state, self.scratch, np.array(counts), settings, money))

    def _play_steered(self, steer: Callable[..., None] | None, scratch: Ints) -> int:
        D, S = self.arrays.data, self.state
        while not (self.capacity and S[at.LOG_COUNT] + self.room > self.capacity):
            status = int(kernel.advance(D, S))
            if status != at.DECIDE:
                return status
            if steer is not None:
                steer(D, S, scratch)
            kernel.dispatch(D, S)
        return at.LOG_FULL

    def make_room(self) -> None:
        """Empty the log unless one more instant fits."""
        if self.state[at.LOG_COUNT] + self.room > self.capacity:
            self.empty_log()

    def empty_log(self) -> None:
        """Move what the kernel has logged to ``log``."""
        count, first = int(self.state[at.LOG_COUNT]), int(self.state[at.LOG])
        if count:
            self.log.append(
                self.state[first : first + at.LOG_S * count].reshape(count, at.LOG_S).copy()
            )
        self.state[at.LOG_COUNT] = 0

    def refuse(self, status: int) -> None:
        """Raise the error that a status means."""
        now = int(self.state[at.NOW])
        if status == at.ENDLESS:
            raise PolicyError(
                f"the partition rule changes partitions at {now} ms without end (tau is 0)"
            )
        places = self.jobs[:, at.SLOT]
        waits = places == at.WAITING
        job = self.arrays.instance.jobs[
            int(self.arrays.order[waits if waits.any() else places >= 0].min())
        ]
        parts = self.gpus[:, at.PARTITION]
        kept = "; ".join(
            f"GPU {gpu}: {self.arrays.parts[part][1]}" for gpu, part in enumerate(parts)
        )
        raise InfeasiblePartitionError(
            f"job {job.id} waits and can never run to its end under the partitions kept ({kept})",
            job.id,
        )

    @property
    def jobs(self) -> Ints:
        """Jobs in the kernel's order, fields as in ``layout``; a view."""
        return self._table(at.S_JOB, at.JOBS, at.JOB_S)

    @property
    def slots(self) -> Ints:
        """Slots, likewise."""
        return self._table(at.S_SLOT, at.SLOTS, at.SLOT_S)

    @property
    def gpus(self) -> Ints:
        """GPUs, likewise."""
        return self._table(at.S_GPU, at.GPUS, at.GPU_S)

    def _table(self, start: int, count: int, width: int) -> Ints:
        first, rows = int(self.arrays.data[start]), int(self.arrays.data[count])
        return self.state[first : first + rows * width].reshape(rows, width)

    # --- what came out ----------------------------------------------------------------------

    def lines(self) -> Ints:
        """Return the log: start, end, slot, job of segments; see ``layout`` for repartitions."""
        self.empty_log()
        return np.concatenate(self.log) if self.log else np.empty((0, at.LOG_S), np.int64)

    def schedule(self) -> Schedule:
        """Return the schedule as plain data."""
        arrays = self.arrays
        lines = self.lines()
        runs = lines[lines[:, 3] >= 0]
        # In the order of Schedule, which then has nothing to sort.
        runs = runs[np.lexsort((arrays.place_rank[runs[:, 2]], runs[:, 1], runs[:, 0]))]
        ids = np.array([job.id for job in arrays.instance.jobs], dtype=object)[arrays.order]
        places = arrays.places
        segments = []
        for start, end, slot, job in runs.tolist():
            gpu, placement = places[slot]
            segments.append(Segment(start, end, gpu, placement, ids[job]))
        changes = lines[lines[:, 3] < 0].tolist()
        count = len(arrays.parts)
        reconfigurations = tuple(
            Reconfiguration(
                start,
                end,
                gpu,
                arrays.parts[(-1 - code) // count][1],
                arrays.parts[(-1 - code) % count][1],
            )
            for start, end, gpu, code in changes
        )
        return Schedule(tuple(self.plan.first), tuple(segments), reconfigurations)

    def changes(self) -> list[tuple[int, int, int, Partition]]:
        """Return the repartitions so far: start, end, GPU, new partition."""
        count = len(self.arrays.parts)
        lines = self.lines()
        return [
            (start, end, gpu, self.arrays.parts[(-1 - code) % count][1])
            for start, end, gpu, code in lines[lines[:, 3] < 0].tolist()
        ]

    def summary(self) -> Ints:
        """Return the figures of ``kernel.summarise``."""
        D = self.arrays.data
        out = np.zeros(kernel.SUMMARY + int(D[at.GPUS]) * (int(D[at.LEVELS]) + 1), np.int64)
        kernel.summarise(D, self.state, at.FINISHED_RUN, out)
        return out

    def metrics(self, *, jobs: bool = True) -> Metrics:
        """Return what ``migopt.metrics.measure`` says of the schedule.

        Integers are equal; ``stp`` and ``mean_relative_jct`` add the same terms in another order.
        Without ``jobs`` these two and ``p95_jct_ms``, which need a look at every job, are left 0.
        """
        off = [partition.is_off for partition in self.plan.first]
        rest = (
            self._job_figures() if jobs else {"p95_jct_ms": 0, "mean_relative_jct": 0.0, "stp": 0.0}
        )
        return Metrics(**figures(self.arrays, self.summary(), off), **rest)

    def _job_figures(self) -> dict[str, Any]:
        arrays, D = self.arrays, self.arrays.data
        ends = self.jobs[:, at.END]
        jobs = arrays.jobs
        jct = ends - jobs[:, at.RELEASE]
        count = len(jct)
        rank = -(-95 * count // 100)
        full = np.array(arrays.full_rate, dtype=object)[jobs[:, at.CLASS]]
        relative = (jct.astype(object) * full / jobs[:, at.WORK].astype(object)).tolist()
        classes = int(D[at.CLASSES])
        first = int(D[at.S_CLASS_MS])
        spent = self.state[first : first + classes * int(D[at.TYPES])].reshape(
            classes, int(D[at.TYPES])
        )
        best = arrays.rates.max(axis=1, initial=1)
        progress = [
            int(spent[c, k]) * int(arrays.rates[c, k]) / int(best[c])
            for c, k in zip(*np.nonzero(spent), strict=True)
        ]
        window = max(arrays.instance.horizon_ms, int(ends.max(initial=0)))
        return {
            "p95_jct_ms": int(np.partition(jct, rank - 1)[rank - 1]) if count else 0,
            "mean_relative_jct": math.fsum(relative) / count if count else 0.0,
            "stp": math.fsum(progress) / window if window else 0.0,
        }


def figures(arrays: Arrays, out: Ints, off: list[bool]) -> dict[str, Any]:
    """Turn the figures of a finished run into the exact fields of Metrics; ``off``: GPUs with MIG off."""
    instance = arrays.instance
    makespan = int(out[kernel.SUM_END])
    window = max(instance.horizon_ms, makespan)
    rows = out[kernel.SUMMARY :].reshape(len(instance.gpus), -1)
    levels = {model.key: [0] * (model.compute_slices + 1) for model in instance.gpu_models}
    for model, row in zip(instance.gpus, rows.tolist(), strict=True):
        busy = levels[model.key]
        for level in range(1, model.compute_slices + 1):
            busy[level] += row[1 + level]
        busy[0] += window - sum(row[2:])
    return {
        "weight_a": instance.weight_a,
        "total_weight": instance.total_weight,
        "constant_cost": instance.constant_cost,
        "horizon_ms": instance.horizon_ms,
        "window_ms": window,
        "jobs": len(instance.jobs),
        "jobs_without_run": 0,
        "weighted_tardiness_ms": int(out[kernel.SUM_WEIGHTED]),
        "total_tardiness_ms": int(out[kernel.SUM_TARDINESS]),
        "max_tardiness_ms": int(out[kernel.SUM_MOST]),
        "jobs_late": int(out[kernel.SUM_LATE]),
        "makespan_ms": makespan,
        "total_jct_ms": int(out[kernel.SUM_JCT]),
        "preemptions": int(out[kernel.SUM_PREEMPTIONS]),
        "repartitions": int(out[kernel.SUM_REPARTITIONS]),
        "busy_level_ms": FrozenMap({key: tuple(row) for key, row in levels.items()}),
        "busy_slice_ms": sum(u * ms for row in levels.values() for u, ms in enumerate(row)),
        "capacity_slice_ms": window * sum(model.compute_slices for model in instance.gpus),
        **_energy(instance, rows, off),
    }


def _energy(instance: Instance, rows: Ints, off: list[bool]) -> dict[str, int | None]:
    total = idle = 0
    known = True
    for model, row, is_off in zip(instance.gpus, rows.tolist(), off, strict=True):
        idle_mw = power_mw(instance, model, 0, False)
        if idle_mw is None:
            known = False
            continue
        total += instance.horizon_ms * idle_mw
        idle += (instance.horizon_ms - row[0]) * idle_mw
        for level, spent in enumerate(row[2:], 1):
            if spent:
                power = power_mw(instance, model, level, is_off)
                known = known and power is not None
                total += spent * ((power or 0) - idle_mw)
    return {"energy_uj": total if known else None, "idle_energy_uj": idle if known else None}
