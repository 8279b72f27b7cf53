"""The truth for tiny slot problems: a dynamic program over slots, straight from the definition.

Nothing of the slot models is used. A state is what is left of each job, where jobs that must not be
stopped run, and the partition in force; in every slot each class of partitions and each assignment of
jobs to slices is tried.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from migopt.bounds.base import cost_of_parts
from migopt.model import OFF_PARTITION, Catalogue, FrozenMap, Instance, Partition
from migopt.testing.cases import small_instance

State = tuple[Partition | None, tuple[int, ...], tuple[str | None, ...]]


@dataclass(frozen=True)
class SlotCase:
    """A random slot problem: instance, partition parameter, length of a slot."""

    instance: Instance
    partition: str | int
    slot_ms: int


def slot_case(seed: int, *, jobs: tuple[int, ...] = (2, 3, 4), tiny: bool = False) -> SlotCase:
    """Return a random case: modes, scopes, tau of 0, 4 and 30 s, MIG off, partition free, one or given.

    ``tiny`` draws three partitions and slots so long that a few fill the case.
    """
    draw = random.Random(f"slot {seed}")
    instance = small_instance(
        seed,
        jobs=draw.choice(jobs),
        mode=draw.choice(("free", "free", "none", "cost")),
        scope=draw.choice(("gpu", "gpu", "slices", "never")),
        tau_ms=draw.choice((0, 4_000, 30_000)),
        mig_off=draw.random() < 0.3,
        weight_a=draw.choice((Fraction(1, 100_000), Fraction(1, 2_000), Fraction(0))),
    )
    partition: str | int = draw.choice(("free", "free", "free", "one", draw.randrange(1, 13)))
    if tiny:
        (key,) = instance.catalogues
        whole = instance.catalogue(0)
        chosen = sorted(draw.sample(range(1, 13), 3))
        chosen[0] = 1
        few = Catalogue("drawn", key, tuple(whole[c] for c in chosen))
        instance = instance.replace(catalogues=FrozenMap({key: few}))
        partition = draw.choice(("free", "free", "one", 1))
    slot_ms = draw.choice((61_000, 75_500, 90_000) if tiny else (31_000, 40_000, 60_000))
    return SlotCase(instance, partition, slot_ms)


def slot_reference(case: SlotCase) -> Fraction | None:
    """Return the least cost on the grid, or None where some job fits nothing that is left."""
    program = _Program(case)
    found = [program.least(choice) for choice in program.choices()]
    values = [value for value in found if value is not None]
    return min(values, default=None)


class _Program:
    def __init__(self, case: SlotCase) -> None:
        self.instance, self.slot_ms = case.instance, case.slot_ms
        self.partition = case.partition
        self.origin = min(job.release_ms for job in self.instance.jobs)
        free = self.instance.preemption.mode == "free"
        self.stays = [not (free and job.preemptible) for job in self.instance.jobs]

    def choices(self) -> list[list[Partition]]:
        """Return the sets of partitions that may follow each other."""
        catalogue = list(self.instance.catalogue(0))
        if isinstance(self.partition, int):
            return [[catalogue[self.partition - 1]]]
        off = [[OFF_PARTITION]] if self.instance.mig_off else []
        if self.partition == "one" or self.instance.repartition.scope == "never":
            return [[partition] for partition in catalogue] + off
        return [catalogue, *off]

    def least(self, partitions: list[Partition]) -> Fraction | None:
        """Return the least cost with these partitions, slot by slot."""
        jobs = self.instance.jobs
        for job in jobs:
            if not any(self.rate(job.id, name) for p in partitions for name in p.profiles):
                return None
        nobody = (None,) * len(jobs)
        states: dict[State, Fraction] = {
            (None, tuple(job.work for job in jobs), nobody): Fraction(0)
        }
        best: Fraction | None = None
        t = 0
        while states:
            following: dict[State, Fraction] = {}
            for state, paid in states.items():
                for after, more in self.steps(state, partitions, t):
                    cost = paid + more
                    if best is not None and cost >= best:
                        continue
                    if not any(after[1]):
                        best = cost
                    elif after not in following or cost < following[after]:
                        following[after] = cost
            states = following
            t += 1
            # Work can wait for ever at no cost; a slot without work after the last release is never needed twice.
            if t > self.most_slots(partitions):
                break
        return None if best is None else best + self.instance.constant_cost

    def most_slots(self, partitions: list[Partition]) -> int:
        """Return a number of slots within which an optimal plan ends."""
        tau = self.instance.repartition.tau_ms if len(partitions) > 1 else 0
        busy = 0
        for job in self.instance.jobs:
            rates = [self.rate(job.id, name) for p in partitions for name in p.profiles]
            slowest = min(rate for rate in rates if rate)
            busy += -(-job.work // (slowest * (self.slot_ms - tau)))
        last = max(job.release_ms for job in self.instance.jobs) - self.origin
        return -(-last // self.slot_ms) + 2 * busy + 1

    def rate(self, job: int, profile: str) -> int:
        return self.instance.rate(self.instance.job_by_id[job], self.instance.gpus[0], profile)

    def steps(
        self, state: State, partitions: list[Partition], t: int
    ) -> Iterator[tuple[State, Fraction]]:
        """Yield (state, cost) of every way to spend slot t."""
        before, left, on = state
        for partition in partitions:
            change = before is not None and before != partition
            if change and any(place is not None for place in on):
                continue
            usable = self.slot_ms - (self.instance.repartition.tau_ms if change else 0)
            for runs in self.assignments(left, on, Counter(partition.profiles), t, 0):
                yield self.after(partition, left, runs, usable, t)

    def assignments(
        self,
        left: tuple[int, ...],
        on: tuple[str | None, ...],
        slices: Counter[str],
        t: int,
        j: int,
    ) -> Iterator[tuple[str | None, ...]]:
        """Yield, per job, the profile it runs on in slot t, or None."""
        if j == len(left):
            yield ()
            return
        job = self.instance.jobs[j]
        kept = on[j]
        options: list[str | None] = [None]
        if kept is not None:
            options = [kept]
        elif left[j] and job.release_ms <= self.origin + t * self.slot_ms:
            options += [name for name, n in slices.items() if n > 0 and self.rate(job.id, name)]
        for name in options:
            rest = slices
            if name is not None:
                if slices[name] <= 0:
                    continue
                rest = slices - Counter((name,))
            for others in self.assignments(left, on, rest, t, j + 1):
                yield (name, *others)

    def after(
        self,
        partition: Partition,
        left: tuple[int, ...],
        runs: tuple[str | None, ...],
        usable: int,
        t: int,
    ) -> tuple[State, Fraction]:
        """Return the state after a slot and what the slot costs."""
        instance, model = self.instance, self.instance.gpus[0]
        rest, on, late, level = [], [], 0, 0
        end = self.origin + (t + 1) * self.slot_ms
        for j, (job, name) in enumerate(zip(instance.jobs, runs, strict=True)):
            work = left[j]
            if name is not None:
                work = max(0, work - self.rate(job.id, name) * usable)
                level += 0 if name == "off" else model.profile(name).compute_slices
                if not work:
                    late += job.weight * max(0, end - job.due_ms)
            rest.append(work)
            on.append(name if name is not None and work and self.stays[j] else None)
        energy = 0
        curve = instance.power.get(model.key)
        if curve is not None and any(runs):
            power = curve.off_busy_mw if "off" in runs else curve.busy_mw[level]
            energy = ((power or 0) - curve.idle_mw) * self.slot_ms
        cost = cost_of_parts(instance, energy, late)
        return (partition, tuple(rest), tuple(on)), cost
