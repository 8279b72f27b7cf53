"""Compiled rollouts: try what the priced policy would do at other price levels, over sampled futures.

A candidate scales the energy part of all prices for a first stretch of time, after which the policy
goes on with its own numbers. All candidates meet the same futures. What is left at the end of a
future is charged its energy on a full GPU, and its lateness if a full GPU did it in order of due date.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.compiled import compiled
from migopt.schedulers.joint.course import play
from migopt.schedulers.joint.decide import BASE, RISE


@compiled
def rollout(
    t: float,
    who: Any,
    rest: Any,
    m: int,
    kind: int,
    futures: Any,
    starts: Any,
    stretch: float,
    span: float,
    levels: Any,
    jobs: Any,
    gpu: Any,
    numbers: Any,
    scratch: Any,
    out: Any,
) -> None:
    """Write to ``out`` the mean cost of every level over the futures.

    Parameters
    ----------
    who, rest, m : present jobs in order of due date
    futures : int array
        Numbers of sampled jobs, in order of release within each future; their releases are those
        of the sample shifted to begin at ``t``.
    starts : int array [futures + 1]
        Where each future begins.
    stretch, span : float
        Minutes of the first stretch, and of a whole future.
    levels : float array
        Factors of the candidates.
    """
    room = who.size + futures.size + 1
    now_who, now_rest = np.empty(room, np.int64), np.empty(room)
    other = numbers.copy()
    for level in range(levels.size):
        other[BASE] = numbers[BASE] * levels[level]
        other[RISE] = numbers[RISE] * levels[level]
        total = 0.0
        for f in range(starts.size - 1):
            coming = futures[starts[f] : starts[f + 1]]
            for q in range(m):
                now_who[q], now_rest[q] = who[q], rest[q]
            total += _one(
                t,
                now_who,
                now_rest,
                m,
                kind,
                coming,
                stretch,
                span,
                jobs,
                gpu,
                other,
                numbers,
                scratch,
            )
        out[level] = total / (starts.size - 1)


@compiled
def _one(
    t: float,
    who: Any,
    rest: Any,
    m: int,
    kind: int,
    coming: Any,
    stretch: float,
    span: float,
    jobs: Any,
    gpu: Any,
    first: Any,
    numbers: Any,
    scratch: Any,
) -> float:
    cost: float
    cost, m, kind, n = play(
        t, t + stretch, who, rest, m, kind, coming, 0, jobs, gpu, first, scratch
    )
    more, m, kind, n = play(
        t + stretch, t + span, who, rest, m, kind, coming, n, jobs, gpu, numbers, scratch
    )
    cost += more
    backlog = 0.0
    for q in range(m):
        j = who[q]
        cost += jobs.energy[j] * rest[q]
        backlog += rest[q] * jobs.work[j]
        late = t + span + max(rest[q] * jobs.quick[j], backlog) - jobs.due[j]
        cost += jobs.late[j] * max(0.0, late)
    return cost
