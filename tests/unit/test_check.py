"""check: each rule broken on purpose, with its place and amount; and what is allowed stays so."""

from __future__ import annotations

import pytest

from factories import (
    A100,
    GB,
    OFF,
    P_7,
    P_33,
    P_43,
    P_223,
    P_1x4_3,
    change,
    make_instance,
    make_job,
    make_schedule,
    seg,
)
from migopt.check import Rule, Violation, check
from migopt.model import Partition

# A job of 28,000 takes 7,000 ms on 4g, 4,000 on 7g, and on 3g ceil(28,000 / 3) = 9,334 ms.
ONE = make_job(0, ms=28_000)
WHOLE = seg(0, "4g.20gb@0", 0, 7_000)


def broken(instance, schedule) -> list[tuple]:
    """Return (rule, gpu, job, at_ms, amount) of each violation."""
    return [(v.rule, v.gpu, v.job, v.at_ms, v.amount) for v in check(instance, schedule)]


# --- legal schedules -------------------------------------------------------------------------


def test_a_legal_schedule_has_no_violation():
    """Jobs side by side, back to back, and ending on the ceil of their duration are legal."""
    instance = make_instance(ONE, make_job(1, ms=28_000), make_job(2, ms=4_000, release=7_000))
    schedule = make_schedule(
        WHOLE, seg(1, "3g.20gb@4", 0, 9_334), seg(2, "4g.20gb@0", 7_000, 8_000)
    )
    assert broken(instance, schedule) == []


def test_work_done_in_pieces_adds_up():
    """A preempted job keeps its work: 3 s on 4g + 5,333 ms on 3g + 1 ms for the last unit."""
    # 3,000 x 4 = 12,000 of 28,000; left 16,000; 16,000 / 3 = 5,333.3: ceil 5,334 ms.
    schedule = make_schedule(seg(0, "4g.20gb@0", 0, 3_000), seg(0, "3g.20gb@4", 5_000, 10_334))
    assert broken(make_instance(ONE), schedule) == []


def test_cutting_a_run_in_two_changes_nothing():
    """Segments that follow each other on one placement are one run, in every preemption mode."""
    cut = make_schedule(seg(0, "4g.20gb@0", 0, 2_999), seg(0, "4g.20gb@0", 2_999, 7_000))
    for mode in ("free", "cost", "none"):
        assert broken(make_instance(ONE, mode=mode, overhead=1_000), cut) == []


def test_an_empty_instance_is_legal():
    """No jobs and no segments: nothing to violate."""
    assert broken(make_instance(), make_schedule()) == []


# --- names and times -------------------------------------------------------------------------


def test_unknown_job():
    """A segment of a job that does not exist is reported, and still occupies its slice."""
    schedule = make_schedule(WHOLE, seg(7, "4g.20gb@0", 1_000, 2_000))
    assert broken(make_instance(ONE), schedule) == [
        (Rule.SLICE_SHARED, 0, 7, 1_000, 1_000),
        (Rule.UNKNOWN_JOB, 0, 7, 1_000, 1),
    ]


def test_unknown_gpu():
    """A segment on a GPU that does not exist does no work."""
    schedule = make_schedule(seg(0, "4g.20gb@0", 0, 7_000, gpu=1))
    assert broken(make_instance(ONE), schedule) == [
        (Rule.UNKNOWN_GPU, 1, 0, 0, 1),
        (Rule.UNFINISHED, 1, 0, 7_000, 28_000_000_000),
    ]
    assert broken(make_instance(), make_schedule(change(P_43, P_7, 0, 4_000, gpu=-1))) == [
        (Rule.UNKNOWN_GPU, -1, None, 0, 1)
    ]


@pytest.mark.parametrize("place", ["4g.20gb@1", "4g.24gb@0"])
def test_unknown_placement(place):
    """A start the profile does not have, or a profile of another card, cannot exist."""
    assert broken(make_instance(ONE), make_schedule(seg(0, place, 0, 7_000))) == [
        (Rule.UNKNOWN_PLACEMENT, 0, 0, 0, 1),
        (Rule.UNFINISHED, 0, 0, 7_000, 28_000_000_000),
    ]


def test_empty_and_reversed_segments():
    """A segment without length is refused; one that ends before it starts gives the difference."""
    schedule = make_schedule(
        WHOLE, seg(0, "4g.20gb@0", 7_000, 7_000), seg(0, "4g.20gb@0", 9_000, 8_500)
    )
    assert broken(make_instance(ONE), schedule) == [
        (Rule.EMPTY_SEGMENT, 0, 0, 7_000, 1),
        (Rule.TIME_ORDER, 0, 0, 9_000, 500),
    ]


