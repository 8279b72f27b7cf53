"""The interval MILP as a solver: what it says about cases it does not cover, limits, progress, rounding."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factories import make_instance, make_job
from migopt.check import check
from migopt.exact.interval_milp import IntervalMilp, Progress
from migopt.metrics import measure
from migopt.model import FrozenMap, Instance
from migopt.results import Budget, Outcome, StopReason
from migopt.schedulers import parse_policy
from migopt.testing.cases import small_instance


def late_instance(seed: int, jobs: int = 5, **options: object) -> Instance:
    """Return a small instance whose jobs may all be stopped."""
    instance = small_instance(seed, jobs=jobs, **options)  # type: ignore[arg-type]
    return instance.replace(jobs=tuple(replace(job, preemptible=True) for job in instance.jobs))


def test_no_jobs() -> None:
    """Without jobs the cost is the idle energy and the schedule is empty."""
    instance = make_instance()
    result = IntervalMilp().solve(instance, Budget(5.0))
    assert result.outcome is Outcome.OPTIMAL
    assert result.lower == float(instance.constant_cost)
    assert result.schedule is not None
    assert check(instance, result.schedule) == []


def test_partition_on_which_a_job_fits_nowhere() -> None:
    """A job without a slice in the given partition gives infeasible_partition and names the job."""
    job = make_job(3, speed={"7g.40gb": 1_000_000})
    result = IntervalMilp(partition=2).solve(make_instance(job), Budget(5.0))
    assert result.outcome is Outcome.INFEASIBLE_PARTITION
    assert "job 3" in result.message


@pytest.mark.parametrize("mode", ["none", "cost"])
def test_without_free_preemption_only_the_bound_is_its_own(mode: str) -> None:
    """Where preemption is not free the bound is kept, no schedule of the relaxation is shown, and it says so."""
    instance = make_instance(make_job(0), make_job(1), mode=mode, overhead=500 * (mode == "cost"))
    result = IntervalMilp().solve(instance, Budget(5.0))
    assert result.outcome is Outcome.BOUND_ONLY
    assert result.schedule is None
    assert result.claimed_upper is None
    assert result.lower is not None
    assert result.lower > float(instance.constant_cost)
    assert "not covered" in result.message


def test_a_job_that_must_not_be_stopped_makes_it_a_bound() -> None:
    """One non-preemptible job is enough."""
    result = IntervalMilp().solve(make_instance(make_job(0, preemptible=False)), Budget(5.0))
    assert result.outcome is Outcome.BOUND_ONLY


def test_scope_slices_ignores_tau_in_the_bound() -> None:
    """With scope slices the bound is that of free changes, the schedule legal, the message says what is left out."""
    instance = late_instance(5, jobs=3, scope="slices", tau_ms=30_000)
    result = IntervalMilp().solve(instance, Budget(3.0, gap=1e-3))
    free = IntervalMilp().solve(late_instance(5, jobs=3, tau_ms=0), Budget(3.0, gap=1e-3))
    assert result.schedule is not None
    assert check(instance, result.schedule) == []
    assert result.lower is not None
    assert free.claimed_upper is not None
    assert result.lower <= free.claimed_upper * (1 + 1e-9)
    assert "repartition of single slices" in result.message


def test_scope_never_keeps_one_partition() -> None:
    """With scope never no change is made, and the bound is the instance's own."""
    instance = late_instance(7, jobs=3, scope="never")
    result = IntervalMilp().solve(instance, Budget(20.0))
    assert result.schedule is not None
    assert result.schedule.reconfigurations == ()
    assert check(instance, result.schedule) == []
    assert result.lower is not None
    assert result.class_name == ""


def test_mig_off_is_the_smaller_of_two_cases() -> None:
    """With MIG off allowed the optimum is the smaller of those with MIG on and with MIG off."""
    for seed in range(2):
        both = late_instance(seed, jobs=3, mig_off=True)
        on = IntervalMilp().solve(both.replace(mig_off=False), Budget(20.0))
        either = IntervalMilp().solve(both, Budget(20.0))
        assert on.claimed_upper is not None
        assert either.claimed_upper is not None
        assert either.lower is not None
        assert either.claimed_upper <= on.claimed_upper * (1 + 1e-7)
        assert either.lower <= either.claimed_upper


def test_a_limit_keeps_the_bound_and_the_best_schedule() -> None:
    """When time is up the answer has a legal schedule and a positive bound not above it."""
    instance = late_instance(3, jobs=9)
    result = IntervalMilp().solve(instance, Budget(2.0))
    assert result.schedule is not None
    assert result.lower is not None
    assert check(instance, result.schedule) == []
    assert result.lower <= measure(instance, result.schedule).cost
    if result.outcome is not Outcome.OPTIMAL:
        assert result.stop is StopReason.TIME_LIMIT


