"""The closed-form bounds: figures by hand, the published form's counter-example, and never above a policy."""

from __future__ import annotations

from fractions import Fraction

import pytest

from factories import A30, A100, P_33, make_instance, make_job, make_schedule, seg
from migopt.bounds.base import float_below
from migopt.bounds.closed_form import (
    ClosedForm,
    energy_bound_uj,
    srpt_completions,
    tardiness_bound_ms,
)
from migopt.bounds.smartmig_published import SmartMigPublished
from migopt.check import check
from migopt.errors import InfeasiblePartitionError
from migopt.metrics import measure
from migopt.model import FrozenMap, PowerCurve
from migopt.schedulers import parse_policy
from migopt.testing.cases import MODES, SCOPES, small_instance


def test_energy_bound_is_idle_energy_plus_least_slot_work_times_the_chord():
    """600 s x 40 W + 28 s of slot-work x 10 W per slice (the chord from 40 to 110 W over 7)."""
    instance = make_instance(make_job(0, ms=28_000))
    assert energy_bound_uj(instance) == 600_000 * 40_000 + 28_000 * 10_000


def test_energy_bound_takes_the_cheapest_of_mig_profiles_and_mig_off():
    """With MIG off at 50 W busy, 4 s of 10 W above idle beat 28 s of slot-work at 10 W."""
    power = FrozenMap({"A100-40GB": PowerCurve((40_000,) + (110_000,) * 7, 50_000)})
    instance = make_instance(make_job(0, ms=28_000), mig_off=True, power=power)
    assert energy_bound_uj(instance) == 600_000 * 40_000 + 4_000 * 10_000


def test_bound_is_refused_not_wrong_when_the_curve_lies_below_its_chord():
    """A curve with a dent gives no number but the reason."""
    power = FrozenMap({"A100-40GB": PowerCurve((40_000, 41_000, *(110_000,) * 6))})
    value = ClosedForm().bound(make_instance(make_job(0), power=power))
    assert value.lower is None
    assert "below its chord" in value.not_applicable


@pytest.mark.parametrize(
    ("curve", "mig_off", "reason"),
    [
        (PowerCurve((40_000, *(50_000,) * 6, 30_000)), False, "every slice busy"),
        (PowerCurve((40_000, *(50_000,) * 7)), True, "MIG off is not given"),
        (PowerCurve((40_000, *(50_000,) * 7), 39_000), True, "MIG off than idle"),
    ],
)
def test_bound_is_refused_where_running_longer_could_save_energy(curve, mig_off, reason):
    """Busy below idle power, rounding up to a millisecond lowers the energy: 1.5 ms of work saves for 2 ms."""
    power = FrozenMap({"A100-40GB": curve})
    value = ClosedForm().bound(make_instance(make_job(0), power=power, mig_off=mig_off))
    assert value.lower is None
    assert reason in value.not_applicable


def test_tardiness_bound_counts_jobs_that_are_late_even_alone():
    """Fastest is 7g: 4 s for 28 s of 1g work; due 1 s after release makes 3 s, weight 2 makes 6."""
    assert tardiness_bound_ms(make_instance(make_job(0, due=1_000, weight=2))) == 6_000


def test_tardiness_bound_counts_the_crowd():
    """Three jobs of 4 s on the whole GPU, all due at 4 s: completions at 4, 8, 12 make 0 + 4 + 8 s."""
    instance = make_instance(*(make_job(i, due=4_000) for i in range(3)))
    assert tardiness_bound_ms(instance) == 12_000
    assert parse_policy("edf_fs+static:1").score(instance).weighted_tardiness_ms == 12_000


def test_capacity_of_the_crowd_is_that_of_all_gpus():
    """On an A30 and an A100 together, 11 slots work at once."""
    instance = make_instance(*(make_job(i, due=0) for i in range(2)), gpus=(A30, A100))
    # Areas 28 s each: SRPT ends at 28/11 and 56/11 s, but each job needs 4 s on 7g.
    assert tardiness_bound_ms(instance) == 4_000 + Fraction(56_000, 11)


@pytest.mark.parametrize(
    ("jobs", "completions"),
    [
        ([], []),
        ([(0, 5)], [5]),
        ([(0, 5), (1, 2)], [3, 7]),
        ([(0, 5), (4, 2)], [5, 7]),
        ([(0, 1), (10, 1)], [1, 11]),
        ([(0, 3), (0, 1), (0, 2)], [1, 3, 6]),
    ],
)
def test_srpt_completions(jobs, completions):
    """SRPT preempts for a shorter job and idles between jobs."""
    assert (
        srpt_completions([(release, Fraction(length)) for release, length in jobs]) == completions
    )


def test_published_form_is_no_bound_on_a_superlinear_profile():
    """3g at 3.26 times 1g (BERT training in MISO's logs: 8.7 % above linear): a real schedule is cheaper.

    One job of 60 s on 1g, alone on 3g, with power proportional to slices: 3 x 60 / 3.26 = 55.2 slot
    seconds against the published 60.
    """
    speed = {"1g.5gb": 1_000_000, "3g.20gb": 3_260_000}
    instance = make_instance(make_job(0, ms=60_000, speed=speed))
    schedule = make_schedule(seg(0, "3g.20gb@0", 0, 18_405), initial=P_33)
    assert check(instance, schedule) == []
    cost = measure(instance, schedule).cost_exact
    published, ours = SmartMigPublished().bound(instance).cost, ClosedForm().bound(instance).cost
    assert published is not None
    assert ours is not None
    assert ours <= cost < published


def test_published_form_equals_ours_on_linear_jobs_without_crowd():
    """On linear jobs p_j1 is the least slot-work, and p_j1 / 7 the least duration."""
    instance = make_instance(make_job(0, due=1_000), make_job(1, release=100_000))
    assert SmartMigPublished().bound(instance).cost == ClosedForm().bound(instance).cost


def test_float_below_never_rounds_up():
    """1/3 and 2/3 as floats lie on both sides; the result never exceeds the fraction."""
    for value in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(10**40 + 1, 3)):
        assert Fraction(float_below(value)) <= value


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scope", SCOPES)
def test_no_policy_beats_the_bound(mode, scope):
    """Over modes, scopes, MIG off, one and two GPUs: the bound is at most the cost of every policy."""
    policies = [
        "edf_fs+static:1",
        "edf_ss+static:3",
        "llf+static:6",
        "fifo+best_fixed",
        "sjf+no_mig",
    ]
    for seed in range(40):
        instance = small_instance(
            seed, jobs=6, gpus=1 + seed % 2, mode=mode, scope=scope, mig_off=seed % 3 == 0
        )
        lower = ClosedForm().bound(instance).cost
        assert lower is not None
        for text in policies if instance.mig_off else policies[:-1]:
            try:
                schedule = parse_policy(text).run(instance)
            except InfeasiblePartitionError:
                continue
            assert lower <= measure(instance, schedule).cost_exact
