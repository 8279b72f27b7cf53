"""Exact evaluation of stored prices: integers only, no compiled code, no solver.

Everything is computed anew from the instance: rates, powers and weights as integers in units of
2 ** -exponent cost per millisecond, rounded towards the smaller bound (powers and tardiness costs
down, the GPU part up). The value is a lower bound on the cost of every legal schedule whatever the
prices are; ``evaluate_multipliers`` raises where the stored grid and windows do not fit the instance.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migopt.bounds.busy_vectors import BusyVectors, busy_vectors
from migopt.bounds.kernel.tables import partition_types
from migopt.bounds.split.covers import cases, only_partition, partitions_apart, why_not
from migopt.bounds.split.exact_jobs import job_cost
from migopt.bounds.split.multipliers import Multipliers
from migopt.errors import InputError
from migopt.model import Instance
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN

Ints = NDArray[np.int64]
#: Prices, costs per millisecond and times are below this, so that sums of them fit into 64 bits.
LARGEST = 2**50
MISFIT = "these multipliers do not fit the instance"
#: Stands for "no assignment fills this vector"; far below any sum of prices.
NEVER = -(2**60)


def evaluate_multipliers(instance: Instance, multipliers: Multipliers) -> Fraction:
    """Return the bound that stored prices prove, in units of cost, constant included.

    For case ``mig`` or ``off`` on one GPU with MIG off allowed the bound holds for schedules of that
    case only; the bound of the instance is the smaller of the two. Multipliers of one partition hold
    for schedules that keep it.

    Raises
    ------
    InputError
        The prices belong to another instance: windows, groups or lengths do not fit.
    """
    instance = _narrowed(instance, multipliers)
    _require_fit(instance, multipliers)
    jobs = _jobs_part(instance, multipliers)
    gpus, column = 0, 0
    for model in instance.gpu_models:
        vectors = busy_vectors(instance, model, multipliers.case)  # type: ignore[arg-type]
        count = sum(gpu.key == model.key for gpu in instance.gpus)
        own = multipliers.prices[:, column : column + len(vectors.groups)]
        gpus += count * _gpu_part(instance, multipliers, vectors, own)
        column += len(vectors.groups)
    return instance.constant_cost + Fraction(jobs - gpus) / Fraction(2) ** multipliers.exponent


def proven_lower(instance: Instance, proofs: Sequence[Multipliers]) -> Fraction:
    """Return the bound on every schedule of the instance that several multipliers prove together.

    On one GPU where MIG may be off, both cases must be there: the bound is the lower of the two. Where
    the partition never changes, the case with MIG on may be proven for each partition apart.

    Raises
    ------
    InputError
        Some multipliers do not fit the instance, or a case is missing.
    """
    values: dict[str, Fraction] = {}
    apart: dict[int, Fraction] = {}
    for proof in proofs:
        value = evaluate_multipliers(instance, proof)
        if proof.partition:
            apart[proof.partition] = max(value, apart.get(proof.partition, value))
        else:
            values[proof.case] = max(value, values.get(proof.case, value))
    partitions = partitions_apart(instance)
    if partitions and all(number in apart for number in partitions):
        together = min(apart[number] for number in partitions)
        values["mig"] = max(together, values.get("mig", together))
    needed = cases(instance)
    missing = [case for case in needed if case not in values]
    if missing or not needed:
        raise InputError(f"{MISFIT}: case {(missing or ['mig'])[0]} is missing")
    return min(values[case] for case in needed)


def round_down(value: Fraction) -> float:
    """Return the largest float not above ``value``."""
    near = float(value)
    return near if Fraction(near) <= value else float(np.nextafter(near, -np.inf))


def _narrowed(instance: Instance, m: Multipliers) -> Instance:
    """Return the instance that the multipliers speak of: one partition of it, or all."""
    if m.partition == 0:
        return instance
    alone = instance.repartition.scope == "never" and len(instance.gpus) == 1 and m.case == "mig"
    if not alone or not 1 <= m.partition <= len(instance.catalogue(0)):
        raise InputError(f"{MISFIT}: partition {m.partition} cannot stand alone")
    return only_partition(instance, m.partition)


def _require_fit(instance: Instance, m: Multipliers) -> None:
    """Refuse what the proof does not cover, and numbers that 64 bits might not hold."""
    reason = why_not(instance)
    if reason is not None:
        raise InputError(f"{MISFIT}: {reason}")
    if m.case not in ("mig", "off", "both"):
        raise InputError(f"{MISFIT}: unknown case {m.case!r}")
    jobs, grid = instance.jobs, m.grid_ms
    if len(m.first) != len(jobs) or len(m.last) != len(jobs):
        raise InputError(f"{MISFIT}: the number of jobs differs")
    pairs = int((m.last - m.first).sum()) if len(m.first) else 0
    wanted = tuple(
        (model.key, busy_vectors(instance, model, m.case).groups)  # type: ignore[arg-type]
        for model in instance.gpu_models
    )
    width = sum(len(groups) for _, groups in wanted)
    faults = [
        (not 1 <= m.parts <= 10_000, "tau is cut into too many parts, or none"),
        (not -1000 <= m.exponent <= 1000, "the exponent is out of range"),
        (m.case != "both" and len(instance.gpus) > 1 and instance.mig_off, "case must be both"),
        (m.case == "off" and len(instance.gpus) > 1, "case off is for one GPU"),
        (m.groups != wanted, "the groups of profiles differ"),
        (m.prices.shape != (pairs, width), "the number of prices differs"),
        (bool((m.prices < 0).any()), "a price is negative"),
        (bool((m.prices >= LARGEST).any()), "a price is too large"),
        (grid.size < 1 or int(grid[0]) != 0, "the grid does not begin at 0"),
        (bool((grid < 0).any() or (grid > LARGEST).any()), "the grid goes too far"),
        (bool((np.diff(grid) <= 0).any()), "the grid is not rising"),
        (bool((m.first >= m.last).any() or (m.first < 0).any()), "a window is empty"),
        (bool((m.last > grid.size - 1).any()), "a window leaves the grid"),
    ]
    for wrong, text in faults:
        if wrong:
            raise InputError(f"{MISFIT}: {text}")
    if jobs and max(_unit_costs(instance, m)) >= LARGEST:
        raise InputError(f"{MISFIT}: the exponent is too large for its costs")
    for job, first in zip(jobs, m.first, strict=True):
        if grid[first] > job.release_ms:
            raise InputError(f"{MISFIT}: the window of job {job.id} begins after its release")


def _unit_costs(instance: Instance, m: Multipliers) -> list[int]:
    """Return what a millisecond of tardiness and of the largest power costs, in the unit of prices."""
    unit, a = Fraction(2) ** m.exponent, instance.weight_a
    most = max(job.weight for job in instance.jobs)
    late = Fraction(most, instance.total_weight * MS_PER_MINUTE) / (a + 1)
    powers = [
        max(busy_vectors(instance, model, m.case).extra_mw)  # type: ignore[arg-type]
        for model in instance.gpu_models
    ]
    return [int(late * unit), *(int(a * mw / (a + 1) / UJ_PER_WMIN * unit) for mw in powers)]


# ------------------------------------------------------------------ jobs


def _jobs_part(instance: Instance, m: Multipliers) -> int:
    """Return the sum over jobs, in units of 2 ** -exponent, rounded down."""
    unit = Fraction(2) ** m.exponent
    a = instance.weight_a
    columns = [
        busy_vectors(instance, model, m.case)  # type: ignore[arg-type]
        for model in instance.gpu_models
    ]
    total, row = 0, 0
    for j, job in enumerate(instance.jobs):
        rates = [r for v in columns for r in v.rates(instance, job)]
        beta = int(Fraction(job.weight, instance.total_weight * MS_PER_MINUTE) / (a + 1) * unit)
        lo, hi = int(m.first[j]), int(m.last[j])
        prices = m.prices[row : row + hi - lo]
        total += job_cost(job, beta, m.grid_ms[lo : hi + 1], prices, rates)
        row += hi - lo
    return total


# ------------------------------------------------------------------ GPUs


def _gpu_part(instance: Instance, m: Multipliers, vectors: BusyVectors, prices: Ints) -> int:
    """Return the most that one GPU can earn at these prices, in units of 2 ** -exponent."""
    a = instance.weight_a
    unit = Fraction(2) ** m.exponent
    extra = [_least_from(vectors, b) for b in range(len(vectors))]
    cost = [int(a * mw / (a + 1) / UJ_PER_WMIN * unit) for mw in extra]
    values = _filled(m, vectors, prices) - np.array(cost, dtype=np.int64)
    values[:, 0] = 0
    lengths = [int(length) for length in np.diff(m.grid_ms)]
    rule = instance.repartition
    if m.case == "off" or rule.scope == "slices" or (rule.scope == "gpu" and rule.tau_ms == 0):
        return _dot(np.maximum(values.max(axis=1), 0), lengths)
    types = [sorted(chosen) for chosen in partition_types(vectors)]
    rates = np.stack([np.maximum(values[:, chosen].max(axis=1), 0) for chosen in types], axis=1)
    always = [_dot(rates[:, c], lengths) for c in range(len(types))]
    off = 0
    if vectors.off_vector is not None:
        off = _dot(np.maximum(values[:, vectors.off_vector], 0), lengths)
    if rule.scope == "never":
        return max(*always, off)
    end = int(m.grid_ms[-1])
    delta = max(1, rule.tau_ms // m.parts, -(-end // MAX_EXACT_STEPS))
    lost = rule.tau_ms // delta - 1
    if lost < 1:
        return _dot(np.maximum(values.max(axis=1), 0), lengths)
    return max(_path(rates, m.grid_ms, delta, lost), off)


#: Most steps of the dynamic program here; beyond it steps get longer.
MAX_EXACT_STEPS = 1_500_000


def _least_from(vectors: BusyVectors, b: int) -> int:
    """Return power above idle of vector b, or less where some higher level needs less."""
    if b == vectors.off_vector:
        return vectors.extra_mw[b]
    return min(
        mw
        for mw, level in zip(vectors.extra_mw, vectors.levels, strict=True)
        if level >= vectors.levels[b]
    )


def _dot(values: Ints, lengths: list[int]) -> int:
    return sum(int(v) * length for v, length in zip(values, lengths, strict=True))


def _filled(m: Multipliers, vectors: BusyVectors, prices: Ints) -> Ints:
    """Return [interval, vector] the best total price of an assignment, all intervals in step."""
    intervals = m.grid_ms.size - 1
    owner = np.repeat(np.arange(len(m.first)), m.last - m.first)
    starts = np.cumsum(np.concatenate(([0], m.last - m.first)))[:-1]
    interval = np.arange(len(owner)) - starts[owner] + m.first[owner] if len(owner) else owner
    used = np.flatnonzero(prices.max(axis=1, initial=0) > 0)
    order = used[np.argsort(interval[used], kind="stable")]
    where = interval[order]
    rank = np.arange(len(order)) - np.searchsorted(where, where)
    best = np.full((intervals, len(vectors)), NEVER, dtype=np.int64)
    best[:, 0] = 0
    steps = list(vectors.grow())
    for r in range(int(rank.max(initial=-1)) + 1):
        rows = order[rank == r]
        at = interval[rows]
        now = best[at]
        for b, k, less in steps:
            # A price of 0 need not be taken: powers do not fall as slices are added.
            np.maximum(now[:, b], now[:, less] + prices[rows, k], out=now[:, b])
        best[at] = now
    return best


def _path(rates: Ints, grid: Ints, delta: int, lost: int) -> int:
    """Return the largest integral of rates along a path over types, a change costing ``lost`` steps.

    Steps are taken ``lost`` at a time: a change that ends within such a block began before it, so
    the block is a running maximum of (value at the change) - (integral up to there). Where nothing can
    be earned for longer than a change takes, the value stays what it is, and every type can be reached.
    """
    end = int(grid[-1])
    # Python integers where 64 bits might not hold the integrals.
    exact: Any = np.int64 if int(rates.max(initial=0)) * end < 2**61 else object
    values = rates.astype(exact)
    lengths = np.diff(grid).astype(exact)
    whole = np.zeros((len(values) + 1, values.shape[1]), dtype=exact)
    whole[1:] = np.cumsum(values * lengths[:, None], axis=0)
    steps = -(-end // delta)
    edges = np.minimum(np.arange(steps + 1, dtype=np.int64) * delta, end)
    inside = np.minimum(np.searchsorted(grid, edges, side="right") - 1, len(values) - 1)
    since = (edges - grid[inside]).astype(exact)
    total = whole[inside] + values[inside] * since[:, None]
    g = np.zeros(steps + 1, dtype=exact)
    # best[c]: largest (value where type c was entered) - (integral of c up to there); 0 at the start.
    best = np.zeros(values.shape[1], dtype=exact)
    earning = 1 + np.flatnonzero((total[1:] != total[:-1]).any(axis=1))
    q = 1
    while q <= steps:
        ahead = int(np.searchsorted(earning, q))
        idle_until = int(earning[ahead]) if ahead < len(earning) else steps + 1
        if idle_until - q > lost:
            g[q:idle_until] = g[q - 1]
            best = np.maximum(best, g[idle_until - 1 - lost] - total[q])
            q = idle_until
            continue
        until = min(q + lost, steps + 1)
        # Index q - lost is before the start only in the first block, where nothing was entered.
        back = g[max(q - lost, 0) : max(until - lost, 0)]
        if len(back) < until - q:
            back = np.concatenate((np.zeros(until - q - len(back), dtype=exact), back))
        entered = np.maximum.accumulate(back[:, None] - total[q:until], axis=0)
        entered = np.maximum(entered, best)
        g[q:until] = (entered + total[q:until]).max(axis=1)
        best = entered[-1]
        q = until
    return int(g[steps])
