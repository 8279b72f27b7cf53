"""A schedule's cost by busy period, done in the head.

Power is 40 W idle and 10 W more per busy slice, a = 1/2, three jobs of weight 1. So a minute at u busy
slices costs (1/2) 10 u / (3/2) = 10 u / 3 above idle, and a minute of lateness 1 / (3 x 3/2) = 2/9.
"""

from __future__ import annotations

import pytest

from factories import P_43, make_instance, make_job, make_schedule, seg
from migopt.errors import InputError
from migopt.metrics import measure
from migopt.metrics.periods import Period, Span, busy_periods, gap_by_period, together
from migopt.model import Schedule
from migopt.testing.cases import small_instance

SECOND = 1 / 60
JOBS = (
    make_job(0, ms=24_000, due=5_000),
    make_job(1, ms=12_000, release=20_000, due=24_000),
    make_job(2, ms=14_000, release=24_000, due=100_000),
)
INSTANCE = make_instance(*JOBS)
#: Job 0 takes 6 s on 4g and is 1 s late, job 1 4 s on 3g from 21 s and is 1 s late, job 2 3.5 s on 4g.
PLAN = make_schedule(
    seg(0, "4g.20gb@0", 0, 6_000),
    seg(1, "3g.20gb@4", 21_000, 25_000),
    seg(2, "4g.20gb@0", 24_000, 27_500),
)


def test_cost_by_period_in_the_head():
    """Two periods, [0, 6 s] and [20 s, 27.5 s]: energy by time, lateness by job, together the cost."""
    first, second = gap_by_period(INSTANCE, PLAN)
    assert (first.start_ms, first.end_ms, first.jobs) == (0, 6_000, 1)
    assert (second.start_ms, second.end_ms, second.jobs) == (20_000, 27_500, 2)
    assert first.energy == pytest.approx(10 * 4 / 3 * 6 * SECOND, rel=1e-14)
    assert first.tardiness == pytest.approx(2 / 9 * SECOND, rel=1e-14)
    assert second.energy == pytest.approx(10 / 3 * (3 * 4 + 4 * 3.5) * SECOND, rel=1e-14)
    assert second.tardiness == pytest.approx(2 / 9 * SECOND, rel=1e-14)
    above = measure(INSTANCE, PLAN).cost_exact - INSTANCE.constant_cost
    assert first.upper + second.upper == pytest.approx(float(above), rel=1e-14)
    assert (first.lower, first.gap) == (None, None)


def test_another_schedule_is_split_at_the_same_periods():
    """Job 0 on 3g from 14 to 22 s: its lateness (17 s) stays in its period, 2 s of its power do not.

    The first period has 6 s of 3 slices, the second 2 s of 3, job 1 on 4g for 3 s and job 2 for 3.5 s.
    """
    other = make_schedule(
        seg(0, "3g.20gb@4", 14_000, 22_000),
        seg(1, "4g.20gb@0", 20_000, 23_000),
        seg(2, "4g.20gb@0", 24_000, 27_500),
    )
    spans = busy_periods(INSTANCE, PLAN)
    first, second = gap_by_period(INSTANCE, other, spans=spans)
    assert (first.start_ms, second.end_ms) == (0, 27_500)
    assert first.energy == pytest.approx(10 / 3 * 6 * 3 * SECOND, rel=1e-14)
    assert first.tardiness == pytest.approx(2 / 9 * 17 * SECOND, rel=1e-14)
    assert second.energy == pytest.approx(10 / 3 * (2 * 3 + 3 * 4 + 3.5 * 4) * SECOND, rel=1e-14)
    assert second.tardiness == 0.0
    above = measure(INSTANCE, other).cost_exact - INSTANCE.constant_cost
    assert first.upper + second.upper == pytest.approx(float(above), rel=1e-14)
    # Its own periods are others: jobs 0 and 1 overlap.
    assert [span.jobs for span in busy_periods(INSTANCE, other)] == [(0, 1), (2,)]


def test_shares_of_a_bound_are_added_up_by_job():
    """Shares 0.1, 0.02 and 0.03 of the jobs are 0.1 and 0.05 of the periods; gaps are what is left."""
    first, second = gap_by_period(INSTANCE, PLAN, (0.1, 0.02, 0.03))
    assert (first.lower, second.lower) == (0.1, pytest.approx(0.05))
    assert second.gap == second.upper - second.lower
    whole = together([first, second])
    assert (whole.start_ms, whole.end_ms, whole.jobs) == (0, 27_500, 3)
    assert whole.lower == pytest.approx(0.15)
    assert whole.upper == pytest.approx(first.upper + second.upper)
    assert Period.from_dict(second.as_dict()) == second
    assert together([first, gap_by_period(INSTANCE, PLAN)[1]]).lower is None


def test_shares_must_be_of_the_same_jobs():
    """Two shares for three jobs are an error with both numbers."""
    with pytest.raises(InputError, match="2 shares of a bound for 3 jobs"):
        gap_by_period(INSTANCE, PLAN, (0.1, 0.2))


def test_periods_that_touch_are_two():
    """A job released when the system becomes empty begins a period of its own."""
    instance = make_instance(make_job(0, ms=8_000), make_job(1, ms=4_000, release=2_000))
    plan = make_schedule(seg(0, "4g.20gb@0", 0, 2_000), seg(1, "4g.20gb@0", 2_000, 3_000))
    assert busy_periods(instance, plan) == [Span(0, 2_000, (0,)), Span(2_000, 3_000, (1,))]


def test_no_job_no_period():
    """Without jobs there is nothing to split."""
    assert gap_by_period(make_instance(), Schedule((P_43,), ())) == []


@pytest.mark.parametrize("gpus", [1, 2])
@pytest.mark.parametrize("rule", ["fifo+static:2", "edf_fs+static:3"])
def test_costs_of_random_schedules_add_up(gpus, rule):
    """Over one and several GPUs the periods hold every job once, and their costs are the cost above idle."""
    from migopt.schedulers import parse_policy

    for seed in range(5):
        instance = small_instance(seed, jobs=12, gpus=gpus)
        schedule = parse_policy(rule).run(instance)
        above = float(measure(instance, schedule).cost_exact - instance.constant_cost)
        spans = busy_periods(instance, schedule)
        assert sorted(at for span in spans for at in span.jobs) == list(range(12))
        periods = gap_by_period(instance, schedule)
        assert together(periods).upper == pytest.approx(above, rel=1e-12)
        # Split at the periods of another schedule, too.
        other = parse_policy("sjf+static:1").run(instance)
        cut = busy_periods(instance, other)
        assert together(gap_by_period(instance, schedule, spans=cut)).upper == pytest.approx(
            above, rel=1e-12
        )
