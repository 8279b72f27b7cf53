"""Branch and bound over the splitting bound: nodes restrict completions of jobs and partitions in force."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from migopt.bounds.split.ascend import MEMORY, SQUARES, adam_step
from migopt.bounds.split.problem import Floats
from migopt.exact.priced_tree.levels import Level, Restrictions, first_problem
from migopt.model import Instance

#: Steps of the ascent at the root and at other nodes, with first and last step length.
ROOT, NODE = (2500, 0.05, 0.004), (150, 0.02, 0.0033)
#: Steps between two looks at the averaged prices.
LOOK = 25
#: How quickly what was chosen earlier is forgotten when the next branching is chosen.
FORGET = 0.97
#: A branching is worthless when it decides less than this part of what is missing.
WORTHLESS = 0.05
#: Weight of an undecided partition beside tardiness that is undecided, in costs of a change's time.
GPU_WEIGHT = 1.0
#: Grids, each with intervals half as long as those before.
LEVELS = 4


@dataclass(order=True)
class _Node:
    value: float
    number: int
    level: int
    restrictions: Restrictions
    prices: Floats


@dataclass(frozen=True)
class TreeResult:
    """Lower bound for schedules below the upper value, nodes looked at, and whether the tree is done."""

    lower: float
    nodes: int
    complete: bool


class Tree:
    """The search.

    Parameters
    ----------
    instance : Instance
        One GPU, scope ``gpu``, tau above 0; the bound covers it.
    upper : callable
        Least cost known, above the constant; asked at every node.
    gap : float
        Relative gap to stop at.
    points : iterable of float
        Minutes that are to be grid points.
    is_over : callable
        Asked after every few steps.
    offer : callable
        Given completions in minutes that a node suggests, now and then.
    tell : callable
        Given the bound when it has risen.
    """

    def __init__(
        self,
        instance: Instance,
        upper: Callable[[], float],
        gap: float,
        points: Iterable[float],
        is_over: Callable[[], bool],
        offer: Callable[[list[float]], None],
        tell: Callable[[float], None],
    ) -> None:
        self.upper, self.gap, self.is_over = upper, gap, is_over
        self.offer, self.tell = offer, tell
        self.levels = [Level(first_problem(instance, upper(), points))]
        self.tau = instance.repartition.tau_ms / 60_000
        #: Least value of a node that was left for good.
        self.left = np.inf
        self.nodes = 0

    def _target(self) -> float:
        return self.upper() * (1.0 - self.gap)

    def run(self) -> TreeResult:
        """Search until the bound meets the best schedule, or time is up."""
        first = self.levels[0]
        root = _Node(0.0, 0, 0, first.open(), first.problem.start_prices())
        heap, count, told = [root], 1, 0.0
        while heap:
            node = heapq.heappop(heap)
            if node.value >= self._target():
                heapq.heappush(heap, node)
                break
            children = self._node(node)
            if children is None:
                heapq.heappush(heap, node)
                return TreeResult(min(self.left, heap[0].value), self.nodes, False)
            for child in children:
                child.number, count = count, count + 1
                heapq.heappush(heap, child)
            lower = min(self.left, heap[0].value) if heap else self.left
            if lower > told:
                told = lower
                self.tell(lower)
        lower = min(self.left, heap[0].value) if heap else self.left
        return TreeResult(lower, self.nodes, True)

    def _node(self, node: _Node) -> list[_Node] | None:
        """Raise a node's bound; return what is left of it, None when time is up."""
        level = self.levels[node.level]
        p = level.problem
        steps, longest, shortest = NODE if node.number else ROOT
        prices = node.prices.copy()
        average = prices.copy()
        first, second = np.zeros_like(prices), np.zeros_like(prices)
        ends = np.zeros((len(p.first), p.lengths.size + 1))
        classes = np.zeros_like(level.spent)
        minutes = np.zeros(len(prices))
        rows = np.arange(len(p.first))
        target = self._target()
        self.nodes += 1

        def settle(value: float, at: Floats) -> bool:
            if value > node.value:
                node.value, node.prices = value, at.copy()
            return node.value >= target

        for at in range(1, steps + 1):
            if settle(level.evaluate(prices, node.restrictions), prices):
                self.left = min(self.left, node.value)
                return []
            ends *= FORGET
            ends[rows, level.ending] += 1.0
            classes *= FORGET
            classes += level.spent
            minutes *= FORGET
            minutes += level.job_minutes.sum(axis=1)
            length = p.step_scale * longest * (shortest / longest) ** (at / steps)
            keep = 0.99 if at > 100 else 1.0 - 1.0 / at if at < 10 else 0.93
            adam_step(
                *(prices, average, first, second),
                *(level.job_minutes, level.gpu_minutes, length),
                *(1.0 - MEMORY**at, 1.0 - SQUARES**at, keep),
            )
            if at % LOOK == 0:
                if settle(level.evaluate(average, node.restrictions), average):
                    self.left = min(self.left, node.value)
                    return []
                if self.is_over():
                    return None
        if self.nodes % 20 == 1:
            self.offer(self._completions(level, minutes))
        return self._branch(node, ends / ends.sum(axis=1, keepdims=True), classes, target)

    @staticmethod
    def _completions(level: Level, minutes: Floats) -> list[float]:
        """Return the end of the last interval in which each job has a fair share of its minutes."""
        p, found = level.problem, []
        for j in range(len(p.first)):
            rows = minutes[p.pair0[j] : p.pair0[j + 1]] * p.lengths[p.first[j] : p.last[j]]
            done = np.cumsum(rows) / max(float(rows.sum()), 1e-12)
            found.append(float(p.times[p.first[j] + int(np.searchsorted(done, 0.93)) + 1]))
        return found

    def _branch(self, node: _Node, ends: Floats, classes: Floats, target: float) -> list[_Node]:
        level, missing = self.levels[node.level], target - node.value
        job_score, job, cut = self._job_choice(level, node.restrictions, ends)
        gpu_score, interval, group = self._gpu_choice(level, node.restrictions, classes)
        if max(job_score, gpu_score) < WORTHLESS * missing:
            finer = self._finer(node)
            if finer is not None:
                return [finer]
            if max(job_score, gpu_score) <= 0.0:
                self.left = min(self.left, node.value)
                return []
        r = node.restrictions
        if job_score >= gpu_score:
            low, high = r.latest.copy(), r.earliest.copy()
            low[job], high[job] = cut - 1, cut
            pair = (replace(r, latest=low), replace(r, earliest=high))
        else:
            p = level.problem
            middle = int(p.grid_ms[interval] + p.grid_ms[interval + 1]) // 2
            row = np.zeros(classes.shape[1], np.bool_)
            row[group] = True
            pair = (_at_moment(r, middle, row), _at_moment(r, middle, ~row))
        return [_Node(node.value, 0, node.level, part, node.prices) for part in pair]

    @staticmethod
    def _job_choice(level: Level, r: Restrictions, ends: Floats) -> tuple[float, int, int]:
        """Return (score, job, first interval of the later part): the tardiness that is least decided."""
        p = level.problem
        best = (0.0, 0, 0)
        for j in range(len(ends)):
            late = np.append(level.late[:, j], 0.0)
            mean = float(ends[j] @ late)
            cut = int(np.searchsorted(level.late[:, j], mean, side="right"))
            cut = max(cut, int(p.due_interval[j]), int(r.earliest[j]) + 1)
            score = float(p.beta[j] * (ends[j] @ np.abs(late - mean)))
            if cut <= r.latest[j] and score > best[0]:
                best = (score, j, cut)
        return best

    def _gpu_choice(self, level: Level, r: Restrictions, classes: Floats) -> tuple[float, int, int]:
        """Return (score, interval, class): where which partition is in force is least decided."""
        p = level.problem
        share = classes / np.maximum(classes.sum(axis=1, keepdims=True), 1e-9)
        undecided = 1.0 - share.max(axis=1)
        undecided[level.rates.max(axis=1) <= 0.0] = 0.0
        taken = np.searchsorted(p.grid_ms, r.moments_ms, side="right") - 1
        undecided[taken[taken < undecided.size]] = 0.0
        at = int(undecided.argmax())
        score = GPU_WEIGHT * float(undecided[at]) * self.tau * float(p.beta.sum())
        return (score if undecided[at] > 0.02 else 0.0), at, int(share[at].argmax())

    def _finer(self, node: _Node) -> _Node | None:
        """Return the node on the next grid, None on the last."""
        if node.level + 1 >= LEVELS:
            return None
        if node.level + 1 == len(self.levels):
            self.levels.append(self.levels[node.level].finer())
        old, new = self.levels[node.level], self.levels[node.level + 1]
        prices, restrictions = new.take_over(old, node.prices, node.restrictions)
        return _Node(node.value, 0, node.level + 1, restrictions, prices)


def _at_moment(r: Restrictions, moment: int, row: Any) -> Restrictions:
    moments, allowed = np.append(r.moments_ms, moment), np.vstack([r.allowed, row])
    order = np.argsort(moments, kind="stable")
    return replace(r, moments_ms=moments[order], allowed=np.ascontiguousarray(allowed[order]))
