"""The best partition of one GPU for at most as many jobs as it can have slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np

from migopt.compiled import Ints
from migopt.errors import InputError
from migopt.mig.recommend.kernel import assign_all, subsets
from migopt.mig.recommend.mix import (
    FORBIDDEN,
    SLOWDOWN_UNIT,
    MixJob,
    Recommendation,
    RunnerUp,
    check_objective,
    shown,
)
from migopt.mig.room import free_mask, room, room_keys
from migopt.model import GpuModel, Partition, Placement, PowerCurve
from migopt.placement import multiset, placement_index, valid_partitions
from migopt.units import FULL_RATE, MS_PER_MINUTE, UJ_PER_WMIN, ceil_div

MOST_JOBS = 12
ALONE = "no other slices hold all jobs"


class Tables:
    """All multisets of slices of a GPU by size, each with its best arrangement; made once."""

    def __init__(
        self,
        model: GpuModel,
        profiles: tuple[str, ...],
        partitions: tuple[Partition, ...] | None = None,
    ) -> None:
        self.model, self.profiles = model, profiles
        index, keys = placement_index(model), room_keys([model])
        best: dict[tuple[str, ...], tuple[tuple[int, ...], Partition]] = {}
        allowed = valid_partitions(model, profiles) if partitions is None else _parts(partitions)
        for partition in allowed:
            free = free_mask(model, (index.number[place] for place in partition))
            left = room(model, free, keys)
            names = multiset(model, partition)
            if names not in best or left > best[names][0]:
                best[names] = (left, partition)

        def small_first(names: tuple[str, ...]) -> tuple[int, int, int, tuple[str, ...]]:
            rows = [model.profile(name) for name in names]
            units = sum(row.memory_units for row in rows)
            return (len(names), units, sum(row.compute_slices for row in rows), names)

        self.nodes: list[tuple[str, ...]] = [(), *sorted(best, key=small_first)]
        self.places = [(), *(best[names][1].placements for names in self.nodes[1:])]
        self.most = len(self.nodes[-1])
        self.starts = [
            next(i for i, names in enumerate(self.nodes) if len(names) == size)
            for size in range(self.most + 1)
        ] + [len(self.nodes)]
        self.memory = [model.profile(name).memory_bytes for name in profiles]
        self.compute = [model.profile(name).compute_slices for name in profiles]
        self._stages: dict[int, Stage] = {}

    def profile_numbers(self, size: int) -> Ints:
        """Return the sets of ``size`` slices by profile number, equal slices side by side."""
        number = {name: k for k, name in enumerate(self.profiles)}
        rows = self.nodes[self.starts[size] : self.starts[size + 1]]
        return np.array([[number[name] for name in row] for row in rows], dtype=np.int64)

    def stage(self, jobs: int) -> Stage:
        """Return what the kernel needs for a number of jobs, made at its first use."""
        if jobs not in self._stages:
            self._stages[jobs] = Stage(self, jobs)
        return self._stages[jobs]


class Stage:
    """The multisets of ``jobs`` slices and the smaller ones from which they are built."""

    def __init__(self, tables: Tables, jobs: int) -> None:
        wanted = range(tables.starts[jobs], tables.starts[jobs + 1])
        number = {names: i for i, names in enumerate(tables.nodes)}
        needed = {tables.nodes[i][:size] for i in wanted for size in range(jobs + 1)}
        self.nodes = sorted(needed, key=lambda names: (len(names), number[names]))
        self.places = [tables.places[number[names]] for names in self.nodes]
        here = {names: i for i, names in enumerate(self.nodes)}
        profile = {name: k for k, name in enumerate(tables.profiles)}
        sizes = [len(names) for names in self.nodes]
        self.low = sizes.index(jobs)
        parent = np.array([here[names[:-1]] for names in self.nodes], dtype=np.int64)
        last = np.array([profile[n[-1]] if n else 0 for n in self.nodes], dtype=np.int64)
        first = [sizes.index(size) for size in range(jobs + 1)]
        self.table = np.zeros((len(self.nodes), 1 << jobs), dtype=np.int64)
        self.worth = np.zeros((jobs, len(tables.profiles)), dtype=np.int64)
        self.profile_of = np.zeros(jobs, dtype=np.int64)
        self.arguments = (
            parent,
            last,
            np.array([*first, len(self.nodes)], dtype=np.int64),
            *subsets(jobs),
            self.worth,
            self.table,
            self.profile_of,
        )


def _parts(partitions: Iterable[Partition]) -> set[Partition]:
    """Return every part of some partitions that has a slice."""
    return {
        Partition(part)
        for whole in partitions
        for size in range(1, len(whole) + 1)
        for part in combinations(whole, size)
    }


@lru_cache(maxsize=128)
def _tables(model: GpuModel, profiles: tuple[str, ...]) -> Tables:
    return Tables(model, profiles)


@lru_cache(maxsize=1024)
def _tables_within(model: GpuModel, partitions: tuple[Partition, ...]) -> Tables:
    used = {place.profile for partition in partitions for place in partition}
    names = tuple(profile.name for profile in model.profiles if profile.name in used)
    return Tables(model, names, partitions)


@lru_cache(maxsize=128)
def _kinds(model: GpuModel) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the profiles without extra engines, and the names of the others."""
    names = tuple(p.name for p in model.profiles if p.kind in ("plain", "double_memory"))
    return names, frozenset(p.name for p in model.profiles if p.name not in names)


