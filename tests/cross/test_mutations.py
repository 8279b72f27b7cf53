"""The checker catches every way to spoil a legal schedule, and passes it unspoiled.

Each mutation yields spoiled schedules, each with a set of rules of which at least one must be
reported; a mutation spoils only where the result is illegal for certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, pairwise

import pytest
from corpus import by_hand, cases, simulated

from factories import OFF
from migopt.check import Rule, check
from migopt.model import Instance, Partition, Reconfiguration, Schedule, Segment

Spoiled = Iterator[tuple[Schedule, set[Rule]]]

#: Spoiled schedules tried per mutation and case.
SITES = 12


def swap(schedule: Schedule, old: Segment, *new: Segment) -> Schedule:
    """Return the schedule with one segment replaced by others (or by none)."""
    rest = tuple(segment for segment in schedule.segments if segment is not old)
    return replace(schedule, segments=rest + new)


def swap_change(schedule: Schedule, old: Reconfiguration, *new: Reconfiguration) -> Schedule:
    """Return the schedule with one repartition replaced by others (or by none)."""
    rest = tuple(change for change in schedule.reconfigurations if change is not old)
    return replace(schedule, reconfigurations=rest + new)


def moved(segment: Segment, start: int) -> Segment:
    """Return the segment begun at ``start``, as long as before."""
    return replace(segment, start_ms=start, end_ms=start + segment.end_ms - segment.start_ms)


def last_segments(schedule: Schedule) -> list[Segment]:
    """Return the last segment of each job."""
    return list({segment.job: segment for segment in schedule.segments}.values())


def pairs_at_once(schedule: Schedule) -> Iterator[tuple[Segment, Segment]]:
    """Yield pairs of segments that run on two placements of one GPU at the same time."""
    for first in schedule.segments:
        for second in schedule.segments:
            together = first.start_ms < second.end_ms and second.start_ms < first.end_ms
            if first.gpu == second.gpu and first.placement != second.placement and together:
                yield first, second


def other_placements(instance: Instance, schedule: Schedule, gpu: int):
    """Yield placements of a GPU that no partition of this schedule holds."""
    used = {place for change in schedule.reconfigurations for place in (*change.old, *change.new)}
    used |= set(schedule.initial[gpu])
    return [place for place in instance.gpus[gpu].placements if place not in used]


# --- segments --------------------------------------------------------------------------------


def shifted_into_the_next_job(instance: Instance, schedule: Schedule) -> Spoiled:
    """A segment begins 1 ms before the one of another job on its slice ends."""
    for first in schedule.segments:
        for second in schedule.segments:
            same_slice = (first.gpu, first.placement) == (second.gpu, second.placement)
            if same_slice and first.job != second.job and first.end_ms <= second.start_ms:
                late = moved(second, first.end_ms - 1)
                yield swap(schedule, second, late), {Rule.SLICE_SHARED}


def overlapped(instance: Instance, schedule: Schedule) -> Spoiled:
    """A segment is put on the slice of another job that runs at the same time."""
    for first, second in pairs_at_once(schedule):
        if first.job != second.job:
            onto = replace(second, placement=first.placement)
            yield swap(schedule, second, onto), {Rule.SLICE_SHARED}


def shortened_at_the_end(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job's last segment ends 1 ms early."""
    for segment in last_segments(schedule):
        early = replace(segment, end_ms=segment.end_ms - 1)
        yield swap(schedule, segment, early), {Rule.UNFINISHED}


