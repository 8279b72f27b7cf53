"""Legal schedules to break: made by hand for each rule, and by the simulator on random instances."""

from __future__ import annotations

import random
from functools import lru_cache

from factories import (
    A30,
    A100,
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
from migopt.model import Instance, Partition, Schedule
from migopt.schedulers import parse_policy
from migopt.sim import PartitionDecision, SimState, simulate

Case = tuple[Instance, Schedule]

_CAPPED = {"4g.20gb": 3_000_000, "3g.20gb": 3_000_000, "7g.40gb": 3_000_000}


@lru_cache(maxsize=1)
def by_hand() -> tuple[Case, ...]:
    """Return one schedule per rule that random ones might not reach; durations by factories.py."""
    a30 = Partition.parse("2g.12gb@0,1g.6gb@2,1g.6gb@3")
    preempted = (
        make_instance(make_job(0, ms=28_000), make_job(1, ms=8_000, release=3_000)),
        make_schedule(
            seg(0, "4g.20gb@0", 0, 3_000),
            seg(1, "4g.20gb@0", 3_000, 5_000),
            seg(0, "4g.20gb@0", 5_000, 9_000),
        ),
    )
    # 9 s on 3g do 27,000 of 30,000; the change leaves 1,500 ms on 2g.
    repartitioned = (
        make_instance(make_job(0, ms=30_000), make_job(1, ms=20_000), make_job(2, ms=6_000)),
        make_schedule(
            seg(0, "3g.20gb@4", 0, 9_000),
            seg(1, "4g.20gb@0", 0, 5_000),
            change(P_43, P_223, 9_000, 13_000),
            seg(0, "2g.10gb@2", 13_000, 14_500),
            seg(2, "3g.20gb@4", 13_000, 15_000),
            change(P_223, P_7, 15_000, 19_000),
            change(P_7, P_33, 19_000, 23_000),
        ),
    )
    one_slice_kept = (
        make_instance(make_job(0, ms=30_000), make_job(1, ms=20_000), scope="slices", mode="none"),
        make_schedule(
            seg(0, "3g.20gb@4", 0, 10_000),
            change(P_43, P_223, 4_000, 8_000),
            seg(1, "2g.10gb@2", 8_000, 18_000),
        ),
    )
    # Resume: 1 s of overhead, then 16,000 / 4.
    overhead = (
        make_instance(make_job(0, ms=28_000), make_job(1, ms=10_000), mode="cost", overhead=1_000),
        make_schedule(
            seg(0, "4g.20gb@0", 0, 3_000),
            seg(0, "4g.20gb@0", 5_000, 10_000),
            seg(1, "3g.20gb@4", 2_000, 5_334),
        ),
    )
    two_cards = (
        make_instance(
            make_job(0, ms=28_000, preemptible=False),
            make_job(1, ms=6_000),
            make_job(2, ms=9_000, release=500, speed=_CAPPED),
            make_job(3, ms=7_000, release=4_000),
            gpus=(A100, A30, A100),
            mig_off=True,
        ),
        make_schedule(
            seg(2, "3g.20gb@4", 500, 3_500),
            seg(0, "2g.12gb@0", 0, 14_000, gpu=1),
            seg(1, "1g.6gb@3", 0, 6_000, gpu=1),
            seg(3, "off", 4_000, 5_000, gpu=2),
            initial=(P_1x4_3, a30, OFF),
        ),
    )
    return (preempted, repartitioned, one_slice_kept, overhead, two_cards)


class Wanderer:
    """A partition rule that moves to a random partition of the catalogue at random times."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return a random target now and then, where a change is allowed."""
        catalogue = state.instance.catalogue(gpu)
        target = catalogue[self.rng.randint(1, len(catalogue))]
        if state.partitions[gpu] is None:
            return PartitionDecision(target)
        if self.rng.random() < 0.7 or state.why_not_repartition(gpu, target):
            return PartitionDecision(None)
        return PartitionDecision(target)


def random_instance(rng: random.Random) -> Instance:
    """Return a small instance with any mode, scope and GPUs; some jobs are capped or rigid."""
    gpus = rng.choice([(A100,), (A100,), (A100, A100), (A100, A30)])
    now, jobs = 0, []
    for number in range(rng.randint(4, 12)):
        now += rng.choice([0, rng.randint(1, 6_000)])
        ms = rng.randint(500, 40_000)
        jobs.append(
            make_job(
                number,
                release=now,
                work=ms * 1_000_000 + rng.randint(0, 999_999),
                due=now + rng.randint(ms // 8, ms),
                preemptible=rng.random() < 0.8,
            )
        )
    return make_instance(
        *jobs,
        gpus=gpus,
        mode=rng.choice(["free", "free", "cost", "none"]),
        overhead=700,
        scope=rng.choice(["gpu", "slices"]),
        tau=rng.choice([1, 400, 4_000]),
    )


@lru_cache(maxsize=1)
def simulated() -> tuple[Case, ...]:
    """Return what the simulator plays on 40 random instances, with every kind of rule."""
    cases = []
    for seed in range(40):
        rng = random.Random(seed)
        instance = random_instance(rng)
        rule = rng.choice(["edf_fs", "edf_ss", "edf_ss_restricted", "llf", "fifo"])
        if instance.preemption.mode == "none" or not all(job.preemptible for job in instance.jobs):
            rule = rng.choice(["edf_ss_restricted", "fifo"])
        dispatcher = parse_policy(f"{rule}+static:1").dispatcher()
        cases.append((instance, simulate(instance, dispatcher, Wanderer(rng), seed=seed)))
    return tuple(cases)


def cases() -> tuple[Case, ...]:
    """Return every schedule to break."""
    return by_hand() + simulated()
