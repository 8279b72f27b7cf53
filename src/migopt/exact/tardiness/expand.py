"""Compiled steps of the search: states of one layer, their successors, dominance among equal sets of jobs.

A state row holds: set of jobs done (bits), moment the machine is free, cost so far, moment it was free
before its last job, that job (-1 for none), and where it comes from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.compiled import compiled
from migopt.exact.tardiness.rules import NONE, gains

SET, TIME, COST, BEFORE, LAST, SOURCE = 0, 1, 2, 3, 4, 5


@compiled
def spot(keys: Any, jobs_done: int) -> int:
    """Return the place of a set in an open-addressing table whose length is a power of two."""
    mask = keys.size - 1
    h = np.int64(jobs_done) * np.int64(0x1E3779B97F4A7C15)
    h ^= h >> np.int64(29)
    h *= np.int64(0x3F58476D1CE4E5B9)
    h ^= h >> np.int64(32)
    h &= mask
    while keys[h] != -1 and keys[h] != jobs_done:
        h = (h + 1) & mask
    return int(h)


@compiled
def add_state(keys: Any, heads: Any, rows: Any, chain: Any, count: int, row: Any) -> int:
    """Add a state unless one of the same set is no later and no dearer; return the new count."""
    h = spot(keys, row[SET])
    if keys[h] == -1:
        keys[h], heads[h] = row[SET], -1
    i, before = heads[h], -1
    while i >= 0:
        if rows[i, TIME] <= row[TIME] and rows[i, COST] <= row[COST]:
            return count
        if rows[i, TIME] >= row[TIME] and rows[i, COST] >= row[COST]:
            rows[i, SET] = -1
            if before < 0:
                heads[h] = chain[i]
            else:
                chain[before] = chain[i]
        else:
            before = i
        i = chain[i]
    rows[count] = row
    chain[count], heads[h] = heads[h], count
    return count + 1


@compiled
def rehash(keys: Any, heads: Any, rows: Any, chain: Any, count: int) -> None:
    """Fill an empty, larger table with the states that are there."""
    for i in range(count):
        if rows[i, SET] >= 0:
            h = spot(keys, rows[i, SET])
            if keys[h] == -1:
                keys[h], heads[h] = rows[i, SET], -1
            chain[i], heads[h] = heads[h], i


@compiled
def cheapest_first(value: Any, order: Any, jobs_done: int) -> int:
    """Return the least value of a chain that begins with a job not done, 0 for no chain."""
    for k in order:
        if value[k] >= 0:
            break
        if not jobs_done >> k & 1:
            return int(value[k])
    return 0


@compiled
def can_go_on(
    state: Any,
    end: bool,
    m: int,
    begin: int,
    width: int,
    jobs: Any,
    value: Any,
    order: Any,
    room: int,
) -> bool:
    """Return whether some way on from a state costs at most ``room``, less the prices of jobs not done."""
    if end and room >= 0:
        return True
    at = (state[TIME] - begin) // width
    for k in order[at]:
        if value[at, k] > room:
            return False
        if not state[SET] >> k & 1 and not gains(state[BEFORE], state[LAST], k, m, jobs):
            return True
    return False


@compiled
def all_in_time(state: Any, m: int, jobs: Any, latest: Any) -> bool:
    """Return whether each job not done could still be next on the last machine."""
    release, _, _, duration = jobs
    for k in range(release.size):
        if not state[SET] >> k & 1 and (
            duration[m, k] < 0 or max(state[TIME], release[k]) + duration[m, k] > latest[k]
        ):
            return False
    return True


@compiled
def expand(
    machine: Any,
    grid: Any,
    states: Any,
    first: int,
    until: int,
    target: int,
    out: Any,
    count: int,
    closed: Any,
    found: Any,
) -> Any:
    """Take states ``first`` to ``until`` on: one more job, or on to the next machine.

    Parameters
    ----------
    machine : (int, bool, int)
        Number, whether it is the last, value of all machines behind it.
    grid : tuple
        begin, width, jobs, latest, price, value, order of ``dual.Grid``.
    target : int
        Only schedules that cost less matter.
    out : (keys, heads, rows, chain)
        States of the next layer; ``count`` of them are there.
    closed : int64 array [>= until - first, 3]
        Written: set, cost, state of those that may go on to the next machine.
    found : int64 array [3]
        Written: best complete cost below the target, its last job, its source.

    Returns
    -------
    tuple of int
        States in the next layer, states closed, first state not taken on (the rows are full).
    """
    m, is_last, behind = machine
    begin, width, jobs, latest, price, value, order = grid
    release, due, weight, duration = jobs
    keys, heads, rows, chain = out
    n = release.size
    full = (np.int64(1) << np.int64(n)) - 1
    shut = 0
    row = np.zeros(6, np.int64)
    for index in range(first, until):
        jobs_done = states[index, SET]
        if jobs_done < 0:
            continue
        if count + n > rows.shape[0]:
            return count, shut, index
        rest = 0
        for j in range(n):
            if not jobs_done >> j & 1:
                rest += price[j]
        if not is_last:
            ahead = cheapest_first(value[m + 1, 0], order[m + 1, 0], jobs_done)
            if states[index, COST] + rest + behind + ahead < target:
                closed[shut, 0], closed[shut, 1] = jobs_done, states[index, COST]
                closed[shut, 2] = index
                shut += 1
        last = states[index, LAST]
        for j in range(n):
            if jobs_done >> j & 1 or duration[m, j] < 0:
                continue
            if last >= 0 and gains(states[index, BEFORE], last, j, m, jobs):
                continue
            end = max(states[index, TIME], release[j]) + duration[m, j]
            if end > latest[j]:
                continue
            row[SET] = jobs_done | (np.int64(1) << np.int64(j))
            row[TIME], row[COST] = end, states[index, COST] + weight[j] * max(0, end - due[j])
            row[BEFORE], row[LAST], row[SOURCE] = states[index, TIME], j, index
            if row[SET] == full:
                if row[COST] < min(target, found[0]):
                    found[0], found[1], found[2] = row[COST], j, index
                continue
            following = 0 if is_last else behind + min(0, value[m + 1, 0, order[m + 1, 0, 0]])
            room = min(target, found[0]) - 1 - row[COST] - (rest - price[j]) - following
            if not can_go_on(row, not is_last, m, begin, width, jobs, value[m], order[m], room):
                continue
            if is_last and not all_in_time(row, m, jobs, latest):
                continue
            count = add_state(keys, heads, rows, chain, count, row)
    return count, shut, until


@compiled
def cheapest_per_set(closed: Any, keys: Any, heads: Any, kept: Any) -> int:
    """Keep the cheapest row of ``closed`` per set of jobs; return how many are left."""
    count = 0
    for i in range(closed.shape[0]):
        h = spot(keys, closed[i, 0])
        if keys[h] == -1:
            keys[h], heads[h] = closed[i, 0], count
            kept[count] = closed[i]
            count += 1
        elif closed[i, 1] < kept[heads[h], 1]:
            kept[heads[h]] = closed[i]
    return count


#: For callers that mark "no bound known".
NOTHING = NONE
