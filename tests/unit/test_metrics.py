"""metrics: every number against a figure worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories import (
    A30,
    A100,
    CATALOGUES,
    OFF,
    P_7,
    P_33,
    P_43,
    POWER,
    change,
    make_instance,
    make_job,
    make_schedule,
    seg,
)
from migopt.errors import InputError
from migopt.metrics import busy_profile, measure, power_profile
from migopt.model import FrozenMap, PowerCurve


@pytest.fixture
def worked():
    """Two jobs on [4g, 3g], the second one stopped once; see the numbers below.

    Job 0: 28 s on 1g, so 7 s on 4g: [0, 7 s) on 4g. Due at 5 s: 2 s late. Weight 1.
    Job 1: 30 s on 1g, so 10 s on 3g: released at 2 s, [2, 8) on 3g (6 s x 3 = 18 of 30), then
    [10, 13) on 4g (3 s x 4 = 12 of 30). Due at 10 s: 3 s late. Weight 3.
    Busy level: [0,2) 4, [2,7) 7, [7,8) 3, [8,10) 0, [10,13) 4.
    """
    instance = make_instance(
        make_job(0, ms=28_000, due=5_000),
        make_job(1, ms=30_000, release=2_000, due=10_000, weight=3),
    )
    schedule = make_schedule(
        seg(0, "4g.20gb@0", 0, 7_000),
        seg(1, "3g.20gb@4", 2_000, 8_000),
        seg(1, "4g.20gb@0", 10_000, 13_000),
    )
    return instance, schedule


def test_energy_is_idle_over_the_horizon_plus_the_rise_while_busy(worked):
    """E = H P(0) + the integral of P(u) - P(0), in exact microjoules."""
    # P(u) - P(0) = 10 W x u: 2 s x 40 W + 5 s x 70 W + 1 s x 30 W + 3 s x 40 W = 580 J.
    # H = 600 s at 40 W = 24,000 J. Together 24,580 J = 24,580,000,000 uJ = 409.6667 W·min.
    metrics = measure(*worked)
    assert metrics.energy_uj == 24_580_000_000
    assert metrics.energy_wmin == pytest.approx(24_580 / 60)
    assert metrics.energy_kwh == pytest.approx(24_580 / 3.6e6)


def test_idle_energy_counts_only_idle_time_within_the_horizon(worked):
    """Idle energy is P(0) while u = 0 over [0, H]."""
    # Idle: [8,10) and [13,600): 589 s at 40 W = 23,560 J.
    metrics = measure(*worked)
    assert metrics.idle_energy_uj == 23_560_000_000
    assert metrics.idle_energy_wmin == pytest.approx(23_560 / 60)


def test_tardiness_and_cost(worked):
    """Weighted and plain tardiness, and ET = (a E + mean T) / (a + 1) as an exact fraction."""
    # T = 2 s and 3 s; weighted 1 x 2 + 3 x 3 = 11 s over weights 4: 2.75 s = 11/240 min.
    # a = 1/2: (24,580/120 + 11/240) / (3/2) = (49,160 + 11) / 360 = 49,171/360.
    # Constant: (1/2 x 24,000/60) / (3/2) = 400/3.
    metrics = measure(*worked)
    assert metrics.weighted_tardiness_ms == 11_000
    assert metrics.total_tardiness_ms == 5_000
    assert metrics.max_tardiness_ms == 3_000
    assert metrics.jobs_late == 2
    assert metrics.mean_tardiness_min == pytest.approx(11 / 240)
    assert metrics.cost_exact == Fraction(49_171, 360)
    assert metrics.cost == float(Fraction(49_171, 360))
    assert metrics.energy_cost_exact == Fraction(49_160, 360)
    assert metrics.tardiness_cost_exact == Fraction(11, 360)
    assert metrics.energy_cost + metrics.tardiness_cost == pytest.approx(metrics.cost)
    assert metrics.active_cost == float(Fraction(49_171, 360) - Fraction(400, 3))


def test_times_of_jobs(worked):
    """Makespan, mean and 95th percentile JCT, and JCT relative to the full GPU."""
    # JCT: 7 s and 13 - 2 = 11 s. Alone on 7g: 28/7 = 4 s and 30/7 s. Ratios 7/4 and 77/30.
    metrics = measure(*worked)
    assert metrics.makespan_ms == 13_000
    assert metrics.total_jct_ms == 18_000
    assert metrics.mean_jct_min == pytest.approx(9 / 60)
    assert metrics.p95_jct_ms == 11_000
    assert metrics.mean_relative_jct == pytest.approx((7 / 4 + 77 / 30) / 2)


def test_busy_levels_utilisation_and_throughput(worked):
    """Time per level, utilisation and STP are averages over [0, max(H, makespan)]."""
    # Levels: 3 for 1 s, 4 for 5 s, 7 for 5 s, else 0 (589 s). Integral of u: 3 + 20 + 35 = 58 s.
    # STP: 7 s at 4/7, 6 s at 3/7, 3 s at 4/7: (28 + 18 + 12)/7 = 58/7 s over 600 s.
    metrics = measure(*worked)
    assert metrics.window_ms == 600_000
    assert metrics.busy_level_ms == {"A100-40GB": (589_000, 0, 0, 1_000, 5_000, 0, 0, 5_000)}
    assert metrics.busy_level_share["A100-40GB"][4] == pytest.approx(5 / 600)
    assert metrics.utilisation == pytest.approx(58 / (7 * 600))
    assert metrics.stp == pytest.approx(58 / 7 / 600)


def test_step_functions_hold_only_changes(worked):
    """The busy and power profiles that reports draw start at 0, hold changes and end idle."""
    times = [0, 2_000, 7_000, 8_000, 10_000, 13_000]
    assert busy_profile(*worked) == [list(zip(times, [4, 7, 3, 0, 4, 0], strict=True))]
    watts = [80, 110, 70, 40, 80, 40]
    assert power_profile(*worked) == [
        [(time, 1000 * watt) for time, watt in zip(times, watts, strict=True)]
    ]


def test_an_empty_gpu_has_one_step():
    """A GPU that never runs anything is one step at level 0."""
    assert busy_profile(make_instance(), make_schedule()) == [[(0, 0)]]


def test_energy_after_the_horizon_is_only_the_rise():
    """H is a constant: a job that runs past it adds P(u) - P(0), not P(u), and shares use C_max."""
    # H = 10 s at 40 W = 400 J; 28 s on 1g.5gb at +10 W = 280 J. Window 28 s; no idle time at all.
    instance = make_instance(make_job(0, ms=28_000), horizon=10_000)
    metrics = measure(instance, make_schedule(seg(0, "1g.5gb@0", 0, 28_000)))
    assert metrics.energy_uj == 680_000_000
    assert metrics.idle_energy_uj == 0
    assert metrics.window_ms == 28_000
    assert metrics.utilisation == pytest.approx(1 / 7)
    assert metrics.busy_level_share["A100-40GB"][:2] == (0.0, 1.0)


def test_preemptions_are_stops_that_do_not_go_on_in_place():
    """Going on at that very tick on the same placement is no preemption; moving or waiting is."""
    instance = make_instance(make_job(0, ms=100_000), make_job(1, ms=100_000))
    schedule = make_schedule(
        seg(0, "4g.20gb@0", 0, 1_000),
        seg(0, "4g.20gb@0", 1_000, 2_000),  # goes on: 0
        seg(0, "3g.20gb@4", 2_000, 3_000),  # moves: 1
        seg(0, "3g.20gb@4", 4_000, 5_000),  # waited: 2
        seg(1, "4g.20gb@0", 3_000, 9_000),  # the only run of its job: 0
    )
    assert measure(instance, schedule).preemptions == 2


def test_same_placement_of_another_gpu_is_another_slice():
    """A job that moves to the same placement of another GPU was preempted."""
    instance = make_instance(make_job(0, ms=100_000), gpus=(A100, A100))
    schedule = make_schedule(
        seg(0, "4g.20gb@0", 0, 1_000, gpu=0),
        seg(0, "4g.20gb@0", 1_000, 2_000, gpu=1),
        initial=(P_43, P_43),
    )
    assert measure(instance, schedule).preemptions == 1


def test_repartitions_are_counted_over_all_gpus():
    """Every reconfiguration of every GPU counts once."""
    schedule = make_schedule(
        change(P_43, P_7, 0, 4_000),
        change(P_7, P_33, 9_000, 13_000),
        change(P_43, P_7, 0, 4_000, gpu=1),
        initial=(P_43, P_43),
    )
    assert measure(make_instance(gpus=(A100, A100)), schedule).repartitions == 3


def test_mig_off_draws_its_own_power():
    """A busy GPU with MIG off draws off_busy_mw, is at level C, and idles at P(0)."""
    # 28 s / 7 = 4 s at 200 - 40 = 160 W: 640 J above 24,000 J. Idle 596 s x 40 W.
    instance = make_instance(make_job(0, ms=28_000), mig_off=True)
    schedule = make_schedule(seg(0, "off", 0, 4_000), initial=OFF)
    metrics = measure(instance, schedule)
    assert metrics.energy_uj == 24_640_000_000
    assert metrics.idle_energy_uj == 23_840_000_000
    assert metrics.busy_level_ms["A100-40GB"] == (596_000, 0, 0, 0, 0, 0, 0, 4_000)
    assert power_profile(instance, schedule) == [[(0, 200_000), (4_000, 40_000)]]


def test_two_gpu_models_keep_their_own_levels_and_power():
    """Energy adds up over models; levels are per model; STP and relative JCT use the fastest."""
    # A100: nothing, 40 W x 600 s. A30: 12 s on 2g.12gb = 6 s at 70 - 30 = 40 W, plus 30 W x 600 s.
    # 24,000 + 18,000 + 240 J. Best anywhere: 7g, so STP = 6 x 2/7 / 600, relative JCT 6/(12/7).
    instance = make_instance(make_job(0, ms=12_000), gpus=(A100, A30))
    schedule = make_schedule(
        seg(0, "2g.12gb@0", 0, 6_000, gpu=1), initial=(P_43, CATALOGUES["A30-24GB"][2])
    )
    metrics = measure(instance, schedule)
    assert metrics.energy_uj == 42_240_000_000
    assert metrics.busy_level_ms == {
        "A100-40GB": (600_000,) + (0,) * 7,
        "A30-24GB": (594_000, 0, 6_000, 0, 0),
    }
    assert metrics.utilisation == pytest.approx(12 / (11 * 600))
    assert metrics.stp == pytest.approx(6 * 2 / 7 / 600)
    assert metrics.mean_relative_jct == pytest.approx(3.5)


def test_relative_jct_of_a_job_that_fits_no_full_profile():
    """A job that may not run on the whole GPU is compared with its fastest option."""
    job = make_job(0, ms=12_000, speed={"3g.20gb": 2_000_000, "1g.5gb": 1_000_000})
    schedule = make_schedule(seg(0, "1g.5gb@0", 0, 12_000))
    assert measure(make_instance(job), schedule).mean_relative_jct == pytest.approx(2.0)


@pytest.mark.parametrize(("jobs", "rank"), [(1, 1), (19, 19), (20, 19), (21, 20), (40, 38)])
def test_p95_is_the_nearest_rank(jobs, rank):
    """The 95th percentile is the ceil(0.95 n)-th smallest JCT, itself an observed value."""
    # Job i completes after i + 1 seconds.
    instance = make_instance(*(make_job(i) for i in range(jobs)))
    schedule = make_schedule(
        *(seg(i, "4g.20gb@0", i * 1_000, (i + 1) * 1_000) for i in range(jobs))
    )
    assert measure(instance, schedule).p95_jct_ms == rank * 1_000


def test_weight_zero_needs_no_power():
    """With a = 0 the cost is tardiness alone, and energy is unknown rather than 0."""
    instance = make_instance(make_job(0, ms=60_000, due=0), a=0, power=FrozenMap({}))
    schedule = make_schedule(seg(0, "1g.5gb@0", 0, 60_000))
    metrics = measure(instance, schedule)
    assert metrics.cost_exact == 1
    assert metrics.energy_uj is None
    assert metrics.energy_wmin is None
    assert metrics.as_dict()["energy_wmin"] is None
    assert power_profile(instance, schedule) == [None]


@pytest.mark.parametrize(
    ("power", "field"),
    [
        ({}, "power.A100-40GB"),
        ({"A100-40GB": PowerCurve((1, 2))}, "power.A100-40GB.busy_mw"),
        (
            {"A100-40GB": replace(POWER["A100-40GB"], off_busy_mw=None)},
            "power.A100-40GB.off_busy_mw",
        ),
    ],
)
def test_energy_with_weight_needs_its_figures(power, field):
    """A missing power figure is an error that names the field, never a silent 0."""
    instance = make_instance(make_job(0), power=FrozenMap(power), mig_off=True)
    with pytest.raises(InputError) as caught:
        measure(instance, make_schedule(seg(0, "off", 0, 4_000), initial=OFF))
    assert caught.value.where == field


@pytest.mark.parametrize(
    ("segment", "field"),
    [
        (seg(9, "4g.20gb@0", 0, 1), "segments[0].job"),
        (seg(0, "4g.20gb@0", 0, 1, gpu=3), "segments[0].gpu"),
        (seg(0, "4g.24gb@0", 0, 1), "segments[0].placement"),
    ],
)
def test_unknown_names_are_one_clear_error(segment, field):
    """A schedule that speaks of something the instance does not have cannot be measured."""
    with pytest.raises(InputError) as caught:
        measure(make_instance(make_job(0)), make_schedule(segment))
    assert caught.value.where == field


def test_an_illegal_schedule_is_still_measured():
    """Two jobs on one slice count the slice once, and no level exceeds the compute slices."""
    instance = make_instance(make_job(0), make_job(1), make_job(2))
    schedule = make_schedule(
        seg(0, "4g.20gb@0", 0, 2_000),
        seg(1, "4g.20gb@0", 1_000, 3_000),
        seg(2, "7g.40gb@0", 0, 500),
    )
    assert busy_profile(instance, schedule) == [[(0, 7), (500, 4), (3_000, 0)]]
    assert measure(instance, schedule).busy_level_ms["A100-40GB"][7] == 500


def test_a_job_that_never_runs_is_charged_to_the_end_of_the_window():
    """Leaving a job out never looks cheap: it counts as completed at max(H, makespan)."""
    metrics = measure(make_instance(make_job(0, due=0)), make_schedule())
    assert metrics.jobs_without_run == 1
    assert metrics.total_tardiness_ms == 600_000


def test_an_instance_without_jobs():
    """No jobs: cost is the constant, and means are 0 rather than a division by zero."""
    metrics = measure(make_instance(), make_schedule())
    assert metrics.cost_exact == metrics.constant_cost == Fraction(400, 3)
    assert metrics.active_cost == 0
    assert (metrics.mean_jct_min, metrics.p95_jct_ms, metrics.mean_relative_jct) == (0, 0, 0)


def test_json_names_say_their_unit(worked):
    """Every number in --json has its unit in its name, except costs, counts and the weight."""
    units = ("_ms", "_min", "_wmin", "_kwh", "_uj", "_ratio", "_share")
    plain = {"jobs", "jobs_without_run", "jobs_late", "preemptions", "repartitions", "weight_a"}
    for name in measure(*worked).as_dict():
        assert name.endswith((*units, "cost")) or name in plain, name


_SEGMENTS = st.lists(
    st.tuples(
        st.sampled_from(["1g.5gb@0", "1g.5gb@1", "2g.10gb@2", "3g.20gb@4"]),
        st.integers(0, 60),
        st.integers(1, 30),
        st.integers(0, 1),
    ),
    max_size=12,
)


@given(_SEGMENTS)
def test_sweep_agrees_with_adding_up_every_tick(rows):
    """Energy, levels and idle energy equal a sum over single ticks, on any set of segments."""
    segments = [
        seg(i, place, start, start + n, gpu) for i, (place, start, n, gpu) in enumerate(rows)
    ]
    instance = make_instance(
        *(make_job(i) for i in range(len(rows))), gpus=(A100, A100), horizon=50
    )
    schedule = make_schedule(*segments, initial=(P_43, P_43))
    metrics = measure(instance, schedule)
    level_ms = [0] * 8
    energy = idle = 0
    for gpu in (0, 1):
        energy += 50 * 40_000
        for tick in range(metrics.window_ms):
            places = {
                s.placement for s in segments if s.gpu == gpu and s.start_ms <= tick < s.end_ms
            }
            level = sum(A100.profile(place.profile).compute_slices for place in places)
            level_ms[level] += 1
            energy += 10_000 * level
            idle += 40_000 * (level == 0 and tick < 50)
    assert metrics.energy_uj == energy
    assert metrics.idle_energy_uj == idle
    assert metrics.busy_level_ms["A100-40GB"] == tuple(level_ms)
    assert metrics.busy_slice_ms == sum(u * ms for u, ms in enumerate(level_ms))
    for steps in busy_profile(instance, schedule):
        assert steps[-1][1] == 0
        assert all(before[1] != after[1] for before, after in pairwise(steps))
