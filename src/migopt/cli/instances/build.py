"""The recipes of the shipped instances."""

from __future__ import annotations

from itertools import count
from pathlib import PurePosixPath
from typing import Any

from migopt.io.generators import generate, stored_weight
from migopt.model import Instance, Schedule
from migopt.schedulers import parse_policy

#: Number of small cases.
CASES = 60
#: Due factors of the small cases, in turn.
DUE_FACTORS = ((1.0, 1.5), (1.5, 3.0), (2.0, 4.0))
LOAD = 0.9
POLICY = "edf_ss_restricted+static:3"

#: File of a spec to (generator, seed, parameters).
DAYS: dict[str, tuple[str, int, dict[str, Any]]] = {
    **{
        f"day/{name}-{seed}.json": (name, seed, {})
        for name in ("s0-slack", "s0-tight", "smartmig")
        for seed in range(1, 6)
    },
    **{
        f"cluster/smartmig-8-x{multiplier}-{seed}.json": (
            "smartmig",
            seed,
            {"gpus": 8, "rate_multiplier": float(multiplier)},
        )
        for multiplier in (12, 16, 20)
        for seed in (1, 2)
    },
}


def small_case(case: int) -> Instance:
    """Return small case ``case`` (from 1).

    It has 5 + (case - 1) mod 8 jobs of the S0 workload at load 0.9 on one GPU, due factors by
    (case - 1) mod 3, the weight of ``s0-slack``, and H at its last due date. It is drawn with the
    seeds (case, 0), (case, 1), ... until the jobs crowd: a case in which each job finds an empty
    GPU says nothing about scheduling.
    """
    low, high = DUE_FACTORS[(case - 1) % 3]
    policy = parse_policy(POLICY)
    for attempt in count():
        instance = generate(
            "s0-slack",
            seed=(case, attempt),
            jobs=5 + (case - 1) % 8,
            load=LOAD,
            due_low=low,
            due_high=high,
            weight_a=str(stored_weight("s0-slack")),
        )
        if crowds(instance, policy.run(instance)):
            return instance.replace(name=f"small-{case:02d}")
    raise AssertionError("count() does not end")


def crowds(instance: Instance, schedule: Schedule) -> bool:
    """Return whether at some moment at least half of the jobs are released and unfinished."""
    done = schedule.completions_ms()
    return any(
        2 * sum(job.release_ms <= moment < done[job.id] for job in instance.jobs)
        >= len(instance.jobs)
        for moment in (job.release_ms for job in instance.jobs)
    )


def day(file: str) -> Instance:
    """Return the instance of one spec file of ``DAYS``."""
    generator, seed, parameters = DAYS[file]
    instance = generate(generator, seed=seed, **parameters)
    return instance.replace(name=PurePosixPath(file).stem)
