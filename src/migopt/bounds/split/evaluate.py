"""One evaluation of the splitting bound in floats: value, subgradient, and what each part chose."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from migopt.bounds.split.gpu_part import free_part, trajectory, type_minutes, type_rates
from migopt.bounds.split.job_part import job_part
from migopt.bounds.split.problem import Floats, Kind, SplitProblem

#: Most steps of the dynamic program over partitions; beyond it steps get longer (weaker, still valid).
MAX_STEPS = 1_500_000


def change_steps(problem: SplitProblem, parts: int) -> tuple[int, int, int]:
    """Return (length of a step in ms, steps lost per change, steps) for tau cut into ``parts``.

    lost is 0 when time for repartition is not counted: scope ``slices`` (another placement may go
    on), tau = 0, or a tau too short beside the grid. A change of tau contains at least
    floor((tau + 1) / delta) - 1 whole steps of any grid of integer step delta, all times being
    integers, and floor(tau / delta) - 1 in continuous time, which is what is used.
    """
    rule = problem.instance.repartition
    end = int(problem.grid_ms[-1])
    if problem.case == "off" or rule.scope != "gpu" or rule.tau_ms <= 0:
        return 1, 0, 0
    delta = max(1, rule.tau_ms // parts, -(-end // MAX_STEPS))
    lost = rule.tau_ms // delta - 1
    return (delta, lost, -(-end // delta)) if lost >= 1 else (1, 0, 0)


class Evaluator:
    """Evaluates the bound at given prices; keeps its buffers between calls."""

    def __init__(self, problem: SplitProblem, *, threads: int = 1, parts: int = 4) -> None:
        self.problem = problem
        self.threads = max(1, threads)
        self.delta, self.lost, self.steps = change_steps(problem, parts)
        self.fixed = problem.instance.repartition.scope == "never" and problem.case != "off"
        shape = (int(problem.pair0[-1]), problem.groups)
        jobs, intervals = problem.speed.shape[0], problem.lengths.size
        self.job_minutes = np.zeros(shape)
        self.gpu_minutes = np.zeros(shape)
        self.job_value, self.late = np.zeros(jobs), np.zeros(jobs)
        self.ending = np.zeros(jobs, np.int64)
        self.guide = np.full(jobs, np.inf)
        self.interval_value = np.zeros(intervals)
        self.types = [_types(kind) for kind in problem.kinds]
        if self.lost:
            self.jumped = np.zeros((self.steps + 1, max(len(t) for t in self.types)), np.uint8)
            self.source = np.zeros(self.steps + 1, np.int16)
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None
        self._job_cuts = _cuts(np.diff(problem.pair0), self.threads)
        self._interval_cuts = _cuts(np.diff(problem.by_interval[0]) + 1, self.threads)

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def __call__(self, prices: Floats) -> float:
        """Return the bound at ``prices`` without the constant, and fill the arrays of this object."""
        self.job_minutes[:] = 0.0
        self.gpu_minutes[:] = 0.0
        self._run(self._jobs, self._job_cuts, prices)
        total = 0.0
        self.interval_value[:] = 0.0
        for kind, types in zip(self.problem.kinds, self.types, strict=True):
            one = self._gpu(kind, types, prices)
            total += kind.count * one
        return float(self.job_value.sum()) - total

    def _jobs(self, begin: int, end: int, prices: Floats) -> None:
        p = self.problem
        job_part(
            begin,
            end,
            p.first,
            p.last,
            p.pair0,
            p.times,
            p.lengths,
            p.due,
            p.due_interval,
            p.beta,
            p.speed,
            p.speed_order,
            prices,
            self.guide,
            self.job_minutes,
            self.job_value,
            self.late,
            self.ending,
        )

    def _gpu(self, kind: Kind, types: Any, prices: Floats) -> float:
        p = self.problem
        starts, pairs = p.by_interval
        common = (starts, pairs, prices, kind.offset, kind.tables, kind.cost)
        share = float(kind.count)
        if not self.lost and not self.fixed:
            inside = np.ones(kind.cost.size, np.bool_)
            rate = np.empty(p.lengths.size)

            def free(begin: int, end: int, _: Floats) -> None:
                free_part(begin, end, *common, inside, rate, share, self.gpu_minutes)

            self._run(free, self._interval_cuts, prices)
            self.interval_value += kind.count * rate * p.lengths
            return float(rate @ p.lengths)
        rates = np.empty((p.lengths.size, len(types)))
        tables = kind.tables._replace(inside=types)
        varied = (starts, pairs, prices, kind.offset, tables, kind.cost)

        def rate_all(begin: int, end: int, _: Floats) -> None:
            type_rates(begin, end, *varied, rates)

        self._run(rate_all, self._interval_cuts, prices)
        value, spent = self._path(kind, rates)
        self.interval_value += kind.count * (rates * spent).sum(axis=1) * p.lengths

        def minutes(begin: int, end: int, _: Floats) -> None:
            type_minutes(begin, end, *varied, spent, share, self.gpu_minutes)

        self._run(minutes, self._interval_cuts, prices)
        return value

    def _path(self, kind: Kind, rates: Floats) -> tuple[float, Floats]:
        """Return the best path over partition types and its share of each interval."""
        spent = np.zeros_like(rates)
        sums = rates.T @ self.problem.lengths
        mig = kind.tables.inside.shape[0]
        best = int(np.argmax(sums))
        if self.lost and mig:
            part = np.zeros((rates.shape[0], mig))
            value = trajectory(
                np.ascontiguousarray(rates[:, :mig]),
                self.problem.grid_ms,
                self.delta,
                self.lost,
                self.steps,
                self.jumped,
                self.source,
                part,
            )
            value /= 60_000.0
            if not (best >= mig and sums[best] > value):
                spent[:, :mig] = part
                return float(value), spent
        spent[:, best] = 1.0
        return float(sums[best]), spent

    def _run(
        self, work: Callable[[int, int, Floats], None], cuts: list[int], prices: Floats
    ) -> None:
        spans = list(itertools.pairwise(cuts))
        if self._pool is None or len(spans) == 1:
            for begin, end in spans:
                work(begin, end, prices)
            return
        for done in [self._pool.submit(work, begin, end, prices) for begin, end in spans]:
            done.result()


def _types(kind: Kind) -> Any:
    """Return the partition types, and MIG off as one more that no change reaches."""
    rows = [kind.tables.inside]
    if kind.vectors.off_vector is not None:
        off = np.zeros((1, len(kind.vectors)), np.bool_)
        off[0, [0, kind.vectors.off_vector]] = True
        rows.append(off)
    return np.ascontiguousarray(np.concatenate(rows))


def _cuts(load: Any, parts: int) -> list[int]:
    """Return cut points that give each part about the same load."""
    total = np.concatenate(([0], np.cumsum(load)))
    wanted = [int(np.searchsorted(total, total[-1] * i / parts)) for i in range(1, parts)]
    return sorted({0, *wanted, len(load)})
