"""The transition function: order of events, repartitions, overheads, refusals."""

from __future__ import annotations

import pytest

from factories import (
    A30,
    A100,
    GB,
    P_7,
    P_43,
    P_223,
    change,
    make_instance,
    make_job,
    make_schedule,
    seg,
)
from migopt.check import check
from migopt.errors import (
    InfeasiblePartitionError,
    InputError,
    NotApplicableError,
    PolicyError,
    UnknownNameError,
)
from migopt.model import OFF_PARTITION, Partition
from migopt.schedulers import parse_policy
from migopt.sim import DispatchDecision, PartitionDecision, simulate

FOUR, THREE = "4g.20gb@0", "3g.20gb@4"


class ChangesOnce:
    """Starts with one partition and changes to another at a given time."""

    def __init__(self, first: Partition, second: Partition, at_ms: int) -> None:
        self.first, self.second, self.at_ms = first, second, at_ms

    def partition(self, state, gpu):
        """Return the first partition, then the second from ``at_ms`` on."""
        if state.partitions[gpu] is None:
            return PartitionDecision(self.first, self.at_ms)
        if state.now_ms < self.at_ms:
            return PartitionDecision(None, self.at_ms)
        return PartitionDecision(self.second)


def run(instance, partitioner, rule="edf_fs"):
    """Simulate one dispatch rule with a partition rule, check the schedule, return it."""
    schedule = simulate(instance, parse_policy(f"{rule}+static:1").dispatcher(), partitioner)
    assert check(instance, schedule) == []
    return schedule


def test_repartition_of_the_whole_gpu_stops_every_job_for_tau():
    """Scope gpu: the job loses its slice for 4 s and goes on with the work it has left."""
    # 7g does 420e9 of 700e9 in 60 s; 280e9 / 4e6 = 70 s on 4g after the change.
    schedule = run(make_instance(make_job(0, ms=700_000)), ChangesOnce(P_7, P_43, 60_000))
    assert set(schedule.segments) == {seg(0, "7g.40gb@0", 0, 60_000), seg(0, FOUR, 64_000, 134_000)}
    assert schedule.reconfigurations == (change(P_7, P_43, 60_000, 64_000),)


def test_repartition_of_slices_lets_a_kept_slice_run_on():
    """Scope slices: 3g@4 is in both partitions and its job never stops; the job on 2g@0 does."""
    instance = make_instance(
        make_job(0, ms=300_000, due=1), make_job(1, ms=300_000, due=2), scope="slices"
    )
    # Job 0 on 3g for 100 s; job 1 on 2g does 120e9 in 60 s, then 180e9 / 4e6 = 45 s on 4g.
    schedule = run(instance, ChangesOnce(P_223, P_43, 60_000), "edf_ss_restricted")
    assert set(schedule.segments) == {
        seg(0, THREE, 0, 100_000),
        seg(1, "2g.10gb@0", 0, 60_000),
        seg(1, FOUR, 64_000, 109_000),
    }


def test_a_job_that_may_not_be_stopped_forbids_repartition():
    """Scope gpu with a running non-preemptible job: deciding to change is an error, not a silent loss."""
    with pytest.raises(PolicyError, match="job 0 runs on 7g.40gb@0 and may not be stopped"):
        run(make_instance(make_job(0, ms=700_000), mode="none"), ChangesOnce(P_7, P_43, 60_000))


def test_scope_never_refuses_every_repartition():
    """An instance without repartition refuses a change, and a timetable does not apply to it."""
    instance = make_instance(make_job(0, ms=700_000), scope="never")
    with pytest.raises(PolicyError, match="allows no repartition"):
        run(instance, ChangesOnce(P_7, P_43, 60_000))
    with pytest.raises(NotApplicableError, match="allows no repartition"):
        parse_policy("edf_fs+timetable:0:00=1,0:01=2").run(instance)


def test_timetable_changes_at_its_time_of_day_even_if_nothing_else_happens():
    """The change at 0:01 happens at 60 s although no job arrives or ends there, and again next day."""
    instance = make_instance(make_job(0, ms=700_000), make_job(1, release=86_400_000, ms=7_000))
    schedule = parse_policy("edf_fs+timetable:0:00=1,0:01=2").run(instance)
    assert check(instance, schedule) == []
    day = 86_400_000
    assert schedule.reconfigurations == (
        change(P_7, P_43, 60_000, 64_000),
        change(P_43, P_7, day, day + 4_000),
    )
    assert seg(1, "7g.40gb@0", day + 4_000, day + 5_000) in schedule.segments


