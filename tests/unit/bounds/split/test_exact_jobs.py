"""The integer job part against a linear program per last interval, and what a proof must hold."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from factories import make_job
from migopt.bounds.split import evaluate_multipliers, proven_lower, split_bound, why_not
from migopt.bounds.split.exact import _path
from migopt.bounds.split.exact_jobs import job_cost
from migopt.errors import InputError
from migopt.model import FrozenMap
from migopt.testing.cases import small_instance


def _by_linear_programs(job, beta, times, prices, rates):
    """Return the least cost over last intervals m, each by an LP over minutes per (interval, slice)."""
    best = beta * max(0, times[-1] - job.due_ms)
    lengths = np.diff(times)
    for m in range(len(lengths)):
        cost = prices[: m + 1].astype(float)
        if times[m] >= job.due_ms:
            cost[-1] += beta
        rows = np.kron(np.eye(m + 1), np.ones(len(rates)))
        work = np.tile(np.array(rates, float), m + 1)
        found = linprog(
            cost.ravel(), A_ub=rows, b_ub=lengths[: m + 1], A_eq=[work], b_eq=[job.work]
        )
        if found.status == 0:
            best = min(best, beta * max(0, times[m] - job.due_ms) + found.fun)
    return best


@pytest.mark.parametrize("seed", range(40))
def test_job_part_is_the_least_linear_program(seed):
    """Random prices, rates and windows: never above the least LP, and at most 1e-6 of it below."""
    draw = np.random.default_rng(seed)
    intervals, groups = int(draw.integers(1, 9)), int(draw.integers(1, 4))
    times = np.cumsum([int(draw.integers(0, 50)), *draw.integers(1, 1000, intervals)])
    prices = draw.integers(0, 10 ** int(draw.integers(1, 8)), (intervals, groups))
    rates = [int(r) for r in draw.choice([0, 300_000, 450_000, 1_000_000], groups)]
    job = make_job(
        0,
        work=int(draw.integers(1, 10**9)),
        release=int(times[0]),
        due=int(draw.integers(0, times[-1] + 100)),
    )
    beta = int(draw.integers(0, 10**6))
    value = job_cost(job, beta, times, prices, rates)
    if not any(rates):
        assert value == beta * max(0, int(times[-1]) - job.due_ms)
        return
    best = _by_linear_programs(job, beta, times, prices, rates)
    assert value <= best + 1e-9 * best
    assert value >= best - 1e-6 * best - 2


def test_huge_prices_do_not_overflow():
    """Prices and tardiness near 2^50 over 10^12 ms: the value by hand, far beyond 64 bits."""
    times = np.array([0, 5 * 10**11, 10**12])
    prices = np.full((2, 1), 2**49)
    job = SimpleNamespace(work=10**18, due_ms=0)
    # The first interval is just enough: 5e11 ms at 2^49 of price and 2^50 - 1 of tardiness each.
    best = 5 * 10**11 * (2**49 + 2**50 - 1)
    value = job_cost(job, 2**50 - 1, times, prices, [2 * 10**6])
    assert best * (1 - 1e-6) <= value <= best


@pytest.fixture(scope="module")
def proof():
    """Return an instance with MIG off allowed and a splitting bound of it."""
    instance = small_instance(5, jobs=4, tau_ms=4000, mig_off=True)
    return instance, split_bound(instance, seconds=0.5, rounds=(3, 2), uniform=20)


def test_both_cases_are_needed(proof):
    """Without the case of MIG off, or of MIG on, the other one proves nothing about the instance."""
    instance, found = proof
    assert {item.case for item in found.multipliers} == {"mig", "off"}
    assert proven_lower(instance, found.multipliers) == found.lower
    for kept in found.multipliers:
        with pytest.raises(InputError, match="is missing"):
            proven_lower(instance, [kept])
    with pytest.raises(InputError, match="is missing"):
        proven_lower(instance, [])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"exponent": 5000}, "exponent is out of range"),
        ({"exponent": 400}, "exponent is too large"),
        ({"parts": 0}, "too many parts"),
        ({"case": "none"}, "unknown case 'none'"),
        ({"case": "both"}, "the groups of profiles differ"),
    ],
)
def test_numbers_that_would_wrap_are_refused(proof, changes, message):
    """Fields out of range are an error with a reason, not an overflow."""
    instance, found = proof
    with pytest.raises(InputError, match=message):
        evaluate_multipliers(instance, replace(found.multipliers[0], **changes))


@pytest.mark.parametrize("field", ["first", "last", "grid_ms", "prices"])
def test_arrays_of_another_length_are_refused(proof, field):
    """An entry cut off or added anywhere is an error with a reason."""
    instance, found = proof
    whole = found.multipliers[0]
    values = getattr(whole, field)
    for changed in (values[:-1], values[:0], np.concatenate((values, values[-1:]))):
        with pytest.raises(InputError, match="do not fit"):
            evaluate_multipliers(instance, replace(whole, **{field: changed}))


def test_grids_that_wrap_around_are_refused(proof):
    """A grid whose differences are positive only because 64 bits wrapped is no grid."""
    instance, found = proof
    whole = found.multipliers[0]
    grid = whole.grid_ms.copy()
    grid[-2:] = (2**62, -(2**63))
    assert (np.diff(grid)[-1:] > 0).all()
    with pytest.raises(InputError, match="the grid goes too far"):
        evaluate_multipliers(instance, replace(whole, grid_ms=grid))


def test_power_below_idle_is_not_covered(proof):
    """Where a busy slice needs less power than none, prices prove nothing and are refused."""
    instance, found = proof
    key = instance.gpus[0].key
    curve = instance.power[key]
    dips = replace(curve, busy_mw=(curve.busy_mw[0], curve.busy_mw[0] - 1, *curve.busy_mw[2:]))
    other = instance.replace(power=FrozenMap({key: dips}))
    with pytest.raises(InputError, match="less power busy than idle"):
        evaluate_multipliers(other, found.multipliers[0])


def test_jobs_of_which_each_needs_another_mode_have_no_schedule():
    """One job runs with MIG on only, the other with MIG off only: the reason is said, nothing crashes."""
    instance = small_instance(5, jobs=2, mig_off=True)
    key = instance.gpus[0].key
    on = FrozenMap({key: FrozenMap({"7g.40gb": 1_000_000})})
    off = FrozenMap({key: FrozenMap({"off": 1_000_000})})
    jobs = tuple(
        replace(job, rates=rates, memory_bytes=0)
        for job, rates in zip(instance.jobs, (on, off), strict=True)
    )
    assert "no schedule" in (why_not(instance.replace(jobs=jobs)) or "")


def _every_step(rates, grid, delta, lost):
    """Return the best path by the recursion itself, one step at a time, in Python integers."""
    end, types = int(grid[-1]), rates.shape[1]

    def earned(kind, start, stop):
        inside = (
            (i, min(stop, int(grid[i + 1])) - max(start, int(grid[i]))) for i in range(len(rates))
        )
        return sum(int(rates[i, kind]) * length for i, length in inside if length > 0)

    best = [[0] * types]
    for q in range(1, -(-end // delta) + 1):
        entered = max(best[q - lost]) if q >= lost else 0
        span = (q - 1) * delta, min(q * delta, end)
        best.append([max(best[-1][c] + earned(c, *span), entered) for c in range(types)])
    return max(best[-1])


def test_paths_over_idle_stretches_are_those_of_every_step():
    """500 random rates, half of the intervals idle: the program in blocks equals the recursion step by step."""
    draw = np.random.default_rng(1)
    for _ in range(500):
        count = int(draw.integers(1, 9))
        grid = np.concatenate(([0], np.cumsum(draw.integers(1, 60, count)))).astype(np.int64)
        rates = draw.integers(0, 10, (count, int(draw.integers(1, 5))))
        rates *= draw.random((count, 1)) < 0.5
        delta, lost = int(draw.integers(1, 5)), int(draw.integers(1, 8))
        assert _path(rates, grid, delta, lost) == _every_step(rates, grid, delta, lost)
