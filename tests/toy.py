"""Days on which one partition is best, for tests of learners."""

from __future__ import annotations

import random

from factories import A100, make_instance, make_job
from migopt.model import Instance

BATCHES, SIZE, MINUTE = 12, 5, 60_000


def toy_day(seed: int) -> Instance:
    """Return a day of batches of five jobs that take a minute on any slice and are due when that is over.

    The energy weight is 0. Partition 5 of the five has five slices, the others have fewer, so the
    optimum is to change to it at the first batch (which costs each of its jobs tau = 4 s) and to stay:
    mean tardiness 5 x 4 s / 60 jobs.
    """
    draw, jobs, release = random.Random(seed), [], 0
    speed = {profile.name: 1_000_000 for profile in A100.profiles}
    for _ in range(BATCHES):
        release += draw.randrange(6 * MINUTE, 8 * MINUTE)
        for _ in range(SIZE):
            jobs.append(make_job(len(jobs), ms=MINUTE, release=release, speed=speed))
    return make_instance(*jobs, a=0)
