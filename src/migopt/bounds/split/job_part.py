"""The job part: each job's cheapest way to be processed and to end, at given prices."""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.compiled import compiled


@compiled
def hull(price: Any, row: int, surcharge: float, speed: Any, order: Any, out: Any, at: int) -> int:
    """Append the pieces of the lower hull of (speed, price) from (0, 0); return how many.

    Piece: out[at, :] = marginal price per unit of speed, speed gained, lower vertex, upper vertex
    (groups; -1 is idle), and cost gained. Marginals rise.
    """
    n = 0
    for q in range(order.size):
        k = order[q]
        if k < 0:
            break
        v, c = speed[k], price[row, k] + surcharge
        while n > 0:
            top = at + n - 1
            # Vertex before the top one, and the top one itself.
            v0, c0 = out[top, 5], out[top, 6]
            v1, c1 = v0 + out[top, 1], c0 + out[top, 4]
            if v <= v1:
                if c >= c1:
                    break
                n -= 1
                continue
            if (c - c0) * (v1 - v0) <= (c1 - c0) * (v - v0):
                n -= 1
                continue
            break
        v0, c0, k0 = 0.0, 0.0, -1.0
        if n > 0:
            top = at + n - 1
            v0, c0, k0 = out[top, 5] + out[top, 1], out[top, 6] + out[top, 4], out[top, 3]
            if v <= v0:
                continue
        new = at + n
        out[new, 0] = (c - c0) / (v - v0)
        out[new, 1] = v - v0
        out[new, 2] = k0
        out[new, 3] = k
        out[new, 4] = c - c0
        out[new, 5] = v0
        out[new, 6] = c0
        n += 1
    return n


@compiled
def set_piece(pieces: Any, n: int, scratch: Any, q: int, length: float, place: int) -> None:
    """Write edge ``q`` of a hull as piece ``n``: marginal, work, position, lower vertex, upper vertex."""
    pieces[n, 0] = scratch[q, 0]
    pieces[n, 1] = scratch[q, 1] * length
    pieces[n, 2] = place
    pieces[n, 3] = scratch[q, 2]
    pieces[n, 4] = scratch[q, 3]


@compiled
def _collect(
    lo: int,
    hi: int,
    lengths: Any,
    prices: Any,
    row: int,
    speed: Any,
    order: Any,
    limit: float,
    scratch: Any,
    pieces: Any,
) -> tuple[int, float]:
    """Write all pieces of intervals lo .. hi-1 with marginal <= limit; return their number and work.

    pieces[n] = marginal, work, position in the window, lower vertex, upper vertex.
    """
    n, total = 0, 0.0
    for i in range(lo, hi):
        count = hull(prices, row + i - lo, 0.0, speed, order, scratch, 0)
        for q in range(count):
            if scratch[q, 0] > limit:
                break
            set_piece(pieces, n, scratch, q, lengths[i], i - lo)
            work = pieces[n, 1]
            total += work
            n += 1
    return n, total


@compiled
def _insert(held: Any, n: int, work: float, piece: Any) -> tuple[int, float]:
    """Insert a piece into the sorted list; drop what is beyond one job's work."""
    at = n
    while at > 0 and held[at - 1, 0] > piece[0]:
        at -= 1
    for q in range(n, at, -1):
        for f in range(5):
            held[q, f] = held[q - 1, f]
    for f in range(5):
        held[at, f] = piece[f]
    n += 1
    work += piece[1]
    while n > 1 and work - held[n - 1, 1] >= 1.0:
        work -= held[n - 1, 1]
        n -= 1
    return n, work


@compiled
def _merge(held: Any, n: int, own: Any, m: int, best: float, chosen: Any) -> tuple[float, int]:
    """Return the cost of one job's work from two sorted lists, and the pieces used.

    The cost is infinite when they do not hold enough work; ``chosen`` is written only when it is
    below ``best``: position, lower, upper vertex, fraction used, 1 if from ``own``.
    """
    left, cost, a, b = 1.0, 0.0, 0, 0
    while left > 0.0 and (a < n or b < m):
        if b >= m or (a < n and held[a, 0] <= own[b, 0]):
            marginal, work = held[a, 0], held[a, 1]
            a += 1
        else:
            marginal, work = own[b, 0], own[b, 1]
            b += 1
        used = min(work, left)
        cost += marginal * used
        left -= used
        if cost >= best:
            return np.inf, 0
    # A residue of rounding is no missing work.
    if left > 1e-12:
        return np.inf, 0
    left, a, b, count = 1.0, 0, 0, 0
    while left > 0.0 and (a < n or b < m):
        from_own = not (b >= m or (a < n and held[a, 0] <= own[b, 0]))
        if from_own:
            for f in range(3):
                chosen[count, f] = own[b, f + 2]
            work = own[b, 1]
            b += 1
        else:
            for f in range(3):
                chosen[count, f] = held[a, f + 2]
            work = held[a, 1]
            a += 1
        used = min(work, left)
        chosen[count, 3] = used / work
        chosen[count, 4] = 1.0 if from_own else 0.0
        left -= used
        count += 1
    return cost, count


