"""CP-SAT against brute force: every partition, every assignment to profiles, every integer start time."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from factories import A100, GB, make_instance, make_job
from migopt.check import check
from migopt.exact.cpsat import CpSat
from migopt.metrics import measure
from migopt.model import OFF_PARTITION, FrozenMap, Instance, PowerCurve
from migopt.results import Budget, Outcome, StopReason

#: Watts by busy level: A100 at 250 W (not concave), straight, flat at the top, one big first step, falling.
CURVES = (
    (40, 119, 160, 205, 244, 248, 249, 249),
    (40, 50, 60, 70, 80, 90, 100, 110),
    (30, 90, 110, 110, 110, 110, 110, 110),
    (40, 200, 201, 203, 206, 210, 215, 221),
    (40, 90, 60, 120, 100, 180, 170, 30),
)
UNIT_MS = 1000


def reference(instance: Instance, partition: int | None = None) -> Fraction:
    """Return the least cost over all schedules without preemption and repartition, on the whole-unit grid.

    Nothing of the solver is used: jobs go to profiles, at most as many at a time as the partition has
    slices of it, at any start on the grid; energy and tardiness are added up step by step of time.
    """
    choices = list(instance.catalogue(0)) + [OFF_PARTITION] * instance.mig_off
    if partition is not None:
        choices = [instance.catalogue(0)[partition]]
    costs = [_best(instance, choice.profiles) for choice in choices]
    return min(cost for cost in costs if cost is not None)


def _best(instance: Instance, slices: tuple[str, ...]) -> Fraction | None:
    model, jobs = instance.gpus[0], instance.jobs
    options = []
    for job in jobs:
        fitting = {name: instance.rate(job, model, name) for name in set(slices)}
        options.append([(name, -(-job.work // rate)) for name, rate in fitting.items() if rate])
    if not all(options):
        return None
    grid = range(
        0,
        max(job.release_ms for job in jobs) + sum(max(p for _, p in o) for o in options) + UNIT_MS,
        UNIT_MS,
    )
    found = [_cheapest(instance, slices, modes, np.array(grid)) for modes in product(*options)]
    return min((cost for cost in found if cost is not None), default=None)


def _cheapest(instance, slices, modes, grid) -> Fraction | None:
    """Minimise over all start times of one assignment to profiles, by arrays over (start_1, ..., time)."""
    jobs, n, steps = instance.jobs, len(instance.jobs), len(grid)
    a, weights = instance.weight_a, instance.total_weight
    curve = instance.power["A100-40GB"]
    shape = (steps,) * n
    legal = np.ones(shape, dtype=bool)
    late = np.zeros(shape, dtype=np.int64)
    used = {name: np.zeros((*shape, steps), dtype=np.int8) for name, _ in modes}
    for j, (job, (name, p)) in enumerate(zip(jobs, modes, strict=True)):
        along = [1] * n
        along[j] = steps
        # A run that leaves the grid would not be charged in full.
        inside = (grid >= job.release_ms) & (grid + p <= grid[-1] + UNIT_MS)
        legal &= inside.reshape(along)
        late += (job.weight * np.maximum(0, grid + p - job.due_ms)).reshape(along)
        busy = (grid[None, :] >= grid[:, None]) & (grid[None, :] < grid[:, None] + p)
        used[name] += busy.reshape(*along, steps).astype(np.int8)
    power = np.zeros((*shape, steps), dtype=np.int64)
    level = np.zeros((*shape, steps), dtype=np.int64)
    for name, count in used.items():
        legal &= (count <= slices.count(name)).all(axis=-1)
        if name == "off":
            power += count.astype(np.int64) * (curve.off_busy_mw - curve.idle_mw)
        else:
            level += count.astype(np.int64) * A100.profile(name).compute_slices
    if not legal.any():
        return None
    power += np.array(curve.busy_mw)[np.minimum(level, 7)] - curve.idle_mw
    energy = power.sum(axis=-1) * UNIT_MS
    scaled = a.numerator * weights * energy + a.denominator * 1000 * late
    best = np.unravel_index(np.where(legal, scaled, np.iinfo(np.int64).max).argmin(), shape)
    total = instance.horizon_ms * curve.idle_mw + int(energy[best])
    mean_late = Fraction(int(late[best]), 60_000 * weights)
    return (a * Fraction(total, 60_000_000) + mean_late) / (a + 1)


def draw(seed: int, jobs: int) -> Instance:
    """Return a random instance of 1 to 4 units per job: capped, super-linear, memory-limited, weighted."""
    rng = random.Random(seed)
    speeds = [
        {"1g.5gb": 1, "1g.10gb": 1, "2g.10gb": 2, "3g.20gb": 3, "4g.20gb": 4, "7g.40gb": 7},
        {"1g.5gb": 2, "1g.10gb": 2, "2g.10gb": 3, "3g.20gb": 4, "4g.20gb": 4, "7g.40gb": 4},
        {"1g.5gb": 1, "2g.10gb": 2, "3g.20gb": 4, "4g.20gb": 4, "7g.40gb": 8},
        {"2g.10gb": 1, "3g.20gb": 1, "4g.20gb": 1, "7g.40gb": 2},
        {"4g.20gb": 2, "7g.40gb": 3},
    ]
    made = []
    for j in range(jobs):
        speed = rng.choice(speeds)
        speed |= {"off": speed["7g.40gb"] + rng.choice((0, 1))}
        units = rng.randrange(1, 5) * (max(speed.values()) + min(speed.values())) // 2
        release = UNIT_MS * rng.choice((0, 0, 1, 2, 4))
        # Rates rounded up, so that every duration is a whole number of units.
        whole = {k: -(-units * 10**6 // -(-units // v)) for k, v in speed.items()}
        made.append(
            make_job(
                j,
                ms=units * UNIT_MS,
                release=release,
                due=release + UNIT_MS * rng.choice((0, 1, 2, 3, 5, 9)),
                speed=whole,
                weight=rng.choice((1, 1, 2, 3)),
                memory_bytes=rng.choice((0, 0, 0, 6 * GB)),
            )
        )
    if rng.random() < 0.3:
        first = made[0]
        made[1] = make_job(
            1,
            release=first.release_ms,
            due=first.due_ms,
            work=first.work,
            speed=dict(first.rates["A100-40GB"]),
            weight=first.weight,
        )
    curve = PowerCurve(tuple(1000 * w for w in rng.choice(CURVES)), 1000 * rng.choice((180, 250)))
    return make_instance(
        *made,
        mode="none",
        scope="never",
        a=rng.choice((Fraction(0), Fraction(1, 2000), Fraction(1, 60), Fraction(3))),
        horizon=rng.choice((1000, 60_000)),
        mig_off=rng.random() < 0.4,
        power=FrozenMap({"A100-40GB": curve}),
    )


def assert_exact(instance: Instance, partition: int | None = None) -> None:
    """Solve and compare with the reference: cost, bound, outcome, legality."""
    truth = reference(instance, partition)
    result = CpSat(partition).solve(instance, Budget(time_limit_s=None))
    assert result.stop == StopReason.FINISHED
    assert result.schedule is not None
    assert check(instance, result.schedule) == []
    assert measure(instance, result.schedule).cost_exact == truth
    assert result.claimed_upper == float(truth)
    assert result.class_lower == pytest.approx(float(truth), rel=1e-12)
    assert Fraction(result.class_lower) <= truth
    if partition is None:
        assert (result.outcome, result.lower) == (Outcome.OPTIMAL, result.class_lower)
    else:
        assert (result.outcome, result.lower) == (Outcome.FEASIBLE, None)


@pytest.mark.parametrize("seed", range(40))
def test_chosen_partition_is_the_optimum(seed):
    """Two or three jobs, partition (or MIG off) chosen by the solver: cost and bound are the brute-force optimum."""
    assert_exact(draw(seed, jobs=2 + seed % 2))


@pytest.mark.parametrize("seed", range(100, 106))
def test_four_jobs_on_a_fixed_partition(seed):
    """Four jobs on [2g, 2g, 3g] where all fit it: the brute-force optimum."""
    instance = draw(seed, jobs=4)
    fits = [
        any(instance.rate(job, A100, name) for name in ("2g.10gb", "3g.20gb"))
        for job in instance.jobs
    ]
    jobs = [job for job, fit in zip(instance.jobs, fits, strict=True) if fit]
    assert_exact(instance.replace(jobs=tuple(jobs)), partition=4)
