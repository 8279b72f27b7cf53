"""The problem in integers: machines, jobs, and what bounds on completion a target cost implies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from migopt.compiled import Ints
from migopt.exact.cpsat.case import Case, Row, Rows

#: No cost and no time of a covered problem comes near this.
HUGE = 1 << 60
#: Sums of costs stay below this, so that no integer overflows.
MOST_COST = 1 << 55


@dataclass(frozen=True)
class Problem:
    """Unrelated machines with release dates, weighted total tardiness.

    Attributes
    ----------
    release, due, weight : int64 array (jobs,)
        Times in any unit.
    duration : int64 array (machines, jobs)
        -1 where the job may not run; slow machines first, which keeps the search small.
    """

    release: Ints
    due: Ints
    weight: Ints
    duration: Ints

    @classmethod
    def of(
        cls,
        release: Sequence[int],
        due: Sequence[int],
        weight: Sequence[int],
        duration: Sequence[Sequence[int]],
    ) -> Problem:
        """Return the problem; ``duration`` has one row per machine, in any order."""
        rows = np.array(duration, dtype=np.int64).reshape(len(duration), len(release))
        speed = [-float(row[row >= 0].mean()) if (row >= 0).any() else -np.inf for row in rows]
        order = sorted(range(len(rows)), key=lambda m: (speed[m], rows[m].tolist()))
        return cls(
            np.array(release, dtype=np.int64),
            np.array(due, dtype=np.int64),
            np.array(weight, dtype=np.int64),
            np.ascontiguousarray(rows[order]),
        )

    @classmethod
    def of_case(cls, case: Case) -> Problem:
        """Return the problem of a partition: one machine per slice."""
        rows = [
            [-1 if row[k] is None else row[k] for row in case.durations]
            for k, count in enumerate(case.slices)
            for _ in range(count)
        ]
        return cls.of(case.release, case.due, case.late_cost, rows)  # type: ignore[arg-type]

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.release)

    @property
    def machines(self) -> int:
        """Number of machines."""
        return len(self.duration)

    @cached_property
    def end(self) -> int:
        """A moment by which some optimal schedule has ended: last release plus all longest runs."""
        return int(self.release.max()) + int(self.duration.max(axis=0).sum())

    @cached_property
    def least(self) -> Ints:
        """Cost of each job alone on its fastest machine."""
        fastest = np.where(self.duration >= 0, self.duration, HUGE).min(axis=0)
        late = np.maximum(0, self.release + fastest - self.due)
        return np.asarray(self.weight * late, dtype=np.int64)

    def too_large(self) -> bool:
        """Return whether sums of costs could leave 64-bit integers."""
        if not self.jobs:
            return False
        early = min(0, int(self.due.min()))
        return sum(int(w) * (self.end - early) for w in self.weight) >= MOST_COST

    def latest(self, target: int) -> Ints:
        """Return the latest completion of each job in a schedule that costs less than ``target``."""
        room = target - 1 - (int(self.least.sum()) - self.least)
        weight = np.maximum(self.weight, 1)
        latest = np.where(self.weight > 0, self.due + room // weight, self.end)
        return np.asarray(np.minimum(latest, self.end), dtype=np.int64)

    def cost(self, sequences: Sequence[Sequence[int]]) -> int:
        """Return the cost of a schedule given as the order of jobs on each machine."""
        total = 0
        for machine, jobs in enumerate(sequences):
            time = 0
            for job in jobs:
                time = max(time, int(self.release[job])) + int(self.duration[machine, job])
                total += int(self.weight[job]) * max(0, time - int(self.due[job]))
        return total

    def starts(self, sequences: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        """Return (machine, start) of every job."""
        found = [(0, 0)] * self.jobs
        for machine, jobs in enumerate(sequences):
            time = 0
            for job in jobs:
                start = max(time, int(self.release[job]))
                found[job] = (machine, start)
                time = start + int(self.duration[machine, job])
        return found


def rows_of(case: Case, problem: Problem, sequences: Sequence[Sequence[int]]) -> Rows:
    """Return a schedule of the problem as rows of the case; equal machines belong to one group or another."""
    group_of = []
    left = list(case.slices)
    for machine in problem.duration:
        for k, count in enumerate(left):
            column = [-1 if row[k] is None else row[k] for row in case.durations]
            if count and column == machine.tolist():
                left[k] -= 1
                group_of.append(k)
                break
    return tuple(Row(group_of[machine], start) for machine, start in problem.starts(sequences))
