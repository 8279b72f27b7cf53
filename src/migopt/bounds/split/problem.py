"""The variable splitting bound's data: grid, windows of jobs, speeds and costs as arrays.

Times are minutes, costs are units of ``Instance`` cost; floats here only steer the ascent, the bound
that counts is evaluated from integers (``exact.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from migopt.bounds.busy_vectors import BusyVectors, Case, busy_vectors
from migopt.bounds.kernel import Tables, make_tables
from migopt.bounds.split.covers import only_partition
from migopt.model import Instance
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN, ceil_div

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Windows end this many mean fastest durations after due date and expected completion.
MARGIN = 10
#: Up to this many jobs every window reaches to the end of the grid.
FULL_WINDOWS = 20
#: From more jobs on releases and due dates are no grid points; uniform points take their place.
ALL_POINTS = 1500
COARSE_POINTS = 1000
#: Length of the time axis that 1,500 uniform points are enough for, in mean fastest durations.
UNIFORM_POINTS = 1500


@dataclass(frozen=True)
class Kind:
    """The GPUs of one model: their busy vectors, and which groups of the job arrays are theirs."""

    vectors: BusyVectors
    tables: Tables
    count: int
    offset: int
    cost: Floats

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.vectors.groups)


@dataclass(frozen=True)
class SplitProblem:
    """Everything the bound's two parts read.

    Attributes
    ----------
    instance : Instance
    case : str
        As in ``busy_vectors``.
    kinds : tuple of Kind
    grid_ms : int64 array [m + 1]
    first, last : int64 arrays [J]
        Window of job j: intervals first[j] .. last[j] - 1.
    speed : float array [J, K]
        Fraction of the job per minute on each group, over all kinds.
    beta : float array [J]
        Cost of a minute of tardiness.
    partition : int
        The only partition (1-based) that the kinds know; 0 for all.
    """

    instance: Instance
    case: Case
    kinds: tuple[Kind, ...]
    grid_ms: Ints
    first: Ints
    last: Ints
    speed: Floats
    beta: Floats
    partition: int = 0

    @cached_property
    def times(self) -> Floats:
        """Grid points in minutes."""
        return self.grid_ms / MS_PER_MINUTE

    @cached_property
    def lengths(self) -> Floats:
        """Interval lengths in minutes."""
        return np.diff(self.times)

    @cached_property
    def due(self) -> Floats:
        """Due dates in minutes."""
        return np.array([job.due_ms for job in self.instance.jobs], float) / MS_PER_MINUTE

    @cached_property
    def due_interval(self) -> Ints:
        """First interval that starts at or after the due date."""
        dues = [job.due_ms for job in self.instance.jobs]
        return np.searchsorted(self.grid_ms, dues).astype(np.int64)

    @cached_property
    def pair0(self) -> Ints:
        """First (job, interval) pair of each job; one more entry at the end."""
        return np.concatenate(([0], np.cumsum(self.last - self.first))).astype(np.int64)

    @cached_property
    def by_interval(self) -> tuple[Ints, Ints]:
        """Pairs in order of interval, and where each interval's pairs begin."""
        spans = [np.arange(a, b) for a, b in zip(self.first, self.last, strict=True)]
        where = np.concatenate(spans) if spans else np.empty(0, np.int64)
        order = np.argsort(where, kind="stable").astype(np.int64)
        starts = np.searchsorted(where[order], np.arange(self.grid_ms.size)).astype(np.int64)
        return starts, order

    @cached_property
    def speed_order(self) -> Ints:
        """Groups of each job by rising speed, -1 for those where it cannot run (at the end)."""
        order = np.argsort(self.speed, axis=1, kind="stable").astype(np.int64)
        ranked = np.take_along_axis(self.speed, order, axis=1)
        out = np.full_like(order, -1)
        for j in range(order.shape[0]):
            good = order[j][ranked[j] > 0]
            out[j, : good.size] = good
        return out

    @property
    def groups(self) -> int:
        """Groups over all kinds."""
        return int(self.speed.shape[1])

    @cached_property
    def step_scale(self) -> float:
        """The larger of what a minute of full power and a minute of tardiness cost."""
        power = max((float(kind.cost.max()) for kind in self.kinds), default=0.0)
        return max(power, float(self.beta.max(initial=0.0)))

    def start_prices(self) -> Floats:
        """Return the chord price of power on every pair: alpha (P_C - P_0) / C per compute slice."""
        prices = np.zeros((int(self.pair0[-1]), self.groups))
        for kind in self.kinds:
            top = max(kind.vectors.levels[-1], 1)
            chord = float(kind.cost[-1]) / top
            prices[:, kind.offset : kind.offset + kind.groups] = chord * np.array(
                kind.vectors.compute, float
            )
        owner = np.repeat(np.arange(self.speed.shape[0]), np.diff(self.pair0))
        prices[self.speed[owner] <= 0] = 0.0
        return prices


