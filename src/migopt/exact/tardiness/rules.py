"""Compiled pieces: what an exchange of neighbours gains, and the price of the best chain of jobs.

A chain is a sequence of jobs on one machine in which jobs may repeat, though not next to themselves and not
next to a job with which changing places would gain. Time is cut into cells of equal width; a value
belongs to a cell and is a lower bound for every moment in it. All numbers are integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.compiled import compiled

NONE = 1 << 60


@compiled
def gains(s: int, i: int, j: int, m: int, jobs: Any) -> bool:
    """Return whether j before i is cheaper, and no later done, than i before j on a machine free at s."""
    release, due, weight, duration = jobs
    c1 = max(s, release[i]) + duration[m, i]
    c2 = max(c1, release[j]) + duration[m, j]
    x1 = max(s, release[j]) + duration[m, j]
    x2 = max(x1, release[i]) + duration[m, i]
    if x2 > c2:
        return False
    now = weight[i] * max(0, c1 - due[i]) + weight[j] * max(0, c2 - due[j])
    then = weight[j] * max(0, x1 - due[j]) + weight[i] * max(0, x2 - due[i])
    return bool(then < now)


@compiled
def barred_pairs(begin: int, width: int, jobs: Any, barred: Any) -> None:
    """Set ``barred[m, a, i, j]`` where ``gains`` holds for every start of i in cell a.

    Both sides are piecewise linear in the start, so its ends and the kinks inside the cell decide.
    """
    release, due, _, duration = jobs
    kinks = np.zeros(8, np.int64)
    machines, cells, n, _ = barred.shape
    for m in range(machines):
        for i in range(n):
            for j in range(n):
                if i == j or duration[m, i] < 0 or duration[m, j] < 0:
                    barred[m, :, i, j] = True
                    continue
                pi, pj = duration[m, i], duration[m, j]
                kinks[0], kinks[1] = release[i], release[j]
                kinks[2], kinks[3] = release[j] - pi, release[i] - pj
                kinks[4], kinks[5] = due[i] - pi, due[j] - pj
                kinks[6], kinks[7] = due[i] - pi - pj, due[j] - pi - pj
                for a in range(cells):
                    low = begin + a * width
                    high = low + width - 1
                    all_gain = gains(low, i, j, m, jobs) and gains(high, i, j, m, jobs)
                    if all_gain:
                        for x in range(kinks.size):
                            kink = int(kinks[x])
                            for s in range(max(low, kink - 1), min(high, kink + 1) + 1):
                                if not gains(s, i, j, m, jobs):
                                    all_gain = False
                    barred[m, a, i, j] = all_gain


@compiled
def best_chains(
    m: int,
    begin: int,
    width: int,
    jobs: Any,
    latest: Any,
    price: Any,
    barred: Any,
    value: Any,
    follow: Any,
    order: Any,
) -> None:
    """Price chains of machine m from the last cell to the first.

    ``value[a, j]``: at most the cost, less prices, of any chain that begins with j on a machine free at a moment
    of cell a; ``NONE`` where j would be done after ``latest``. ``order[a]``: jobs by that value.
    ``follow[a, j]``: cell * n + job that comes next, or next outside the cell, -1 for none.
    """
    release, due, weight, duration = jobs
    cells, n = value.shape
    own, leaves = np.zeros(n, np.int64), np.zeros(n, np.int64)
    short = np.zeros(n, np.bool_)
    for a in range(cells - 1, -1, -1):
        low = begin + a * width
        high = low + width - 1
        quick_gain, any_short = 0, False
        for j in range(n):
            value[a, j] = NONE
            follow[a, j] = -1
            short[j] = False
            if duration[m, j] < 0:
                continue
            s = max(low, release[j])
            c = s + duration[m, j]
            if c > latest[j]:
                continue
            at = (s - begin) // width
            first = (c - begin) // width
            last = min(cells - 1, (max(high, release[j]) + duration[m, j] - begin) // width)
            own[j] = weight[j] * max(0, c - due[j]) - price[j]
            if first == a:
                short[j], any_short = True, True
                quick_gain += min(0, own[j])
                first = a + 1
            best, chosen = 0, -1
            for x in range(first, last + 1):
                for q in range(n):
                    k = order[x, q]
                    if value[x, k] >= best:
                        break
                    if not barred[m, at, j, k]:
                        best, chosen = value[x, k], x * n + k
                        break
            value[a, j] = own[j] + best
            follow[a, j] = chosen
        if any_short:
            leaves[:] = value[a]
            for j in range(n):
                if not short[j]:
                    continue
                # Jobs that are done within the cell, each once, then one that leaves it.
                best, chosen = 0, -1
                for k in range(n):
                    if k != j and leaves[k] < best:
                        best, chosen = leaves[k], follow[a, k]
                inside = own[j] + quick_gain - min(0, own[j]) + best
                if inside < value[a, j]:
                    value[a, j], follow[a, j] = inside, chosen
        # Neighbouring cells have nearly the same order: insertion sort is linear then.
        source = order[a + 1] if a + 1 < cells else order[a]
        for q in range(n):
            k = source[q]
            z = q
            while z > 0 and value[a, order[a, z - 1]] > value[a, k]:
                order[a, z] = order[a, z - 1]
                z -= 1
            order[a, z] = k


@compiled
def evaluate(
    begin: int,
    width: int,
    jobs: Any,
    latest: Any,
    price: Any,
    barred: Any,
    value: Any,
    follow: Any,
    order: Any,
    used: Any,
) -> int:
    """Return the bound for ``price``; ``used[j]``: how often the best chains hold job j."""
    machines, n = jobs[3].shape
    bound = 0
    for j in range(n):
        bound += price[j]
        used[j] = 0
    for m in range(machines):
        best_chains(m, begin, width, jobs, latest, price, barred, value[m], follow[m], order[m])
        j = order[m, 0, 0]
        if value[m, 0, j] >= 0:
            continue
        bound += value[m, 0, j]
        a = 0
        while True:
            used[j] += 1
            code = follow[m, a, j]
            if code < 0:
                break
            a, j = code // n, code % n
    return bound
