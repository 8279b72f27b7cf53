"""Constraints of the interval MILP, in the order of docs/exact/interval_milp.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from migopt.exact.interval_milp.cuts import Cut
from migopt.exact.interval_milp.variables import Layout
from migopt.exact.one_gpu import Floats

INF = float("inf")


class Rows:
    """Sparse rows that grow."""

    def __init__(self) -> None:
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.starts: list[int] = [0]
        self.index: list[np.ndarray] = []
        self.value: list[np.ndarray] = []

    def add(
        self,
        lower: float,
        upper: float,
        parts: Sequence[tuple[np.ndarray, float | Floats]],
    ) -> None:
        """Add lower <= sum of value x column <= upper."""
        count = 0
        for columns, value in parts:
            flat = np.ravel(columns)
            self.index.append(flat)
            self.value.append(np.broadcast_to(np.ravel(value), flat.shape))
            count += flat.size
        self.lower.append(lower)
        self.upper.append(upper)
        self.starts.append(self.starts[-1] + count)

    def __len__(self) -> int:
        return len(self.lower)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return starts, column numbers and values."""
        if not self.index:
            return np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0)
        index = np.concatenate(self.index).astype(np.int32)
        value = np.concatenate(self.value).astype(float)
        return np.array(self.starts, dtype=np.int32), index, value


