"""The GPU part: the best use of one GPU at given prices, with or without time for repartition."""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.bounds.kernel import assigned_groups, best_of, fill
from migopt.compiled import compiled


@compiled
def _gather(
    begin: int, end: int, pairs: Any, prices: Any, offset: int, rows: Any, local: Any
) -> int:
    """Copy the rows of one interval's pairs that have a price; return their number."""
    n = 0
    for q in range(begin, end):
        worth = False
        for k in range(local.shape[1]):
            price = prices[pairs[q], offset + k]
            local[n, k] = price
            worth = worth or price > 0.0
        if worth:
            rows[n] = pairs[q]
            n += 1
    return n


@compiled
def _widest(starts: Any) -> int:
    most = 1
    for i in range(starts.size - 1):
        most = max(most, starts[i + 1] - starts[i])
    return most


@compiled
def free_part(
    from_i: int,
    to_i: int,
    starts: Any,
    pairs: Any,
    prices: Any,
    offset: int,
    tables: Any,
    cost: Any,
    inside: Any,
    rate: Any,
    share: float,
    minutes: Any,
) -> None:
    """Write per interval the best rate (price minus power, per minute) of any vector inside.

    ``share`` (the number of equal GPUs) is added to ``minutes`` [pairs, K] for each chosen (job,
    group).
    """
    widest, vectors = _widest(starts), cost.size
    rows = np.empty(widest, np.int64)
    local = np.empty((widest, tables.counts.shape[1]))
    choice = np.empty((widest, vectors), np.int8)
    value = np.empty(vectors)
    groups = np.empty(widest, np.int64)
    for i in range(from_i, to_i):
        n = _gather(starts[i], starts[i + 1], pairs, prices, offset, rows, local)
        fill(local, n, tables, value, choice)
        b, rate[i] = best_of(value, cost, inside)
        if b > 0:
            assigned_groups(choice, n, b, tables, groups)
            for j in range(n):
                if groups[j] >= 0:
                    minutes[rows[j], offset + groups[j]] += share


@compiled
def type_rates(
    from_i: int,
    to_i: int,
    starts: Any,
    pairs: Any,
    prices: Any,
    offset: int,
    tables: Any,
    cost: Any,
    rates: Any,
) -> None:
    """Write per interval and partition type the best rate of a vector inside it."""
    widest, vectors = _widest(starts), cost.size
    rows = np.empty(widest, np.int64)
    local = np.empty((widest, tables.counts.shape[1]))
    choice = np.empty((widest, vectors), np.int8)
    value = np.empty(vectors)
    for i in range(from_i, to_i):
        n = _gather(starts[i], starts[i + 1], pairs, prices, offset, rows, local)
        fill(local, n, tables, value, choice)
        for c in range(rates.shape[1]):
            _, rates[i, c] = best_of(value, cost, tables.inside[c])


@compiled
def type_minutes(
    from_i: int,
    to_i: int,
    starts: Any,
    pairs: Any,
    prices: Any,
    offset: int,
    tables: Any,
    cost: Any,
    spent: Any,
    share: float,
    minutes: Any,
) -> None:
    """Add share x spent[i, c] to the (job, group) pairs of the best vector of type c in interval i."""
    widest, vectors = _widest(starts), cost.size
    rows = np.empty(widest, np.int64)
    local = np.empty((widest, tables.counts.shape[1]))
    choice = np.empty((widest, vectors), np.int8)
    value = np.empty(vectors)
    groups = np.empty(widest, np.int64)
    for i in range(from_i, to_i):
        n = _gather(starts[i], starts[i + 1], pairs, prices, offset, rows, local)
        if n == 0:
            continue
        fill(local, n, tables, value, choice)
        for c in range(spent.shape[1]):
            if spent[i, c] <= 0.0:
                continue
            b, _ = best_of(value, cost, tables.inside[c])
            if b > 0:
                assigned_groups(choice, n, b, tables, groups)
                for j in range(n):
                    if groups[j] >= 0:
                        minutes[rows[j], offset + groups[j]] += share * spent[i, c]


@compiled
def walk_back(
    grid: Any, delta: int, lost: int, steps: int, source: Any, jumped: Any, spent: Any
) -> None:
    """Write to ``spent`` the share of each interval that the best trajectory gives to each class."""
    spent[:, :] = 0.0
    m = spent.shape[0]
    q, c, i = steps, source[steps], m - 1
    while q > 0:
        if jumped[q, c]:
            q -= lost
            c = source[q]
            continue
        q -= 1
        begin, end = q * delta, min((q + 1) * delta, grid[m])
        while grid[i] >= end:
            i -= 1
        at, h = end, i
        while at > begin:
            since = max(begin, grid[h])
            spent[h, c] += (at - since) / (grid[h + 1] - grid[h])
            at = since
            h -= 1


@compiled
def trajectory(
    rates: Any, grid: Any, delta: int, lost: int, steps: int, jumped: Any, source: Any, spent: Any
) -> float:
    """Return the largest integral of rates along a path over types; a change costs ``lost`` steps.

    f_c(q + 1) = max(f_c(q) + integral of rate c over step q, max_c' f_c'(q + 1 - lost)).

    Parameters
    ----------
    rates : float array [m, C]
        Not negative.
    grid : int64 array [m + 1]
        Interval bounds in ms.
    delta, lost, steps : int
        Length of a step in ms; steps without credit per change (at least 1); steps up to the end.
    jumped, source : uint8 array [steps + 1, C], int16 array [steps + 1]
        Scratch for the path.
    spent : float array [m, C]
        Written: share of each interval that the path spends in each type.
    """
    m, types = rates.shape
    f = np.zeros(types)
    g = np.zeros(steps + 1)
    source[0] = 0
    i = 0
    for q in range(steps):
        begin, end = q * delta, min((q + 1) * delta, grid[m])
        while grid[i + 1] <= begin:
            i += 1
        top = 0
        back = q + 1 - lost
        for c in range(types):
            if end <= grid[i + 1]:
                gain = rates[i, c] * (end - begin)
            else:
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
            if f[c] > f[top]:
                top = c
        g[q + 1] = f[top]
        source[q + 1] = top
    walk_back(grid, delta, lost, steps, source, jumped, spent)
    return float(g[steps])
