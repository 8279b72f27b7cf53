"""The time grid and what is known about completions: data of one round of the interval MILP."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from migopt.exact.one_gpu import Floats, OneGpu

#: Points closer than this (minutes) are one point.
SAME = 1e-7


def grid(problem: OneGpu, extra: Iterable[float], end: float) -> Floats:
    """Return the grid points from the first release to ``end``: releases, due dates and ``extra``.

    ``end`` is a moment by which all jobs of some schedule no worse than the best known are done.
    Releases and due dates are kept exactly; an extra point that is as good as equal to one is left out.
    """
    start = float(problem.release.min())
    fixed = {float(t) for t in (*problem.release, *problem.due) if start <= t < end}
    points = sorted(fixed | {start, end})
    for t in sorted(extra):
        if start < t < end and np.abs(np.array(points) - t).min() > SAME:
            points.append(float(t))
    return np.array(sorted(points))


@dataclass
class Windows:
    """Moments at which no schedule better than the best known one completes a job.

    Attributes
    ----------
    closed : list per job of (from, to)
        Half-open from the left: no completion in (from, to].
    on_time : array of bool
        False where no better schedule has the job on time.
    """

    closed: list[list[tuple[float, float]]]
    on_time: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @classmethod
    def open(cls, problem: OneGpu) -> Windows:
        """Return windows that exclude nothing."""
        return cls([[] for _ in range(problem.jobs)], np.ones(problem.jobs, dtype=bool))

    def close(self, job: int, start: float, end: float) -> None:
        """Exclude (start, end] for a job."""
        spans = sorted([*self.closed[job], (start, end)])
        merged = [spans[0]]
        for a, b in spans[1:]:
            if a <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
            else:
                merged.append((a, b))
        self.closed[job] = merged

    def is_closed(self, job: int, start: float, end: float) -> bool:
        """Return whether the whole of (start, end] is excluded."""
        return any(a <= start and end <= b for a, b in self.closed[job])


@dataclass(frozen=True)
class Option:
    """One way to complete: in the late interval ``last``, or on time (``late`` False).

    The job may be processed in intervals ``first`` to ``last``; minutes in those before ``own`` are
    shared with the options of the same ``first``, job and ``own`` (one *bundle*), which keeps the
    number of columns down where a window has been cut into many intervals.
    """

    job: int
    late: bool
    first: int
    last: int
    own: int = 0


def options(problem: OneGpu, points: Floats, windows: Windows) -> list[Option]:
    """Return every way in which a job may complete on this grid and is not excluded."""
    found: list[Option] = []
    top = len(points) - 1
    given = np.concatenate([problem.release, problem.due])
    natural = np.array([np.abs(given - t).min() < 1e-12 for t in points])
    for j in range(problem.jobs):
        first = int(np.searchsorted(points, problem.release[j] - 1e-12))
        earliest = problem.release[j] + problem.quickest[j]
        due = problem.due[j]
        on_time = int(np.searchsorted(points, due + 1e-12)) - 2
        if on_time >= first and earliest <= due + 1e-9 and windows.on_time[j]:
            found.append(Option(j, False, first, on_time, first))
        for m in range(max(first, on_time + 1), top):
            late = points[m] >= due - 1e-12 and points[m + 1] >= earliest - 1e-9
            if late and not windows.is_closed(j, points[m], points[m + 1]):
                previous = found[-1] if found else None
                joins = previous is not None and previous.job == j and previous.late
                if previous is not None and joins and not natural[previous.own + 1 : m + 1].any():
                    own = previous.own
                else:
                    own = m
                found.append(Option(j, True, first, m, own))
            elif not late and points[m + 1] > due + 1e-12 and points[m] < due:
                raise AssertionError(f"due date {due} is inside interval {m}")
    return found