def test_before_time_zero():
    """A segment before time 0 is before its release too; a repartition may not start there."""
    assert broken(make_instance(ONE), make_schedule(seg(0, "4g.20gb@0", -10, 6_990))) == [
        (Rule.BEFORE_RELEASE, 0, 0, -10, 10),
        (Rule.BEFORE_ZERO, 0, 0, -10, 10),
    ]
    assert broken(make_instance(), make_schedule(change(P_43, P_7, -1_000, 3_000))) == [
        (Rule.BEFORE_ZERO, 0, None, -1_000, 1_000)
    ]


def test_reversed_repartition():
    """A repartition that ends before it starts is out of order and has the wrong length."""
    assert broken(make_instance(), make_schedule(change(P_43, P_7, 5_000, 4_000))) == [
        (Rule.REPARTITION_LENGTH, 0, None, 5_000, -5_000),
        (Rule.TIME_ORDER, 0, None, 5_000, 1_000),
    ]


# --- one job ---------------------------------------------------------------------------------


def test_before_release():
    """The amount is how long the job ran before it came."""
    instance = make_instance(make_job(0, ms=28_000, release=1_500))
    assert broken(instance, make_schedule(WHOLE)) == [(Rule.BEFORE_RELEASE, 0, 0, 0, 1_500)]


def test_unfinished_by_one_millisecond():
    """One ms less on 4g leaves 4 units x 1,000,000."""
    schedule = make_schedule(seg(0, "4g.20gb@0", 0, 6_999))
    assert broken(make_instance(ONE), schedule) == [(Rule.UNFINISHED, 0, 0, 6_999, 4_000_000)]


def test_a_job_that_never_runs_is_unfinished():
    """All of its work is left, from its release on."""
    instance = make_instance(make_job(0, ms=28_000, release=5))
    assert broken(instance, make_schedule()) == [(Rule.UNFINISHED, None, 0, 5, 28_000_000_000)]


def test_one_millisecond_too_long():
    """A job ends at the ceil of its duration, not later."""
    schedule = make_schedule(seg(0, "3g.20gb@4", 0, 9_335))
    assert broken(make_instance(ONE), schedule) == [(Rule.AFTER_COMPLETION, 0, 0, 9_334, 1)]


def test_a_segment_after_completion():
    """Every run after the work is done is reported with its whole length."""
    schedule = make_schedule(WHOLE, seg(0, "3g.20gb@4", 8_000, 8_100))
    assert broken(make_instance(ONE), schedule) == [(Rule.AFTER_COMPLETION, 0, 0, 8_000, 100)]


def test_a_job_on_two_slices():
    """Two segments of one job at once; the second slice's work counts, so it also ends early."""
    # [0, 7000) on 4g does all the work by itself; the second segment is all after completion.
    schedule = make_schedule(WHOLE, seg(0, "3g.20gb@4", 2_000, 3_000))
    assert broken(make_instance(ONE), schedule) == [
        (Rule.AFTER_COMPLETION, 0, 0, 2_000, 1_000),
        (Rule.JOB_TWICE, 0, 0, 2_000, 1_000),
    ]


def test_a_job_twice_on_one_slice():
    """Two overlapping segments of one job on one slice are the job twice, not a shared slice."""
    schedule = make_schedule(seg(0, "4g.20gb@0", 0, 4_000), seg(0, "4g.20gb@0", 3_000, 6_000))
    assert broken(make_instance(ONE), schedule) == [(Rule.JOB_TWICE, 0, 0, 3_000, 1_000)]


def test_a_job_that_does_not_fit_for_its_rate():
    """A profile without a rate does no work."""
    instance = make_instance(make_job(0, ms=28_000, speed={"3g.20gb": 3_000_000}))
    assert broken(instance, make_schedule(WHOLE)) == [
        (Rule.DOES_NOT_FIT, 0, 0, 0, 7_000),
        (Rule.UNFINISHED, 0, 0, 7_000, 28_000_000_000),
    ]


def test_a_job_that_does_not_fit_for_its_memory():
    """Memory decides even where a rate is listed, and the message says how much."""
    instance = make_instance(make_job(0, ms=28_000, memory_bytes=21 * GB))
    assert [v.rule for v in check(instance, make_schedule(WHOLE))] == [
        Rule.DOES_NOT_FIT,
        Rule.UNFINISHED,
    ]
    assert "needs 21000000000 bytes" in check(instance, make_schedule(WHOLE))[0].message