def profiles_for(model: GpuModel, jobs: Sequence[MixJob]) -> tuple[str, ...]:
    """Return the slices that come into question: of those with extra engines the ones jobs name."""
    names, others = _kinds(model)
    if all(others.isdisjoint(job.by_gpu.get(model.key, job.rates)) for job in jobs):
        return names
    named = {name for job in jobs for name in job.by_gpu.get(model.key, job.rates)}
    return tuple(p.name for p in model.profiles if p.name in names or p.name in named)


def tables_of(model: GpuModel, profiles: Iterable[str]) -> Tables:
    """Return the sets of slices of a GPU."""
    return _tables(model, tuple(profiles))


def recommend(
    model: GpuModel,
    jobs: Sequence[MixJob],
    objective: str = "speed",
    *,
    power: PowerCurve | None = None,
    weight_a: Fraction = Fraction(1),
    profiles: Iterable[str] | None = None,
    mean_over: int | None = None,
    partitions: tuple[Partition, ...] | None = None,
) -> Recommendation:
    """Return the partition and assignment that are best when every job gets a slice of one GPU.

    Parameters
    ----------
    objective : str
        ``speed``: largest sum of speeds (MISO, SoCC 2022). ``slowdown``: least mean of 1 / speed.
        ``energy``: least energy above idle until all jobs are done, each staying on its slice; the
        integral of P(u(t)) - P(0), with u the compute slices of the slices still running a job.
        ``et``: least (a E + mean tardiness) / (a + 1), E in W·min, tardiness in minutes.
    power : PowerCurve, optional
        Needed for energy and ET.
    weight_a : Fraction
        The weight a of ET.
    profiles : iterable of str, optional
        Slices that may be used; default: those without extra engines, and those that a job names.
    partitions : tuple of Partition, optional
        The slices must be a part of one of these, for example of a catalogue; ``profiles`` is unused.
    mean_over : int, optional
        For ET: over how many jobs tardiness is averaged; default: those given.

    Raises
    ------
    InputError
        Without a job, with more than 12, or without a power curve where one is needed.
    """
    if partitions is None:
        tables = _tables(model, profiles_for(model, jobs) if profiles is None else tuple(profiles))
    else:
        tables = _tables_within(model, partitions)
    names = tables.profiles
    n = len(jobs)
    if objective not in ("speed", "slowdown"):
        check_objective(objective, jobs)
        curve = check_curve(model, power, objective)
        return recommend_on(tables, jobs, objective, curve, weight_a, mean_over or n)
    if not 0 < n <= MOST_JOBS:
        check_objective(objective, jobs)
        raise InputError(f"{n} jobs for one GPU; at most {MOST_JOBS}, or several GPUs")
    if n > tables.most:
        return Recommendation(
            False, note=f"{model.key} has at most {tables.most} slices for {n} jobs"
        )
    stage = tables.stage(n)
    stage.worth[:] = [_row(job, tables, objective) for job in jobs]
    node = assign_all(*stage.arguments)
    if node == 0:
        return Recommendation(False, note=_why_not(tables, jobs))
    values = stage.table[stage.low :, -1].tolist()
    best = values[node - stage.low]
    values[node - stage.low] = FORBIDDEN
    second = max(values)
    runner_up = None
    if second > FORBIDDEN:
        other = stage.nodes[stage.low + values.index(second)]
        runner_up = RunnerUp((other,), shown(objective, second, n))
    places = stage.places[node]
    left: dict[str, list[Placement]] = {}
    for place in places:
        left.setdefault(place.profile, []).append(place)
    slices = tuple((0, left[names[k]].pop()) for k in stage.profile_of.tolist())
    value = shown(objective, best, n)
    note = "" if runner_up else ALONE
    return Recommendation(True, (places,), slices, value, runner_up, objective, note)


