"""The two parts of the splitting bound against a linear program and against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from migopt.bounds.split.evaluate import Evaluator, change_steps
from migopt.bounds.split.exact import _path
from migopt.bounds.split.gpu_part import trajectory
from migopt.bounds.split.problem import build_problem
from migopt.testing.cases import small_instance


def _job_by_lp(problem, prices, j):
    """Minimum over the last interval of a linear program over minutes per (interval, group)."""
    lo, hi, row = problem.first[j], problem.last[j], problem.pair0[j]
    beta, due = problem.beta[j], problem.due[j]
    best = beta * max(0.0, problem.times[hi] - due)
    for m in range(lo, hi):
        span = range(lo, m + 1)
        cost = prices[row : row + m - lo + 1].copy()
        if problem.times[m] >= due - 1e-12:
            cost[-1] += beta
        able = problem.speed[j] > 0
        work = np.tile(problem.speed[j][able], (len(span), 1))
        rows = np.zeros((len(span), work.size))
        for at in range(len(span)):
            rows[at, at * able.sum() : (at + 1) * able.sum()] = 1.0
        answer = linprog(
            cost[:, able].ravel(),
            A_ub=rows,
            b_ub=problem.lengths[lo : m + 1],
            A_eq=work.reshape(1, -1),
            b_eq=[1.0],
        )
        if answer.status == 0:
            best = min(best, beta * max(0.0, problem.times[m] - due) + answer.fun)
    return best


@pytest.mark.parametrize("seed", range(8))
def test_job_part_is_the_linear_program(seed):
    """Each job's cost at random prices is the least over last intervals of an LP."""
    instance = small_instance(seed, jobs=3)
    problem = build_problem(instance, "mig", uniform=6)
    draw = np.random.default_rng(seed)
    prices = problem.start_prices() * draw.exponential(1.0, (int(problem.pair0[-1]), 1))
    prices *= draw.random(prices.shape) + 0.3
    evaluator = Evaluator(problem)
    evaluator(prices)
    for j in range(3):
        assert evaluator.job_value[j] == pytest.approx(_job_by_lp(problem, prices, j), rel=1e-6)


@pytest.mark.parametrize("tau_ms", [0, 4000, 30_000])
@pytest.mark.parametrize("seed", range(4))
def test_minutes_are_a_subgradient(seed, tau_ms):
    """The bound at other prices is at most value + slope times the difference: it is concave."""
    instance = small_instance(seed, jobs=4, tau_ms=tau_ms)
    problem = build_problem(instance, "mig", uniform=12)
    draw = np.random.default_rng(seed)
    evaluator = Evaluator(problem)
    prices = problem.start_prices() * draw.exponential(1.0, problem.start_prices().shape)
    value = evaluator(prices)
    owner = np.repeat(np.arange(4), np.diff(problem.pair0))
    rows = np.arange(len(owner)) - problem.pair0[owner] + problem.first[owner]
    slope = (evaluator.job_minutes - evaluator.gpu_minutes) * problem.lengths[rows][:, None]
    for _ in range(5):
        other = np.maximum(0.0, prices + problem.step_scale * draw.normal(0, 0.05, prices.shape))
        other[prices == 0] = 0.0
        assert evaluator(other) <= value + (slope * (other - prices)).sum() + 1e-9
    # A tiny step along the slope changes the value by the slope's length squared, to first order.
    step = 1e-9 / max(1e-12, float(np.abs(slope).max()))
    ahead = evaluator(np.maximum(0.0, prices + step * slope))
    assert ahead >= value - 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_trajectory_is_the_best_path(seed):
    """The program over partitions equals the best of all paths of few steps, and its minutes add up to it."""
    draw = np.random.default_rng(seed)
    types, lost, delta = int(draw.integers(1, 4)), int(draw.integers(1, 4)), 10
    grid = np.unique(np.concatenate(([0], draw.integers(1, 78, 5), [78]))).astype(np.int64)
    rates = draw.random((grid.size - 1, types)) * (draw.random((grid.size - 1, types)) > 0.3)
    steps = -(-78 // delta)
    gain = np.zeros((steps, types))
    for q in range(steps):
        for i in range(grid.size - 1):
            both = min((q + 1) * delta, grid[i + 1], 78) - max(q * delta, grid[i])
            gain[q] += max(0, both) * rates[i]
    best = 0.0
    # A path is a type or -1 (changing) per step; a change is exactly `lost` steps between two types.
    for path in itertools.product(range(-1, types), repeat=steps):
        if _allowed(path, lost):
            best = max(best, sum(gain[q, c] for q, c in enumerate(path) if c >= 0))
    spent = np.zeros_like(rates)
    jumped, source = np.zeros((steps + 1, types), np.uint8), np.zeros(steps + 1, np.int16)
    value = trajectory(rates, grid, delta, lost, steps, jumped, source, spent)
    assert value == pytest.approx(best)
    assert (spent * rates * np.diff(grid)[:, None]).sum() == pytest.approx(value)
    assert (spent.sum(axis=1) <= 1 + 1e-9).all()


@pytest.mark.parametrize("seed", range(20))
def test_exact_path_is_the_compiled_one(seed):
    """In integers, also beyond 64 bits, the program over partitions gives the compiled value."""
    draw = np.random.default_rng(seed)
    types, lost, delta = (
        int(draw.integers(1, 5)),
        int(draw.integers(1, 40)),
        int(draw.integers(1, 9)),
    )
    grid = np.unique(np.concatenate(([0], draw.integers(1, 900, 30), [901]))).astype(np.int64)
    rates = draw.integers(0, 100, (grid.size - 1, types)) * draw.integers(0, 2, (grid.size - 1, 1))
    steps = -(-901 // delta)
    jumped, source = np.zeros((steps + 1, types), np.uint8), np.zeros(steps + 1, np.int16)
    spent = np.zeros(rates.shape)
    value = trajectory(rates.astype(float), grid, delta, lost, steps, jumped, source, spent)
    assert _path(rates, grid, delta, lost) == round(value)
    assert _path(rates * 2**52, grid, delta, lost) == round(value) * 2**52


def _allowed(path, lost):
    runs = [(c, len(list(items))) for c, items in itertools.groupby(path)]
    for at, (c, length) in enumerate(runs):
        if c == -1 and length < lost and 0 < at < len(runs) - 1:
            return False
        if c >= 0 and at and runs[at - 1][0] != -1:
            return False
    return True


def test_real_changes_lose_at_least_the_steps():
    """Any change [s, s + tau] holds at least `lost` whole steps, for every start and tau."""
    for tau in (5, 31, 125, 4000):
        instance = small_instance(1, jobs=2, tau_ms=tau)
        problem = build_problem(instance, "mig", uniform=3)
        for parts in (2, 4, 8, 32):
            delta, lost, steps = change_steps(problem, parts)
            if not lost:
                continue
            assert steps * delta >= problem.grid_ms[-1]
            assert all((s + tau) // delta - -(-s // delta) >= lost for s in range(2 * delta))


def test_no_time_for_changes_under_scope_slices():
    """Scope slices lets untouched placements go on, so the program over partitions must not be used."""
    instance = small_instance(1, jobs=2, scope="slices", tau_ms=30_000)
    assert change_steps(build_problem(instance, "mig"), 4) == (1, 0, 0)