def test_resume_overhead_is_served_on_the_slice_before_work_goes_on():
    """Preemption cost: job 0, stopped at 1 s, needs 500 ms more when it resumes, and none at its first start."""
    instance = make_instance(
        make_job(0, ms=28_000, due=90_000),
        make_job(1, ms=4_000, release=1_000, due=2_000, speed={"7g.40gb": 4_000_000}),
        mode="cost",
        overhead=500,
    )
    # 7g: 7e9 done at 1000; 21e9 left: 500 + 3000 ms from 2000.
    schedule = run(instance, ChangesOnce(P_7, P_7, 10**9))
    assert set(schedule.segments) == {
        seg(0, "7g.40gb@0", 0, 1_000),
        seg(1, "7g.40gb@0", 1_000, 2_000),
        seg(0, "7g.40gb@0", 2_000, 5_500),
    }


def test_with_tau_zero_a_job_goes_on_at_the_same_tick_without_overhead():
    """tau = 0: the slice that is in both partitions is stopped and resumed at one tick, which is no resume."""
    instance = make_instance(make_job(0, ms=28_000, due=1), mode="cost", overhead=500, tau=0)
    both = Partition.parse("2g.10gb@0,2g.10gb@2,3g.20gb@4")
    schedule = run(instance, ChangesOnce(P_43, both, 1_000), "edf_ss")
    # 4g does 4e9 in 1 s; then 3g needs 24e9 / 3e6 = 8000 ms and, on another placement, the overhead.
    assert set(schedule.segments) == {seg(0, FOUR, 0, 1_000), seg(0, THREE, 1_000, 9_500)}
    back = run(
        make_instance(
            make_job(0, ms=28_000, due=12_000, speed={"3g.20gb": 3_000_000}),
            mode="cost",
            overhead=500,
            tau=0,
        ),
        ChangesOnce(P_43, both, 1_000),
    )
    assert max(segment.end_ms for segment in back.segments) == 9_334


def test_with_tau_zero_a_gpu_gets_one_partition_decision_per_millisecond():
    """tau = 0: a rule that changes its mind at every question changes once per event, legally."""

    class Restless:
        """Wants the other partition whenever it is asked."""

        def partition(self, state, gpu):
            """Return the partition that is not in force."""
            return PartitionDecision(P_7 if state.partitions[gpu] == P_43 else P_43)

    instance = make_instance(
        make_job(0), make_job(1, release=1_000), make_job(2, release=1_000), tau=0
    )
    schedule = run(instance, Restless())
    starts = [item.start_ms for item in schedule.reconfigurations]
    assert len(starts) == len(set(starts)) > 1


def test_completions_come_before_arrivals_at_the_same_tick():
    """A job that arrives when another ends finds its slice free."""
    instance = make_instance(
        make_job(0, ms=7_000, due=1), make_job(1, ms=7_000, release=1_000, due=1)
    )
    schedule = parse_policy("fifo+static:1").run(instance)
    assert set(schedule.segments) == {
        seg(0, "7g.40gb@0", 0, 1_000),
        seg(1, "7g.40gb@0", 1_000, 2_000),
    }


def test_mig_off_is_one_slice_with_its_own_rate():
    """No MIG runs a job at its ``off`` rate on the whole GPU, from time 0 to the end."""
    instance = make_instance(make_job(0, ms=28_000), mig_off=True)
    schedule = parse_policy("edf_fs+no_mig").run(instance)
    assert schedule.initial == (OFF_PARTITION,)
    assert set(schedule.segments) == {seg(0, "off", 0, 4_000)}
    with pytest.raises(NotApplicableError, match="mig_off is false"):
        parse_policy("edf_fs+no_mig").run(make_instance(make_job(0)))


