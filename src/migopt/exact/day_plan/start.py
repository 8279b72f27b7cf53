"""From an instance to the arrays of the search, and the rules it starts from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from migopt.bounds.kernel import make_tables
from migopt.exact.day_plan.search import (
    Course,
    Day,
    Rule,
    Scratch,
    new_course,
    new_scratch,
    whole,
)
from migopt.exact.one_gpu import OneGpu

#: Rules tried first. Weight of tardiness and of power in a job's price; factor on the price from
#: ``BEFORE`` durations before the last moment on; minutes ahead for which a change must pay.
LATENESS = (0.1, 1.0, 5.0)
POWER = (0.1, 0.3, 0.8, 1.2)
FACTOR = (1.0, 2.0, 5.0)
BEFORE = (1.0, 2.0)
AHEAD = (1e-3, 3.0, 20.0)
#: The best of them are tried again with every partition preferred.
PREFER = 6


@dataclass
class Walk:
    """A day, the rule in hand and the course it takes.

    ``order[n]`` is the position in the instance of the n-th job to be released.
    """

    day: Day
    rule: Rule
    course: Course
    spare: Course
    scratch: Scratch
    order: np.ndarray
    top: float
    cost: float = np.inf

    def replay(self) -> float:
        """Simulate the whole day anew; return its cost."""
        changed = np.zeros(self.day.release.size, np.bool_)
        self.cost, _ = whole(
            self.day, self.rule, self.course, self.scratch, changed, np.empty((0, 3))
        )
        return self.cost

    def events(self) -> np.ndarray:
        """Return the events (minute, kind, who) of the course, as they happen."""
        jobs = self.day.release.size
        log = np.zeros((40 * jobs + 100, 3))
        changed = np.zeros(jobs, np.bool_)
        _, count = whole(self.day, self.rule, self.course, self.scratch, changed, log)
        return log[:count]


def start_walk(problem: OneGpu) -> Walk:
    """Return the best of the simple rules: one price per job, from lateness and full power."""
    order = np.lexsort((np.arange(problem.jobs), problem.release)).astype(np.int64)
    tables = make_tables(problem.vectors)
    if problem.tau == 0 or not tables.inside.shape[0]:
        # Changes are free, or MIG is off: one partition that allows every vector.
        tables = tables._replace(inside=np.ones((1, len(problem.vectors)), np.bool_))
    day = Day(
        problem.release[order],
        problem.due[order],
        np.ascontiguousarray(problem.speed[order]),
        problem.late_cost[order],
        problem.vector_cost,
        tables,
        problem.tau,
    )
    quick = problem.quickest[order]
    full = float(problem.vector_cost.max())
    jobs = problem.jobs
    worst = 50.0 * float((day.late_cost * quick).max() + full * quick.max())
    walk = Walk(
        day,
        Rule(
            np.zeros(jobs),
            np.zeros(jobs),
            np.zeros(jobs),
            np.zeros(jobs),
            np.full(jobs, -1, np.int64),
        ),
        new_course(jobs),
        new_course(jobs),
        new_scratch(day),
        order,
        max(worst, 1e-12),
    )
    tried = []
    for numbers in product(LATENESS, POWER, FACTOR, BEFORE, AHEAD if problem.tau else AHEAD[:1]):
        _set(walk, numbers, -1, quick, full)
        tried.append((walk.replay(), numbers, -1))
    tried.sort()
    for _, numbers, _ in tried[:PREFER]:
        for ahead in AHEAD[:2]:
            for wish in range(day.tables.inside.shape[0]):
                again = (*numbers[:4], ahead)
                _set(walk, again, wish, quick, full)
                tried.append((walk.replay(), again, wish))
    _, numbers, wish = min(tried)
    _set(walk, numbers, wish, quick, full)
    walk.replay()
    return walk


def _set(walk: Walk, numbers: tuple[float, ...], wish: int, quick: np.ndarray, full: float) -> None:
    rule, day = walk.rule, walk.day
    late, power, factor, before, ahead = numbers
    rule.early[:] = np.maximum((late * day.late_cost + power * full) * quick, 1e-6 * walk.top)
    urgent = factor * rule.early + (5.0 * day.late_cost * quick if factor > 1.0 else 0.0)
    rule.late[:] = np.minimum(urgent, walk.top)
    rule.switch[:] = np.maximum(0.0, day.due - day.release - before * quick)
    rule.ahead[:] = ahead
    rule.take[:] = wish
