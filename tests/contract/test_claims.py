"""Every entry in solvers/: schedules are legal, scored anew and cost what was claimed; bounds have proofs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from migopt.api import solve
from migopt.bounds.base import float_below
from migopt.bounds.closed_form import ClosedForm
from migopt.bounds.split import Multipliers, proven_lower
from migopt.check import check
from migopt.metrics import measure
from migopt.registry import entries
from migopt.results import Budget
from migopt.testing.cases import small_instance

NAMES = [entry.name for entry in entries() if not entry.missing and not entry.error]


def _instances():
    free = small_instance(2, jobs=4, mig_off=True)
    yield free.replace(jobs=tuple(replace(job, preemptible=True) for job in free.jobs))
    yield small_instance(3, jobs=3, mode="none", scope="never")
    yield small_instance(7, jobs=5, gpus=2, mode="cost")


@pytest.mark.parametrize("name", NAMES)
def test_claims_of_every_entry(name: str) -> None:
    """Claims hold: multipliers evaluate to the bound, engines are named, costs differ by ticks at most."""
    for instance in _instances():
        answer = solve(instance, name, budget=Budget(1.0))
        result = answer.result
        assert answer.claim_error == ""
        if result.schedule is not None:
            assert check(instance, result.schedule) == []
            cost = measure(instance, result.schedule).cost
            assert answer.upper == cost
            if result.claimed_upper is not None:
                above = abs(result.claimed_upper - float(instance.constant_cost))
                allowance = result.detail.get("tick_allowance") or 0.0
                assert cost - result.claimed_upper <= allowance + 1e-6 * above + 1e-9
        if result.lower is None:
            continue
        assert result.proof in ("multipliers", "closed_form", "engine")
        if result.proof == "multipliers":
            proofs = [Multipliers.from_dict(item) for item in result.detail["multipliers"]]
            assert result.lower == float_below(proven_lower(instance, proofs))
        elif result.proof == "closed_form":
            value = ClosedForm().bound(instance).cost
            assert value is not None
            assert Fraction(result.lower) <= value
        else:
            assert result.engine


def test_there_are_entries_of_every_proof() -> None:
    """The test above meets all three kinds of proof, and schedules with claims."""
    seen = set()
    for name in ("closed_form", "split_bound", "lp_bound", "interval_milp"):
        for instance in _instances():
            seen.add(solve(instance, name, budget=Budget(0.5)).result.proof)
    assert {"multipliers", "closed_form", "engine"} <= seen
