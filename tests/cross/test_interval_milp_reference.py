"""The interval MILP against the truth: all orders of events, each solved exactly, for two to four jobs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migopt.check import check
from migopt.exact.interval_milp import IntervalMilp
from migopt.exact.one_gpu import one_gpu
from migopt.metrics import measure
from migopt.results import Budget, Outcome, SolveResult
from migopt.testing.order_reference import CLASSES, ReferenceCase, reference, reference_case

CASES = range(30)


def solve(case: ReferenceCase, limit_s: float = 20.0) -> SolveResult:
    """Solve a case to the end of its gap."""
    solver = IntervalMilp(max_changes=case.max_changes)
    return solver.solve(case.instance, Budget(limit_s, gap=0.0))


def truth(case: ReferenceCase) -> float:
    """Return the least cost above the constant over all orders."""
    return reference(one_gpu(case.instance), case.max_changes)


@pytest.mark.parametrize("kind", CLASSES)
def test_equals_reference(kind: str) -> None:
    """Upper equals the reference to 1e-6, lower never exceeds it and is within 1e-4 for 95 % of the sample."""
    loose = []
    for seed in CASES:
        case = reference_case(kind, seed, jobs=(2, 2, 3))
        result = solve(case)
        best, constant = truth(case), float(case.instance.constant_cost)
        assert result.claimed_upper is not None
        assert result.claimed_upper - constant == pytest.approx(best, rel=1e-6, abs=1e-12), seed
        lower = result.lower if case.max_changes is None else result.class_lower
        assert lower is not None
        assert lower - constant <= best * (1 + 1e-9) + 1e-12, seed
        if lower - constant < best * (1 - 1e-4):
            loose.append(seed)
        assert result.schedule is not None
        assert check(case.instance, result.schedule) == [], seed
        cost = measure(case.instance, result.schedule).cost
        assert cost <= result.claimed_upper + result.detail["tick_allowance"], seed
    assert len(loose) <= 0.05 * len(CASES), loose


def test_change_is_charged_where_it_happens() -> None:
    """A needs 7g, B and C at most 3g: one change of 4 s between them makes 8 s of total tardiness."""
    from factories import P_7, P_33, make_instance, make_job
    from migopt.model import Catalogue, FrozenMap

    a = make_job(0, ms=420_000, due=60_000, speed={"7g.40gb": 7_000_000})
    speed = {"7g.40gb": 1_000_000, "3g.20gb": 1_000_000}
    b = make_job(1, ms=60_000, due=120_000, speed=speed)
    c = make_job(2, ms=60_000, due=120_000, speed=speed)
    catalogue = Catalogue("two", "A100-40GB", (P_7, P_33))
    instance = make_instance(a, b, c, a=0, catalogues=FrozenMap({"A100-40GB": catalogue}))
    result = IntervalMilp().solve(instance, Budget(30.0))
    assert result.outcome is Outcome.OPTIMAL
    assert result.schedule is not None
    assert check(instance, result.schedule) == []
    assert measure(instance, result.schedule).weighted_tardiness_ms == 8_000
    assert result.lower == pytest.approx(8 / 60 / 3, rel=1e-7)


def test_uncapped_is_no_worse_than_capped() -> None:
    """Without the cap on changes the optimum is at most the capped one."""
    for seed in range(6):
        case = reference_case("tau", seed, jobs=(2,))
        capped = solve(case)
        free = IntervalMilp().solve(case.instance, Budget(20.0))
        assert free.claimed_upper is not None
        assert capped.claimed_upper is not None
        assert free.claimed_upper <= capped.claimed_upper * (1 + 1e-7), seed


def test_fixed_partition_equals_reference() -> None:
    """With one fixed partition the value is that of the reference whose catalogue is that partition."""
    for seed in range(6):
        case = reference_case("tight", seed, jobs=(2, 3))
        result = IntervalMilp(partition=3).solve(case.instance, Budget(20.0))
        best = reference(one_gpu(case.instance, partition=3))
        assert result.claimed_upper is not None
        constant = float(case.instance.constant_cost)
        assert result.claimed_upper - constant == pytest.approx(best, rel=1e-6), seed
        assert result.lower is None
        assert result.class_name == "partition 3 throughout"


def test_one_partition_is_the_best_fixed() -> None:
    """One partition for the whole run costs what the best of all fixed partitions costs."""
    for seed in range(3):
        case = reference_case("tau", seed, jobs=(2,))
        instance = replace(case.instance)
        result = IntervalMilp(partition="one").solve(instance, Budget(20.0))
        numbers = range(1, 1 + len(instance.catalogue(0)))
        best = min(reference(one_gpu(instance, partition=c)) for c in numbers)
        assert result.claimed_upper is not None
        constant = float(instance.constant_cost)
        assert result.claimed_upper - constant == pytest.approx(best, rel=1e-6), seed
