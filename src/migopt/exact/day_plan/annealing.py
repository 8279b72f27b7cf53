"""Annealing of a day: first the whole of it, then single busy periods."""

from __future__ import annotations

import time

import numpy as np

from migopt.exact.day_plan.search import anneal
from migopt.exact.day_plan.start import Walk
from migopt.exact.one_gpu import OneGpu

#: Trials between two looks at the clock.
CHUNK = 5000
#: Share of the time for the whole day; the rest is for single busy periods.
WHOLE_SHARE = 0.65
#: Temperatures as fractions of the cost above idle.
HOT, COLD = 3e-4, 3e-7


def anneal_day(problem: OneGpu, walk: Walk, began: float, deadline: float, seed: int) -> None:
    """Anneal over the whole day, then in busy periods, the more the worse they are."""
    jobs = problem.jobs
    number = 0
    until = began + (deadline - began) * WHOLE_SHARE
    start = time.perf_counter()
    while (now := time.perf_counter()) < until:
        done = (now - start) / max(until - start, 1e-9)
        _chunk(walk, 0, jobs, HOT * (COLD / HOT) ** done, CHUNK, seed, number)
        number += 1
    _periods(problem, walk, deadline, seed)


def _periods(problem: OneGpu, walk: Walk, deadline: float, seed: int) -> None:
    """Anneal single busy periods, drawn by how much their cost is above each job's least energy."""
    number = 500_000
    draw = np.random.default_rng(seed)
    while time.perf_counter() < deadline:
        spans = _ranges(walk, problem)
        excess = np.array([max(cost, 0.0) for _, _, cost in spans])
        if excess.sum() <= 0:
            break
        low, high, _ = spans[int(draw.choice(len(spans), p=excess / excess.sum()))]
        trials = min(CHUNK, 1500 * (high - low))
        for heat in (3e-4, 3e-5, 3e-6, 3e-7):
            _chunk(walk, low, high, heat, trials, seed, number)
            number += 1


def _chunk(
    walk: Walk, low: int, high: int, heat: float, trials: int, seed: int, number: int
) -> None:
    """Anneal at one temperature (a fraction of the cost) and go on from the best rule of the chunk."""
    scale = max(abs(walk.cost), 1e-12)
    anneal(
        walk.day,
        walk.rule,
        walk.course,
        walk.spare,
        walk.scratch,
        low,
        high,
        trials,
        heat * scale,
        heat * scale * 0.5,
        walk.top,
        seed * 1_000_003 + number,
    )
    walk.replay()


def _ranges(walk: Walk, problem: OneGpu) -> list[tuple[int, int, float]]:
    """Return busy periods as ranges of arrivals, with their cost above each job's least energy."""
    total = walk.day.release.size
    starts = [n for n in range(total) if walk.course.present[n] == 0]
    single = np.full(problem.groups, np.inf)
    for b, counts in enumerate(problem.counts):
        if counts.sum() == 1:
            single[int(np.argmax(counts))] = problem.vector_cost[b]
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(problem.speed > 0, single / problem.speed, np.inf).min(axis=1)
    chord = problem.vector_cost[-1] / max(problem.vectors.levels[-1], 1)
    share = chord * np.array(problem.vectors.compute)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(problem.speed > 0, share / problem.speed, np.inf).min(axis=1)
    least = np.minimum(least, alone)[walk.order]
    spans = list(zip(starts, [*starts[1:], total], strict=True))
    cost = walk.course.cost
    return [(a, b, float(cost[b] - cost[a] - least[a:b].sum())) for a, b in spans]
