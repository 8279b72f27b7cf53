"""Grids, coarse to fine, and the splitting bound on them with restrictions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from migopt.bounds.split.ascend import transfer
from migopt.bounds.split.evaluate import change_steps
from migopt.bounds.split.gpu_part import type_minutes, type_rates
from migopt.bounds.split.problem import Floats, Ints, SplitProblem, build_problem
from migopt.exact.priced_tree.kernel import NEVER, restricted_jobs, restricted_trajectory
from migopt.model import Instance
from migopt.units import MS_PER_MINUTE

#: Steps into which tau is cut.
PARTS = 12
#: Uniform points of the coarsest grid.
POINTS = 75


@dataclass(frozen=True)
class Restrictions:
    """What a node leaves open.

    Attributes
    ----------
    earliest, latest : int64 arrays [J]
        Intervals of completion; an ``earliest`` below the interval of the due date allows to be on time.
    moments_ms, allowed : int64 array [R], bool array [R, C]
        At these moments only the allowed classes of partitions may be in force, or a change goes on.
    """

    earliest: Ints
    latest: Ints
    moments_ms: Ints
    allowed: Any


def first_problem(instance: Instance, upper: float, more_points: Iterable[float]) -> SplitProblem:
    """Return the coarsest problem: windows end where a schedule that costs less than ``upper`` must be done.

    Parameters
    ----------
    instance : Instance
    upper : float
        Cost above the constant of a known schedule.
    more_points : iterable of float
        Minutes that are to be grid points.
    """
    p = build_problem(instance, "mig", uniform=1)
    release = np.array([job.release_ms for job in instance.jobs], dtype=np.int64)
    quickest = 1.0 / p.speed.max(axis=1)
    least = np.maximum(0.0, release / MS_PER_MINUTE + quickest - p.due)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = (
            np.where(p.beta > 0, max(0.0, upper - float(p.beta @ least)) / p.beta, np.inf) + least
        )
    latest = np.maximum(p.due, release / MS_PER_MINUTE) + room
    ends = np.minimum(np.ceil(latest * MS_PER_MINUTE) + 1, p.grid_ms[-1]).astype(np.int64)
    begin, end = int(release.min()), int(ends.max())
    points = {0, end} | {time for job in instance.jobs for time in (job.release_ms, job.due_ms)}
    points |= {begin + (end - begin) * i // POINTS for i in range(1, POINTS)}
    points |= {round(t * MS_PER_MINUTE) for t in more_points}
    grid = np.array(sorted(t for t in points if 0 <= t <= end), dtype=np.int64)
    return _on_grid(p, grid, release, ends)


def _on_grid(p: SplitProblem, grid: Ints, release: Ints, ends: Ints) -> SplitProblem:
    first = (np.searchsorted(grid, release, side="right") - 1).astype(np.int64)
    last = np.maximum(np.searchsorted(grid, ends), first + 1)
    return replace(
        p, grid_ms=grid, first=first, last=np.minimum(last, grid.size - 1).astype(np.int64)
    )


class Level:
    """One grid: evaluates the bound, keeps its buffers."""

    def __init__(self, problem: SplitProblem) -> None:
        p = self.problem = problem
        self.kind = p.kinds[0]
        self.delta, self.lost, self.steps = change_steps(p, PARTS)
        self.tables = self.kind.tables
        self.classes = self.tables.inside
        jobs, intervals, count = len(p.first), p.lengths.size, len(self.classes)
        shape = (int(p.pair0[-1]), p.groups)
        self.job_minutes, self.gpu_minutes = np.zeros(shape), np.zeros(shape)
        self.value, self.ending = np.zeros(jobs), np.zeros(jobs, np.int64)
        self.rates, self.spent = np.zeros((intervals, count)), np.zeros((intervals, count))
        self._guide = np.full(jobs, np.inf)
        self._jumped = np.zeros((self.steps + 1, count), np.uint8)
        self._source = np.zeros(self.steps + 1, np.int16)
        self._data = (
            *(p.first, p.last, p.pair0, p.times, p.lengths),
            *(p.due, p.due_interval, p.beta, p.speed, p.speed_order),
        )
        #: Minutes late if a job ends in an interval, before its own minutes there.
        self.late = np.maximum(0.0, p.times[:-1, None] - p.due[None, :])

    def open(self) -> Restrictions:
        """Return no restrictions."""
        p, count = self.problem, len(self.classes)
        return Restrictions(
            np.full(len(p.first), -1, np.int64),
            (p.last - 1).astype(np.int64),
            np.zeros(0, np.int64),
            np.zeros((0, count), np.bool_),
        )

    def evaluate(self, prices: Floats, node: Restrictions) -> float:
        """Return the bound above the constant, infinite where a job cannot end as it has to."""
        p = self.problem
        self.job_minutes[:] = 0.0
        self.gpu_minutes[:] = 0.0
        restricted_jobs(
            self._data,
            prices,
            node.earliest,
            node.latest,
            self._guide,
            self.job_minutes,
            self.value,
            self.ending,
        )
        if self.value.max() >= NEVER:
            return math.inf
        starts, pairs = p.by_interval
        common = (0, p.lengths.size, starts, pairs, prices, 0, self.tables, self.kind.cost)
        type_rates(*common, self.rates)
        moments = np.append(np.rint(node.moments_ms / self.delta), self.steps + 9).astype(np.int64)
        gained = restricted_trajectory(
            self.rates,
            p.grid_ms,
            self.delta,
            self.lost,
            self.steps,
            moments,
            node.allowed,
            self._jumped,
            self._source,
            self.spent,
        )
        type_minutes(*common, self.spent, 1.0, self.gpu_minutes)
        return float(self.value.sum()) - float(gained) / MS_PER_MINUTE

    def finer(self) -> Level:
        """Return the level with every interval of more than a second halved."""
        p = self.problem
        grid = p.grid_ms
        middle = ((grid[:-1] + grid[1:]) // 2)[np.diff(grid) > 1000]
        finer = np.unique(np.concatenate([grid, middle]))
        ends = grid[np.minimum(p.last, grid.size - 1)]
        return Level(_on_grid(p, finer, grid[p.first], ends))

    def take_over(
        self, other: Level, prices: Floats, node: Restrictions
    ) -> tuple[Floats, Restrictions]:
        """Return prices and restrictions of a coarser level in terms of this one."""
        old, new = other.problem.grid_ms, self.problem.grid_ms
        early = np.where(
            node.earliest < 0, -1, np.searchsorted(new, old[np.maximum(node.earliest, 0)])
        )
        late = np.searchsorted(new, old[node.latest + 1]) - 1
        carried = transfer(other.problem, prices, self.problem)
        return carried, replace(node, earliest=early, latest=late)
