"""One compiled decision of the priced policy: which jobs run on which sizes of slices, in which partition.

Every present job has a price v_j, the cost that finishing it is worth now. The decision is the busy
vector and assignment that maximise sum_j v_j s_jk - alpha (P_b - P_0), the pricing problem of the day
LP and of the splitting bound. The price grows as the laxity of the job falls:

    v_j = e_j (t0 (1 + t11 (m - 1)) + t1 u) + late_j (t2 q_j + t3 / rest_j) u',
    u = exp(-max(room_j, 0) / t4),  u' = exp(-max(lax_j, 0) / t5)

e_j: energy cost of the whole job on a full GPU at its most efficient slice; q_j: minutes on the fastest
slice, c_j on the fastest of the most efficient ones; late_j: cost per minute of tardiness; m: jobs present;
room_j = due - now - rest_j (q_j + t10 (c_j - q_j)), so that a job begins while efficient slices are still
in time; lax_j = due - now - max(rest_j q_j, t6 B_j), where B_j are the minutes in which a full GPU does
all that is due no later. Minutes and units of cost throughout.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from migopt.bounds.kernel import Tables, assigned_groups, best_of, fill
from migopt.compiled import compiled

Floats = NDArray[np.float64]

#: Numbers of the rule: t0 .. t6; minutes for which a change must pay; factor on prices when a new
#: partition is chosen; minutes between two looks at the prices; t10, t11.
NUMBERS = 12
BASE, RISE, LATE_TIME, LATE_REST, ENERGY_SPAN, LATE_SPAN, BACKLOG = range(7)
AHEAD, HOPE, STEP, CALM, COMPANY = range(7, NUMBERS)
#: Most jobs that take part in one decision, the most urgent first.
MOST = 60


class Jobs(NamedTuple):
    """What the rule knows of jobs; one row each.

    Attributes
    ----------
    release, due, quick, late, energy, work : float arrays
        Minutes; q_j; cost per minute of tardiness; e_j; minutes of a full GPU that the job takes at
        its most efficient slice.
    calm : float array
        c_j, minutes on the fastest of the most efficient slices.
    speed : float array [jobs, groups]
        Fraction of the job per minute.
    """

    release: Floats
    due: Floats
    quick: Floats
    late: Floats
    energy: Floats
    work: Floats
    speed: Floats
    calm: Floats


class Gpu(NamedTuple):
    """Busy vectors of the GPU, their cost per minute, and tau in minutes."""

    tables: Tables
    cost: Floats
    tau: float


class Scratch(NamedTuple):
    """Buffers of one decision."""

    prices: Floats
    choice: NDArray[np.int8]
    value: Floats
    other: Floats
    groups: NDArray[np.int64]
    every: NDArray[np.bool_]


def new_scratch(groups: int, vectors: int) -> Scratch:
    """Return buffers."""
    return Scratch(
        np.zeros((MOST, groups)),
        np.zeros((MOST, vectors), np.int8),
        np.zeros(vectors),
        np.zeros(vectors),
        np.zeros(MOST, np.int64),
        np.ones(vectors, np.bool_),
    )


@compiled
def set_prices(t: float, who: Any, rest: Any, m: int, jobs: Any, numbers: Any, prices: Any) -> bool:
    """Write v_j s_jk of the present jobs ``who[:m]``, in order of due date; return whether one has no laxity."""
    backlog, urgent = 0.0, False
    base = numbers[BASE] * (1.0 + numbers[COMPANY] * (m - 1))
    for q in range(m):
        j = who[q]
        backlog += rest[q] * jobs.work[j]
        lax = jobs.due[j] - t - max(rest[q] * jobs.quick[j], numbers[BACKLOG] * backlog)
        urgent = urgent or lax <= 0.0
        lax = max(lax, 0.0)
        minutes = jobs.quick[j] + numbers[CALM] * (jobs.calm[j] - jobs.quick[j])
        room = max(jobs.due[j] - t - rest[q] * minutes, 0.0)
        value = jobs.energy[j] * (base + numbers[RISE] * np.exp(-room / numbers[ENERGY_SPAN]))
        worth = numbers[LATE_TIME] * jobs.quick[j] + numbers[LATE_REST] / max(rest[q], 1e-3)
        value += jobs.late[j] * worth * np.exp(-lax / numbers[LATE_SPAN])
        for k in range(prices.shape[1]):
            prices[q, k] = value * jobs.speed[j, k]
    return urgent


@compiled
def _best(value: Any, cost: Any, inside: Any, urgent: bool) -> tuple[int, float]:
    """Return the best vector inside; where a job has no laxity some vector with a job, if there is one."""
    best, most = best_of(value, cost, inside)
    if best == 0 and urgent:
        for b in range(1, value.size):
            if inside[b] and value[b] > 0.0 and (best == 0 or value[b] - cost[b] > most):
                best, most = b, value[b] - cost[b]
    return best, most


@compiled
def assign(
    t: float,
    who: Any,
    rest: Any,
    m: int,
    allowed: Any,
    jobs: Any,
    gpu: Any,
    numbers: Any,
    scratch: Any,
) -> int:
    """Return the best busy vector among the allowed; ``scratch.groups`` says who runs on what."""
    urgent = set_prices(t, who, rest, m, jobs, numbers, scratch.prices)
    b: int = assign_at(m, allowed, urgent, gpu, scratch)
    return b


@compiled
def assign_at(m: int, allowed: Any, urgent: bool, gpu: Any, scratch: Any) -> int:
    """Do what ``assign`` does at the prices that ``scratch`` holds."""
    prices, choice, value, _, groups, _ = scratch
    for q in range(m):
        groups[q] = -1
    if m == 0:
        return 0
    fill(prices, m, gpu.tables, value, choice)
    b: int
    b, _ = _best(value, gpu.cost, allowed, urgent)
    if b > 0:
        assigned_groups(choice, m, b, gpu.tables, groups)
    return b


@compiled
def decide(
    t: float,
    who: Any,
    rest: Any,
    m: int,
    kind: int,
    jobs: Any,
    gpu: Any,
    numbers: Any,
    scratch: Any,
) -> tuple[int, int]:
    """Return (partition type wanted, busy vector now); ``scratch.groups`` says who runs on what.

    Parameters
    ----------
    who, rest : arrays
        Present jobs in order of due date, at most ``MOST``, and the fraction left of each.
    kind : int
        Partition type in force.

    Returns
    -------
    (type, vector)
        Another type than ``kind`` asks for a change; the vector is then 0.
    """
    urgent = set_prices(t, who, rest, m, jobs, numbers, scratch.prices)
    found: tuple[int, int]
    found = decide_at(m, kind, urgent, gpu, numbers[AHEAD], numbers[HOPE], scratch)
    return found


@compiled
def decide_at(
    m: int, kind: int, urgent: bool, gpu: Any, ahead: float, hope: float, scratch: Any
) -> tuple[int, int]:
    """Do what ``decide`` does at the prices that ``scratch`` holds; the prices may be changed."""
    prices, choice, value, _, groups, every = scratch
    inside = gpu.tables.inside
    for q in range(m):
        groups[q] = -1
    if m == 0:
        return kind, 0
    fill(prices, m, gpu.tables, value, choice)
    wanted, most = _best(value, gpu.cost, every, urgent)
    b = wanted
    if not inside[kind, wanted]:
        b, here = _best(value, gpu.cost, inside[kind], urgent)
        gain = (most - here) * ahead > gpu.tau * max(most, 0.0)
        if gain or (b == 0 and urgent):
            return _type_for(wanted, m, gpu, hope, scratch), 0
    if b > 0:
        assigned_groups(choice, m, b, gpu.tables, groups)
    return kind, b


@compiled
def _type_for(wanted: int, m: int, gpu: Any, hope: float, scratch: Any) -> int:
    """Return the type with the wanted vector that is worth most if all prices were ``hope`` times as high."""
    prices, choice, _, other, _, _ = scratch
    for q in range(m):
        for k in range(prices.shape[1]):
            prices[q, k] *= hope
    fill(prices, m, gpu.tables, other, choice)
    best, most = -1, 0.0
    for c in range(gpu.tables.inside.shape[0]):
        if gpu.tables.inside[c, wanted]:
            _, worth = best_of(other, gpu.cost, gpu.tables.inside[c])
            if best < 0 or worth > most:
                best, most = c, worth
    return best