def energy_per_minute(instance: Instance, extra_mw: float) -> float:
    """Return the cost of a minute at ``extra_mw`` above idle."""
    a = float(instance.weight_a)
    return a / (a + 1) * extra_mw * MS_PER_MINUTE / UJ_PER_WMIN


def floor_power(vectors: BusyVectors) -> tuple[int, ...]:
    """Return power above idle per vector, lowered to the least of any higher level.

    Then filling a slice with a job never saves energy, so jobs without a price may be left out. A
    rising curve is not changed; any other is replaced by a lower one, which keeps bounds valid.
    """
    lowered = [
        min(p for p, u in zip(vectors.extra_mw, vectors.levels, strict=True) if u >= level)
        for level in vectors.levels
    ]
    if vectors.off_vector is not None:
        lowered[vectors.off_vector] = vectors.extra_mw[vectors.off_vector]
    return tuple(lowered)


def build_problem(
    instance: Instance,
    case: Case,
    *,
    uniform: int | None = None,
    completions_ms: Mapping[int, int] | None = None,
    widen: Sequence[float] | None = None,
    partition: int = 0,
) -> SplitProblem:
    """Lay the grid and the windows.

    Parameters
    ----------
    instance : Instance
    case : str
        ``mig`` or ``off`` for one GPU, ``both`` for several where MIG off is allowed.
    uniform : int, optional
        Uniform grid points beside releases, due dates and window ends.
    completions_ms : mapping, optional
        Completions by job id in some good schedule; windows reach beyond them.
    widen : sequence of float, optional
        Factor on each job's margin.
    partition : int
        Look at this partition (1-based) alone; 0 for all.
    """
    kinds = _kinds(only_partition(instance, partition) if partition else instance, case)
    fastest = _fastest_ms(instance, kinds)
    ends = _window_ends(instance, fastest, _worth_ms(instance, kinds), completions_ms or {}, widen)
    last = max(ends, default=1)
    points, count = {0}, UNIFORM_POINTS if uniform is None else uniform
    if len(instance.jobs) <= ALL_POINTS:
        points |= {time for job in instance.jobs for time in (job.release_ms, job.due_ms)}
    else:
        # Valid on any grid: a window begins with the interval that holds the release, and an interval
        # that holds the due date counts as on time.
        count += COARSE_POINTS
    points |= {last} | _between(instance, fastest, last, count)
    grid = np.array(sorted(p for p in points if 0 <= p <= last), dtype=np.int64)
    releases = np.array([job.release_ms for job in instance.jobs], dtype=np.int64)
    first = np.searchsorted(grid, releases, side="right") - 1
    until = np.maximum(np.searchsorted(grid, np.array(ends, dtype=np.int64)), first + 1)
    last_of = np.minimum(until, grid.size - 1).astype(np.int64)
    return _assembled(instance, case, kinds, grid, (first.astype(np.int64), last_of), partition)


def problem_on(
    instance: Instance, case: Case, grid_ms: Ints, first: Ints, last: Ints, partition: int = 0
) -> SplitProblem:
    """Return the problem on a grid and windows laid before (say, those of stored prices)."""
    kinds = _kinds(only_partition(instance, partition) if partition else instance, case)
    return _assembled(instance, case, kinds, grid_ms, (first, last), partition)


def _assembled(
    instance: Instance,
    case: Case,
    kinds: tuple[Kind, ...],
    grid: Ints,
    windows: tuple[Ints, Ints],
    partition: int,
) -> SplitProblem:
    a, weights = float(instance.weight_a), [job.weight for job in instance.jobs]
    beta = np.array(weights, float) / (instance.total_weight * (1 + a))
    speed = [
        [
            rate * MS_PER_MINUTE / job.work
            for kind in kinds
            for rate in kind.vectors.rates(instance, job)
        ]
        for job in instance.jobs
    ]
    width = sum(kind.groups for kind in kinds)
    speeds = np.array(speed, float).reshape(len(instance.jobs), width)
    return SplitProblem(instance, case, kinds, grid, *windows, speeds, beta, partition)


