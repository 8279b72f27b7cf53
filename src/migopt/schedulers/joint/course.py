"""Whole days under the priced policy, compiled and in floats: for calibration and for rollouts."""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.compiled import compiled
from migopt.schedulers.joint.decide import MOST, STEP, decide


@compiled
def play(
    begin: float,
    until: float,
    who: Any,
    rest: Any,
    present: int,
    kind: int,
    coming: Any,
    first: int,
    jobs: Any,
    gpu: Any,
    numbers: Any,
    scratch: Any,
) -> tuple[float, int, int, int]:
    """Play from a moment on; return (cost from then on, jobs left, partition type, next to come).

    Parameters
    ----------
    begin, until : float
        Minutes; after ``until`` nobody looks.
    who, rest : arrays
        Present jobs in order of due date and what is left of each; changed.
    present, kind : int
    coming : int array
        Jobs to come, in order of release; ``first`` is the next.
    """
    t, cost, m, n = begin, 0.0, present, first
    total = coming.size
    while t < until:
        while n < total and jobs.release[coming[n]] <= t + 1e-9:
            j = coming[n]
            q = m
            while q > 0 and jobs.due[who[q - 1]] > jobs.due[j]:
                who[q], rest[q] = who[q - 1], rest[q - 1]
                q -= 1
            who[q], rest[q] = j, 1.0
            m += 1
            n += 1
        later = jobs.release[coming[n]] if n < total else np.inf
        if m == 0:
            if n >= total:
                break
            t = later
            continue
        some = min(m, MOST)
        wish, b = decide(t, who, rest, some, kind, jobs, gpu, numbers, scratch)
        if wish != kind:
            kind = wish
            if gpu.tau > 0.0:
                t += gpu.tau
                continue
            wish, b = decide(t, who, rest, some, kind, jobs, gpu, numbers, scratch)
        groups = scratch.groups
        step = min(min(later - t, numbers[STEP]), until - t)
        first_done = -1
        for q in range(some):
            if b > 0 and groups[q] >= 0:
                need = rest[q] / jobs.speed[who[q], groups[q]]
                if need <= step:
                    step, first_done = need, q
        if step <= 0.0:
            step = 1e-6
        cost += gpu.cost[b] * step
        t += step
        kept = 0
        for q in range(m):
            j = who[q]
            left = rest[q]
            if b > 0 and q < some and groups[q] >= 0:
                left -= step * jobs.speed[j, groups[q]]
            if q == first_done or left <= 1e-9:
                cost += jobs.late[j] * max(0.0, t - jobs.due[j])
            else:
                who[kept], rest[kept] = j, left
                kept += 1
        m = kept
    return cost, m, kind, n


@compiled
def whole_day(jobs: Any, coming: Any, gpu: Any, numbers: Any, scratch: Any, kind: int) -> float:
    """Return the cost above idle of a day under the priced policy."""
    who = np.zeros(coming.size + 1, np.int64)
    rest = np.zeros(coming.size + 1)
    cost: float
    cost, _, _, _ = play(0.0, 1e12, who, rest, 0, kind, coming, 0, jobs, gpu, numbers, scratch)
    return cost