# --- slices ----------------------------------------------------------------------------------


def test_two_jobs_on_one_slice():
    """The amount is how long they share it, and the place where the second one begins."""
    instance = make_instance(ONE, make_job(1, ms=28_000))
    schedule = make_schedule(WHOLE, seg(1, "4g.20gb@0", 5_000, 12_000))
    assert broken(instance, schedule) == [(Rule.SLICE_SHARED, 0, 1, 5_000, 2_000)]


def test_sharing_is_found_behind_a_short_segment():
    """A long holder is still seen after a short segment in between has ended."""
    instance = make_instance(ONE, make_job(1, ms=4_000), make_job(2, ms=4_000))
    schedule = make_schedule(
        WHOLE, seg(1, "4g.20gb@0", 1_000, 2_000), seg(2, "4g.20gb@0", 3_000, 4_000)
    )
    assert broken(instance, schedule) == [
        (Rule.SLICE_SHARED, 0, 1, 1_000, 1_000),
        (Rule.SLICE_SHARED, 0, 2, 3_000, 1_000),
    ]


def test_same_slice_name_on_two_gpus_is_two_slices():
    """Placements are per GPU."""
    instance = make_instance(ONE, make_job(1, ms=28_000), gpus=(A100, A100))
    schedule = make_schedule(WHOLE, seg(1, "4g.20gb@0", 0, 7_000, gpu=1), initial=(P_43, P_43))
    assert broken(instance, schedule) == []


def test_overlapping_placements():
    """7g beside 4g on one GPU: the conflict, and that 7g is not in the partition in force."""
    instance = make_instance(ONE, make_job(1, ms=28_000))
    schedule = make_schedule(WHOLE, seg(1, "7g.40gb@0", 6_000, 10_000))
    assert broken(instance, schedule) == [
        (Rule.NOT_IN_FORCE, 0, 1, 6_000, 4_000),
        (Rule.PLACEMENTS_OVERLAP, 0, 1, 6_000, 1_000),
    ]


def test_a_slice_beside_mig_off():
    """MIG off is the whole GPU: nothing runs beside it."""
    instance = make_instance(ONE, make_job(1, ms=28_000), mig_off=True)
    schedule = make_schedule(
        seg(0, "off", 0, 4_000), seg(1, "4g.20gb@0", 1_000, 8_000), initial=OFF
    )
    assert broken(instance, schedule) == [
        (Rule.NOT_IN_FORCE, 0, 1, 1_000, 7_000),
        (Rule.PLACEMENTS_OVERLAP, 0, 1, 1_000, 3_000),
    ]


def test_placement_not_in_force():
    """A placement of the catalogue that is not in the partition in force."""
    assert broken(make_instance(ONE), make_schedule(WHOLE, initial=P_33)) == [
        (Rule.NOT_IN_FORCE, 0, 0, 0, 7_000)
    ]


# --- first partition and MIG off -------------------------------------------------------------


def test_first_partition_outside_the_catalogue():
    """A partition the GPU could have but the instance does not allow."""
    schedule = make_schedule(WHOLE, initial=Partition.parse("4g.20gb@0"))
    assert broken(make_instance(ONE), schedule) == [(Rule.INITIAL_PARTITION, 0, None, 0, 1)]


def test_mig_off_only_where_allowed():
    """MIG off needs the instance's leave, for the partition and for the job on it."""
    schedule = make_schedule(seg(0, "off", 0, 4_000), initial=OFF)
    assert broken(make_instance(ONE, mig_off=True), schedule) == []
    assert broken(make_instance(ONE), schedule) == [
        (Rule.DOES_NOT_FIT, 0, 0, 0, 4_000),
        (Rule.INITIAL_PARTITION, 0, None, 0, 1),
        (Rule.UNFINISHED, 0, 0, 4_000, 28_000_000_000),
    ]


@pytest.mark.parametrize("initial", [(), (P_43, P_43)])
def test_one_first_partition_per_gpu(initial):
    """A missing or surplus first partition is a violation, not a crash."""
    found = check(make_instance(), make_schedule(initial=initial))
    assert [(v.rule, v.amount) for v in found] == [(Rule.INITIAL_COUNT, 1)]


# --- repartitions ----------------------------------------------------------------------------

TO_7 = change(P_43, P_7, 7_000, 11_000)


