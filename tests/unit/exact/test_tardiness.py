"""The tardiness search as a solver of instances: what it covers, what it claims, limits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from factories import make_instance, make_job
from migopt.check import check
from migopt.exact.cpsat import CpSat
from migopt.exact.tardiness import Tardiness
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.results import Budget, Outcome, StopReason

MINUTE = 60_000


def strict(*jobs, **changes):
    """Return an instance without preemption and repartition, tardiness alone."""
    return make_instance(*jobs, mode="none", scope="never", a=Fraction(0), **changes)


def test_two_jobs_share_one_slice():
    """On 7g alone, 2 and 1 minutes there, due at 0: the short one first costs 1 + 3 minutes, mean 2."""
    instance = strict(make_job(0, ms=14 * MINUTE, due=0), make_job(1, ms=7 * MINUTE, due=0))
    result = Tardiness(1).solve(instance, Budget())
    assert result.schedule is not None
    assert check(instance, result.schedule) == []
    assert measure(instance, result.schedule).cost_exact == 2
    assert (result.claimed_upper, result.class_lower) == (2.0, 2.0)
    assert (result.outcome, result.lower) == (Outcome.FEASIBLE, None)
    assert result.class_name == "no preemption, partition 1"


@pytest.mark.parametrize("seed", range(1, 7))
def test_chosen_partition_agrees_with_cpsat(seed):
    """With the partition chosen among twelve and MIG off: the same optimum as CP-SAT, proved by both."""
    instance = generate(
        "s0-tight", seed=seed, jobs=6, rate_multiplier=10, preemption="none", repartition="never"
    ).replace(weight_a=Fraction(0))
    ours = Tardiness().solve(instance, Budget(30.0))
    other = CpSat().solve(instance, Budget(30.0))
    assert (ours.outcome, other.outcome) == (Outcome.OPTIMAL, Outcome.OPTIMAL)
    assert ours.claimed_upper == other.claimed_upper
    assert ours.schedule is not None
    assert check(instance, ours.schedule) == []
    assert float(measure(instance, ours.schedule).cost_exact) == ours.claimed_upper
    assert ours.lower is not None
    assert Fraction(ours.lower) <= measure(instance, ours.schedule).cost_exact


def test_says_why_it_does_not_apply():
    """Energy with weight, two GPUs, 41 jobs, MIG off not allowed: a reason each, no schedule."""
    job = make_job(0)
    cases = [
        (make_instance(job, a=Fraction(1)), None, "energy has weight 1"),
        (strict(*(make_job(j) for j in range(41))), None, "41 jobs"),
        (strict(job), "off", "does not allow MIG off"),
        (strict(job), 99, "99"),
    ]
    for instance, partition, reason in cases:
        result = Tardiness(partition).solve(instance, Budget())
        assert result.outcome is Outcome.NOT_APPLICABLE
        assert reason in result.message


def test_job_that_fits_no_slice():
    """A job with a speed on 7g only under partition 4 (2g, 2g, 3g): infeasible, the job is named."""
    instance = strict(make_job(5, speed={"7g.40gb": 7_000_000}))
    result = Tardiness(4).solve(instance, Budget())
    assert result.outcome is Outcome.INFEASIBLE_PARTITION
    assert "job 5 fits no slice of partition 4" in result.message


def test_no_jobs_cost_nothing():
    """Without jobs the optimum is the constant, 0."""
    result = Tardiness().solve(strict(), Budget())
    assert (result.outcome, result.claimed_upper, result.lower) == (Outcome.OPTIMAL, 0.0, 0.0)


def test_stops_when_asked_and_keeps_its_bounds():
    """Stopped at once: a legal schedule, a bound below it, and the reason."""
    instance = generate(
        "s0-tight", seed=8, jobs=20, rate_multiplier=10, preemption="none", repartition="never"
    ).replace(weight_a=Fraction(0))
    result = Tardiness(3, should_stop=lambda: True).solve(instance, Budget())
    assert result.stop is StopReason.INTERRUPTED
    assert result.schedule is not None
    assert check(instance, result.schedule) == []
    assert result.class_lower is not None
    assert result.claimed_upper is not None
    assert result.class_lower < result.claimed_upper
    late = Tardiness(3).solve(instance, Budget(time_limit_s=0.0))
    assert (late.stop, late.outcome) == (StopReason.TIME_LIMIT, Outcome.FEASIBLE)


def test_small_memory_still_raises_the_bound(monkeypatch):
    """With room for a few states only, no proof is claimed, and the bound of the prices is kept."""
    from migopt.exact.tardiness import solver

    stage = solver.Stage(20, 256, 80, 1.0, 300)
    monkeypatch.setattr(solver, "STAGES", (stage,))
    instance = generate(
        "s0-tight", seed=8, jobs=20, rate_multiplier=10, preemption="none", repartition="never"
    ).replace(weight_a=Fraction(0))
    result = Tardiness(3).solve(instance, Budget())
    assert not result.detail["proved"]
    assert "memory" in result.message
    assert result.claimed_upper is not None
    assert result.class_lower is not None
    assert 0.5 * result.claimed_upper < result.class_lower < result.claimed_upper


def test_times_beyond_64_bits_are_refused():
    """A weight that makes sums leave 64-bit integers is refused with a reason."""
    for weight in (2**50, 2**70):
        instance = strict(make_job(0, ms=MINUTE, due=0), make_job(1, due=0, weight=weight))
        result = Tardiness().solve(instance, Budget())
        assert result.outcome is Outcome.NOT_APPLICABLE
        assert "64-bit" in result.message
