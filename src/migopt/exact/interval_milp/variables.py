"""Variables of the interval MILP and where each stands in the vector of columns.

Per option o (a job and the interval in which it completes, or "on time"):

* ``lam[o]``: 1 if the job completes that way, and ``done[o]``, binary: that way or earlier. Only ``done`` is
  declared integer, since to branch on "by then or later" splits what is left evenly;
* ``u[o, i, k]``: minutes of it on profile group k in interval i;
* ``share[o]``: work (a fraction) that option o has from the intervals before its bundle, where the
  minutes ``bundle.u[i, k]`` are one column for all options of the bundle.

Per interval i: ``y[c, b, i]``, minutes of busy vector b while partition class c is in force. With
partition changes also, per class and interval, ``f`` (first in force; ``upto``, its sums over classes, are
binary), ``a`` and ``d`` (arrivals
at and departures from c by changes wholly inside, a integer), per boundary ``q`` (the partition
arrived at by a change across it). A change across grid points is counted at the last of them; per (interval
in which it ends, interval in which it begins) ``across`` is binary, ``tail`` and ``head`` are the minutes it
takes from the end of the one and the beginning of the other; intervals between are lost whole.
``wait[o]``: minutes by which a change that ends in the interval of completion delays option o.
With one partition for the whole run ``z[c]`` is binary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from migopt.exact.interval_milp.grid import Option
from migopt.exact.one_gpu import Floats, OneGpu

#: ``ignore``: any vector at any time; ``one``: one class for the whole run; ``change``: with tau.
Mode = Literal["ignore", "one", "change"]
Ints = NDArray[np.int64]


@dataclass
class Bundle:
    """Options of one job in neighbouring intervals; before interval ``own`` they share their minutes."""

    job: int
    first: int
    own: int
    members: list[int]
    u: Ints


@dataclass
class Layout:
    """Column numbers of one model."""

    problem: OneGpu
    points: Floats
    options: list[Option]
    mode: Mode
    columns: int = 0
    integer: list[Ints] = field(default_factory=list)

    def __post_init__(self) -> None:
        p = self.problem
        self.intervals = len(self.points) - 1
        self.length = np.diff(self.points)
        self.lam = self._take(len(self.options))
        self.done: list[tuple[int, int]] = []  # (option, column of "completed that way or earlier")
        for n, o in enumerate(self.options[:-1]):
            if self.options[n + 1].job == o.job:
                self.done.append((n, int(self._take(1)[0])))
        self.integer.append(np.array([column for _, column in self.done], dtype=np.int64))
        self.u: list[Ints] = []
        self.fits = [np.flatnonzero(p.speed[j] > 0) for j in range(p.jobs)]
        self.bundles: list[Bundle] = []
        self.share = np.full(len(self.options), -1, dtype=np.int64)
        groups: dict[tuple[int, int, bool], list[int]] = {}
        for n, o in enumerate(self.options):
            groups.setdefault((o.job, o.own, o.late), []).append(n)
        self.begin = [o.first for o in self.options]
        for (j, own, _), members in groups.items():
            first = self.options[members[0]].first
            if len(members) > 1 and own > first:
                shape = (own - first, len(self.fits[j]))
                block = self._take(shape[0] * shape[1]).reshape(shape)
                self.bundles.append(Bundle(j, first, own, members, block))
                self.share[members] = self._take(len(members))
                for n in members:
                    self.begin[n] = own
        for n, o in enumerate(self.options):
            shape = (o.last - self.begin[n] + 1, len(self.fits[o.job]))
            self.u.append(self._take(shape[0] * shape[1]).reshape(shape))
        self.vectors = self._vectors()
        self.y = [
            self._take(len(members) * self.intervals).reshape(self.intervals, len(members))
            for members in self.vectors
        ]
        if self.mode == "one":
            self.z = self._take(len(self.vectors))
            self.integer.append(self.z)
        if self.mode == "change":
            self._changes()

    def _take(self, count: int) -> Ints:
        found = np.arange(self.columns, self.columns + count)
        self.columns += count
        return found

    def _vectors(self) -> list[Ints]:
        """Busy vectors per class (one class of all when changes are free), dominated ones left out."""
        p = self.problem
        if self.mode == "ignore":
            kept = undominated(p, np.ones((len(p.vectors), 1), dtype=bool))
            return [kept[kept > 0]]
        member = np.zeros((len(p.vectors), len(p.classes)), dtype=bool)
        for c, members in enumerate(p.classes):
            member[list(members), c] = True
        useful = set(undominated(p, member).tolist()) - {0}
        return [np.array(sorted(useful & set(members)), dtype=np.int64) for members in p.classes]

    def _changes(self) -> None:
        classes, n, tau = len(self.vectors), self.intervals, self.problem.tau
        self.f = self._take(classes * n).reshape(n, classes)
        #: Intervals that can hold a whole change.
        self.roomy = np.flatnonzero(self.length >= tau * (1 - 1e-12))
        self.a = self._take(classes * len(self.roomy)).reshape(len(self.roomy), classes)
        self.d = self._take(classes * len(self.roomy)).reshape(len(self.roomy), classes)
        self.q = self._take(classes * max(n - 1, 0)).reshape(max(n - 1, 0), classes)
        #: Cumulative over classes: one of the first c + 1 is in force as the interval begins.
        self.upto = self._take((classes - 1) * n).reshape(n, classes - 1)
        self.integer += [self.upto.ravel(), self.a.ravel()]
        #: Changes across grid points: (interval in which it ends, interval in which it begins).
        self.spans: list[tuple[int, int]] = []
        for end in range(1, n):
            begin, inside = end - 1, 0.0
            while begin >= 0 and inside <= tau * (1 + 1e-12):
                if inside + self.length[begin] + self.length[end] >= tau * (1 - 1e-12):
                    self.spans.append((end, begin))
                inside += self.length[begin]
                begin -= 1
        self.across = self._take(len(self.spans))
        self.tail = self._take(len(self.spans))
        self.head = self._take(len(self.spans))
        self.integer.append(self.across)
        self.wait = self._take(len(self.options))


def undominated(problem: OneGpu, member: NDArray[np.bool_]) -> Ints:
    """Return the vectors that no other one makes useless.

    Vector b is useless beside b' when b' costs no more, is in every class of b, and has for each of
    its slices one of its own on which no job is slower: what runs on b runs on b'.
    """
    counts, cost, speed = problem.counts, problem.vector_cost, problem.speed
    groups = problem.groups
    covers = [
        [bool((speed[:, x] >= speed[:, k]).all()) for x in range(groups)] for k in range(groups)
    ]
    alive = list(range(len(cost)))
    for b in range(len(cost)):
        for other in alive:
            if other == b or cost[other] > cost[b] or (member[b] & ~member[other]).any():
                continue
            same = cost[other] == cost[b] and (counts[other] == counts[b]).all()
            if not same and _covered(counts[b], counts[other], covers):
                mutual = cost[other] == cost[b] and _covered(counts[other], counts[b], covers)
                equal_classes = bool((member[b] == member[other]).all())
                if mutual and equal_classes and other > b:
                    continue
                alive.remove(b)
                break
    return np.array(alive, dtype=np.int64)


def _covered(small: Ints, large: Ints, covers: list[list[bool]]) -> bool:
    """Return whether every slice of ``small`` can be matched to a slice of ``large`` that covers it."""
    need = [k for k, n in enumerate(small) for _ in range(int(n))]
    have = [k for k, n in enumerate(large) for _ in range(int(n))]
    if len(need) > len(have):
        return False
    match: dict[int, int] = {}

    def place(item: int, seen: set[int]) -> bool:
        for slot, k in enumerate(have):
            if covers[need[item]][k] and slot not in seen:
                seen.add(slot)
                if slot not in match or place(match[slot], seen):
                    match[slot] = item
                    return True
        return False

    return all(place(item, set()) for item in range(len(need)))