def _row(job: MixJob, tables: Tables, objective: str) -> list[int]:
    get = job.by_gpu.get(tables.model.key, job.rates).get
    rates = [get(name, 0) for name in tables.profiles]
    if job.memory_bytes:
        need = job.memory_bytes
        rates = [
            0 if have is not None and have < need else rate
            for rate, have in zip(rates, tables.memory, strict=True)
        ]
    if objective == "speed":
        return [rate if rate > 0 else FORBIDDEN for rate in rates]
    whole = FULL_RATE * SLOWDOWN_UNIT
    return [-ceil_div(whole, rate) if rate > 0 else FORBIDDEN for rate in rates]


def _why_not(tables: Tables, jobs: Sequence[MixJob]) -> str:
    for job in jobs:
        if not any(job.rate(tables.model, name) > 0 for name in tables.profiles):
            return f"{job.name} runs on no slice of {tables.model.key}"
    return f"no partition of {tables.model.key} has a slice that suits each of the {len(jobs)} jobs"


def check_curve(model: GpuModel, power: PowerCurve | None, objective: str) -> PowerCurve:
    """Return the power curve; raises InputError when there is none, or it is not of this GPU."""
    if power is None:
        raise InputError(
            f"{objective} needs the power curve of {model.key}, which is not known: give it"
        )
    levels, given = model.compute_slices + 1, len(power.busy_mw)
    if given != levels:
        raise InputError(
            f"the power curve of {model.key} must have {levels} values, for 0 to "
            f"{model.compute_slices} busy compute slices, not {given}"
        )
    return power


def recommend_on(
    tables: Tables,
    jobs: Sequence[MixJob],
    objective: str,
    power: PowerCurve,
    weight_a: Fraction,
    mean_over: int,
    only: int | None = None,
) -> Recommendation:
    """Try every assignment to every set of slices, or to the ``only`` one: exact for energy and ET.

    When jobs end decides how the power adds up, so neither is a sum over jobs.
    """
    model, n = tables.model, len(jobs)
    if n > tables.most:
        return Recommendation(
            False, note=f"{model.key} has at most {tables.most} slices for {n} jobs"
        )
    times = [
        {
            name: ceil_div(job.work, rate)
            for name in tables.profiles
            if (rate := job.rate(model, name))
        }
        for job in jobs
    ]
    found: list[tuple[Fraction, int, tuple[str, ...]]] = []
    for node in range(tables.starts[n], tables.starts[n + 1]) if only is None else (only,):
        options = [
            (_value(model, jobs, names, times, objective, power, weight_a, mean_over), names)
            for names in _arrangements(tables.nodes[node], times)
        ]
        if options:
            value, names = min(options)
            found.append((value, node, names))
    if not found:
        return Recommendation(False, note=_why_not(tables, jobs))
    found.sort()
    value, node, names = found[0]
    left: dict[str, list[Placement]] = {}
    for place in tables.places[node]:
        left.setdefault(place.profile, []).append(place)
    slices = tuple((0, left[name].pop()) for name in names)
    runner_up = RunnerUp((tables.nodes[found[1][1]],), found[1][0]) if len(found) > 1 else None
    note = "" if runner_up else ALONE
    return Recommendation(True, (tables.places[node],), slices, value, runner_up, objective, note)


def _arrangements(
    names: tuple[str, ...], times: Sequence[dict[str, int]]
) -> Iterator[tuple[str, ...]]:
    """Yield every way to give each job a profile of the multiset on which it runs."""
    left = Counter(names)

    def extend(j: int, chosen: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if j == len(times):
            yield chosen
            return
        for name in left:
            if left[name] and name in times[j]:
                left[name] -= 1
                yield from extend(j + 1, (*chosen, name))
                left[name] += 1

    yield from extend(0, ())


def _value(
    model: GpuModel,
    jobs: Sequence[MixJob],
    names: Sequence[str],
    times: Sequence[dict[str, int]],
    objective: str,
    power: PowerCurve,
    weight_a: Fraction,
    mean_over: int,
) -> Fraction:
    ends = sorted(
        (times[j][name], model.profile(name).compute_slices) for j, name in enumerate(names)
    )
    level, now, energy = sum(compute for _, compute in ends), 0, 0
    for end, compute in ends:
        energy += (end - now) * (power.busy_mw[level] - power.busy_mw[0])
        level, now = level - compute, end
    watt_minutes = Fraction(energy, UJ_PER_WMIN)
    if objective == "energy":
        return watt_minutes
    late = sum(
        max(0, times[j][name] - job.due_ms)
        for j, (job, name) in enumerate(zip(jobs, names, strict=True))
        if job.due_ms is not None
    )
    return (weight_a * watt_minutes + Fraction(late, mean_over * MS_PER_MINUTE)) / (weight_a + 1)
