"""Energy and ET over many GPUs: which jobs share a GPU, and how that GPU is cut.

Neither is a sum over jobs, because what a GPU draws depends on how many of its slices run at once. So a
column of the programme is a whole GPU: one set of slices and the classes of equal jobs that take all of
them, at the cost of the best assignment. Variables: z_c, how many GPUs are like column c. Rows: every
class has as many places as jobs; each model has as many columns as GPUs at most. A GPU without a column
stays empty and costs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from migopt.errors import InputError, MigoptError
from migopt.mig.recommend.assign import cheapest
from migopt.mig.recommend.mix import MixJob, Recommendation, RunnerUp
from migopt.mig.recommend.one_gpu import Tables, check_curve, profiles_for, recommend_on, tables_of
from migopt.model import GpuModel, Placement, PowerCurve
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN, ceil_div

#: Columns of a programme: more make the solver slow and fill memory.
MOST_COLUMNS = 250_000
#: Columns of the first programme; most answers are among so many of least reduced cost.
FIRST_COLUMNS = 1_000
Members = tuple[int, ...]
Floats = np.ndarray[Any, np.dtype[np.float64]]
#: Partitions per GPU, GPU and slice per job, the exact value, and how often each (kind, cut) is used.
Found = tuple[
    tuple[tuple[Placement, ...], ...],
    tuple[tuple[int, Placement], ...],
    Fraction,
    Counter[tuple[int, int]],
]


@dataclass(frozen=True)
class Kind:
    """A GPU model of the fleet: its slices, and how many GPUs of it there are."""

    tables: Tables
    curve: PowerCurve
    count: int


class Shares:
    """The columns for some GPUs and jobs under ``energy`` or ``et``.

    Raises
    ------
    InputError
        Without the power curve of a GPU, and when so many different jobs make too many columns.
    """

    def __init__(
        self,
        models: Sequence[GpuModel],
        jobs: Sequence[MixJob],
        objective: str,
        power: Mapping[str, PowerCurve],
        weight_a: Fraction,
    ) -> None:
        self.models, self.objective, self.weight_a = list(models), objective, weight_a
        self.jobs = list(jobs)
        counts = Counter(model.key for model in models)
        self.kinds = []
        for model in {model.key: model for model in models}.values():
            curve = check_curve(model, power.get(model.key), objective)
            self.kinds.append(
                Kind(tables_of(model, profiles_for(model, jobs)), curve, counts[model.key])
            )
        self.classes, self.members = _classes(jobs, [kind.tables for kind in self.kinds])
        self.columns: list[tuple[int, int, Members]] = []
        self.cost: list[float] = []
        self._fill(every_cut=False)

    def _fill(self, every_cut: bool) -> None:
        """Make the columns: per set of jobs the best cut alone, or every cut (for a runner-up)."""
        self.columns, self.cost = [], []
        sizes = [len(members) for members in self.members]
        most = max(kind.tables.most for kind in self.kinds)
        sets = list(_multisets(sizes, min(most, len(self.jobs))))
        for number, kind in enumerate(self.kinds):
            times, due = self._times(kind)
            for size in range(1, kind.tables.most + 1):
                rows = [members for members in sets if len(members) == size]
                if not rows:
                    continue
                low, high = kind.tables.starts[size], kind.tables.starts[size + 1]
                found = cheapest(
                    np.array(rows, dtype=np.int64),
                    kind.tables.profile_numbers(size),
                    times,
                    due,
                    np.array(kind.tables.compute, dtype=np.int64),
                    np.array(kind.curve.busy_mw, dtype=np.int64),
                    self._price_of_energy(),
                    self._price_of_lateness(),
                )
                self._take(number, rows, found, low, high - low, every_cut)
        if len(self.columns) > MOST_COLUMNS:
            raise _too_many(len(self.classes), len(self.columns))

    def _take(
        self,
        kind: int,
        rows: list[Members],
        found: np.ndarray,
        low: int,
        cuts: int,
        every_cut: bool,
    ) -> None:
        if every_cut:
            pairs = [(r, c) for r in range(len(rows)) for c in range(cuts)]
        else:
            pairs = list(enumerate(np.argmin(found, axis=1).tolist()))
        for r, c in pairs:
            if np.isfinite(found[r, c]):
                self.columns.append((kind, low + c, rows[r]))
                self.cost.append(float(found[r, c]))

    def _price_of_energy(self) -> float:
        share = Fraction(1) if self.objective == "energy" else self.weight_a / (self.weight_a + 1)
        return float(share / UJ_PER_WMIN)

    def _price_of_lateness(self) -> float:
        if self.objective == "energy":
            return 0.0
        return float(1 / ((self.weight_a + 1) * len(self.jobs) * MS_PER_MINUTE))

    def _times(self, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
        """Return how long each class runs on each profile (-1: not at all), and when it is due."""
        model = kind.tables.model
        rates = [[job.rate(model, name) for name in kind.tables.profiles] for job in self.classes]
        times = [
            [ceil_div(job.work, rate) if rate > 0 else -1 for rate in row]
            for job, row in zip(self.classes, rates, strict=True)
        ]
        due = [2**62 if job.due_ms is None else job.due_ms for job in self.classes]
        return np.array(times, dtype=np.int64), np.array(due, dtype=np.int64)

    def best(self, runner_up: bool) -> Recommendation:
        """Return the best way, and the best with other cuts when it is asked for."""
        found = self._exact(None)
        if found is None:
            note = f"these {len(self.models)} GPUs have no slice for each of {len(self.jobs)} jobs"
            return Recommendation(False, note=note)
        partitions, assignment, value, cuts = found
        second, note = None, "no runner-up was asked for"
        if runner_up:
            note = "no other partitions"
            try:
                self._fill(every_cut=True)
            except InputError as error:
                note = f"no runner-up: {error.message}"
            else:
                others = self._exact(cuts)
                if others is not None:
                    names = tuple(tuple(place.profile for place in places) for places in others[0])
                    second, note = RunnerUp(names, others[2]), ""
        return Recommendation(True, partitions, assignment, value, second, self.objective, note)

    def _exact(self, not_these: Counter[tuple[int, int]] | None) -> Found | None:
        """Solve over the columns of least reduced cost, then over all that could still be better.

        Every answer costs at least the linear bound plus the reduced cost of each column in it. So
        once an answer is known, columns above its distance from the bound are in no better one.
        """
        reduced, bound = self._linear()
        order = np.argsort(reduced, kind="stable")
        number = min(FIRST_COLUMNS, len(order))
        best: Found | None = None
        while number:
            chosen = self._solve(not_these, order[:number].tolist())
            if chosen is None:
                if number == len(order):
                    return best
                number = min(4 * number, len(order))
                continue
            found = self._decode(chosen)
            if best is None or found[2] < best[2]:
                best = found
            value = float(best[2])
            still = int(np.sum(reduced <= value - bound + 1e-9 * abs(value)))
            if still <= number:
                return best
            number = still
        return best

    def _linear(self) -> tuple[Floats, float]:
        """Return the reduced cost of every column, and a lower bound on any answer."""
        from scipy.optimize import linprog

        if not self.columns:
            return np.zeros(0), 0.0
        cost = np.array(self.cost)
        jobs, gpus = self._matrix(range(len(cost)))
        have = np.array([len(members) for members in self.members], dtype=float)
        limit = np.array([kind.count for kind in self.kinds], dtype=float)
        scale = float(np.median(cost)) or 1.0
        found = linprog(
            cost / scale, A_eq=jobs, b_eq=have, A_ub=gpus, b_ub=limit, method="highs-ds"
        )
        if found.status == 2:
            return cost, 0.0
        if found.status != 0:
            raise MigoptError(f"the programme was not solved: {found.message}")
        y = found.eqlin.marginals * scale
        w = np.minimum(0.0, found.ineqlin.marginals * scale)
        reduced = cost - jobs.T @ y - gpus.T @ w
        # Any prices give a bound: what they miss by rounding is taken off it.
        bound = y @ have + w @ limit + np.minimum(reduced, 0.0).sum() * have.sum()
        return np.maximum(reduced, 0.0), float(bound)

    def _matrix(self, columns: Iterable[int]) -> tuple[Any, Any]:
        """Return how many jobs of each class, and GPUs of each kind, each column takes."""
        from scipy.sparse import csr_array

        chosen = list(columns)
        entries = [
            (job, at, float(n))
            for at, c in enumerate(chosen)
            for job, n in Counter(self.columns[c][2]).items()
        ]
        rows, cols, values = (np.array(part) for part in zip(*entries, strict=True))
        jobs = csr_array((values, (rows, cols)), shape=(len(self.members), len(chosen)))
        kinds = np.array([self.columns[c][0] for c in chosen])
        ones = np.ones(len(chosen))
        gpus = csr_array(
            (ones, (kinds, np.arange(len(chosen)))), shape=(len(self.kinds), len(chosen))
        )
        return jobs, gpus

    def _solve(
        self, not_these: Counter[tuple[int, int]] | None, among: list[int]
    ) -> list[int] | None:
        """Return the columns in use, with repeats; with ``not_these`` some cut is used more often."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array, hstack, vstack

        jobs, gpus = self._matrix(among)
        have = [float(len(members)) for members in self.members]
        limit = [float(kind.count) for kind in self.kinds]
        matrix = vstack([jobs, gpus])
        lower, upper = have + [0.0] * len(limit), have + limit
        bounds = [limit[self.columns[c][0]] for c in among]
        cost = [self.cost[c] for c in among]
        if not_these is not None:
            more, flags, used = self._more_often(not_these, among)
            if not flags:
                return None
            empty = csr_array((matrix.shape[0], flags))
            one = hstack([csr_array((1, len(among))), csr_array(np.ones((1, flags)))])
            matrix = vstack([hstack([matrix, empty]), hstack([more, used]), one])
            lower += [0.0] * flags + [1.0]
            upper += [np.inf] * (flags + 1)
            bounds += [1.0] * flags
            cost += [0.0] * flags
        # The solver's gap of 1e-6 is absolute: against a cost of about 1e4 it is a part in 1e10.
        scale = 1e4 / (float(np.median(cost[: len(among)])) or 1.0)
        found = milp(
            np.array(cost) * scale,
            integrality=np.ones(len(cost)),
            bounds=Bounds(np.zeros(len(cost)), np.array(bounds)),
            constraints=LinearConstraint(matrix.tocsr(), np.array(lower), np.array(upper)),
            options={"mip_rel_gap": 0.0},
        )
        # Status 2 is infeasible; anything else but 0 would be no proof.
        if found.status not in (0, 2):
            raise MigoptError(f"the programme was not solved: {found.message}")
        if found.x is None:
            return None
        return [c for at, c in enumerate(among) for _ in range(round(float(found.x[at])))]

    def _more_often(
        self, not_these: Counter[tuple[int, int]], among: list[int]
    ) -> tuple[Any, int, Any]:
        """Return rows of cuts: a flag may be 1 only where its cut is used more often than before."""
        from scipy.sparse import csr_array

        number: dict[tuple[int, int], int] = {}
        entries = []
        for at, c in enumerate(among):
            kind, node, _ = self.columns[c]
            if not_these[kind, node] < self.kinds[kind].count:
                entries.append((number.setdefault((kind, node), len(number)), at))
        flags = len(number)
        if not flags:
            return None, 0, None
        rows, cols = (np.array(part) for part in zip(*entries, strict=True))
        more = csr_array((np.ones(len(entries)), (rows, cols)), shape=(flags, len(among)))
        step = np.array([-(not_these[cut] + 1.0) for cut in number])
        used = csr_array((step, (np.arange(flags), np.arange(flags))), shape=(flags, flags))
        return more, flags, used

    def _decode(self, chosen: Sequence[int]) -> Found:
        """Return partitions, slices per job, the exact value, and how often each cut is used."""
        waiting = [list(members) for members in self.members]
        free = {
            kind.tables.model.key: [
                gpu for gpu, model in enumerate(self.models) if model.key == kind.tables.model.key
            ]
            for kind in self.kinds
        }
        partitions: list[tuple[Placement, ...]] = [()] * len(self.models)
        slices: dict[int, tuple[int, Placement]] = {}
        value = Fraction(0)
        for column in chosen:
            number, node, members = self.columns[column]
            kind = self.kinds[number]
            gpu = free[kind.tables.model.key].pop(0)
            mine = [waiting[job].pop(0) for job in members]
            part = recommend_on(
                kind.tables,
                [self.jobs[j] for j in mine],
                self.objective,
                kind.curve,
                self.weight_a,
                len(self.jobs),
                only=node,
            )
            assert part.value is not None
            value += part.value
            partitions[gpu] = part.partitions[0]
            for job, (_, place) in zip(mine, part.assignment, strict=True):
                slices[job] = (gpu, place)
        cuts = Counter((self.columns[c][0], self.columns[c][1]) for c in chosen)
        return tuple(partitions), tuple(slices[j] for j in range(len(self.jobs))), value, cuts


def _classes(
    jobs: Sequence[MixJob], tables: Sequence[Tables]
) -> tuple[list[MixJob], list[list[int]]]:
    """Return one job of each class of equals, and who is in it."""
    found: dict[object, list[int]] = {}
    for j, job in enumerate(jobs):
        rates = tuple(job.rate(t.model, name) for t in tables for name in t.profiles)
        found.setdefault((rates, job.work, job.due_ms), []).append(j)
    return [jobs[members[0]] for members in found.values()], list(found.values())


def _multisets(sizes: Sequence[int], most: int) -> list[Members]:
    """Return every choice of at most ``most`` jobs, equal ones not told apart."""
    found = []
    for size in range(1, most + 1):
        for members in combinations_with_replacement(range(len(sizes)), size):
            if all(n <= sizes[job] for job, n in Counter(members).items()):
                found.append(members)
        if len(found) > MOST_COLUMNS:
            raise _too_many(len(sizes), len(found))
    return found


def _too_many(classes: int, columns: int) -> InputError:
    return InputError(
        f"{classes} different jobs can share GPUs in {columns} ways and more, above the "
        f"{MOST_COLUMNS} that are compared; give equal jobs equal figures, or split the mix"
    )