def shortened_at_the_start(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job's last segment begins 1 ms late."""
    for segment in last_segments(schedule):
        late = replace(segment, start_ms=segment.start_ms + 1)
        yield swap(schedule, segment, late), {Rule.UNFINISHED}


def lengthened(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job's last segment ends 1 ms late."""
    for segment in last_segments(schedule):
        late = replace(segment, end_ms=segment.end_ms + 1)
        yield swap(schedule, segment, late), {Rule.AFTER_COMPLETION}


def wrong_placement(instance: Instance, schedule: Schedule) -> Spoiled:
    """A segment runs on a placement that is never in force."""
    for segment in schedule.segments:
        for place in other_placements(instance, schedule, segment.gpu)[:2]:
            wrong = replace(segment, placement=place)
            yield swap(schedule, segment, wrong), {Rule.NOT_IN_FORCE}


def placement_off_the_axis(instance: Instance, schedule: Schedule) -> Spoiled:
    """A segment runs at a start that its profile cannot have."""
    for segment in schedule.segments:
        wrong = replace(segment, placement=replace(segment.placement, start=97))
        yield swap(schedule, segment, wrong), {Rule.UNKNOWN_PLACEMENT}


def overlapping_placement(instance: Instance, schedule: Schedule) -> Spoiled:
    """Of two jobs that run at once on one GPU, one runs on a placement that meets the other's."""
    for first, second in pairs_at_once(schedule):
        model = instance.gpus[first.gpu]
        for place in model.placements:
            if place != first.placement and model.conflict(place, first.placement):
                onto = replace(second, placement=place)
                yield swap(schedule, second, onto), {Rule.PLACEMENTS_OVERLAP}
                break


def before_release(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job begins 1 ms before it is released."""
    for segment in schedule.segments:
        early = moved(segment, instance.job_by_id[segment.job].release_ms - 1)
        yield swap(schedule, segment, early), {Rule.BEFORE_RELEASE}


def given_to_two_slices(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job runs on a second slice of its GPU at the same time."""
    for segment in schedule.segments:
        for place in instance.gpus[segment.gpu].placements:
            if place != segment.placement:
                twin = replace(segment, placement=place)
                yield swap(schedule, segment, segment, twin), {Rule.JOB_TWICE}
                break


def given_to_two_gpus(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job runs on the same placement of another GPU at the same time."""
    for segment in schedule.segments:
        for gpu in range(len(instance.gpus)):
            if gpu != segment.gpu:
                twin = replace(segment, gpu=gpu)
                yield swap(schedule, segment, segment, twin), {Rule.JOB_TWICE}


def moved_into_a_repartition(instance: Instance, schedule: Schedule) -> Spoiled:
    """A segment begins 1 ms before a repartition of its slice ends."""
    for change in schedule.reconfigurations:
        still = set(change.old) ^ set(change.new)
        if instance.repartition.scope == "gpu":
            still = set(change.old) | set(change.new)
        for segment in schedule.segments:
            if segment.gpu == change.gpu:
                for place in still:
                    into = replace(moved(segment, change.end_ms - 1), placement=place)
                    yield swap(schedule, segment, into), {Rule.DURING_REPARTITION}


def left_unfinished(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job's last segment is missing."""
    for segment in last_segments(schedule):
        yield swap(schedule, segment), {Rule.UNFINISHED}


def never_run(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job is left out altogether."""
    for job in instance.jobs:
        rest = tuple(segment for segment in schedule.segments if segment.job != job.id)
        yield replace(schedule, segments=rest), {Rule.UNFINISHED}


def run_again(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job runs once more when everything is over."""
    end = max(segment.end_ms for segment in schedule.segments)
    for segment in schedule.segments:
        again = moved(segment, end + 1)
        yield swap(schedule, segment, segment, again), {Rule.AFTER_COMPLETION}


def swapped_job_ids(instance: Instance, schedule: Schedule) -> Spoiled:
    """Two jobs that run in one piece, of other lengths on each other's slices, are exchanged."""
    pieces: dict[int, list[Segment]] = {}
    for segment in schedule.segments:
        pieces.setdefault(segment.job, []).append(segment)
    whole = [segments[0] for segments in pieces.values() if len(segments) == 1]
    for first, second in pairwise(whole):
        job = instance.job_by_id[first.job]
        model = instance.gpus[second.gpu]
        rate = instance.rate(job, model, second.placement.profile)
        if rate == 0 or job.duration_ms(rate) != second.end_ms - second.start_ms:
            exchanged = swap(schedule, first, replace(first, job=second.job))
            exchanged = swap(exchanged, second, replace(second, job=first.job))
            yield exchanged, {Rule.UNFINISHED, Rule.AFTER_COMPLETION}


def given_to_an_unknown_job(instance: Instance, schedule: Schedule) -> Spoiled:
    """A segment names a job that does not exist."""
    for segment in schedule.segments:
        yield swap(schedule, segment, replace(segment, job=10**6)), {Rule.UNKNOWN_JOB}


def given_to_an_unknown_gpu(instance: Instance, schedule: Schedule) -> Spoiled:
    """A segment names a GPU that does not exist."""
    for segment in schedule.segments:
        for gpu in (-1, len(instance.gpus)):
            yield swap(schedule, segment, replace(segment, gpu=gpu)), {Rule.UNKNOWN_GPU}


def emptied(instance: Instance, schedule: Schedule) -> Spoiled:
    """A segment ends where it starts, or before."""
    for segment in schedule.segments:
        empty = replace(segment, end_ms=segment.start_ms)
        yield swap(schedule, segment, empty), {Rule.EMPTY_SEGMENT}
        turned = replace(segment, start_ms=segment.end_ms, end_ms=segment.start_ms)
        yield swap(schedule, segment, turned), {Rule.TIME_ORDER}


def stopped_without_leave(instance: Instance, schedule: Schedule) -> Spoiled:
    """A job pauses 1 ms: forbidden where it may not be preempted, else an overhead is missing."""
    for segment in last_segments(schedule):
        middle = (segment.start_ms + segment.end_ms) // 2
        pieces = (
            replace(segment, end_ms=middle),
            replace(segment, start_ms=middle + 1, end_ms=segment.end_ms + 1),
        )
        if middle <= segment.start_ms:
            continue
        if not instance.is_preemptible(instance.job_by_id[segment.job]):
            yield swap(schedule, segment, *pieces), {Rule.PREEMPTED}
        elif instance.preemption.mode == "cost":
            yield swap(schedule, segment, *pieces), {Rule.UNFINISHED}


def resumed_for_nothing(instance: Instance, schedule: Schedule) -> Spoiled:
    """The last segment of a stopped job is as short as if its resume were free."""
    overhead = instance.preemption.resume_overhead_ms
    if instance.preemption.mode == "cost":
        for segment in last_segments(schedule):
            before = [s for s in schedule.segments if s.job == segment.job and s is not segment]
            if before and before[-1].end_ms < segment.start_ms:
                short = replace(segment, end_ms=segment.end_ms - overhead)
                yield swap(schedule, segment, short), {Rule.RESUME_OVERHEAD}


# --- partitions ------------------------------------------------------------------------------


def repartition_of_another_length(instance: Instance, schedule: Schedule) -> Spoiled:
    """A repartition takes 1 ms less or more than tau."""
    for change in schedule.reconfigurations:
        for by in (-1, 1):
            other = replace(change, end_ms=change.end_ms + by)
            yield swap_change(schedule, change, other), {Rule.REPARTITION_LENGTH}


def repartition_moved_onto_a_job(instance: Instance, schedule: Schedule) -> Spoiled:
    """A repartition begins while a job runs on a slice that it stands still."""
    for change in schedule.reconfigurations:
        kept = set() if instance.repartition.scope == "gpu" else set(change.old) & set(change.new)
        for segment in schedule.segments:
            long = segment.end_ms - segment.start_ms > 1
            if segment.gpu == change.gpu and long and segment.placement not in kept:
                start = segment.start_ms + 1
                onto = replace(change, start_ms=start, end_ms=start + instance.repartition.tau_ms)
                yield (
                    swap_change(schedule, change, onto),
                    {Rule.DURING_REPARTITION, Rule.NOT_IN_FORCE},
                )


def repartition_to_outside_the_catalogue(instance: Instance, schedule: Schedule) -> Spoiled:
    """A repartition leads to a partition that is not allowed, or to MIG off."""
    for change in schedule.reconfigurations:
        fewer = Partition(change.new.placements[1:])
        yield swap_change(schedule, change, replace(change, new=fewer)), {Rule.REPARTITION_NEW}
        yield swap_change(schedule, change, replace(change, new=OFF)), {Rule.REPARTITION_OFF}


def repartition_from_another_partition(instance: Instance, schedule: Schedule) -> Spoiled:
    """A repartition names an old partition that is not in force."""
    for change in schedule.reconfigurations:
        for other in instance.catalogue(change.gpu):
            if other != change.old:
                yield (
                    swap_change(schedule, change, replace(change, old=other)),
                    {Rule.REPARTITION_OLD},
                )
                break


def repartition_left_out(instance: Instance, schedule: Schedule) -> Spoiled:
    """A repartition is missing: jobs run on slices not in force, or the next one starts wrongly."""
    for change in schedule.reconfigurations:
        later = [c for c in schedule.reconfigurations if c.gpu == change.gpu and c > change]
        new = set(change.new) - set(change.old)
        used = [s for s in schedule.segments if s.gpu == change.gpu and s.placement in new]
        if later:
            yield swap_change(schedule, change), {Rule.REPARTITION_OLD}
        elif any(segment.start_ms >= change.end_ms for segment in used):
            yield swap_change(schedule, change), {Rule.NOT_IN_FORCE}


def repartition_twice(instance: Instance, schedule: Schedule) -> Spoiled:
    """A second repartition of the GPU begins before the first is over."""
    for change in schedule.reconfigurations:
        for by in {0, instance.repartition.tau_ms - 1}:
            again = replace(
                change,
                start_ms=change.start_ms + by,
                end_ms=change.end_ms + by,
                old=change.new,
                new=change.old,
            )
            yield swap_change(schedule, change, change, again), {Rule.REPARTITION_OVERLAP}


def first_partition_outside_the_catalogue(instance: Instance, schedule: Schedule) -> Spoiled:
    """A GPU begins with part of a partition."""
    for gpu, partition in enumerate(schedule.initial):
        initial = list(schedule.initial)
        initial[gpu] = Partition(partition.placements[1:])
        yield replace(schedule, initial=tuple(initial)), {Rule.INITIAL_PARTITION}


def first_partition_of_another_number(instance: Instance, schedule: Schedule) -> Spoiled:
    """A GPU begins with another partition of the catalogue than its jobs run on."""
    for gpu, partition in enumerate(schedule.initial):
        until = min((c.start_ms for c in schedule.reconfigurations if c.gpu == gpu), default=10**9)
        early = {s.placement for s in schedule.segments if s.gpu == gpu and s.start_ms < until}
        for other in instance.catalogue(gpu):
            initial = list(schedule.initial)
            initial[gpu] = other
            if other != partition and early - set(other):
                yield replace(schedule, initial=tuple(initial)), {Rule.NOT_IN_FORCE}
                break


def first_partition_missing(instance: Instance, schedule: Schedule) -> Spoiled:
    """A GPU has no first partition."""
    yield replace(schedule, initial=schedule.initial[:-1]), {Rule.INITIAL_COUNT}


MUTATIONS: list[Callable[[Instance, Schedule], Spoiled]] = [
    shifted_into_the_next_job,
    overlapped,
    shortened_at_the_end,
    shortened_at_the_start,
    lengthened,
    wrong_placement,
    placement_off_the_axis,
    overlapping_placement,
    before_release,
    given_to_two_slices,
    given_to_two_gpus,
    moved_into_a_repartition,
    left_unfinished,
    never_run,
    run_again,
    swapped_job_ids,
    given_to_an_unknown_job,
    given_to_an_unknown_gpu,
    emptied,
    stopped_without_leave,
    resumed_for_nothing,
    repartition_of_another_length,
    repartition_moved_onto_a_job,
    repartition_to_outside_the_catalogue,
    repartition_from_another_partition,
    repartition_left_out,
    repartition_twice,
    first_partition_outside_the_catalogue,
    first_partition_of_another_number,
    first_partition_missing,
]


@pytest.mark.parametrize("number", range(len(by_hand())))
def test_schedules_by_hand_are_legal(number):
    """Unspoiled, each schedule made by hand passes."""
    assert check(*by_hand()[number]) == []


def test_what_the_simulator_plays_is_legal():
    """Unspoiled, every simulated schedule passes, with some of every mode, scope and event."""
    played = simulated()
    for instance, schedule in played:
        assert check(instance, schedule) == []
    modes = {(i.preemption.mode, i.repartition.scope) for i, s in played if s.reconfigurations}
    assert len(modes) == 6
    assert any(len(s.segments) > len(i.jobs) for i, s in played)
    assert any(len(i.gpus) > 1 for i, _ in played)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_every_mutation_is_caught(mutation):
    """Each spoiled schedule breaks one of the rules that this mutation must break."""
    tried = 0
    for instance, schedule in cases():
        for spoiled, rules in islice(mutation(instance, schedule), SITES):
            found = {violation.rule for violation in check(instance, spoiled)}
            assert found & rules, f"{mutation.__name__} not caught: {spoiled}"
            tried += 1
    assert tried >= 5


def test_a_job_that_no_longer_fits_is_caught():
    """The same schedule is illegal once a job needs more memory than its slice has, or any rate."""
    tried = 0
    for instance, schedule in cases():
        for segment in schedule.segments[:SITES]:
            job = instance.job_by_id[segment.job]
            others = [other for other in instance.jobs if other is not job]
            if segment.placement.profile != "off":
                big = replace(job, memory_bytes=10**12)
                harder = instance.replace(jobs=(*others, big))
                assert Rule.DOES_NOT_FIT in {v.rule for v in check(harder, schedule)}
                tried += 1
            slow = replace(job, rates=type(job.rates)({}))
            harder = instance.replace(jobs=(*others, slow))
            assert Rule.DOES_NOT_FIT in {v.rule for v in check(harder, schedule)}
    assert tried >= 5


def test_a_stricter_instance_is_seen():
    """A schedule with stops or repartitions is illegal once the instance forbids them."""
    stops = changes = 0
    for instance, schedule in cases():
        if schedule.reconfigurations:
            scope = replace(instance.repartition, scope="never")
            found = check(instance.replace(repartition=scope), schedule)
            never = [v for v in found if v.rule is Rule.REPARTITION_NEVER]
            assert len(never) == len(schedule.reconfigurations)
            changes += 1
        pieces = [(s.job, s.gpu, s.placement) for s in schedule.segments]
        if len(set(pieces)) > len(instance.jobs):
            mode = replace(instance.preemption, mode="none")
            found = check(instance.replace(preemption=mode), schedule)
            assert Rule.PREEMPTED in {v.rule for v in found}
            stops += 1
    assert stops >= 5
    assert changes >= 5