def _between(instance: Instance, fastest: list[int], last: int, count: int) -> set[int]:
    """Return ``count`` points between 0 and ``last``.

    Few jobs have windows that reach far beyond the time when they will be done: half as long again as
    they take one after the other gets the even points, later ones grow apart.
    """
    if len(instance.jobs) > FULL_WINDOWS or not instance.jobs or count == 0:
        return {last * i // (count + 1) for i in range(1, count + 1)}
    end = min(last, max(1, 3 * max(_one_after_the_other(instance, fastest)) // 2))
    found = {end * i // count for i in range(1, count + 1)}
    at = float(end)
    while at < last:
        found.add(int(at))
        at = at * (1.0 + 5.0 / count) + 1.0
    return found


def _kinds(instance: Instance, case: Case) -> tuple[Kind, ...]:
    kinds, offset = [], 0
    for model in instance.gpu_models:
        vectors = busy_vectors(instance, model, case)
        cost = np.array([energy_per_minute(instance, mw) for mw in floor_power(vectors)])
        kinds.append(
            Kind(
                vectors,
                make_tables(vectors),
                sum(gpu.key == model.key for gpu in instance.gpus),
                offset,
                cost,
            )
        )
        offset += len(vectors.groups)
    return tuple(kinds)


def _fastest_ms(instance: Instance, kinds: Sequence[Kind]) -> list[int]:
    """Return each job's least duration, 0 where it cannot run in this case."""
    out = []
    for job in instance.jobs:
        best = max((r for kind in kinds for r in kind.vectors.rates(instance, job)), default=0)
        out.append(ceil_div(job.work, best) if best else 0)
    return out


def _worth_ms(instance: Instance, kinds: Sequence[Kind]) -> list[int]:
    """Return how much tardiness costs as much as the energy of each job, alone on its best slice.

    A window that ends earlier after the due date would let the option beyond the window save that
    energy.
    """
    a = instance.weight_a
    out = []
    for job in instance.jobs:
        energies = [
            min(
                (
                    kind.vectors.extra_mw[b] * ceil_div(job.work, rates[k])
                    for b, counts in enumerate(kind.vectors.counts)
                    for k, n in enumerate(counts)
                    if sum(counts) == n == 1 and rates[k]
                ),
                default=0,
            )
            for kind in kinds
            for rates in [kind.vectors.rates(instance, job)]
        ]
        least = min(energies, default=0)
        late = a * least * instance.total_weight / (1000 * max(job.weight, 1))
        out.append(min(int(late), 10**11))
    return out


def _window_ends(
    instance: Instance,
    fastest: list[int],
    worth: list[int],
    completions: Mapping[int, int],
    widen: Sequence[float] | None,
) -> list[int]:
    jobs = instance.jobs
    if not jobs:
        return []
    if len(jobs) <= FULL_WINDOWS:
        # Nothing has to end later than all jobs one after the other, on their slowest slices.
        slowest = [
            ceil_div(job.work, min(rate for _, _, rate in instance.options(job))) for job in jobs
        ]
        # Very slow slices would stretch the grid; the option beyond the window covers them.
        span = min(sum(slowest), 20 * sum(fastest))
        changes = instance.repartition.tau_ms * len(jobs)
        late = max(max(job.release_ms, job.due_ms) for job in jobs)
        end = late + span + changes + 1
        whole = min(sum(worth), 20 * end)
        return [max(end, job.due_ms + whole) for job in jobs]
    margin = max(1, MARGIN * sum(fastest) // len(jobs))
    expected = _one_after_the_other(instance, fastest)
    factors = [1.0] * len(jobs) if widen is None else widen
    return [
        max(job.due_ms, job.release_ms, completions.get(job.id, done))
        + max(1, int(margin * factor))
        for job, done, factor in zip(jobs, expected, factors, strict=True)
    ]


def _one_after_the_other(instance: Instance, fastest: list[int]) -> list[int]:
    """Return completions if all GPUs together served the jobs in order of release, at full speed."""
    done: dict[int, int] = {}
    clock = 0
    order = sorted(range(len(instance.jobs)), key=lambda j: instance.jobs[j].release_ms)
    for j in order:
        clock = max(clock, instance.jobs[j].release_ms) + fastest[j] // len(instance.gpus)
        done[j] = max(clock, instance.jobs[j].release_ms + fastest[j])
    return [done[j] for j in range(len(instance.jobs))]
