"""The splitting bound on random small cases of every scope, tau and weight; the full study is slow."""

from __future__ import annotations

import importlib.util

import pytest

from conftest import REPOSITORY

SPEC = importlib.util.spec_from_file_location(
    "split_study", REPOSITORY / "benchmarks" / "split_study.py"
)
study = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(study)


def test_a_sample_is_never_above():
    """30 cases, tau 0 to 2 min: no bound is above the cheapest checked schedule."""
    rows = [study.run((seed, 0.1)) for seed in range(1000, 1030)]
    assert [row["seed"] for row in rows if row["violated"]] == []


@pytest.mark.slow
def test_a_thousand_cases_are_never_above():
    """1,000 cases: no bound is above the cheapest checked schedule, and most are close to it."""
    rows = [study.run((seed, 0.4)) for seed in range(1000)]
    assert [row["seed"] for row in rows if row["violated"]] == []
    print(study.summary(rows))
