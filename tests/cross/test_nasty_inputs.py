"""Nasty numbers through every entry: no crash, no illegal schedule, no bound above any schedule."""

from __future__ import annotations

from fractions import Fraction

import pytest

from factories import A100, make_instance, make_job
from migopt.api import solve
from migopt.registry import entries
from migopt.results import Budget, Outcome

NAMES = [entry.name for entry in entries() if entry.claims != "published"]
POLICIES = ("edf_fs+static:1", "sjf+static:2", "fifo+static:5")
HOURS_10 = 36_000_000


def long_and_short(a, mode, gpus):
    """1 ms jobs beside 10 h jobs, equal dues, zero slack."""
    jobs = [make_job(0, ms=HOURS_10, due=HOURS_10), make_job(1, ms=7 * HOURS_10, due=HOURS_10)]
    jobs += [make_job(i, ms=1, release=i, due=i) for i in (2, 3)]
    jobs.append(make_job(4, ms=1, release=HOURS_10, due=HOURS_10))
    return make_instance(*jobs, a=a, mode=mode, gpus=gpus, horizon=4 * HOURS_10)


def far_apart_rates(a, mode, gpus):
    """Rates of ratio 10^6 within one job, and between jobs."""
    fast = {"7g.40gb": 10**9, "3g.20gb": 10**3, "1g.5gb": 10**3}
    jobs = [
        make_job(0, work=6 * 10**10, due=60, speed=fast),
        make_job(1, work=6 * 10**10, due=60, speed={"7g.40gb": 10**6, "3g.20gb": 10**6}),
        make_job(2, work=6 * 10**10, due=60_000, speed={"1g.5gb": 10**6, "7g.40gb": 1 + 10**6}),
    ]
    return make_instance(*jobs, a=a, mode=mode, gpus=gpus, horizon=HOURS_10)


def all_equal(a, mode, gpus):
    """Five equal jobs, all due at once."""
    jobs = [make_job(i, ms=60_000, due=0) for i in range(5)]
    return make_instance(*jobs, a=a, mode=mode, gpus=gpus)


def one_unit_over(a, mode, gpus):
    """Works one unit above whole milliseconds, so that every end is rounded up."""
    jobs = [make_job(i, work=i * 7 * 10**9 + 1, due=1_000 * i) for i in (1, 2, 3)]
    return make_instance(*jobs, a=a, mode=mode, gpus=gpus)


MAKERS = (long_and_short, far_apart_rates, all_equal, one_unit_over)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize(
    ("a", "mode", "gpus"),
    [(0, "free", 1), (Fraction(1, 100_000), "none", 1), (Fraction(1, 1000), "none", 2)],
)
def test_no_bound_is_above_a_schedule(maker, a, mode, gpus):
    """Every entry that applies, and three policies: each bound is at most the cost of each legal schedule."""
    instance = maker(a, mode, (A100,) * gpus)
    uppers = [solve(instance, text).upper for text in POLICIES]
    lowers, ran = {}, 0
    for name in NAMES:
        answer = solve(instance, name, budget=Budget(1.5))
        assert answer.violations == (), name
        assert answer.claim_error == "", name
        if answer.outcome is Outcome.NOT_APPLICABLE:
            assert answer.result.message, name
            continue
        ran += 1
        uppers.append(answer.upper)
        if answer.lower is not None:
            lowers[name] = answer.lower
        if answer.result.class_lower is not None and answer.upper is not None:
            assert answer.result.class_lower <= answer.upper * (1 + 1e-9), name
    best = min(upper for upper in uppers if upper is not None)
    assert ran >= 4
    for name, lower in lowers.items():
        assert lower <= best * (1 + 1e-9) + 1e-15, name


@pytest.mark.parametrize(
    "spec",
    [
        "interval_milp:partition=2",
        "cpsat:partition=2",
        "cpsat_fixed:partition=2",
        "slot_milp:partition=2",
        "slot_cpsat:partition=2",
        "edf_fs+static:2",
    ],
)
def test_a_job_that_fits_no_slice_of_the_partition_makes_it_infeasible(spec):
    """Job 3 runs on 7g only; partition 2 is [4g, 3g]: infeasible_partition, naming the job, no schedule."""
    instance = make_instance(make_job(0), make_job(3, speed={"7g.40gb": 1_000_000}))
    answer = solve(instance, spec, budget=Budget(5.0))
    assert answer.outcome is Outcome.INFEASIBLE_PARTITION
    assert answer.schedule is None
    assert "job 3" in answer.result.message


@pytest.mark.parametrize(
    "spec", ["interval_milp", "cpsat", "slot_milp", "slot_cpsat", "day_plan", "best_rule"]
)
@pytest.mark.parametrize("mig_off", [False, True])
def test_no_partition_for_all_jobs_where_none_may_change(spec, mig_off):
    """One job runs on 7g only, one on 3g only, and nothing changes: infeasible_partition, with a job and a place."""
    jobs = [make_job(i, ms=60_000, speed={p: 10**6}) for i, p in enumerate(("7g.40gb", "3g.20gb"))]
    instance = make_instance(*jobs, scope="never", mig_off=mig_off)
    answer = solve(instance, spec, budget=Budget(2.0))
    assert answer.outcome is Outcome.INFEASIBLE_PARTITION
    assert answer.schedule is None
    assert "job 1 fits no slice of partition 1" in answer.result.message or spec == "best_rule"
    assert "job" in answer.result.message