@compiled
def cheapest_pieces(
    lo: int,
    hi: int,
    lengths: Any,
    prices: Any,
    row: int,
    speed: Any,
    order: Any,
    guide: float,
    scratch: Any,
    pieces: Any,
    held: Any,
) -> tuple[int, float]:
    """Write to ``held`` the cheapest pieces of intervals lo .. hi-1 that do the whole job; their number and work.

    All pieces where they do less than the job. ``guide`` only saves time.
    """
    n, work = _collect(lo, hi, lengths, prices, row, speed, order, guide, scratch, pieces)
    if work < 1.0 and guide < np.inf:
        n, work = _collect(lo, hi, lengths, prices, row, speed, order, np.inf, scratch, pieces)
    rank = np.argsort(pieces[:n, 0])
    kept, total = 0, 0.0
    while kept < n and total < 1.0:
        for f in range(5):
            held[kept, f] = pieces[rank[kept], f]
        total += held[kept, 1]
        kept += 1
    return kept, total


@compiled
def job_part(
    jobs_from: int,
    jobs_to: int,
    first: Any,
    last: Any,
    pair0: Any,
    times: Any,
    lengths: Any,
    due: Any,
    due_interval: Any,
    beta: Any,
    speed: Any,
    order: Any,
    prices: Any,
    guide: Any,
    minutes: Any,
    value: Any,
    late: Any,
    ending: Any,
) -> None:
    """Write each job's cheapest cost at ``prices`` and how it is reached.

    Minimum over the last interval m of: beta (t_m - due)^+ plus the cheapest processing of the whole
    job in intervals first .. m, where a minute in m costs beta more if m starts at or after the due
    date; or the option to end beyond the window, beta (t_last - due)^+ without processing.

    Parameters
    ----------
    minutes : float array [pairs, K]
        Added to: share of the interval that the job spends on each group.
    value, late : float arrays [J]
        Written: the cost, and the part of it that is tardiness.
    ending : int64 array [J]
        Written: interval in which the job ends, -1 for any on-time one, -2 for beyond the window.
    guide : float array [J]
        Marginal price below which enough work was found last time; only saves time.
    """
    groups = speed.shape[1]
    widest = 1
    for j in range(jobs_from, jobs_to):
        widest = max(widest, last[j] - first[j])
    # Every interval may bring one piece per group: a shorter list would drop cheap work.
    size = widest * groups + groups + 1
    pieces = np.empty((size, 5))
    held = np.empty((size, 5))
    chosen = np.empty((size, 5))
    own = np.empty((groups + 1, 5))
    plain = np.empty((groups + 1, 5))
    scratch = np.empty((groups + 1, 7))
    for j in range(jobs_from, jobs_to):
        lo, hi, row = first[j], last[j], pair0[j]
        best = beta[j] * max(0.0, times[hi] - due[j])
        tardy, end, used = best, -2, 0
        middle = min(max(due_interval[j], lo), hi)
        kept, total = cheapest_pieces(
            lo, middle, lengths, prices, row, speed[j], order[j], guide[j], scratch, pieces, held
        )
        if kept > 0 and total >= 1.0:
            guide[j] = 1.2 * held[kept - 1, 0] + 1e-12
            cost, count = _merge(held, kept, own, 0, best, chosen)
            if cost < best:
                best, tardy, end, used = cost, 0.0, -1, count
        else:
            guide[j] = np.inf
        for m in range(middle, hi):
            base = beta[j] * max(0.0, times[m] - due[j])
            if base >= best:
                break
            count = hull(prices, row + m - lo, beta[j], speed[j], order[j], scratch, 0)
            for q in range(count):
                set_piece(own, q, scratch, q, lengths[m], m - lo)
            cost, picked = _merge(held, kept, own, count, best - base, chosen)
            if base + cost < best:
                best, end, used, tardy = base + cost, m, picked, base
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
            if chosen[q, 4] > 0.0:
                # Each minute in the last interval is tardiness as well.
                span = lengths[lo + np.int64(chosen[q, 0])] * chosen[q, 3]
                tardy += beta[j] * span * (1.0 if low < 0 else 0.0)
        late[j] = tardy
