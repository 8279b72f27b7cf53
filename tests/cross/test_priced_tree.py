"""The tree over prices: its bound stays below proven optima, and its pieces agree with the splitting bound."""

from __future__ import annotations

import numpy as np
import pytest

from migopt.bounds.split.evaluate import Evaluator
from migopt.exact.interval_milp import IntervalMilp
from migopt.exact.priced_tree.levels import PARTS, Level, first_problem
from migopt.exact.priced_tree.tree import Tree
from migopt.io.generators import generate
from migopt.results import Budget


def draw(seed: int, jobs: int):
    """Return a tight or slack case whose jobs come close together; MIG on only."""
    family = ("s0-tight", "s0-slack")[seed % 2]
    return generate(family, seed=seed, jobs=jobs, rate_multiplier=15, mig_off=False)


@pytest.mark.parametrize("seed", range(4))
def test_without_restrictions_it_is_the_splitting_bound(seed):
    """For random prices the value is that of the splitting bound where no job ends beyond its window."""
    instance = draw(seed, 5)
    problem = first_problem(instance, 50.0, [])
    level, other = Level(problem), Evaluator(problem, parts=PARTS)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        prices = problem.start_prices() * rng.uniform(0.2, 1.5, size=(len(level.job_minutes), 1))
        value, known = level.evaluate(prices, level.open()), other(prices)
        assert (other.ending != -2).all()
        assert value == pytest.approx(known, rel=1e-12)
    other.close()


@pytest.mark.parametrize("seed", range(4))
def test_finer_grids_keep_what_is_known(seed):
    """Prices and restrictions carried to intervals half as long give at least the same bound."""
    instance = draw(seed, 4)
    level = Level(first_problem(instance, 20.0, []))
    finer = level.finer()
    prices = level.problem.start_prices() * 1.3
    for node in (level.open(), _restricted(level)):
        before = level.evaluate(prices, node)
        after = finer.evaluate(*finer.take_over(level, prices, node))
        assert after >= before - 1e-9 * abs(before)


def _restricted(level: Level):
    """Return restrictions that let job 0 end late only, and job 1 early."""
    from dataclasses import replace

    node, p = level.open(), level.problem
    earliest, latest = node.earliest.copy(), node.latest.copy()
    earliest[0] = min(int(p.due_interval[0]) + 1, int(latest[0]))
    latest[1] = max(int(p.due_interval[1]), int(latest[1]) // 2)
    return replace(node, earliest=earliest, latest=latest)


@pytest.mark.parametrize("seed", range(2))
def test_never_above_the_optimum(seed):
    """With room of 5 % above the optimum the bound of the tree stays at or below the optimum."""
    assert_below(draw(seed, 3))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 30))
def test_never_above_the_optimum_of_more_cases(seed):
    """The same on 28 more cases of two to four jobs."""
    assert_below(draw(seed, 2 + seed % 3))


def assert_below(instance) -> None:
    """Solve, then give the tree room above the optimum."""
    exact = IntervalMilp().solve(instance, Budget(120.0, gap=1e-4))
    constant = float(instance.constant_cost)
    assert exact.lower is not None
    assert exact.claimed_upper is not None
    optimum = exact.claimed_upper - constant
    assert exact.lower - constant > optimum * (1 - 1e-3)
    asked = [0]

    def is_over() -> bool:
        asked[0] += 1
        return asked[0] > 250

    result = Tree(
        instance, lambda: 1.05 * optimum, 0.0, [], is_over, lambda _: None, lambda _: None
    ).run()
    assert result.lower <= optimum * (1 + 1e-7)
    assert result.lower > 0.5 * optimum
