"""Compiled parts of a node: jobs whose completion is restricted, one GPU whose partitions are.

Both are those of the splitting bound (``migopt.bounds.split``) with restrictions: a job ends between two of
its intervals only; at some moments some classes of partitions are not in force.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.bounds.split.gpu_part import walk_back
from migopt.bounds.split.job_part import _insert, _merge, cheapest_pieces, hull, set_piece
from migopt.compiled import compiled

#: What a job costs that can no longer end where it has to.
NEVER = 1e30


@compiled
def restricted_jobs(
    data: Any,
    prices: Any,
    earliest: Any,
    latest: Any,
    guide: Any,
    minutes: Any,
    value: Any,
    ending: Any,
) -> None:
    """Write each job's cheapest cost at ``prices``, ending in intervals ``earliest`` to ``latest``.

    Parameters
    ----------
    data : tuple
        first, last, pair0, times, lengths, due, due_interval, beta, speed, order of ``SplitProblem``.
    earliest, latest : int64 arrays [J]
        Interval of completion; an ``earliest`` below the window allows to be on time.
    minutes : float array [pairs, K]
        Added to: share of the interval on each group.
    value : float array [J]
        Written; ``NEVER`` where the job cannot end there.
    ending : int64 array [J]
        Written: interval of completion, -1 on time.
    """
    first, last, pair0, times, lengths, due, due_interval, beta, speed, order = data
    jobs, groups = speed.shape
    widest = 1
    for j in range(jobs):
        widest = max(widest, last[j] - first[j])
    size = widest * groups + groups + 1
    pieces, held, chosen = np.empty((size, 5)), np.empty((size, 5)), np.empty((size, 5))
    own, plain = np.empty((groups + 1, 5)), np.empty((groups + 1, 5))
    scratch = np.empty((groups + 1, 7))
    for j in range(jobs):
        lo, hi, row = first[j], last[j], pair0[j]
        best, end, used = NEVER, -2, 0
        middle = min(max(due_interval[j], lo), hi)
        kept, total = cheapest_pieces(
            lo, middle, lengths, prices, row, speed[j], order[j], guide[j], scratch, pieces, held
        )
        if kept > 0 and total >= 1.0:
            guide[j] = 1.2 * held[kept - 1, 0] + 1e-12
            if earliest[j] < middle:
                cost, count = _merge(held, kept, own, 0, best, chosen)
                if cost < best:
                    best, end, used = cost, -1, count
        else:
            guide[j] = np.inf
        for m in range(middle, min(hi, latest[j] + 1)):
            base = beta[j] * max(0.0, times[m] - due[j])
            if base >= best:
                break
            if m >= earliest[j]:
                count = hull(prices, row + m - lo, beta[j], speed[j], order[j], scratch, 0)
                for q in range(count):
                    set_piece(own, q, scratch, q, lengths[m], m - lo)
                cost, picked = _merge(held, kept, own, count, best - base, chosen)
                if base + cost < best:
                    best, end, used = base + cost, m, picked
            count = hull(prices, row + m - lo, 0.0, speed[j], order[j], scratch, 0)
            for q in range(count):
                if total >= 1.0 and scratch[q, 0] >= held[kept - 1, 0]:
                    break
                set_piece(plain, 0, scratch, q, lengths[m], m - lo)
                kept, total = _insert(held, kept, total, plain[0])
        value[j] = best
        ending[j] = end
        for q in range(used):
            at = row + np.int64(chosen[q, 0])
            low, high = np.int64(chosen[q, 1]), np.int64(chosen[q, 2])
            minutes[at, high] += chosen[q, 3]
            if low >= 0:
                minutes[at, low] -= chosen[q, 3]


@compiled
def restricted_trajectory(
    rates: Any,
    grid: Any,
    delta: int,
    lost: int,
    steps: int,
    moments: Any,
    allowed: Any,
    jumped: Any,
    source: Any,
    spent: Any,
) -> float:
    """Return the largest integral of rates along a path over classes; a change costs ``lost`` steps.

    At step ``moments[r]`` only classes with ``allowed[r, c]`` may be in force; a change may go on then.
    Other arguments as in ``migopt.bounds.split.gpu_part.trajectory``; ``moments`` ascend and end with a
    step beyond the last.
    """
    m, classes = rates.shape
    f, g = np.zeros(classes), np.zeros(steps + 1)
    source[0] = 0
    i = r = 0
    while moments[r] <= 0:
        for c in range(classes):
            if not allowed[r, c]:
                f[c] = -NEVER
        r += 1
    for c in range(classes):
        if f[c] > f[source[0]]:
            source[0] = c
    g[0] = f[source[0]]
    for q in range(steps):
        begin, end = q * delta, min((q + 1) * delta, grid[m])
        while grid[i + 1] <= begin:
            i += 1
        back = q + 1 - lost
        for c in range(classes):
            gain, h, at = 0.0, i, begin
            while at < end:
                until = min(end, grid[h + 1])
                gain += rates[h, c] * (until - at)
                at = until
                h += 1
            f[c] += gain
            jumped[q + 1, c] = 0
            if back >= 0 and g[back] > f[c]:
                f[c] = g[back]
                jumped[q + 1, c] = 1
        while moments[r] == q + 1:
            for c in range(classes):
                if not allowed[r, c]:
                    f[c] = -NEVER
            r += 1
        top = 0
        for c in range(classes):
            if f[c] > f[top]:
                top = c
        g[q + 1] = f[top]
        source[q + 1] = top
    walk_back(grid, delta, lost, steps, source, jumped, spent)
    return float(g[steps])
