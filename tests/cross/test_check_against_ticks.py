"""The checker agrees with a second reading of the rules that walks through single milliseconds.

The reading here is slow and short: it plays every tick of a tiny schedule and stops at the first
thing that is not allowed. It says only legal or not; schedules are legal ones of the simulator,
disturbed at random, so that both answers occur and many are near the edge.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from corpus import Wanderer

from factories import A100, make_instance, make_job, make_schedule, seg
from migopt.check import check
from migopt.model import Instance, Schedule
from migopt.schedulers import parse_policy
from migopt.sim import simulate

PROFILES = [profile.name for profile in A100.profiles]


def legal_by_ticks(instance: Instance, schedule: Schedule) -> bool:
    """Return whether the schedule is legal, by playing it tick by tick (tau at least 1)."""
    items = (*schedule.segments, *schedule.reconfigurations)
    if any(item.start_ms < 0 or item.end_ms <= item.start_ms for item in items):
        return False
    if not all(instance.allows(gpu, first) for gpu, first in enumerate(schedule.initial)):
        return False
    in_force = list(schedule.initial)
    changing = [None] * len(in_force)
    left = {job.id: job.work for job in instance.jobs}
    overhead = dict.fromkeys(left, 0)
    where: dict[int, tuple] = {}
    started: set[int] = set()
    for tick in range(max((item.end_ms for item in items), default=0)):
        for gpu, change in enumerate(changing):
            if change is not None and change.end_ms == tick:
                changing[gpu], in_force[gpu] = None, change.new
        for change in schedule.reconfigurations:
            if change.start_ms != tick:
                continue
            if changing[change.gpu] is not None or change.old != in_force[change.gpu]:
                return False
            wrong_length = change.end_ms - tick != instance.repartition.tau_ms
            if wrong_length or not instance.allows(change.gpu, change.new):
                return False
            changing[change.gpu] = change
            for job, (gpu, place) in where.items():
                stays = instance.repartition.scope == "slices" and place in change.new
                rigid = not instance.is_preemptible(instance.job_by_id[job])
                if gpu == change.gpu and rigid and left[job] > 0 and not stays:
                    return False
        now: dict[int, tuple] = {}
        for segment in schedule.segments:
            if not segment.start_ms <= tick < segment.end_ms:
                continue
            job, slot = instance.job_by_id[segment.job], (segment.gpu, segment.placement)
            change = changing[segment.gpu]
            usable = set(in_force[segment.gpu])
            if change is not None:
                usable &= set(change.new) if instance.repartition.scope == "slices" else set()
            rate = instance.rate(job, instance.gpus[segment.gpu], segment.placement.profile)
            if segment.placement not in usable or job.id in now or slot in now.values():
                return False
            if tick < job.release_ms or left[job.id] <= 0 or rate == 0:
                return False
            if job.id in started and where.get(job.id) != slot:
                if not instance.is_preemptible(job):
                    return False
                if instance.preemption.mode == "cost":
                    overhead[job.id] = instance.preemption.resume_overhead_ms
            started.add(job.id)
            now[job.id] = slot
            if overhead[job.id]:
                overhead[job.id] -= 1
            else:
                left[job.id] -= rate
        where = now
    return all(work <= 0 for work in left.values())


def tiny(rng: random.Random) -> Instance:
    """Return an instance of a few ticks, with small numbers so that roundings and ties abound."""
    jobs = []
    for number in range(rng.randint(1, 4)):
        speed = {name: rng.choice([0, 1, 2, 3, 5]) for name in PROFILES} | {"1g.5gb": 1}
        speed |= {"2g.10gb": 2, "7g.40gb": 5, "3g.20gb": 3, "4g.20gb": 4}
        if rng.random() < 0.2:
            speed["4g.20gb"] = 0
        jobs.append(
            make_job(
                number,
                release=rng.randint(0, 8),
                due=rng.randint(1, 20),
                work=rng.randint(1, 40),
                speed=speed,
                preemptible=rng.random() < 0.7,
            )
        )
    return make_instance(
        *jobs,
        gpus=rng.choice([(A100,), (A100, A100)]),
        mode=rng.choice(["free", "cost", "none"]),
        overhead=rng.randint(0, 3),
        scope=rng.choice(["gpu", "slices"]),
        tau=rng.randint(1, 3),
        horizon=60,
    )


def disturbed(rng: random.Random, instance: Instance, schedule: Schedule) -> Schedule:
    """Return the schedule with one thing changed a little."""
    segments, changes = list(schedule.segments), list(schedule.reconfigurations)
    by = rng.choice([-2, -1, 1, 2])
    i = rng.randrange(len(segments))
    one = segments[i]
    kind = rng.randrange(8 if not changes else 12)
    if kind == 0:
        segments[i] = replace(one, start_ms=one.start_ms + by, end_ms=one.end_ms + by)
    elif kind == 1:
        segments[i] = replace(one, start_ms=one.start_ms + by)
    elif kind == 2:
        segments[i] = replace(one, end_ms=one.end_ms + by)
    elif kind == 3:
        place = rng.choice(rng.choice(list(instance.catalogue(one.gpu))).placements)
        segments[i] = replace(one, placement=place)
    elif kind == 4:
        segments[i] = replace(one, job=rng.randrange(len(instance.jobs)))
    elif kind == 5 and one.end_ms - one.start_ms > 1:
        cut = rng.randrange(one.start_ms + 1, one.end_ms)
        gap = rng.choice([0, 0, 1, 1 + instance.preemption.resume_overhead_ms])
        later = replace(one, start_ms=cut + gap, end_ms=max(one.end_ms + gap, cut + gap + 1))
        segments[i : i + 1] = [replace(one, end_ms=cut), later]
    elif kind == 6:
        del segments[i]
    elif kind == 7:
        segments[i] = replace(one, gpu=rng.randrange(len(instance.gpus)))
    elif kind >= 8:
        k = rng.randrange(len(changes))
        start = max(0, changes[k].start_ms + by)
        length = changes[k].end_ms - changes[k].start_ms
        changes[k] = [
            replace(changes[k], start_ms=start, end_ms=start + length),
            replace(changes[k], end_ms=changes[k].end_ms + by),
            replace(changes[k], new=rng.choice(list(instance.catalogue(changes[k].gpu)))),
            replace(changes[k], start_ms=start + 5, end_ms=start + 5 + length),
        ][kind - 8]
    return replace(schedule, segments=tuple(segments), reconfigurations=tuple(changes))


@pytest.mark.parametrize("part", range(4))
def test_checker_and_tick_reading_agree(part):
    """On 3,600 schedules, legal, disturbed and twice disturbed, both say the same."""
    answers = {True: 0, False: 0}
    for seed in range(300 * part, 300 * part + 300):
        rng = random.Random(seed)
        instance = tiny(rng)
        rule = rng.choice(["edf_ss_restricted", "fifo"])
        if all(instance.is_preemptible(job) for job in instance.jobs):
            rule = rng.choice(["edf_fs", "edf_ss", "llf", rule])
        schedule = simulate(instance, parse_policy(f"{rule}+static:1").dispatcher(), Wanderer(rng))
        assert legal_by_ticks(instance, schedule)
        for _ in range(3):
            assert (not check(instance, schedule)) == legal_by_ticks(instance, schedule), schedule
            answers[legal_by_ticks(instance, schedule)] += 1
            if not schedule.segments:
                break
            schedule = disturbed(rng, instance, schedule)
    assert min(answers.values()) >= 200


def test_the_tick_reading_sees_edges():
    """The reading itself: a legal schedule by hand, and one tick too few."""
    instance = make_instance(make_job(0, work=7, speed={"4g.20gb": 3}))
    assert legal_by_ticks(instance, make_schedule(seg(0, "4g.20gb@0", 0, 3)))
    assert not legal_by_ticks(instance, make_schedule(seg(0, "4g.20gb@0", 0, 2)))
