"""The best partitions of many GPUs: a small mixed-integer programme over counts of partitions.

Variables: y_c, how many GPUs are cut into multiset c, and x_tk, how many jobs of class t (equal
speeds) get a slice of profile k. Rows: every job has a slice; slices used are slices there are; each
GPU has one partition. Its size does not grow with the number of GPUs. With y fixed the rest is an
assignment problem, which is solved exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from migopt.errors import InputError, MigoptError
from migopt.mig.recommend.mix import (
    FORBIDDEN,
    MixJob,
    Recommendation,
    RunnerUp,
    check_objective,
    shown,
    worth,
)
from migopt.mig.recommend.one_gpu import profiles_for
from migopt.mig.recommend.shares import Shares
from migopt.model import GpuModel, Placement, PowerCurve
from migopt.placement import Wish, find_partition, inclusion_maximal_multisets

Key = tuple[str, str]


def recommend_fleet(
    models: Sequence[GpuModel],
    jobs: Sequence[MixJob],
    objective: str = "speed",
    *,
    runner_up: bool = False,
    power: Mapping[str, PowerCurve] | None = None,
    weight_a: Fraction = Fraction(1),
) -> Recommendation:
    """Return the partition of every GPU and the assignment that are best when every job gets a slice.

    Parameters
    ----------
    models : sequence of GpuModel
        The GPUs; those of one model are interchangeable.
    objective : str
        As for one GPU. Energy and ET are no sums over jobs: for them the programme chooses which
        jobs share a GPU (``migopt.mig.recommend.shares``).
    runner_up : bool
        Also find the best other choice of partitions, by a second programme.
    power : mapping, optional
        GPU key to power curve, for energy and ET.
    weight_a : Fraction
        The weight a of ET.

    Raises
    ------
    InputError
        Without a GPU or a job, with two geometries of one key; for energy and ET without a power
        curve, or with so many different jobs that they can share GPUs in too many ways.
    """
    check_objective(objective, jobs)
    if not models:
        raise InputError("no GPU is given")
    by_key: dict[str, GpuModel] = {}
    for model in models:
        if by_key.setdefault(model.key, model) != model:
            raise InputError(f"two of the GPUs are called {model.key} and are not cut alike")
    if objective not in ("speed", "slowdown"):
        return Shares(models, jobs, objective, power or {}, weight_a).best(runner_up)
    programme = _Programme(models, jobs, objective)
    if programme.hopeless:
        return Recommendation(False, note=programme.hopeless)
    counts = programme.solve(None)
    if counts is None:
        reason = f"no partitions of these {len(models)} GPUs have a slice that suits each of {len(jobs)} jobs"
        return Recommendation(False, note=reason)
    partitions, assignment, total = programme.decode(counts)
    second = None
    if runner_up:
        others = programme.solve(counts)
        if others is not None:
            cut, _, other = programme.decode(others)
            names = tuple(tuple(place.profile for place in places) for places in cut)
            second = RunnerUp(names, shown(objective, other, len(jobs)))
    value = shown(objective, total, len(jobs))
    note = "" if second else "no other partitions" if runner_up else "no runner-up was asked for"
    return Recommendation(True, partitions, assignment, value, second, objective, note)


class _Programme:
    def __init__(self, models: Sequence[GpuModel], jobs: Sequence[MixJob], objective: str) -> None:
        self.models, self.jobs, self.objective = list(models), list(jobs), objective
        distinct = {model.key: model for model in models}
        self.fleet = Counter(model.key for model in models)
        self.cuts: list[tuple[GpuModel, tuple[str, ...]]] = []
        keys: list[Key] = []
        for model in distinct.values():
            names = list(profiles_for(model, jobs))
            keys += [(model.key, name) for name in names]
            self.cuts += [(model, cut) for cut in inclusion_maximal_multisets(model, names)]
        self.keys = keys
        self.rows = [
            tuple(worth(objective, job.rate(distinct[key], name)) for key, name in keys)
            for job in jobs
        ]
        self.classes = list(Counter(self.rows).items())
        lost = [j for j, row in enumerate(self.rows) if max(row) <= FORBIDDEN]
        self.hopeless = f"{self.jobs[lost[0]].name} runs on no slice of these GPUs" if lost else ""

    def solve(self, not_this: Sequence[int] | None) -> list[int] | None:
        """Return how many GPUs get each cut; with ``not_this``, the best that differs from it."""
        import numpy as np
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        cost: list[float] = []
        upper: list[float] = []
        whole: list[int] = []

        def variable(price: float, limit: float, integer: bool) -> int:
            cost.append(price)
            upper.append(limit)
            if integer:
                whole.append(len(cost) - 1)
            return len(cost) - 1

        # Prices are scaled to about 1, as solvers like them; the exact sum is formed afterwards.
        scale = max(abs(v) for row, _ in self.classes for v in row if v > FORBIDDEN)
        y = [variable(0.0, self.fleet[model.key], True) for model, _ in self.cuts]
        x = {
            (t, k): variable(-row[k] / scale, count, False)
            for t, (row, count) in enumerate(self.classes)
            for k in range(len(self.keys))
            if row[k] > FORBIDDEN
        }
        rows: list[tuple[float, float, dict[int, float]]] = []
        for t, (_, count) in enumerate(self.classes):
            entries = {x[t, k]: 1.0 for k in range(len(self.keys)) if (t, k) in x}
            rows.append((count, count, entries))
        for k, key in enumerate(self.keys):
            entries = {x[t, k]: 1.0 for t in range(len(self.classes)) if (t, k) in x}
            for c, (model, cut) in enumerate(self.cuts):
                number = cut.count(key[1]) if model.key == key[0] else 0
                if number:
                    entries[y[c]] = -float(number)
            rows.append((-np.inf, 0.0, entries))
        for name, count in self.fleet.items():
            entries = {y[c]: 1.0 for c, (model, _) in enumerate(self.cuts) if model.key == name}
            rows.append((count, count, entries))
        if not_this is not None:
            self._differ(not_this, y, variable, rows)
        values = [value for _, _, entries in rows for value in entries.values()]
        at = [i for i, (_, _, entries) in enumerate(rows) for _ in entries]
        columns = [column for _, _, entries in rows for column in entries]
        matrix = csr_array((values, (at, columns)), shape=(len(rows), len(cost)))
        integral = np.zeros(len(cost))
        integral[whole] = 1
        found = milp(
            np.array(cost),
            integrality=integral,
            bounds=Bounds(np.zeros(len(cost)), np.array(upper, dtype=float)),
            constraints=LinearConstraint(
                matrix, [low for low, _, _ in rows], [high for _, high, _ in rows]
            ),
            options={"mip_rel_gap": 0.0},
        )
        # Status 2 is infeasible; anything else but 0 would be no proof.
        if found.status not in (0, 2):
            raise MigoptError(f"the programme was not solved: {found.message}")
        if found.x is None:
            return None
        return [round(float(found.x[column])) for column in y]

    def _differ(
        self, counts: Sequence[int], y: Sequence[int], variable: Any, rows: list[Any]
    ) -> None:
        """Some cut must be used more often than in ``counts``."""
        flags = {}
        for c, count in enumerate(counts):
            limit = self.fleet[self.cuts[c][0].key]
            flag = variable(0.0, 1.0, True)
            # flag = 1 asks for y_c >= count + 1.
            rows.append((0.0, float("inf"), {y[c]: 1.0, flag: -float(count + 1)}))
            if count < limit:
                flags[flag] = 1.0
        rows.append((1.0, float("inf"), flags))

    def decode(
        self, counts: Sequence[int]
    ) -> tuple[tuple[tuple[Placement, ...], ...], tuple[tuple[int, Placement], ...], int]:
        """Return partitions per GPU, the best assignment to their slices, and its exact sum."""
        import numpy as np
        from scipy.optimize import linear_sum_assignment

        left: dict[str, list[tuple[Placement, ...]]] = {}
        for (model, cut), count in zip(self.cuts, counts, strict=True):
            partition = find_partition(model, Wish((), cut))
            assert partition is not None
            left.setdefault(model.key, []).extend([partition.placements] * count)
        partitions = tuple(left[model.key].pop(0) for model in self.models)
        slices = [
            (gpu, place, self.keys.index((self.models[gpu].key, place.profile)))
            for gpu, places in enumerate(partitions)
            for place in places
        ]
        price = np.array([[-float(row[k]) for _, _, k in slices] for row in self.rows])
        # A forbidden pair costs more than all jobs together can gain.
        ordinary = [abs(v) for row in self.rows for v in row if v > FORBIDDEN]
        price[price >= -float(FORBIDDEN)] = 4.0 * max(ordinary) * (len(self.rows) + 1)
        jobs, picked = linear_sum_assignment(price)
        order = [int(picked[i]) for i in np.argsort(jobs)]
        total = sum(self.rows[j][slices[i][2]] for j, i in enumerate(order))
        assert total > FORBIDDEN // 2
        return partitions, tuple((slices[i][0], slices[i][1]) for i in order), total
