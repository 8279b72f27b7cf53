"""The two slot models agree with each other, with a dynamic program, and with continuous time."""

from __future__ import annotations

import pytest

from migopt.check import check
from migopt.exact.interval_milp import IntervalMilp
from migopt.exact.slot_cpsat import SlotCpSat
from migopt.exact.slot_milp import SlotMilp
from migopt.metrics import measure
from migopt.results import Budget, Outcome, StopReason
from migopt.testing.slot_reference import slot_case, slot_reference

LIMIT = Budget(60.0)


@pytest.mark.parametrize("seed", range(30))
def test_both_engines_return_the_same_optimum(seed):
    """CP-SAT and HiGHS prove one value; both schedules are legal and cost no more than the grid's value."""
    case = slot_case(seed, jobs=(2, 2, 3))
    first = SlotCpSat(case.partition, case.slot_ms).solve(case.instance, LIMIT)
    second = SlotMilp(case.partition, case.slot_ms).solve(case.instance, LIMIT)
    assert first.outcome == second.outcome
    if first.outcome is Outcome.INFEASIBLE_PARTITION:
        assert slot_reference(case) is None
        return
    assert (first.stop, second.stop) == (StopReason.FINISHED, StopReason.FINISHED)
    assert first.detail["grid"]["objective"] == second.detail["grid"]["objective"]
    for result in (first, second):
        assert result.lower is None
        grid = result.detail["grid"]
        assert grid["lower"] == pytest.approx(grid["value"], rel=1e-6)
        assert grid["lower"] <= grid["value"]
        assert check(case.instance, result.schedule) == []
        assert measure(case.instance, result.schedule).cost <= grid["value"] * (1 + 1e-12)


#: Of seeds 0 to 37 those whose dynamic program takes less than a second.
QUICK = sorted(set(range(38)) - {1, 3, 12, 20, 21, 24, 32, 36})


@pytest.mark.parametrize("seed", QUICK)
def test_dynamic_program_over_slots_finds_the_same(seed):
    """Two jobs, three partitions: every state of every slot, from the definition alone."""
    case = slot_case(seed, jobs=(2,), tiny=True)
    truth = slot_reference(case)
    result = SlotCpSat(case.partition, case.slot_ms).solve(case.instance, LIMIT)
    assert (truth is None) == (result.outcome is Outcome.INFEASIBLE_PARTITION)
    if truth is not None:
        assert result.detail["grid"]["value"] == float(truth)


@pytest.mark.parametrize("seed", range(8))
def test_continuous_optimum_is_no_worse(seed):
    """The preemptive optimum in continuous time is at most the slot optimum, whatever the partition may do."""
    case = slot_case(seed, jobs=(2, 3))
    slots = SlotCpSat(case.partition, case.slot_ms).solve(case.instance, LIMIT)
    exact = IntervalMilp(case.partition).solve(case.instance, Budget(5.0, gap=1e-4))
    if slots.outcome is Outcome.INFEASIBLE_PARTITION:
        assert exact.outcome is Outcome.INFEASIBLE_PARTITION
        return
    bound = exact.class_lower if exact.lower is None else exact.lower
    assert bound is not None
    assert bound <= measure(case.instance, slots.schedule).cost * (1 + 1e-9)
    assert bound <= slots.detail["grid"]["value"] * (1 + 1e-9)
    if exact.outcome is Outcome.OPTIMAL:
        assert exact.claimed_upper <= slots.detail["grid"]["value"] * (1 + 1e-7)
