"""Dynamic program over (machine, set of jobs done, time, cost), cut by the Lagrangian bound.

Machines are filled one after the other. A state of a machine takes one more job, or goes on to the next
machine, where only the cheapest state per set of jobs counts. Layers hold states with equally many jobs
done, so memory is bounded by the largest layer and the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from migopt.exact.tardiness.dual import Grid
from migopt.exact.tardiness.expand import (
    NOTHING,
    SET,
    cheapest_per_set,
    expand,
    rehash,
)

#: States taken on between two looks at the clock.
PORTION = 20_000


@dataclass(frozen=True)
class Found:
    """What a search says: a cheaper schedule or None, and whether it has seen everything."""

    complete: bool
    cost: int | None
    sequences: list[list[int]] | None
    states: int


@dataclass
class _Layer:
    """States of a layer: rows, and the table of their sets."""

    room: int
    rows: Any = field(init=False)
    chain: Any = field(init=False)
    keys: Any = field(init=False)
    heads: Any = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        self.rows = np.empty((self.room, 6), np.int64)
        self.chain = np.empty(self.room, np.int64)
        self._table()

    def _table(self) -> None:
        size = 1 << (2 * self.room).bit_length()
        self.keys, self.heads = np.full(size, -1, np.int64), np.empty(size, np.int64)

    def grow(self) -> None:
        """Make room for four times as many states."""
        self.room *= 4
        self.rows = np.concatenate([self.rows, np.empty((self.room * 3 // 4, 6), np.int64)])
        self.chain = np.concatenate([self.chain, np.empty(self.room * 3 // 4, np.int64)])
        self._table()
        rehash(self.keys, self.heads, self.rows, self.chain, self.count)


class Search:
    """One search for a schedule that costs less than ``target``, which is at most the grid's.

    Parameters
    ----------
    grid : Grid
        Evaluated at good prices.
    target : int
    most_states : int
        Give up when a layer has more, or all of them together ten times as many.
    is_over : callable
        Asked now and then.
    """

    def __init__(
        self, grid: Grid, target: int, most_states: int, is_over: Callable[[], bool]
    ) -> None:
        self.grid, self.target, self.most, self.is_over = grid, target, most_states, is_over
        self.states = 0
        self.found = np.array([NOTHING, -1, -1], np.int64)
        self.where: tuple[int, int] | None = None
        n, machines = grid.problem.jobs, grid.problem.machines
        #: Source and last job of each state, per machine and layer.
        self.trace: list[list[tuple[Any, Any]]] = [[] for _ in range(machines)]
        #: Rows (set, cost, source) with which a machine begins, per machine and layer.
        none = np.zeros((0, 3), np.int64)
        self.entries: list[list[Any]] = [[none] * (n + 1) for _ in range(machines)]
        self.entries[0][0] = np.zeros((1, 3), np.int64)

    def run(self) -> Found:
        """Search all layers of all machines."""
        machines = self.grid.problem.machines
        least = [min(0, int(self.grid.value[m, 0].min())) for m in range(machines)]
        for m in range(machines):
            if not self._machine(m, sum(least[m + 2 :])):
                return self._result(False)
        return self._result(True)

    def _machine(self, m: int, behind: int) -> bool:
        g, p = self.grid, self.grid.problem
        is_last = m == p.machines - 1
        grid = (g.begin, g.width, g.jobs, g.latest, g.price, g.value, g.order)
        states = np.zeros((0, 6), np.int64)
        for layer in range(p.jobs + 1):
            entering = self.entries[m][layer]
            states = np.concatenate([states, _fresh(entering)])
            if not len(states):
                self.trace[m].append((states[:, 5], states[:, 4]))
                continue
            self.trace[m].append((states[:, 5].copy(), states[:, 4].astype(np.int8)))
            self.states += len(states)
            following = _Layer(max(256, min(self.most, 2 * len(states)) + p.jobs))
            shut: list[Any] = []
            at = 0
            while at < len(states):
                until = min(len(states), at + PORTION)
                closed = np.empty((until - at, 3), np.int64)
                before = int(self.found[0])
                following.count, number, at = expand(
                    (m, is_last, behind),
                    grid,
                    states,
                    at,
                    until,
                    self.target,
                    (following.keys, following.heads, following.rows, following.chain),
                    following.count,
                    closed,
                    self.found,
                )
                if self.found[0] < before:
                    self.where = (m, layer)
                shut.append(closed[:number])
                if at < until:
                    following.grow()
                if following.count > self.most or self.states > 10 * self.most:
                    return False
                if self.is_over():
                    return False
            if not is_last:
                self.entries[m + 1][layer] = _cheapest(np.concatenate(shut))
            states = following.rows[: following.count]
            states = states[states[:, SET] >= 0]
        return True

    def _result(self, complete: bool) -> Found:
        if self.where is None:
            return Found(complete, None, None, self.states)
        return Found(complete, int(self.found[0]), self._sequences(), self.states)

    def _sequences(self) -> list[list[int]]:
        """Follow the sources of the best schedule back."""
        assert self.where is not None
        m, layer = self.where
        sequences: list[list[int]] = [[] for _ in range(self.grid.problem.machines)]
        job, source = int(self.found[1]), int(self.found[2])
        while True:
            if job >= 0:
                sequences[m].append(job)
                sources, jobs = self.trace[m][layer]
                job, source = int(jobs[source]), int(sources[source])
                layer -= 1
            else:
                # The state began this machine: ``source`` is its entry, which names the state before.
                if m == 0:
                    break
                entry = self.entries[m][layer + 1][source]
                m -= 1
                sources, jobs = self.trace[m][layer + 1]
                job, source = int(jobs[entry[2]]), int(sources[entry[2]])
        return [sequence[::-1] for sequence in sequences]


def _fresh(entries: Any) -> Any:
    """Return the states in which a machine begins."""
    rows = np.zeros((len(entries), 6), np.int64)
    rows[:, 0], rows[:, 2] = entries[:, 0], entries[:, 1]
    rows[:, 4], rows[:, 5] = -1, np.arange(len(entries))
    return rows


def _cheapest(closed: Any) -> Any:
    size = 1 << (2 * len(closed) + 2).bit_length()
    keys, heads = np.full(size, -1, np.int64), np.empty(size, np.int64)
    kept = np.empty_like(closed)
    return kept[: cheapest_per_set(closed, keys, heads, kept)]
