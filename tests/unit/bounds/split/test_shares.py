"""Shares of the jobs in a splitting bound: they add up to it, and stand where the cost arises."""

from __future__ import annotations

import pytest

from factories import make_instance, make_job
from migopt.bounds.split import bound_shares, evaluate_multipliers, split_bound
from migopt.bounds.split.shares import _one
from migopt.testing.cases import small_instance


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scope", ["gpu", "never", "slices"])
def test_shares_add_up_to_the_bound(seed, scope):
    """One share per job; their sum is the bound above the constant, whatever the case that decides.

    Prices are evaluated in floats: the exact value differs by less than a millionth of it.
    """
    instance = small_instance(seed, jobs=9, scope=scope, mig_off=seed % 2 == 1)
    found = split_bound(instance, seconds=0.2, rounds=(4, 2), uniform=40)
    shares = bound_shares(instance, found.multipliers, found.value)
    above = found.value - float(instance.constant_cost)
    assert len(shares) == 9
    assert sum(shares) == pytest.approx(above, rel=1e-12, abs=1e-15)
    proof = min(found.multipliers, key=lambda item: evaluate_multipliers(instance, item))
    value, plain = _one(instance, proof)
    assert plain.sum() == pytest.approx(value, rel=1e-9, abs=1e-15)
    assert value == pytest.approx(above, rel=1e-6, abs=1e-12)


def test_jobs_far_apart_have_the_cost_of_their_own():
    """Slices are linear in speed and power, so every slice takes 10 W x ms: 1.4 and 0.5 W·min / 3.

    28 s and 10 s at rate 1 and 10 W, (1/2) / (3/2) of a W·min each; both due dates are far. The job that
    comes first has the higher id: shares are in order of release.
    """
    jobs = (
        make_job(0, ms=10_000, release=300_000, due=400_000),
        make_job(1, ms=28_000, release=0, due=100_000),
    )
    instance = make_instance(*jobs)
    found = split_bound(instance, seconds=1.0)
    shares = bound_shares(instance, found.multipliers, found.value)
    assert shares[0] == pytest.approx(10 / 3 * 28 / 60, rel=1e-3)
    assert shares[1] == pytest.approx(10 / 3 * 10 / 60, rel=1e-3)


def test_several_gpus_earn_several_times():
    """With two GPUs of one model the shares still add up: what each earns is taken off for both."""
    instance = small_instance(3, jobs=10, gpus=2)
    found = split_bound(instance, seconds=0.3, rounds=(4, 2), uniform=40)
    value, shares = _one(instance, found.multipliers[0])
    assert shares.sum() == pytest.approx(value, rel=1e-9)
    assert value == pytest.approx(float(found.lower - instance.constant_cost), rel=1e-6)


def test_no_job_has_no_share():
    """Without jobs there is nothing to share."""
    assert bound_shares(make_instance(), (), 1.0) == ()
