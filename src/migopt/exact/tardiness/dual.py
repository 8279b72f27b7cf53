"""Lagrangian bound: each job has a price for being done, each machine picks its best chain.

With prices pi, every schedule costs at least  sum_j pi_j + sum_m min over chains (cost - prices), since a
schedule is a chain per machine with every job in exactly one. ``ascend`` moves the prices along averaged
subgradients 1 - (times used) with steps of Polyak's length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from migopt.compiled import Ints
from migopt.exact.tardiness.problem import Problem
from migopt.exact.tardiness.rules import barred_pairs, evaluate

#: Weight of the last direction in the next one.
MEMORY = 0.6
#: Rounds without gain after which the step shrinks, and by how much.
PATIENCE, SHRINK = 12, 0.6
LEAST_STEP = 0.003


@dataclass
class Grid:
    """Cells of time and all values on them, for schedules that cost less than ``target``."""

    problem: Problem
    target: int
    cells: int
    begin: int = 0
    width: int = 1
    bound: int = 0
    price: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        p, shape = self.problem, (self.problem.machines, self.cells, self.problem.jobs)
        self.latest = p.latest(self.target)
        self.begin = int(p.release.min())
        self.width = max(1, (int(self.latest.max()) - self.begin) // self.cells + 1)
        self.jobs = (p.release, p.due, p.weight, p.duration)
        self.barred = np.zeros((*shape, p.jobs), np.bool_)
        barred_pairs(self.begin, self.width, self.jobs, self.barred)
        self.value = np.zeros(shape, np.int64)
        self.follow = np.zeros(shape, np.int64)
        self.order = np.zeros(shape, np.int64)
        self.order[:] = np.arange(p.jobs)
        self.used = np.zeros(p.jobs, np.int64)
        self.price = np.zeros(p.jobs, np.int64)

    def evaluate(self, price: Ints) -> int:
        """Return the bound for ``price`` and keep its values."""
        self.price = price
        self.bound = int(
            evaluate(
                self.begin,
                self.width,
                self.jobs,
                self.latest,
                price,
                self.barred,
                self.value,
                self.follow,
                self.order,
                self.used,
            )
        )
        return self.bound


def ascend(
    grid: Grid, price: Any, rounds: int, step: float, is_over: Callable[[], bool]
) -> tuple[int, Any]:
    """Raise the bound from ``price``; return the best bound and its prices, whose values the grid then has.

    Ends when the bound reaches the grid's target, after ``rounds``, or when ``is_over`` says so.
    """
    target = float(grid.target)
    best, kept = -(1 << 60), price
    direction, since = np.zeros(len(price)), 0
    for _ in range(rounds):
        bound = grid.evaluate(np.rint(price).astype(np.int64))
        if bound > best:
            since = 0 if bound > best + 1e-4 * abs(target - best) else since + 1
            best, kept = bound, price
        else:
            since += 1
        if best >= target or step < LEAST_STEP or is_over():
            break
        if since > PATIENCE:
            step, since, price = step * SHRINK, 0, kept
            direction[:] = 0.0
            continue
        slope = 1.0 - grid.used
        direction = MEMORY * direction + slope
        norm = float(direction @ direction)
        if norm < 1e-12:
            break
        price = price + step * (target - bound) / norm * direction
    grid.evaluate(np.rint(kept).astype(np.int64))
    return best, kept
