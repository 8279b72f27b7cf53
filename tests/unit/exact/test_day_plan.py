"""Day plans are legal, as cheap as small optima allow, and never below the splitting bound."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

from factories import A100, make_instance, make_job
from migopt.bounds.split import bound_shares, split_bound
from migopt.check import check
from migopt.exact.day_plan import DayPlan
from migopt.exact.day_plan.order import events_of
from migopt.exact.day_plan.program import DayOrder
from migopt.exact.day_plan.search import anneal
from migopt.exact.day_plan.start import start_walk
from migopt.exact.event_order import Event, EventOrder
from migopt.exact.one_gpu import one_gpu
from migopt.metrics import measure
from migopt.metrics.periods import gap_by_period
from migopt.model import Catalogue, FrozenMap, Partition
from migopt.results import Budget, Outcome
from migopt.testing.cases import small_instance

P_7 = Partition.parse("7g.40gb@0")
P_33 = Partition.parse("3g.20gb@0,3g.20gb@4")


def _free(instance):
    """Return the instance with every job preemptible."""
    from dataclasses import replace

    return instance.replace(jobs=tuple(replace(job, preemptible=True) for job in instance.jobs))


def _case(seed):
    draw = np.random.default_rng(seed)
    return _free(
        small_instance(
            seed,
            jobs=int(draw.integers(2, 7)),
            scope=str(draw.choice(["gpu", "gpu", "slices", "never"])),
            tau_ms=int(draw.choice([0, 4000, 30_000, 120_000])),
            mig_off=bool(draw.random() < 0.3),
            weight_a=Fraction(1, int(draw.choice([1000, 100_000, 10**7]))),
        )
    )


@pytest.mark.parametrize("seed", range(20))
def test_legal_and_above_the_bound(seed):
    """Random small cases with tau 0 to 2 min: the plan is legal and costs no less than the bound."""
    instance = _case(seed)
    answer = DayPlan().solve(instance, Budget(0.2, seed=seed))
    assert answer.schedule is not None
    assert check(instance, answer.schedule) == []
    cost = Fraction(measure(instance, answer.schedule).cost)
    assert split_bound(instance, seconds=0.1, rounds=(2, 1), uniform=20).lower <= cost


def _abc():
    """A needs 7g for 60 s, due 60 s; B and C are capped at 3g, 60 s each, due 120 s; tau = 4 s."""
    capped = {"7g.40gb": 1_000_000, "3g.20gb": 1_000_000}
    jobs = (
        make_job(0, ms=60_000, due=60_000, speed={"7g.40gb": 1_000_000}),
        make_job(1, ms=60_000, due=120_000, speed=capped),
        make_job(2, ms=60_000, due=120_000, speed=capped),
    )
    catalogue = Catalogue("two", A100.key, (P_7, P_33))
    return make_instance(
        *jobs, catalogues=FrozenMap({A100.key: catalogue}), a=0, scope="gpu", tau=4000
    )


def test_change_costs_eight_seconds():
    """One change is needed: B and C end 4 s late each, 8 s in all, mean 8/3 s; the plan finds it."""
    instance = _abc()
    answer = DayPlan().solve(instance, Budget(1.0))
    assert check(instance, answer.schedule) == []
    assert measure(instance, answer.schedule).weighted_tardiness_ms == 8000
    found = split_bound(instance, seconds=1.0)
    assert found.value <= 8 / 180 + 1e-12


def test_order_program_by_hand():
    """The LP of the order A done, change, B and C done costs 8 s / 3 jobs = 8/180 min, exactly."""
    problem = one_gpu(_abc(), "mig")
    target = next(
        c
        for c, vs in enumerate(problem.classes)
        if any(sum(problem.vectors.counts[b]) == 2 for b in vs)
    )
    events = [Event("release", j) for j in range(3)]
    events += [
        Event("done", 0),
        Event("off", -1),
        Event("on", target),
        Event("done", 1),
        Event("done", 2),
    ]
    plan = DayOrder(problem).solve(events, 1 - target)
    assert plan.cost == pytest.approx(8 / 180, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_day_program_equals_the_small_one(seed):
    """With the same order, the day's LP and the dense one for small cases have the same optimum."""
    instance = _free(small_instance(seed, jobs=5, tau_ms=(0, 4000)[seed % 2]))
    problem = one_gpu(instance, "mig")
    walk = start_walk(problem)
    events, first = events_of(walk.events(), walk.order, problem.tau > 0)
    mine = DayOrder(problem).solve(events, first)
    other = EventOrder(problem).solve(events, first)
    assert mine is not None
    assert mine.cost == pytest.approx(other.cost, rel=1e-6, abs=1e-12)
    assert mine.cost <= walk.cost * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("tau_ms", [0, 4000])
def test_incremental_search_reports_what_it_reaches(tau_ms):
    """After thousands of partial simulations the whole day, simulated anew, costs what was claimed."""
    instance = _free(small_instance(7, jobs=40, tau_ms=tau_ms))
    walk = start_walk(one_gpu(instance, "mig"))
    before = walk.cost
    best, _ = anneal(
        walk.day,
        walk.rule,
        walk.course,
        walk.spare,
        walk.scratch,
        0,
        40,
        4000,
        1e-3 * before,
        1e-5 * before,
        walk.top,
        5,
    )
    assert walk.replay() == pytest.approx(best, rel=1e-9)
    assert best <= before


def test_what_is_not_covered_is_said():
    """Two GPUs or jobs that may not be stopped: no plan, but a reason."""
    two = small_instance(1, jobs=3, gpus=2)
    assert "2 GPUs" in DayPlan().solve(two, Budget(1.0)).message
    stuck = small_instance(1, jobs=3, mode="none")
    answer = DayPlan().solve(stuck, Budget(1.0))
    assert answer.outcome is Outcome.NOT_APPLICABLE
    assert "preemption none" in answer.message


def test_gap_by_period_adds_up():
    """Upper shares add to the cost above idle, lower shares to the bound; the plan tells its periods."""
    instance = _free(small_instance(11, jobs=25, tau_ms=4000))
    found = DayPlan().solve(instance, Budget(1.0))
    bound = split_bound(instance, seconds=0.5, rounds=(5, 2), uniform=50)
    shares = bound_shares(instance, bound.multipliers, bound.value)
    periods = gap_by_period(instance, found.schedule, shares)
    above = measure(instance, found.schedule).cost - float(instance.constant_cost)
    assert sum(p.upper for p in periods) == pytest.approx(above, rel=1e-9)
    assert sum(p.jobs for p in periods) == 25
    lower = float(bound.lower - instance.constant_cost)
    assert sum(p.lower for p in periods) == pytest.approx(lower, rel=1e-9)
    told = found.detail["periods"]
    assert [row["upper"] for row in told] == [p.upper for p in periods]


def test_the_time_limit_holds_whatever_decoding_takes(monkeypatch):
    """Decoding that takes 0.8 s is measured once and then kept free at the end: the run does not exceed its limit."""
    from migopt.exact.day_plan import plan

    def slow(*given):
        time.sleep(0.8)
        return roundings(*given)

    roundings = plan.roundings
    monkeypatch.setattr(plan, "roundings", slow)
    answer = DayPlan().solve(_case(1), Budget(4.0))
    assert answer.schedule is not None
    assert answer.wall_s < 4.6
