"""CP-SAT with several GPUs and changing partitions, against a search over every decision of every tick."""

from __future__ import annotations

from fractions import Fraction

import pytest

from migopt.check import check
from migopt.exact.cpsat import CpSat
from migopt.exact.interval_milp import IntervalMilp
from migopt.metrics import measure
from migopt.results import Budget, Outcome
from migopt.testing.tick_reference import CLASSES, tick_case, tick_reference


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", CLASSES)
def test_equals_every_decision_of_every_tick(kind, seed):
    """Cost, bound and outcome are the truth's: one GPU or two, partitions kept or changed."""
    instance = tick_case(kind, seed, jobs=(2, 2, 3))
    truth = tick_reference(instance)
    result = CpSat("free").solve(instance, Budget(60.0))
    assert result.outcome is Outcome.OPTIMAL
    assert check(instance, result.schedule) == []
    assert measure(instance, result.schedule).cost_exact == truth
    assert Fraction(result.lower) <= truth
    assert result.lower == pytest.approx(float(truth), rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_freer_classes_cost_no_more(seed):
    """Preemptive <= non-preemptive with changes <= one partition <= partition 1, on one GPU."""
    instance = tick_case("changing", seed, jobs=(2, 3))
    if instance.weight_a and min(instance.power["A100-40GB"].busy_mw) < 40_000:
        pytest.skip("a falling power curve: idle time would be worth buying")
    values = [
        result.claimed_upper
        for result in (CpSat(choice).solve(instance, Budget(60.0)) for choice in ("free", "one", 1))
        if result.claimed_upper is not None
    ]
    assert values == sorted(values)
    exact = IntervalMilp().solve(instance, Budget(2.0, gap=1e-3))
    assert exact.lower is None or exact.lower <= values[0] * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_one_more_gpu_never_hurts_above_idle(seed):
    """The second GPU adds its idle power to the constant; above it the optimum does not rise."""
    instance = tick_case("changing", seed, jobs=(2, 3))
    twice = instance.replace(gpus=instance.gpus * 2)
    one, two = (CpSat("free").solve(case, Budget(60.0)) for case in (instance, twice))
    assert two.outcome is Outcome.OPTIMAL
    above = [
        Fraction(measure(case, result.schedule).cost_exact) - case.constant_cost
        for case, result in ((instance, one), (twice, two))
    ]
    assert above[1] <= above[0]
