"""The cheapest assignment of some jobs to all slices of a set, by energy and lateness, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.compiled import Ints, compiled


@compiled
def cheapest(
    rows: Any,
    cuts: Any,
    times: Any,
    due: Ints,
    compute: Ints,
    busy_mw: Ints,
    energy_price: float,
    late_price: float,
) -> Any:
    """Return per set of jobs (row) and set of slices (cut) the least cost, infinite where none suits.

    Parameters
    ----------
    rows : int array, shape (R, k)
        Classes of the jobs, in ascending order.
    cuts : int array, shape (C, k)
        Profiles of the slices, equal ones side by side.
    times : int array, shape (classes, profiles)
        Milliseconds; -1 where a class cannot run.
    due, compute, busy_mw : int arrays
        Due time per class, compute slices per profile, power per number of busy compute slices.
    energy_price, late_price : float
        Cost per microjoule above idle, and per millisecond of tardiness.
    """
    size = rows.shape[1]
    result = np.full((rows.shape[0], cuts.shape[0]), np.inf)
    at = np.zeros(size, dtype=np.int64)
    after = np.zeros(size, dtype=np.int64)
    used = np.zeros(size, dtype=np.bool_)
    ends = np.zeros(size, dtype=np.int64)
    level = np.zeros(size, dtype=np.int64)
    for r in range(rows.shape[0]):
        for c in range(cuts.shape[0]):
            best = np.inf
            depth = 0
            at[0], after[0] = -1, 0
            used[:] = False
            while depth >= 0:
                # Slice ``depth`` moves on from its job to the next that suits.
                if at[depth] >= 0:
                    used[at[depth]] = False
                profile = cuts[c, depth]
                j = after[depth]
                while j < size:
                    job = rows[r, j]
                    twin = j > 0 and rows[r, j - 1] == job and not used[j - 1]
                    if not used[j] and not twin and times[job, profile] >= 0:
                        break
                    j += 1
                if j == size:
                    at[depth] = -1
                    depth -= 1
                    continue
                at[depth], after[depth] = j, j + 1
                used[j] = True
                if depth + 1 < size:
                    depth += 1
                    # Of equal slices the later one takes the later job: the order says nothing.
                    alike = cuts[c, depth] == cuts[c, depth - 1]
                    at[depth], after[depth] = -1, j + 1 if alike else 0
                    continue
                cost = 0.0
                total = 0
                for s in range(size):
                    job = rows[r, at[s]]
                    end = times[job, cuts[c, s]]
                    if end > due[job]:
                        cost += late_price * (end - due[job])
                    total += compute[cuts[c, s]]
                    k = s
                    while k > 0 and ends[k - 1] > end:
                        ends[k], level[k] = ends[k - 1], level[k - 1]
                        k -= 1
                    ends[k], level[k] = end, compute[cuts[c, s]]
                now = 0
                energy = 0.0
                for s in range(size):
                    energy += float(ends[s] - now) * float(busy_mw[total] - busy_mw[0])
                    total -= level[s]
                    now = ends[s]
                cost += energy_price * energy
                if cost < best:
                    best = cost
            result[r, c] = best
    return result
