"""The truth for two to four preemptive jobs on one GPU: every order of events, the best of all.

For a fixed order of releases and completions the event-order LP is the optimum in continuous time;
the least over all orders is the optimum of the instance. With partition changes also every place of
up to ``max_changes`` changes is enumerated, each an event pair between which only releases fall.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from migopt.exact.event_order import Event, EventOrder
from migopt.exact.one_gpu import OneGpu
from migopt.gpus import default_power, load_gpu
from migopt.model import Catalogue, FrozenMap, Instance, Job, Preemption, Repartition
from migopt.placement import build_catalogue
from migopt.units import FULL_RATE, MS_PER_MINUTE

CLASSES = ("slack", "tight", "capped", "super-linear", "memory", "tau")
GIB = 1024**3


def completion_orders(problem: OneGpu) -> Iterator[tuple[Event, ...]]:
    """Yield every order of the releases (by time) and the completions, each after its release."""
    releases = sorted(range(problem.jobs), key=lambda j: (problem.release[j], j))

    def extend(
        made: tuple[Event, ...], following: int, running: frozenset[int]
    ) -> Iterator[tuple[Event, ...]]:
        if following == len(releases) and not running:
            yield made
            return
        if following < len(releases):
            j = releases[following]
            yield from extend((*made, Event("release", j)), following + 1, running | {j})
            before = made[-1] if made else None
            together = before is not None and before.kind == "release"
            # nothing completes between two releases of one moment
            if together and problem.release[made[-1].who] == problem.release[j]:
                return
        for j in sorted(running):
            yield from extend((*made, Event("done", j)), following, running - {j})

    return extend((), 0, frozenset())


def with_changes(
    events: tuple[Event, ...], classes: int, changes: int
) -> Iterator[tuple[tuple[Event, ...], int]]:
    """Yield the order with every placing of exactly ``changes`` changes, for every first class."""

    def place(
        made: tuple[Event, ...], at: int, current: int, left: int
    ) -> Iterator[tuple[Event, ...]]:
        if left == 0:
            yield (*made, *events[at:])
            return
        for begin in range(max(at, 1), len(events)):
            head = (*made, *events[at:begin], Event("off", -1))
            end = begin
            while True:
                for c in range(classes):
                    if c != current:
                        inside = (*head, *events[begin:end], Event("on", c))
                        yield from place(inside, end, c, left - 1)
                if end + 1 >= len(events) or events[end].kind != "release":
                    break
                end += 1

    for first in range(classes):
        for made in place((), 0, first, changes):
            yield made, first


def reference(problem: OneGpu, max_changes: int | None = None) -> float:
    """Return the least cost above the constant over all orders.

    Parameters
    ----------
    problem : OneGpu
    max_changes : int, optional
        None: changes are free (tau ignored). Otherwise at most that many, each of length tau.
    """
    free = EventOrder(problem, tau=0.0)
    orders = []
    for events in completion_orders(problem):
        plan = free.solve(events, None if len(problem.classes) > 1 else 0)
        if plan is not None:
            orders.append((plan.cost, events))
    orders.sort(key=lambda item: item[0])
    if max_changes is None or len(problem.classes) == 1:
        return orders[0][0]
    solver = EventOrder(problem)
    best = float("inf")
    for changes in range(max_changes + 1):
        for bound, events in orders:
            if bound >= best:
                break
            for candidate, first in with_changes(events, len(problem.classes), changes):
                plan = solver.solve(candidate, first)
                if plan is not None:
                    best = min(best, plan.cost)
    return best


@dataclass(frozen=True)
class ReferenceCase:
    """A random case: its instance and the most changes of partition (None: changes are free)."""

    instance: Instance
    max_changes: int | None


def reference_case(kind: str, seed: int, *, jobs: tuple[int, ...] = (2, 3, 3, 4)) -> ReferenceCase:
    """Return a random case of one class: ``slack``, ``tight``, ``capped``, ``super-linear``, ``memory``, ``tau``.

    Parameters
    ----------
    kind : str
    seed : int
    jobs : tuple of int
        Numbers of jobs to draw from; the class ``tau`` never has more than three.
    """
    draw = random.Random(f"{kind} {seed}")
    model = load_gpu("A100-40GB")
    whole = build_catalogue("paper-12", model)
    count = draw.choice(jobs)
    tau_ms = 0
    if kind == "tau":
        count = min(count, 3)
        tau_ms = draw.choice((4_000, 30_000, 120_000))
        chosen = sorted(draw.sample(range(1, 13), draw.choice((2, 3))))
        if chosen[0] > 1 and draw.random() < 0.5:
            chosen[0] = 1
        whole = Catalogue("drawn", model.key, tuple(whole[c] for c in chosen))
    release, made = 0, []
    for number in range(count):
        release += draw.choice((0, draw.randrange(0, 5 * MS_PER_MINUTE)))
        duration = draw.randrange(MS_PER_MINUTE // 2, 5 * MS_PER_MINUTE)
        low, high = {"slack": (2.0, 5.0), "tight": (0.5, 1.5)}.get(kind, (0.6, 3.0))
        due = release + round(duration * draw.uniform(low, high))
        rates = FrozenMap({model.key: FrozenMap(_rates(kind, draw))})
        memory = draw.choice((0, 6, 12, 24)) * GIB if kind == "memory" else 0
        made.append(
            Job(
                number,
                release,
                due,
                duration * FULL_RATE,
                rates,
                weight=draw.choice((1, 1, 2, 3)),
                memory_bytes=memory,
            )
        )
    used = {name for partition in whole for name in partition.profiles}
    instance = Instance(
        f"{kind}-{seed}",
        (model,),
        tuple(made),
        FrozenMap({model.key: whole}),
        FrozenMap({model.key: default_power(model.key)}),
        Preemption(),
        Repartition("gpu", tau_ms),
        Fraction(1, draw.choice((200, 2_000, 20_000))),
        60 * MS_PER_MINUTE,
        mig_off=False,
    )
    if kind == "memory":  # every job fits somewhere in the catalogue
        largest = max(model.profile(name).memory_bytes or 0 for name in used)
        jobs_fit = tuple(
            replace(j, memory_bytes=min(j.memory_bytes, largest)) for j in instance.jobs
        )
        instance = instance.replace(jobs=jobs_fit)
    return ReferenceCase(instance, 2 if kind == "tau" else None)


def _rates(kind: str, draw: random.Random) -> dict[str, int]:
    slices = {"7g.40gb": 7, "4g.20gb": 4, "3g.20gb": 3, "2g.10gb": 2, "1g.10gb": 1, "1g.5gb": 1}
    shape = draw.choice(("linear", "root"))
    cap = draw.choice((2, 3, 4)) if kind == "capped" else 7
    rates = {}
    for name, c in slices.items():
        speed = Fraction(min(c, cap), cap) if shape == "linear" else Fraction(2 * c, c + 7)
        if kind == "capped" and shape == "root":
            speed = Fraction(2 * min(c, cap), min(c, cap) + cap)
        if kind == "super-linear" and c == 3:
            speed *= Fraction(108, 100)
        rates[name] = max(1, round(speed * FULL_RATE))
    return rates