def test_interrupt_and_progress() -> None:
    """Progress comes with growing lower bounds and falling upper ones; a request to stop is obeyed."""
    seen: list[Progress] = []
    solver = IntervalMilp(progress=seen.append, should_stop=lambda: len(seen) >= 4)
    result = solver.solve(late_instance(3, jobs=7), Budget(20.0))
    assert result.stop is StopReason.INTERRUPTED
    assert result.schedule is not None
    lowers = [item.lower for item in seen if item.lower is not None]
    uppers = [item.upper for item in seen if item.upper is not None]
    assert lowers == sorted(lowers)
    assert uppers == sorted(uppers, reverse=True)
    assert [point.wall_s for point in result.trajectory] == sorted(
        point.wall_s for point in result.trajectory
    )


def test_the_hint_is_never_made_worse() -> None:
    """The answer costs no more than the schedule it was given."""
    instance = late_instance(11, jobs=6)
    first = IntervalMilp().solve(instance, Budget(3.0))
    again = IntervalMilp(hint=first.schedule).solve(instance, Budget(0.5))
    assert first.schedule is not None
    assert again.schedule is not None
    assert (
        measure(instance, again.schedule).cost_exact <= measure(instance, first.schedule).cost_exact
    )


def test_nasty_sizes_keep_the_bound_valid() -> None:
    """Jobs of 1 ms beside 10 h, equal due dates, no slack, and rates of ratio 1,000,000."""
    slow = {"7g.40gb": 1_000_000, "4g.20gb": 1, "3g.20gb": 1}
    jobs = (
        make_job(0, ms=1, due=1),
        make_job(1, ms=36_000_000, due=36_000_000),
        make_job(2, ms=1, due=1, speed=slow),
        make_job(3, ms=60_000, release=1, due=1),
    )
    instance = make_instance(*jobs, horizon=86_400_000)
    result = IntervalMilp().solve(instance, Budget(20.0, gap=1e-4))
    assert result.schedule is not None
    assert check(instance, result.schedule) == []
    assert result.lower is not None
    assert result.claimed_upper is not None
    assert result.lower <= result.claimed_upper * (1 + 1e-9)
    cost = measure(instance, result.schedule).cost
    assert cost <= result.claimed_upper + result.detail["tick_allowance"]


def test_order_of_jobs_does_not_matter() -> None:
    """Renumbered jobs have the same optimum."""
    instance = late_instance(2, jobs=3)
    count = len(instance.jobs)
    turned = instance.replace(
        jobs=tuple(replace(job, id=count - 1 - job.id) for job in instance.jobs)
    )
    one = IntervalMilp().solve(instance, Budget(30.0))
    two = IntervalMilp().solve(turned, Budget(30.0))
    assert one.outcome is two.outcome is Outcome.OPTIMAL
    assert one.claimed_upper == pytest.approx(two.claimed_upper, rel=1e-6)


def test_relations_between_optima() -> None:
    """Later due dates, a larger catalogue and a smaller tau never raise the optimum."""
    instance = late_instance(4, jobs=3)
    catalogue = instance.catalogue(0)
    fewer = type(catalogue)("fewer", catalogue.gpu_key, catalogue.partitions[:3])
    later = tuple(replace(job, due_ms=job.due_ms + 30_000) for job in instance.jobs)
    variants = {
        "base": instance,
        "later": instance.replace(jobs=later),
        "fewer": instance.replace(catalogues=FrozenMap({catalogue.gpu_key: fewer})),
        "slower": instance.replace(repartition=type(instance.repartition)("gpu", 60_000)),
    }
    values = {}
    for name, variant in variants.items():
        result = IntervalMilp().solve(variant, Budget(30.0))
        assert result.outcome is Outcome.OPTIMAL, name
        assert result.claimed_upper is not None
        values[name] = result.claimed_upper
    slack = 1e-7 * values["base"]
    assert values["later"] <= values["base"] + slack
    assert values["base"] <= values["fewer"] + slack
    assert values["base"] <= values["slower"] + slack


@pytest.mark.parametrize("seed", range(6))
def test_a_hint_where_nothing_may_change_and_tau_is_nothing(seed: int) -> None:
    """Scope never with tau 0: plans made from a hint keep its partition, and cost no less than the best fixed one."""
    instance = late_instance(seed, jobs=3, scope="never", tau_ms=0)
    hint = parse_policy("edf_fs+best_fixed").run(instance)
    result = IntervalMilp(hint=hint).solve(instance, Budget(2.0))
    assert result.schedule is not None
    assert check(instance, result.schedule) == []
    assert result.schedule.reconfigurations == ()