def test_several_gpus_of_different_models_are_one_pool_of_slices():
    """The most urgent job takes the fastest slice anywhere; of equal slices the one on the lower GPU index."""
    instance = make_instance(
        make_job(0, due=1), make_job(1, due=2), make_job(2, due=3), gpus=(A30, A100, A100)
    )
    schedule = parse_policy("edf_fs+static:1").run(instance)
    assert check(instance, schedule) == []
    assert {(s.job, s.gpu) for s in schedule.segments} == {(0, 1), (1, 2), (2, 0), (2, 1)}


def test_a_job_that_no_kept_slice_can_run_is_named_and_the_run_ends():
    """A partition on which a job fits nowhere is infeasible: an error that names the job, no endless run."""
    only_7g = {"7g.40gb": 1_000_000}
    instance = make_instance(make_job(0), make_job(7, speed=only_7g))
    with pytest.raises(
        InfeasiblePartitionError, match="job 7 fits on no slice of 4g.20gb@0,3g.20gb@4"
    ):
        parse_policy("edf_fs+static:2").run(instance)
    with pytest.raises(InfeasiblePartitionError, match="job 7 waits and can never run"):
        run(instance, ChangesOnce(P_7, P_43, 0 + 1))
    assert parse_policy("edf_fs+best_fixed").run(instance).initial == (P_7,)


def test_illegal_decisions_of_a_rule_are_errors_that_say_what():
    """Two slices for one job, a slice that is not there, an inactive job, a partition outside the catalogue."""
    instance = make_instance(make_job(0))
    bad = [
        (DispatchDecision({0: 0, 1: 0}), "one job on two slices"),
        (DispatchDecision({5: 0}), "slice 5, which is not there"),
        (DispatchDecision({0: 3}), "job index 3 is not active"),
        (DispatchDecision({}, wake_ms=0), "which is not later"),
    ]
    for decision, message in bad:
        dispatcher = type("Bad", (), {"dispatch": lambda self, state, d=decision: d})()
        with pytest.raises(PolicyError, match=message):
            simulate(instance, dispatcher, parse_policy("fifo+static:2").partitioner(instance))
    outside = ChangesOnce(P_43, Partition.parse("2g.10gb@0"), 1_000)
    with pytest.raises(PolicyError, match="not in the catalogue"):
        run(instance, outside)


def test_an_instance_without_jobs_ends_at_once():
    """No job: no segment, and the first partition is recorded."""
    schedule = parse_policy("edf_ss_restricted+static:2").run(make_instance())
    assert schedule.segments == ()
    assert schedule.initial == (P_43,)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("edf_fss+static:1", UnknownNameError, "nearest: edf_ss, edf_fs"),
        ("edf_fs+statik:1", UnknownNameError, "nearest: static"),
        ("edf_fs", InputError, "write dispatch\\+partition"),
        ("edf_fs:3+static:1", InputError, "takes no argument"),
        ("edf_fs+static:x", InputError, "whole number"),
        ("edf_fs+static", InputError, "needs a partition number"),
        ("edf_fs+timetable:25:00=1", InputError, "is no entry"),
        ("llf:limit=1+static:1", InputError, "threshold_ms"),
        ("no/such/rule.py+static:1", InputError, "no rule file"),
    ],
)
def test_policy_strings_fail_with_one_clear_error(text, error, message):
    """A wrong policy string says what is wrong and what would be right."""
    with pytest.raises(error, match=message):
        parse_policy(text)


def test_a_partition_number_outside_the_catalogue_is_an_error():
    """static:9 of a catalogue of five says so."""
    with pytest.raises(InputError, match="has partitions 1 to 5, not 9"):
        parse_policy("edf_fs+static:9").run(make_instance(make_job(0)))


def test_with_mig_off_a_job_fits_only_into_the_memory_of_the_card():
    """A job that needs more memory than the full profile has runs nowhere, MIG off included."""
    instance = make_instance(make_job(3, memory_bytes=41 * GB), mig_off=True)
    with pytest.raises(InfeasiblePartitionError, match="job 3 fits on no slice of off"):
        parse_policy("edf_fs+no_mig").run(instance)
    forced = make_schedule(seg(3, "off", 0, 4_000), initial=OFF_PARTITION)
    assert any("does_not_fit" in str(v.rule) or "fit" in str(v) for v in check(instance, forced))
