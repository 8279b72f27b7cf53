"""The truth for two to four jobs without preemption: best-first search over every decision of every tick.

Nothing of the solvers is used. A state is a moment, which jobs wait, and per GPU the partition in force, how
long a change still takes, and what runs on which profile for how long. At every tick each GPU may
begin a change, and each waiting job may start on any free slice; all combinations are tried. All times
of a case are multiples of its tick, and then some optimal schedule keeps to ticks.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from migopt.gpus import load_gpu
from migopt.model import (
    OFF_PARTITION,
    Catalogue,
    FrozenMap,
    GpuModel,
    Instance,
    Job,
    Partition,
    PowerCurve,
    Preemption,
    Repartition,
)
from migopt.placement import build_catalogue
from migopt.units import UJ_PER_WMIN

CLASSES = ("kept", "changing", "two kept", "two changing")
UNIT_MS = 1000
GIB = 1024**3
#: Watts by busy level of the A100: published, straight, flat at the top, one big first step, falling; and with MIG off.
CURVES = (
    ((40, 119, 160, 205, 244, 248, 249, 249), 250),
    ((40, 50, 60, 70, 80, 90, 100, 110), 200),
    ((30, 90, 110, 110, 110, 110, 110, 110), 180),
    ((40, 200, 201, 203, 206, 210, 215, 221), 250),
    ((40, 90, 60, 120, 100, 180, 170, 30), 200),
)
A30_CURVE = PowerCurve((30_000, 65_000, 95_000, 120_000, 118_000), 140_000, "invented")


def tick_case(kind: str, seed: int, *, jobs: tuple[int, ...] = (2, 3, 3, 4)) -> Instance:
    """Return a random case of one class: one GPU or two, partitions kept or changing with tau of 0 to 2 ticks.

    Capped, super-linear and memory-limited jobs, equal jobs, weights, zero slack, MIG off, and an A30 beside
    the A100 are among them.
    """
    draw = random.Random(f"tick {kind} {seed}")
    two, changing = kind.startswith("two"), kind.endswith("changing")
    models = [load_gpu("A100-40GB")]
    if two:
        models.append(load_gpu("A30-24GB") if draw.random() < 0.25 else models[0])
    catalogues = {"A100-40GB": _few("A100-40GB", "paper-12", draw, 3 if two else 4)}
    catalogues["A30-24GB"] = _few("A30-24GB", "maximal", draw, 2)
    made: list[Job] = []
    for j in range(draw.choice(jobs)):
        made.append(_job(draw, j, made))
    watts, off = draw.choice(CURVES)
    power = {"A100-40GB": PowerCurve(tuple(1000 * w for w in watts), 1000 * off)}
    power["A30-24GB"] = A30_CURVE
    keys = {model.key for model in models}
    instance = Instance(
        f"{kind}-{seed}",
        tuple(models),
        tuple(made),
        FrozenMap({key: catalogues[key] for key in sorted(keys)}),
        FrozenMap({key: power[key] for key in sorted(keys)}),
        Preemption("none"),
        Repartition("gpu" if changing else "never", UNIT_MS * draw.choice((0, 1, 1, 2))),
        draw.choice(
            (Fraction(0), Fraction(1, 2000), Fraction(1, 60), Fraction(1, 60), Fraction(1, 10))
        ),
        60_000,
        mig_off=draw.random() < 0.3,
    )
    if tick_reference(instance, feasible_only=True) is None:  # jobs that no choice runs together
        return tick_case(kind, seed + 1_000_000, jobs=jobs)
    return instance


def _few(key: str, name: str, draw: random.Random, most: int) -> Catalogue:
    whole = build_catalogue(name, load_gpu(key))
    numbers = range(1, len(whole) + 1)
    chosen = sorted(draw.sample(numbers, min(most, len(whole))))
    return Catalogue("drawn", key, tuple(whole[c] for c in chosen))


def _job(draw: random.Random, number: int, made: list[Job]) -> Job:
    if made and draw.random() < 0.15:  # equal jobs
        twin = made[-1]
        return Job(
            number,
            twin.release_ms,
            twin.due_ms,
            twin.work,
            twin.rates,
            twin.weight,
            twin.memory_bytes,
        )
    shape = draw.choice(("linear", "capped", "super", "few", "whole", "small"))
    speeds = {}
    for name, c in (("1g", 1), ("2g", 2), ("3g", 3), ("4g", 4), ("7g", 7)):
        speed = min(c, 3) if shape == "capped" else c
        if shape == "super" and c == 3:
            speed = 4
        fits = {"few": c >= 2, "whole": c >= 4, "small": c <= 3}.get(shape, True)
        if fits:
            speeds[name] = speed
    units = draw.randrange(1, 5) * (max(speeds.values()) + min(speeds.values())) // 2
    off = max(speeds.values()) + draw.choice((0, 1))

    def rate(speed: int) -> int:
        """Rounded up, so that every duration is a whole number of ticks."""
        return -(-units * 10**6 // -(-units // speed))

    tables = {}
    for key in ("A100-40GB", "A30-24GB"):
        names = [profile.name for profile in load_gpu(key).profiles]
        rates = {name: rate(speeds[name[:2]]) for name in names if name[:2] in speeds}
        tables[key] = FrozenMap(rates | {"off": rate(off)})
    release = UNIT_MS * draw.choice((0, 0, 1, 2, 4))
    return Job(
        number,
        release,
        release + UNIT_MS * draw.choice((0, 1, 2, 3, 5, 9)),
        units * UNIT_MS * 10**6,
        FrozenMap(tables),
        weight=draw.choice((1, 1, 2, 3)),
        memory_bytes=draw.choice((0, 0, 0, 8 * GIB)),
    )


#: Runs on a GPU: (profile, ticks left), sorted.
Runs = tuple[tuple[str, int], ...]
#: A GPU: partition by number (-1: MIG off), ticks a change still takes, what runs, whether its last run just ended.
Gpu = tuple[int, int, Runs, bool]


@dataclass(frozen=True, order=True)
class _State:
    tick: int
    waiting: int
    gpus: tuple[Gpu, ...]


def tick_reference(instance: Instance, *, feasible_only: bool = False) -> Fraction | None:
    """Return the least cost over all schedules without preemption, or None where there is none.

    ``feasible_only`` looks only for whether each job fits some choice of partitions.
    """
    return _Search(instance).least(feasible_only)


class _Search:
    def __init__(self, instance: Instance) -> None:
        self.instance, self.jobs = instance, instance.jobs
        a, weights = instance.weight_a, instance.total_weight
        # cost x (P + Q) W 60,000,000 = P W E + 1000 Q sum w T
        self.per_mw_tick = a.numerator * weights * UNIT_MS
        self.per_late_ms = 1000 * a.denominator
        self.whole = (a.numerator + a.denominator) * weights * UJ_PER_WMIN
        self.changing = instance.repartition.scope != "never"
        self.tau = instance.repartition.tau_ms // UNIT_MS if self.changing else 0
        assert not instance.repartition.tau_ms % UNIT_MS
        self.partitions = {
            model.key: dict(enumerate(instance.catalogues[model.key]))
            | ({-1: OFF_PARTITION} if instance.mig_off else {})
            for model in instance.gpu_models
        }
        self.ticks = [
            {
                (model.key, profile): self._ticks(job, rate)
                for model, profile, rate in instance.options(job)
            }
            for job in self.jobs
        ]
        self.equal_gpus = len(instance.gpu_models) == 1
        self.least_power = self._least_power()

    def _ticks(self, job: Job, rate: int) -> int:
        duration = job.duration_ms(rate)
        assert duration % UNIT_MS == 0
        return duration // UNIT_MS

    def least(self, feasible_only: bool) -> Fraction | None:
        """Search from every first choice of partitions at once."""
        everyone = (1 << len(self.jobs)) - 1
        # Of equal promise the later state first: it is nearer to the end.
        heap: list[tuple[int, int, int, _State]] = []
        best: dict[_State, int] = {}
        for choice in product(*(sorted(self.partitions[m.key]) for m in self.instance.gpus)):
            if self._seats_all(choice):
                state = self._canonical(0, everyone, [(number, 0, (), False) for number in choice])
                best[state] = 0
                heapq.heappush(heap, (self._rest(state), 0, 0, state))
        if feasible_only or not heap:
            return Fraction(0) if heap else None
        while heap:
            _, _, paid, state = heapq.heappop(heap)
            if paid > best[state]:
                continue
            if not state.waiting and not any(runs for _, _, runs, _ in state.gpus):
                return Fraction(paid, self.whole) + self.instance.constant_cost
            for after, more in self._steps(state):
                cost = paid + more
                if after.tick <= self._last() and cost < best.get(after, cost + 1):
                    best[after] = cost
                    heapq.heappush(heap, (cost + self._rest(after), -after.tick, cost, after))
        return None

    def _last(self) -> int:
        longest = sum(max(ticks.values()) for ticks in self.ticks)
        return max(job.release_ms for job in self.jobs) // UNIT_MS + longest + self.tau * 4 + 1

    def _seats_all(self, choice: tuple[int, ...]) -> bool:
        """Whether each job fits what GPUs may have: their first partition, or any if they may change."""
        for ticks in self.ticks:
            fits = False
            for model, number in zip(self.instance.gpus, choice, strict=True):
                own = self.partitions[model.key]
                free = self.changing and number >= 0
                reach = [p for n, p in own.items() if n >= 0] if free else [own[number]]
                fits |= any((model.key, name) in ticks for p in reach for name in p.profiles)
            if not fits:
                return False
        return True

    def _canonical(self, tick: int, waiting: int, gpus: list[Gpu]) -> _State:
        """GPUs of one model are interchangeable."""
        return _State(tick, waiting, tuple(sorted(gpus) if self.equal_gpus else gpus))

    def _rest(self, state: _State) -> int:
        """A lower bound on what is still to pay: each waiting job started now where that is cheapest.

        A busy GPU takes at least its least power per compute slice times the slices that run jobs.
        """
        total = 0
        for j, job in enumerate(self.jobs):
            if state.waiting >> j & 1:
                start = max(state.tick, job.release_ms // UNIT_MS)
                total += min(
                    self._late(job, start + ticks) + self._energy(key, name, ticks)
                    for (key, name), ticks in self.ticks[j].items()
                )
        for model, (_, _, runs, _) in zip(self.instance.gpus, state.gpus, strict=True):
            total += sum(self._energy(model.key, name, ticks) for name, ticks in runs)
        return total

    def _energy(self, key: str, name: str, ticks: int) -> int:
        """Return the least energy of a run, in units of cost, rounded down."""
        power, slices = self.least_power[key, name]
        return power * ticks * self.per_mw_tick // slices

    def _least_power(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Return milliwatts above idle per profile, as a numerator and a denominator."""
        found = {}
        for model in self.instance.gpu_models:
            curve = self.instance.power[model.key]
            levels = range(1, len(curve.busy_mw))
            level = min(levels, key=lambda u: Fraction(curve.busy_mw[u] - curve.idle_mw, u))
            for profile in model.profiles:
                rise = curve.busy_mw[level] - curve.idle_mw
                found[model.key, profile.name] = profile.compute_slices * rise, level
            found[model.key, "off"] = (curve.off_busy_mw or 0) - curve.idle_mw, 1
        return found

    def _late(self, job: Job, end: int) -> int:
        return self.per_late_ms * job.weight * max(0, UNIT_MS * end - job.due_ms)

    def _steps(self, state: _State) -> Iterator[tuple[_State, int]]:
        """Yield every way to spend the next tick, but for idling with all that is left in hand.

        Then the rest of the schedule could come a tick earlier.
        """
        released = all(
            job.release_ms <= state.tick * UNIT_MS
            for j, job in enumerate(self.jobs)
            if state.waiting >> j & 1
        )
        for gpus in product(*(self._changes(g, gpu) for g, gpu in enumerate(state.gpus))):
            for waiting, started, late in self._starts(state, list(gpus), 0):
                if not released or any(left or runs for _, left, runs, _ in started):
                    yield self._tick(state.tick, waiting, started, late)

    def _changes(self, g: int, gpu: Gpu) -> list[Gpu]:
        """Return the GPU as it is, or in the hands of a change.

        A change may as well begin when the last run before it ends, and needs no later moment.
        """
        number, _, _, ended = gpu
        found = [gpu]
        if self.changing and ended and number >= 0:
            others = self.partitions[self.instance.gpus[g].key]
            found += [(other, self.tau, (), False) for other in others if other not in (number, -1)]
        return found

    def _starts(
        self, state: _State, gpus: list[Gpu], j: int
    ) -> Iterator[tuple[int, list[Gpu], int]]:
        """Yield (waiting, GPUs, lateness) for every way to start waiting jobs from number j on."""
        if j == len(self.jobs):
            yield state.waiting, gpus, 0
            return
        yield from self._starts(state, gpus, j + 1)
        job = self.jobs[j]
        if not state.waiting >> j & 1 or job.release_ms > state.tick * UNIT_MS:
            return
        for g, (number, left, runs, ended) in enumerate(gpus):
            if left:
                continue
            key = self.instance.gpus[g].key
            free = Counter(self._profiles(key, number)) - Counter(name for name, _ in runs)
            for name in free:
                ticks = self.ticks[j].get((key, name))
                if ticks is None:
                    continue
                more = list(gpus)
                more[g] = (number, left, tuple(sorted((*runs, (name, ticks)))), ended)
                for waiting, started, late in self._starts(state, more, j + 1):
                    own = self._late(job, state.tick + ticks)
                    yield waiting & ~(1 << j), started, late + own

    def _profiles(self, key: str, number: int) -> tuple[str, ...]:
        partition: Partition = self.partitions[key][number]
        return partition.profiles

    def _tick(self, tick: int, waiting: int, gpus: list[Gpu], late: int) -> tuple[_State, int]:
        """Let a tick pass: power of what runs, runs and changes get shorter."""
        power, after = 0, []
        for model, (number, left, runs, _) in zip(self.instance.gpus, gpus, strict=True):
            power += self._power(model, number, runs)
            rest = tuple(sorted((name, ticks - 1) for name, ticks in runs if ticks > 1))
            after.append((number, max(0, left - 1), rest, bool(runs) and not rest))
        return self._canonical(tick + 1, waiting, after), late + power * self.per_mw_tick

    def _power(self, model: GpuModel, number: int, runs: Runs) -> int:
        """Return milliwatts above idle."""
        if not runs:
            return 0
        curve: PowerCurve = self.instance.power[model.key]
        if number < 0:
            assert curve.off_busy_mw is not None
            return curve.off_busy_mw - curve.idle_mw
        level = sum(model.profile(name).compute_slices for name, _ in runs)
        return curve.busy_mw[min(level, model.compute_slices)] - curve.idle_mw
