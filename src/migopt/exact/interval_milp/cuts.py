"""Cuts that tie jobs to busy vectors.

A job is on one slice at a time. In a full model that is a row per job, busy vector and interval over
columns per (job, group, vector, interval). The interval MILP keeps minutes per (job, group, interval)
alone and adds what matters: for weights w >= 0,

    sum over jobs and groups of w_jk u_jki  <=  sum over vectors of nu_b(w) y_bi,

nu_b(w) being the greatest weight of jobs on the slices of b. By duality these cuts, for all w,
say exactly that the minutes can be laid out; each is valid alone, so any set of them leaves a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from migopt.exact.event_order import Pricer
from migopt.exact.one_gpu import Floats, OneGpu


@dataclass(frozen=True)
class Cut:
    """One cut, on every interval within (start, end)."""

    start: float
    end: float
    weight: Floats
    holds: Floats


class Separator:
    """Finds violated cuts whose weights are 1 on some jobs and groups: for each set of groups the best set of jobs."""

    def __init__(self, problem: OneGpu) -> None:
        self.problem = problem
        self.pricer = Pricer(problem)
        sets = [
            s for r in range(1, problem.groups + 1) for s in combinations(range(problem.groups), r)
        ]
        self.sets = np.zeros((len(sets), problem.groups))
        for row, members in enumerate(sets):
            self.sets[row, list(members)] = 1.0
        self.slices = self.sets @ problem.counts.T  # (sets, vectors)

    def first(self, start: float, end: float) -> list[Cut]:
        """Return the cuts to begin with: a job runs only while the GPU is busy."""
        p = self.problem
        cuts = []
        for j in range(p.jobs):
            weight = np.zeros(p.speed.shape)
            weight[j] = 1.0
            cuts.append(Cut(start, end, weight, (p.counts.sum(axis=1) > 0).astype(float)))
        return cuts

    def violated(self, points: Floats, used: Floats, busy: Floats, most: int = 400) -> list[Cut]:
        """Return violated cuts.

        Parameters
        ----------
        points : array (intervals + 1,)
        used : array (intervals, jobs, groups)
            Minutes per job and group.
        busy : array (intervals, vectors)
            Minutes per busy vector.
        """
        p = self.problem
        share = used @ self.sets.T  # (intervals, jobs, sets)
        order = np.argsort(-share, axis=1)
        left = np.cumsum(np.take_along_axis(share, order, 1), axis=1)
        size = np.arange(1, p.jobs + 1)
        holds = np.minimum(self.slices[None], size[:, None, None])  # (size, sets, vectors)
        right = np.einsum("jsb,ib->ijs", holds, busy)
        excess = (left - right) / np.maximum(np.diff(points)[:, None, None], 1e-9)
        found = []
        for i in range(len(points) - 1):
            for s, row in [(int(excess[i, :, s].argmax()), s) for s in range(len(self.sets))]:
                if excess[i, s, row] > 1e-6:
                    found.append((float(excess[i, s, row]), i, s, row))
        found.sort(reverse=True)
        cuts: list[Cut] = []
        taken = np.zeros(len(points))
        for _, i, s, row in found:
            if taken[i] >= 8 or len(cuts) >= most:
                continue
            taken[i] += 1
            weight = np.zeros(p.speed.shape)
            weight[order[i, : s + 1, row]] = self.sets[row]
            cuts.append(Cut(points[i], points[i + 1], weight, holds[s, row].copy()))
        return cuts or self._general(points, used, busy)

    def _general(self, points: Floats, used: Floats, busy: Floats) -> list[Cut]:
        """Return cuts with any weights, found by asking whether each interval can be laid out."""
        cuts = []
        for i in range(len(points) - 1):
            total = used[i].sum()
            if total > 1e-7:
                weight = self._weights(used[i], busy[i])
                if weight is not None:
                    value, _ = self.pricer.values(np.where(weight > 0, weight, -1.0)[None])
                    cuts.append(Cut(points[i], points[i + 1], weight, value[0]))
        return cuts

    def _weights(self, used: Floats, busy: Floats) -> Floats | None:
        """Solve the layout of one interval by columns; return the weights of a violated cut, or None.

        Minimise the minutes that find no slice; the duals of "minutes of (j, k)" are the weights.
        """
        from migopt.exact._highs import new_highs

        pairs = [(int(j), int(k)) for j, k in np.argwhere(used > 1e-9)]
        vectors = np.flatnonzero(busy > 1e-9)
        if not pairs:
            return None
        row = {pair: r for r, pair in enumerate(pairs)}
        highs = new_highs(presolve="off")
        none, no_value = np.zeros(0, dtype=np.int32), np.zeros(0)
        for pair in pairs:
            highs.addRow(float(used[pair]), np.inf, 0, none, no_value)
        for b in vectors:
            highs.addRow(-np.inf, float(busy[b]), 0, none, no_value)
        for r in range(len(pairs)):
            highs.addCol(1.0, 0.0, np.inf, 1, np.array([r], dtype=np.int32), np.ones(1))
        scale = float(used.sum())
        for _ in range(200):
            highs.run()
            dual = np.array(highs.getSolution().row_dual)
            if highs.getInfo().objective_function_value <= 1e-7 * scale:
                return None
            weight = np.zeros(used.shape)
            for pair, r in row.items():
                weight[pair] = max(0.0, dual[r])
            value, choices = self.pricer.values(np.where(weight > 0, weight, -1.0)[None])
            new = 0
            for n, b in enumerate(vectors):
                if value[0, b] + dual[len(pairs) + n] > 1e-9:
                    chosen = [row[pair] for pair in self.pricer.assignment(choices, 0, int(b))]
                    index = np.array([*chosen, len(pairs) + n], dtype=np.int32)
                    highs.addCol(0.0, 0.0, np.inf, len(index), index, np.ones(len(index)))
                    new += 1
            if not new:
                return weight
        return None
