"""The tree over prices inside the interval MILP: when it runs, and what it does to the answer."""

from __future__ import annotations

from migopt.exact.interval_milp import IntervalMilp
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.results import Budget


def test_takes_over_when_due_and_stays_below_the_schedule():
    """Due at once, the tree looks at nodes; bound and schedule keep their order and the bound is near."""
    instance = generate("s0-tight", seed=3, jobs=4, rate_multiplier=15, mig_off=False)
    result = IntervalMilp(tree_due=lambda: True).solve(instance, Budget(30.0, gap=0.1))
    assert result.detail["tree_nodes"] > 0
    assert result.engine.endswith("migopt's tree over prices in floats")
    assert result.schedule is not None
    assert result.lower is not None
    constant = float(instance.constant_cost)
    cost = float(measure(instance, result.schedule).cost_exact) - constant
    assert result.lower - constant <= cost * (1 + 1e-9)
    assert result.lower - constant >= 0.85 * cost


def test_not_without_a_limit_nor_for_one_partition():
    """Without a time limit, and for one partition throughout, no node is looked at."""
    instance = generate("s0-slack", seed=2, jobs=2, rate_multiplier=10)
    for solver in (IntervalMilp(), IntervalMilp(partition="one", tree_due=lambda: True)):
        limit = None if solver.partition == "free" else 20.0
        result = solver.solve(instance, Budget(limit, gap=0.01))
        assert "tree_nodes" not in result.detail
        assert "tree" not in result.engine
