"""Assignment of jobs to the slices of every busy vector at once.

``fill`` computes, for all vectors b, the largest total price of giving the slices of b to different
jobs. It goes through the jobs once; a vector with its slices filled is a smaller one plus one more
job, so each job costs one step per (vector, group in it): about 90 steps for the 38 vectors of the
twelve partitions, where one Hungarian call per vector would be needed. The result is exact for every
vector, hence also for every partition separately.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.compiled import compiled

#: Value of a vector that has more slices than there are jobs.
NEVER = -1e300


@compiled
def fill(prices: Any, jobs: int, tables: Any, value: Any, choice: Any) -> None:
    """Set ``value[b]`` to the best total price of vector b, and ``choice`` for ``assigned_groups``.

    Parameters
    ----------
    prices : float array [>= jobs, K]
        Price of job row on group k; 0 or less is never taken.
    jobs : int
    tables : Tables
    value : float array [B]
        Written. ``NEVER`` where no full assignment exists.
    choice : int8 array [>= jobs, B]
        Written: 1 + group that the job takes when it is the last considered, 0 for none.
    """
    for b in range(value.size):
        value[b] = NEVER
    value[0] = 0.0
    groups = prices.shape[1]
    steps = tables.grow_b.size
    for j in range(jobs):
        worth = False
        for k in range(groups):
            if prices[j, k] > 0.0:
                worth = True
        row = choice[j]
        for b in range(value.size):
            row[b] = 0
        if not worth:
            continue
        for s in range(steps):
            price = prices[j, tables.grow_k[s]]
            if price > 0.0:
                b = tables.grow_b[s]
                candidate = value[tables.grow_less[s]] + price
                # Larger vectors come first, so value[less] is still the one without job j.
                if candidate > value[b]:
                    value[b] = candidate
                    row[b] = tables.grow_k[s] + 1


@compiled
def best_of(value: Any, cost: Any, inside: Any) -> tuple[int, float]:
    """Return (vector, value - cost) of the best vector inside, the empty one if nothing is above 0."""
    best, most = 0, 0.0
    for b in range(1, value.size):
        if inside[b] and value[b] - cost[b] > most:
            best, most = b, value[b] - cost[b]
    return best, most


@compiled
def assigned_groups(choice: Any, jobs: int, b: int, tables: Any, groups: Any) -> None:
    """Set ``groups[j]`` to the group of job row j in the best assignment of vector b, -1 for none."""
    for j in range(jobs - 1, -1, -1):
        k = np.int64(choice[j, b]) - 1
        groups[j] = k
        if k >= 0:
            b = tables.less[b, k]
