"""Hand-computed schedules, one rule at a time; 4g does 4 million units per ms, 3g does 3 million."""

from __future__ import annotations

import pytest

from factories import make_instance, make_job, seg
from migopt.check import check
from migopt.errors import NotApplicableError
from migopt.model import Instance, Segment
from migopt.schedulers import dispatch_rules, parse_policy

FOUR, THREE = "4g.20gb@0", "3g.20gb@4"


def played(rule: str, instance: Instance, partition: str = "static:2") -> set[Segment]:
    """Run a rule on partition 4g+3g, check the schedule, and return its segments."""
    schedule = parse_policy(f"{rule}+{partition}").run(instance)
    assert check(instance, schedule) == []
    return set(schedule.segments)


@pytest.fixture
def three() -> Instance:
    """Two jobs at 0, and a short urgent one at 1 s that only 4g finishes in time."""
    return make_instance(
        make_job(0, ms=28_000, due=10_000),
        make_job(1, ms=12_000, due=20_000),
        make_job(2, ms=4_000, release=1_000, due=2_100),
    )


def test_edf_fs_gives_the_fastest_slice_to_the_earliest_due_date(three):
    """EDF-FS re-places every active job at each event, earliest due date on the fastest free slice."""
    # At 1000 job 2 takes 4g for 1000 ms, job 0 (24e9 left) moves to 3g, job 1 (9e9 left) waits.
    # At 2000 job 0 (21e9 left) returns to 4g for 5250 ms, job 1 goes on for 3000 ms.
    assert played("edf_fs", three) == {
        seg(0, FOUR, 0, 1_000),
        seg(1, THREE, 0, 1_000),
        seg(2, FOUR, 1_000, 2_000),
        seg(0, THREE, 1_000, 2_000),
        seg(0, FOUR, 2_000, 7_250),
        seg(1, THREE, 2_000, 5_000),
    }


def test_edf_ss_takes_the_slowest_slice_that_is_in_time(three):
    """EDF-SS puts job 0 on 3g (9334 <= 10000) and leaves 4g to the job that needs it."""
    # At 1000 job 2 needs 4g; job 0 stays on 3g (25e9 left, 8334 ms: in time at 9334); job 1 waits.
    # At 2000 only 4g is free for job 1 (8e9 left, 2000 ms).
    assert played("edf_ss", three) == {
        seg(0, THREE, 0, 9_334),
        seg(1, FOUR, 0, 1_000),
        seg(2, FOUR, 1_000, 2_000),
        seg(1, FOUR, 2_000, 4_000),
    }


def test_edf_ss_falls_back_to_the_fastest_free_slice_when_late_everywhere():
    """A job late on every slice takes the fastest one."""
    assert played("edf_ss", make_instance(make_job(0, ms=28_000, due=1))) == {
        seg(0, FOUR, 0, 7_000)
    }


def test_edf_ss_restricted_stops_only_a_job_that_is_due_later():
    """Step (ii): the urgent job takes 4g from the job due latest, which waits for it, not for 3g."""
    instance = make_instance(
        make_job(0, ms=28_000, due=100_000),
        make_job(1, ms=28_000, due=90_000),
        make_job(2, ms=8_000, release=1_000, due=3_500),
    )
    # At 0 job 1 (earlier due) takes 3g, job 0 the rest. At 1000 job 2 is in time on 4g only (2000 ms).
    # Job 0 may not take 3g from job 1, which is due earlier; from 3000 it needs 24e9 / 4e6 = 6000 ms.
    assert played("edf_ss_restricted", instance) == {
        seg(1, THREE, 0, 9_334),
        seg(0, FOUR, 0, 1_000),
        seg(2, FOUR, 1_000, 3_000),
        seg(0, FOUR, 3_000, 9_000),
    }


def test_edf_ss_restricted_lets_a_stopped_job_stop_another_in_the_same_pass():
    """A victim re-enters the pass: it takes a slice from a job due later still."""
    instance = make_instance(
        make_job(0, ms=28_000, due=50_000),
        make_job(1, ms=28_000, due=100_000),
        make_job(2, ms=12_000, release=1_000, due=4_500),
    )
    # At 0: job 0 on 3g (slowest in time), job 1 on 4g. At 1000 job 2 takes 4g (3000 ms, in time at
    # 4000; 3g needs 4000 ms: 5000 is late) from job 1, which waits: job 0 is due earlier.
    assert played("edf_ss_restricted", instance) == {
        seg(0, THREE, 0, 9_334),
        seg(1, FOUR, 0, 1_000),
        seg(2, FOUR, 1_000, 4_000),
        seg(1, FOUR, 4_000, 10_000),
    }
    swapped = make_instance(
        make_job(0, ms=28_000, due=100_000),
        make_job(1, ms=28_000, due=99_000, speed={"4g.20gb": 4_000_000, "3g.20gb": 1_000}),
        make_job(2, ms=12_000, release=1_000, due=4_500, speed={"4g.20gb": 4_000_000}),
    )
    # At 0 job 1 is late on 3g and takes 4g; job 0 takes 3g. At 1000 job 2 stops job 1, the victim is
    # in time nowhere else and waits until 4000: 24e9 / 4e6 = 6000 ms more.
    assert played("edf_ss_restricted", swapped) == {
        seg(0, THREE, 0, 9_334),
        seg(1, FOUR, 0, 1_000),
        seg(2, FOUR, 1_000, 4_000),
        seg(1, FOUR, 4_000, 10_000),
    }


def test_edf_ss_restricted_uses_the_fastest_idle_slice_for_a_late_job():
    """Step (iii): late everywhere and nobody to stop, the job takes the fastest idle slice and stays."""
    instance = make_instance(make_job(0, ms=28_000, due=1), make_job(1, ms=28_000, due=2))
    # At 7000 4g becomes idle, but a running job stays where it is.
    assert played("edf_ss_restricted", instance) == {
        seg(0, FOUR, 0, 7_000),
        seg(1, THREE, 0, 9_334),
    }