class Usage:
    """For every interval the columns of minutes on slices: by job, by group, and their groups."""

    def __init__(self, layout: Layout) -> None:
        self.columns: list[list[np.ndarray]] = [[] for _ in range(layout.intervals)]
        self.jobs: list[list[np.ndarray]] = [[] for _ in range(layout.intervals)]
        self.kinds: list[list[np.ndarray]] = [[] for _ in range(layout.intervals)]
        blocks = [
            (option.job, begin, block)
            for option, begin, block in zip(layout.options, layout.begin, layout.u, strict=True)
        ]
        blocks += [(bundle.job, bundle.first, bundle.u) for bundle in layout.bundles]
        for job, begin, block in blocks:
            kinds = layout.fits[job]
            for row in range(len(block)):
                self.columns[begin + row].append(block[row])
                self.jobs[begin + row].append(np.full(len(kinds), job))
                self.kinds[begin + row].append(kinds)

    def at(self, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return columns, jobs and groups of interval ``i``."""
        if not self.columns[i]:
            empty = np.zeros(0, dtype=np.int64)
            return empty, empty, empty
        return (
            np.concatenate(self.columns[i]),
            np.concatenate(self.jobs[i]),
            np.concatenate(self.kinds[i]),
        )


def constraints(layout: Layout, max_changes: int | None) -> Rows:
    """Return every row but the cuts."""
    rows = Rows()
    _completion(layout, rows)
    _slices(layout, rows)
    _time(layout, rows)
    _equal_jobs(layout, rows)
    if layout.mode == "one":
        rows.add(1, 1, [(layout.z, 1.0)])
    if layout.mode == "change":
        _in_force(layout, rows)
        _across(layout, rows, max_changes)
    return rows


def _completion(layout: Layout, rows: Rows) -> None:
    """One way per job; its work is done that way, at most all the time of each interval."""
    p = layout.problem
    jobs = np.array([option.job for option in layout.options])
    for j in range(p.jobs):
        rows.add(1, 1, [(layout.lam[jobs == j], 1.0)])
    by_option = dict(layout.done)
    for o, column in layout.done:
        parts = [(np.array([column]), 1.0), (layout.lam[o : o + 1], -1.0)]
        if o - 1 in by_option and layout.options[o - 1].job == layout.options[o].job:
            parts.append((np.array([by_option[o - 1]]), -1.0))
        rows.add(0, 0, parts)
    for o, option in enumerate(layout.options):
        speed = p.speed[option.job, layout.fits[option.job]]
        block = layout.u[o]
        work = np.broadcast_to(speed, block.shape)
        lam = layout.lam[o : o + 1]
        before = layout.share[o : o + 1]
        shared = before[before >= 0]
        rows.add(0, 0, [(block, work), (shared, 1.0), (lam, -1.0)])
        for row, i in enumerate(range(layout.begin[o], option.last + 1)):
            rows.add(-INF, 0, [(block[row], 1.0), (lam, -layout.length[i])])
    for bundle in layout.bundles:
        speed = p.speed[bundle.job, layout.fits[bundle.job]]
        work = np.broadcast_to(speed, bundle.u.shape)
        rows.add(0, INF, [(bundle.u, work), (layout.share[bundle.members], -1.0)])
        lam = layout.lam[bundle.members]
        for row, i in enumerate(range(bundle.first, bundle.own)):
            rows.add(-INF, 0, [(bundle.u[row], 1.0), (lam, -layout.length[i])])


def _slices(layout: Layout, rows: Rows) -> None:
    """Per group and interval: minutes of jobs are at most minutes of busy slices."""
    p, usage = layout.problem, Usage(layout)
    for i in range(layout.intervals):
        columns, _, kinds = usage.at(i)
        for k in range(p.groups):
            used = columns[kinds == k]
            if used.size:
                parts: list[tuple[np.ndarray, float | Floats]] = [(used, 1.0)]
                for members, y in zip(layout.vectors, layout.y, strict=True):
                    n = p.counts[members, k].astype(float)
                    parts.append((y[i][n > 0], -n[n > 0]))
                rows.add(-INF, 0, parts)


def _time(layout: Layout, rows: Rows) -> None:
    """Per interval: busy time and time lost to changes fit; per class only while it is in force."""
    lost: list[list[tuple[int, float]]] = [[] for _ in range(layout.intervals)]
    if layout.mode == "change":
        for n, (end, begin) in enumerate(layout.spans):
            lost[end].append((int(layout.head[n]), 1.0))
            lost[begin].append((int(layout.tail[n]), 1.0))
            for h in range(begin + 1, end):
                lost[h].append((int(layout.across[n]), float(layout.length[h])))
        room = {int(i): r for r, i in enumerate(layout.roomy)}
    for i, length in enumerate(layout.length):
        parts: list[tuple[np.ndarray, float | Floats]] = [(y[i], 1.0) for y in layout.y]
        if layout.mode == "change":
            columns = np.array([column for column, _ in lost[i]], dtype=np.int64)
            parts.append((columns, np.array([value for _, value in lost[i]])))
            if i in room:
                parts.append((layout.a[room[i]], layout.problem.tau))
        rows.add(-INF, float(length), parts)
        for c, y in enumerate(layout.y):
            if layout.mode == "one":
                rows.add(-INF, 0, [(y[i], 1.0), (layout.z[c : c + 1], -length)])
            elif layout.mode == "change":
                inside: list[tuple[np.ndarray, float | Floats]] = [
                    (y[i], 1.0),
                    (layout.f[i, c : c + 1], -length),
                ]
                if i in room:
                    inside.append((layout.a[room[i], c : c + 1], layout.problem.tau - length))
                rows.add(-INF, 0, inside)


def _in_force(layout: Layout, rows: Rows) -> None:
    """One first class per interval; arrivals and departures are changes wholly inside it.

    The last class is f + a - d. An arrival at c leaves from another class, so a + d is at most the
    number of changes: going and coming back to one class takes two.
    """
    classes = len(layout.vectors)
    for i in range(layout.intervals):
        rows.add(1, 1, [(layout.f[i], 1.0)])
        for c in range(classes - 1):
            sums: list[tuple[np.ndarray, float | Floats]] = [
                (layout.upto[i, c : c + 1], 1.0),
                (layout.f[i, c : c + 1], -1.0),
            ]
            if c:
                sums.append((layout.upto[i, c - 1 : c], -1.0))
            rows.add(0, 0, sums)
    for r in range(len(layout.roomy)):
        a, d = layout.a[r], layout.d[r]
        rows.add(0, 0, [(a, 1.0), (d, -1.0)])
        for c in range(classes):
            one = slice(c, c + 1)
            rows.add(0, 1, [(layout.f[i, one], 1.0), (a[one], 1.0), (d[one], -1.0)])
            others = np.delete(a, c)
            rows.add(-INF, 0, [(d[one], 1.0), (others, -1.0)])


def _across(layout: Layout, rows: Rows, max_changes: int | None) -> None:
    """A change across grid points takes tau of the intervals it touches, without a break."""
    room = {int(i): r for r, i in enumerate(layout.roomy)}
    ending: list[list[int]] = [[] for _ in range(layout.intervals)]
    for n, (end, begin) in enumerate(layout.spans):
        ending[end].append(n)
        one = slice(n, n + 1)
        inside = float(layout.length[begin + 1 : end].sum())
        across = layout.across[one]
        need = max(layout.problem.tau - inside, 0.0)
        rows.add(0, INF, [(layout.tail[one], 1.0), (layout.head[one], 1.0), (across, -need)])
        rows.add(-INF, 0, [(layout.tail[one], 1.0), (across, -min(need, layout.length[begin]))])
        rows.add(-INF, 0, [(layout.head[one], 1.0), (across, -min(need, layout.length[end]))])
    for e in range(layout.intervals - 1):
        for c in range(len(layout.vectors)):
            one = slice(c, c + 1)
            parts: list[tuple[np.ndarray, float | Floats]] = [
                (layout.q[e, one], 1.0),
                (layout.f[e, one], 1.0),
                (layout.f[e + 1, one], -1.0),
            ]
            if e in room:
                parts += [(layout.a[room[e], one], 1.0), (layout.d[room[e], one], -1.0)]
            rows.add(0, INF, parts)
        rows.add(0, INF, [(layout.across[ending[e + 1]], 1.0), (layout.q[e], -1.0)])
    for o, option in enumerate(layout.options):
        heads = layout.head[ending[option.last]]
        if option.late and heads.size:
            most = min(layout.problem.tau, float(layout.length[option.last]))
            lam, wait = layout.lam[o : o + 1], layout.wait[o : o + 1]
            rows.add(-most, INF, [(wait, 1.0), (heads, -1.0), (lam, -most)])
    if max_changes is not None:
        rows.add(-INF, max_changes, [(layout.q, 1.0), (layout.a, 1.0)])


def _equal_jobs(layout: Layout, rows: Rows) -> None:
    """Of two equal jobs the first completes no later: some best schedule has them so."""
    p = layout.problem
    job = p.instance.jobs
    seen: dict[tuple[object, ...], int] = {}
    for j, item in enumerate(job):
        key = (item.release_ms, item.due_ms, item.work, item.weight, item.memory_bytes, item.rates)
        if key in seen:
            ends = {o.last for o in layout.options if o.late and o.job in (seen[key], j)}
            for end in sorted(ends | {-1}):
                before, after = (
                    np.array(
                        [
                            layout.lam[n]
                            for n, o in enumerate(layout.options)
                            if o.job == who and (not o.late or o.last <= end)
                        ],
                        dtype=np.int64,
                    )
                    for who in (seen[key], j)
                )
                rows.add(0, INF, [(before, 1.0), (after, -1.0)])
        seen[key] = j


def cut_rows(layout: Layout, cuts: Sequence[Cut], usage: Usage) -> Rows:
    """Return the rows of cuts: weighted minutes of jobs are at most what the busy vectors can hold."""
    rows = Rows()
    for cut in cuts:
        first = int(np.searchsorted(layout.points, cut.start - 1e-9))
        last = int(np.searchsorted(layout.points, cut.end - 1e-9))
        for i in range(first, min(last, layout.intervals)):
            columns, jobs, kinds = usage.at(i)
            weight = cut.weight[jobs, kinds]
            if not (weight > 0).any():
                continue
            parts: list[tuple[np.ndarray, float | Floats]] = [
                (columns[weight > 0], weight[weight > 0])
            ]
            for members, y in zip(layout.vectors, layout.y, strict=True):
                holds = cut.holds[members]
                parts.append((y[i][holds > 0], -holds[holds > 0]))
            rows.add(-INF, 0, parts)
    return rows
