"""The day LP: below every schedule, equal to the optimum where nothing is late, below the splitting bound's reach."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from migopt.bounds.split.evaluate import Evaluator
from migopt.bounds.split.problem import build_problem
from migopt.errors import MigoptError
from migopt.exact.lp_bound import DayLp, LpBound
from migopt.metrics import measure
from migopt.results import Budget
from migopt.schedulers import parse_policy
from migopt.testing.cases import small_instance


@pytest.mark.parametrize("seed", range(15))
def test_never_above_a_schedule(seed):
    """One and two GPUs, with and without MIG off and tau: at most the cost of any policy."""
    draw = np.random.default_rng(seed)
    instance = small_instance(
        seed,
        jobs=int(draw.integers(1, 8)),
        gpus=1 + seed % 2,
        mig_off=bool(draw.random() < 0.4),
        weight_a=Fraction(1, int(draw.choice([1000, 10**5]))),
    )
    found = LpBound().solve(instance, Budget(5.0))
    assert found.lower is not None
    for text in ("edf_fs+static:1", "edf_ss_restricted+static:2", "sjf+static:6", "fifo+no_mig"):
        try:
            schedule = parse_policy(text).run(instance, seed=0)
        except MigoptError:
            continue
        assert Fraction(found.lower) <= Fraction(measure(instance, schedule).cost)


@pytest.mark.parametrize("seed", range(5))
def test_master_and_lagrangian_meet(seed):
    """The column generation converges, and the bound of every round is below the master's value."""
    problem = build_problem(small_instance(seed, jobs=6, tau_ms=0), "mig", uniform=10)
    result = DayLp(problem).solve(np.inf)
    assert result.converged
    assert all(lower <= master + 1e-9 for _, lower, master in result.rounds)


@pytest.mark.parametrize("seed", range(5))
def test_splitting_is_at_least_as_strong_at_the_same_prices(seed):
    """At the LP's prices the splitting bound is not below the LP's Lagrangian bound (tau = 0)."""
    problem = build_problem(small_instance(seed, jobs=6, tau_ms=0), "mig", uniform=10)
    result = DayLp(problem).solve(np.inf)
    assert Evaluator(problem)(result.prices) >= result.lower - 1e-9


def test_a_run_cut_short_is_no_worse_than_idling():
    """Without time the first duals are far too high: the bound is then the constant, not below it."""
    for seed in range(5):
        instance = small_instance(seed, jobs=8)
        found = LpBound().solve(instance, Budget(0.0))
        assert Fraction(found.lower) >= instance.constant_cost * (1 - Fraction(1, 10**12))