def test_a_legal_repartition():
    """Jobs end when it begins and begin when it ends."""
    instance = make_instance(ONE, make_job(1, ms=28_000))
    schedule = make_schedule(WHOLE, TO_7, seg(1, "7g.40gb@0", 11_000, 15_000))
    assert broken(instance, schedule) == []


def test_the_whole_gpu_stands_still():
    """Scope gpu: no slice runs during a repartition; the old ones are gone after it."""
    # 3g from 5,000 to 14,334: 2,000 before, 4,000 inside, 3,334 after.
    instance = make_instance(ONE)
    schedule = make_schedule(TO_7, seg(0, "3g.20gb@4", 5_000, 14_334))
    assert broken(instance, schedule) == [
        (Rule.DURING_REPARTITION, 0, 0, 7_000, 4_000),
        (Rule.NOT_IN_FORCE, 0, 0, 11_000, 3_334),
    ]


def test_only_destroyed_and_created_slices_stand_still():
    """Scope slices: a placement in both partitions goes on; old and new ones stand still."""
    # [4g, 3g] to [2g, 2g, 3g]: the 3g stays.
    instance = make_instance(make_job(0, ms=30_000), make_job(1, ms=20_000), scope="slices")
    turn = change(P_43, P_223, 4_000, 8_000)
    kept = seg(0, "3g.20gb@4", 0, 10_000)
    assert broken(instance, make_schedule(turn, kept, seg(1, "2g.10gb@2", 8_000, 18_000))) == []
    assert broken(instance, make_schedule(turn, kept, seg(1, "2g.10gb@2", 6_000, 16_000))) == [
        (Rule.DURING_REPARTITION, 0, 1, 6_000, 2_000)
    ]
    assert broken(instance, make_schedule(turn, kept, seg(1, "4g.20gb@0", 2_000, 7_000))) == [
        (Rule.DURING_REPARTITION, 0, 1, 4_000, 3_000)
    ]


def test_repartition_of_another_gpu_stops_nothing():
    """A repartition is of one GPU."""
    instance = make_instance(ONE, gpus=(A100, A100))
    schedule = make_schedule(WHOLE, change(P_43, P_7, 1_000, 5_000, gpu=1), initial=(P_43, P_43))
    assert broken(instance, schedule) == []


@pytest.mark.parametrize(("end", "amount"), [(10_999, -1), (11_001, 1), (7_000, -4_000)])
def test_repartition_takes_tau(end, amount):
    """The amount is the length minus tau, of either sign."""
    assert broken(make_instance(), make_schedule(change(P_43, P_7, 7_000, end))) == [
        (Rule.REPARTITION_LENGTH, 0, None, 7_000, amount)
    ]


def test_repartition_from_what_is_not_in_force():
    """Each repartition starts from the partition the previous one left."""
    schedule = make_schedule(change(P_43, P_7, 0, 4_000), change(P_43, P_33, 9_000, 13_000))
    assert broken(make_instance(), schedule) == [(Rule.REPARTITION_OLD, 0, None, 9_000, 1)]


def test_repartition_outside_the_catalogue():
    """The new partition must be one the instance allows."""
    schedule = make_schedule(change(P_43, Partition.parse("4g.20gb@0"), 0, 4_000))
    assert broken(make_instance(), schedule) == [(Rule.REPARTITION_NEW, 0, None, 0, 1)]


def test_repartition_during_another():
    """A second one may start when the first ends, not 1 ms earlier; slices stand still for both."""
    first = change(P_43, P_7, 0, 4_000)
    assert broken(make_instance(), make_schedule(first, change(P_7, P_33, 4_000, 8_000))) == []
    instance = make_instance(make_job(0, ms=3_000))
    early = make_schedule(first, change(P_7, P_33, 3_999, 7_999), seg(0, "3g.20gb@0", 7_000, 8_000))
    assert broken(instance, early) == [
        (Rule.REPARTITION_OVERLAP, 0, None, 3_999, 1),
        (Rule.DURING_REPARTITION, 0, 0, 7_000, 999),
    ]


def test_one_decision_per_millisecond():
    """Even with tau = 0 a GPU changes its partition at most once per millisecond."""
    instance = make_instance(tau=0)
    schedule = make_schedule(change(P_43, P_7, 5, 5), change(P_7, P_33, 5, 5))
    assert broken(instance, schedule) == [(Rule.REPARTITION_OVERLAP, 0, None, 5, 0)]
    assert broken(instance, make_schedule(change(P_43, P_7, 5, 5), change(P_7, P_33, 6, 6))) == []


