"""On random cases: bounds <= exact values <= policies, and what never hurts never hurts. The full study is slow."""

from __future__ import annotations

import importlib.util
import random

import pytest

from conftest import REPOSITORY
from migopt.metrics import measure
from migopt.schedulers import parse_policy

SPEC = importlib.util.spec_from_file_location(
    "order_study", REPOSITORY / "benchmarks" / "order_study.py"
)
study = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(study)


@pytest.mark.parametrize("seed", range(30))
def test_bound_exact_policy(seed: int) -> None:
    """Closed form, LP, splitting bound and MILP <= exact values <= day plan and every policy."""
    row = study.order(seed, seconds=0.3)
    assert row["faults"] == []
    assert row["compared"] >= 12


@pytest.mark.parametrize("seed", range(4))
def test_relations(seed: int) -> None:
    """Job order, later due dates, larger catalogue, shorter tau, one more GPU, changes of an optimum."""
    row = study.relations(seed, seconds=0.4)
    assert row["faults"] == []
    assert row["legal"] > 0


def test_the_study_sees_a_bound_that_is_too_high() -> None:
    """Held against a bound above the optimum, changes of the schedule are reported as gains."""
    instance = study.free(study.small_instance(3, jobs=3))
    schedule = parse_policy("edf_fs+static:1").run(instance)
    cost = study.above(instance, measure(instance, schedule).cost_exact)
    faults: list[str] = []
    _, legal = study.perturb(instance, schedule, 10 * cost, random.Random(1), faults)
    assert legal > 0
    assert len(faults) == legal
    assert "gains" in faults[0]
    assert study.exceeds(1.0, 1.0 - 1e-5)
    assert not study.exceeds(1.0, 1.0 - 1e-7)