def test_llf_takes_an_extra_decision_when_a_waiting_job_becomes_urgent():
    """LLF: at 310 s job 2's laxity is one minute; it takes 4g, and the order by laxity decides the rest."""
    instance = make_instance(
        make_job(0, ms=2_800_000, due=1_000_000),
        make_job(1, ms=2_800_000, due=1_000_001),
        make_job(2, ms=120_000, due=400_000),
    )
    # At 0 laxities are 300000, 300001, 370000. Job 2 reaches 60000 at 400000 - 30000 - 60000 = 310000;
    # there job 0 has 300000 (1560e9 left) and job 1 222501 (1870e9 left): job 0 is stopped.
    # At 340000 job 1 has 215001 (1780e9 left, 445000 ms on 4g), job 0 270000.
    # At 785000 job 0 has 1560e9 - 445000 * 3e6 = 225e9 left: 56250 ms on 4g.
    assert played("llf", instance) == {
        seg(0, FOUR, 0, 310_000),
        seg(1, THREE, 0, 340_000),
        seg(2, FOUR, 310_000, 340_000),
        seg(1, FOUR, 340_000, 785_000),
        seg(0, THREE, 340_000, 785_000),
        seg(0, FOUR, 785_000, 841_250),
    }


def test_llf_keeps_a_job_that_extra_decisions_have_stopped_often_enough():
    """With max_stops=0 the extra decision at 310 s may stop nobody."""
    instance = make_instance(
        make_job(0, ms=2_800_000, due=1_000_000),
        make_job(1, ms=2_800_000, due=1_000_001),
        make_job(2, ms=120_000, due=400_000),
    )
    segments = played("llf:max_stops=0", instance)
    assert min(segment.start_ms for segment in segments if segment.job == 2) == 700_000


def test_lalf_measures_laxity_by_the_mean_over_the_slices():
    """LLF prefers job 0, LALF job 1, whose mean duration (7000 and 28000 ms) is the longer one."""
    slow_on_3g = {"4g.20gb": 4_000_000, "3g.20gb": 1_000_000}
    instance = make_instance(make_job(0, due=20_000), make_job(1, due=20_001, speed=slow_on_3g))
    # LLF: laxities 13000 and 13001. From 7000 job 1 has 21e9 left: 5250 ms on 4g.
    assert played("llf", instance) == {
        seg(0, FOUR, 0, 7_000),
        seg(1, THREE, 0, 7_000),
        seg(1, FOUR, 7_000, 12_250),
    }
    # LALF: 20000 - ceil(16334 / 2) = 11833 and 20001 - 17500 = 2501. From 7000 job 0 has 7e9 left.
    assert played("lalf", instance) == {
        seg(1, FOUR, 0, 7_000),
        seg(0, THREE, 0, 7_000),
        seg(0, FOUR, 7_000, 8_750),
    }


def test_rules_without_preemption_keep_their_order_and_never_stop_a_job():
    """FIFO goes by release, SJF by duration, EDF by due date; a started job stays on its slice."""
    instance = make_instance(
        make_job(0, ms=28_000, due=90_000),
        make_job(1, ms=28_000, due=80_000),
        make_job(2, ms=12_000, release=10, due=70_000),
        make_job(3, ms=8_000, release=20, due=75_000),
    )
    # Jobs 0 and 1 tie at 0: job 1, due earlier, takes 4g (7000), job 0 takes 3g (9334); those that wait
    # take 4g at 7000 and the next slice that is free.
    first = {seg(1, FOUR, 0, 7_000), seg(0, THREE, 0, 9_334)}
    then_2_and_3 = {seg(2, FOUR, 7_000, 10_000), seg(3, THREE, 9_334, 12_001)}
    assert played("fifo", instance) == first | then_2_and_3
    assert played("sjf", instance) == first | {
        seg(3, FOUR, 7_000, 9_000),
        seg(2, FOUR, 9_000, 12_000),
    }
    assert played("edf_fs_nonpreemptive", instance) == first | then_2_and_3
    # Slowest in time: job 1, earliest due, takes 3g and leaves 4g to job 0.
    slowest = {seg(0, FOUR, 0, 7_000), seg(1, THREE, 0, 9_334)}
    assert played("edf_ss_nonpreemptive", instance) == slowest | then_2_and_3


def test_between_slices_of_equal_duration_the_smaller_one_wins():
    """A job capped at 3g takes 3g, though 4g is as fast."""
    capped = {"4g.20gb": 3_000_000, "3g.20gb": 3_000_000}
    for rule in ("edf_fs", "edf_ss", "fifo", "llf"):
        assert played(rule, make_instance(make_job(0, ms=3_000, speed=capped))) == {
            seg(0, THREE, 0, 1_000)
        }


#: These cover free preemption only.
JOINT = ("priced", "receding_horizon", "rollout")


@pytest.mark.parametrize("rule", dispatch_rules())
def test_a_job_that_may_not_be_stopped_runs_to_its_end(rule):
    """Under every rule a non-preemptible job keeps its slice against a more urgent arrival, or the rule refuses."""
    instance = make_instance(
        make_job(0, ms=28_000, due=90_000, preemptible=False),
        make_job(1, ms=28_000, due=90_000, preemptible=False),
        make_job(2, ms=4_000, release=1_000, due=2_100),
    )
    if rule in JOINT:
        with pytest.raises(NotApplicableError, match="preemption must be free"):
            played(rule, instance)
        return
    runs = [segment for segment in played(rule, instance) if segment.job in (0, 1)]
    assert len(runs) == 2