def test_no_repartition_where_none_is_allowed():
    """Scope never."""
    schedule = make_schedule(change(P_43, P_7, 0, 4_000))
    assert broken(make_instance(scope="never"), schedule) == [
        (Rule.REPARTITION_NEVER, 0, None, 0, 1)
    ]


def test_mig_off_is_for_the_whole_run():
    """No repartition leads to MIG off or away from it, even where MIG off is allowed."""
    instance = make_instance(mig_off=True)
    for schedule in (
        make_schedule(change(P_43, OFF, 0, 4_000)),
        make_schedule(change(OFF, P_43, 0, 4_000), initial=OFF),
    ):
        assert broken(instance, schedule) == [(Rule.REPARTITION_OFF, 0, None, 0, 1)]


# --- preemption ------------------------------------------------------------------------------

SPLIT = make_schedule(seg(0, "4g.20gb@0", 0, 3_000), seg(0, "4g.20gb@0", 4_000, 8_000))


@pytest.mark.parametrize(
    ("mode", "preemptible"), [("none", True), ("none", False), ("free", False), ("cost", False)]
)
def test_a_job_that_may_not_be_preempted(mode, preemptible):
    """Mode none forbids it for all, and a job may be stricter than its instance."""
    instance = make_instance(make_job(0, ms=28_000, preemptible=preemptible), mode=mode)
    assert broken(instance, SPLIT) == [(Rule.PREEMPTED, 0, 0, 3_000, 1)]
    assert broken(instance, make_schedule(WHOLE)) == []


def test_moving_at_once_is_a_preemption():
    """Going on at the same tick on another slice leaves the slice, hence is forbidden too."""
    instance = make_instance(make_job(0, ms=28_000), mode="none")
    schedule = make_schedule(seg(0, "4g.20gb@0", 0, 4_000), seg(0, "3g.20gb@4", 4_000, 8_000))
    assert broken(instance, schedule) == [(Rule.PREEMPTED, 0, 0, 4_000, 1)]


@pytest.mark.parametrize("scope", ["gpu", "slices"])
def test_repartition_under_a_job_that_may_not_be_preempted(scope):
    """Illegal while such a job runs on a slice that stands still, wherever the job goes next."""
    instance = make_instance(make_job(0, ms=28_000), mode="none", scope=scope)
    schedule = make_schedule(
        seg(0, "4g.20gb@0", 0, 3_000),
        change(P_43, P_223, 3_000, 7_000),
        seg(0, "2g.10gb@0", 7_000, 15_000),
    )
    assert broken(instance, schedule) == [
        (Rule.PREEMPTED, 0, 0, 3_000, 1),
        (Rule.PREEMPTED_BY_REPARTITION, 0, 0, 3_000, 1),
    ]


def test_repartition_beside_a_job_that_may_not_be_preempted():
    """Scope slices: its slice is kept, so the repartition is legal; scope gpu: it is not."""
    job = make_job(0, ms=30_000)
    schedule = make_schedule(seg(0, "3g.20gb@4", 0, 10_000), change(P_43, P_223, 3_000, 7_000))
    assert broken(make_instance(job, mode="none", scope="slices"), schedule) == []
    assert broken(make_instance(job, mode="none", scope="gpu"), schedule) == [
        (Rule.DURING_REPARTITION, 0, 0, 3_000, 4_000),
        (Rule.PREEMPTED_BY_REPARTITION, 0, 0, 3_000, 1),
    ]


def test_repartition_when_such_a_job_completes():
    """Completions come before the partition decision of the same millisecond."""
    instance = make_instance(ONE, mode="none")
    assert broken(instance, make_schedule(WHOLE, TO_7)) == []


def test_instant_repartition_under_a_job_that_may_not_be_preempted():
    """tau = 0 does not make it legal: the job's slice is destroyed and made again."""
    instance = make_instance(ONE, mode="none", tau=0)
    schedule = make_schedule(
        WHOLE, change(P_43, P_7, 2_000, 2_000), change(P_7, P_43, 2_001, 2_001)
    )
    assert broken(instance, schedule) == [
        (Rule.NOT_IN_FORCE, 0, 0, 2_000, 1),
        (Rule.PREEMPTED_BY_REPARTITION, 0, 0, 2_000, 1),
        (Rule.PREEMPTED_BY_REPARTITION, 0, 0, 2_001, 1),
    ]


# --- resume overhead -------------------------------------------------------------------------


def test_overhead_is_served_before_work_goes_on():
    """Mode cost: 3 s on 4g, then 1 s of overhead and 4 s of work."""
    instance = make_instance(ONE, mode="cost", overhead=1_000)
    schedule = make_schedule(seg(0, "4g.20gb@0", 0, 3_000), seg(0, "4g.20gb@0", 4_000, 9_000))
    assert broken(instance, schedule) == []


def test_overhead_left_out():
    """Without it 1,000 ms x 4,000,000 of work are missing, and the reason is named."""
    instance = make_instance(ONE, mode="cost", overhead=1_000)
    assert broken(instance, SPLIT) == [
        (Rule.RESUME_OVERHEAD, 0, 0, 4_000, 1_000),
        (Rule.UNFINISHED, 0, 0, 8_000, 4_000_000_000),
    ]


def test_moving_at_once_is_a_resume():
    """Overhead is due on the new slice even when no time passes in between."""
    instance = make_instance(ONE, mode="cost", overhead=1_000)
    schedule = make_schedule(seg(0, "4g.20gb@0", 0, 4_000), seg(0, "3g.20gb@4", 4_000, 9_000))
    assert broken(instance, schedule) == []


def test_a_resume_cut_inside_its_overhead_does_no_work():
    """Overhead not served to its end is lost, and due again at the next resume."""
    # [0,3000) does 12,000; [4000,4600) nothing; [5000,10000): 1,000 overhead + 16,000 / 4.
    instance = make_instance(ONE, mode="cost", overhead=1_000)
    schedule = make_schedule(
        seg(0, "4g.20gb@0", 0, 3_000),
        seg(0, "4g.20gb@0", 4_000, 4_600),
        seg(0, "4g.20gb@0", 5_000, 10_000),
    )
    assert broken(instance, schedule) == []


def test_overhead_goes_on_over_a_cut_in_place():
    """A segment that goes on in place serves what is left of the overhead, no more and no less."""
    instance = make_instance(ONE, mode="cost", overhead=1_000)
    schedule = make_schedule(
        seg(0, "4g.20gb@0", 0, 3_000),
        seg(0, "4g.20gb@0", 4_000, 4_600),
        seg(0, "4g.20gb@0", 4_600, 9_000),
    )
    assert broken(instance, schedule) == []


def test_overhead_counts_only_in_mode_cost():
    """Mode free ignores the figure."""
    assert broken(make_instance(ONE, mode="free", overhead=1_000), SPLIT) == []


# --- reports ---------------------------------------------------------------------------------


def test_a_violation_as_json_says_its_unit():
    """as_dict gives the rule's name and the unit of its amount; str is one line for people."""
    violation = Violation(Rule.UNFINISHED, None, 3, 10, 99, "job 3 ends early")
    assert violation.as_dict() == {
        "rule": "unfinished",
        "gpu": None,
        "job": 3,
        "at_ms": 10,
        "amount": 99,
        "unit": "work",
        "message": "job 3 ends early",
    }
    assert str(violation) == "unfinished: job 3 ends early"


def test_violations_come_in_order_of_time():
    """Many broken rules at once are all reported, by time and then by name."""
    instance = make_instance(ONE, make_job(1, ms=28_000, release=50_000))
    schedule = make_schedule(
        seg(0, "7g.40gb@0", 0, 3_999), seg(1, "4g.20gb@0", 1_000, 9_000), initial=P_33
    )
    assert [rule for rule, *_ in broken(instance, schedule)] == [
        Rule.NOT_IN_FORCE,
        Rule.BEFORE_RELEASE,
        Rule.NOT_IN_FORCE,
        Rule.PLACEMENTS_OVERLAP,
        Rule.UNFINISHED,
        Rule.AFTER_COMPLETION,
    ]


@pytest.mark.parametrize("rule", list(Rule))
def test_every_rule_is_documented(rule):
    """A rule has a unit and a meaning, and its value is its name in files."""
    assert rule.unit in {"ms", "work", "count"}
    assert rule.meaning
    assert rule.value == rule.name.lower()


def test_small_slices_of_a_partition_run_side_by_side():
    """All placements of a partition may be busy at once."""
    jobs = [make_job(i, ms=1_000) for i in range(4)]
    schedule = make_schedule(*(seg(i, f"1g.5gb@{i}", 0, 1_000) for i in range(4)), initial=P_1x4_3)
    assert broken(make_instance(*jobs), schedule) == []
