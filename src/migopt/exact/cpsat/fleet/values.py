"""What derived variables of the fleet model are worth in a schedule: order, times of vectors and levels."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from migopt.exact.cpsat.fleet.problem import Fleet, Rows


class Values:
    """Values in one schedule."""

    def __init__(self, fleet: Fleet, rows: Rows) -> None:
        self.fleet, self.rows = fleet, rows

    @cached_property
    def _times(self) -> dict[tuple[int, tuple[int, ...]], int]:
        found: dict[tuple[int, tuple[int, ...]], int] = defaultdict(int)
        for gpu, number in enumerate(self.fleet.kind_of):
            for counts, length in self.fleet.busy(self.rows, gpu):
                found[number, counts] += length
        return found

    def vector_time(self, kind: int, counts: tuple[int, ...]) -> int:
        """Return how long a busy vector is busy on all GPUs of a kind."""
        return self._times.get((kind, counts), 0)

    def level_time(self, kind: int, level: int) -> int:
        """Return how long at least so many compute slices are busy."""
        levels = self.fleet.kinds[kind].levels
        return sum(
            time
            for (number, counts), time in self._times.items()
            if number == kind and levels.get(counts, 0) >= level
        )

    def before(self, i: int, j: int) -> bool:
        """Return whether jobs share a GPU and i starts first."""
        first, second = self.rows[i], self.rows[j]
        return first.gpu == second.gpu and (first.start, i) < (second.start, j)

    def following(self, i: int) -> int | None:
        """Return the job that starts next on the GPU of job i."""
        later = [j for j in range(self.fleet.count) if j != i and self.before(i, j)]
        return min(later, key=lambda j: (self.rows[j].start, j), default=None)

    def high(self, i: int, level: int) -> tuple[int, bool, set[int]]:
        """Return how long the level holds from the start of job i to the next start.

        Returns
        -------
        time : int
        to_next : bool
            It holds until the next start.
        running : set of int
            Jobs that run on when it has ended.
        """
        fleet, row = self.fleet, self.rows[i]
        kind = fleet.kind(row.gpu)
        here = [i] + [m for m in range(fleet.count) if m != i and self.before(m, i)]
        ends = {m: fleet.end(m, self.rows[m]) for m in here}
        next_job = self.following(i)
        closes = None if next_job is None else self.rows[next_job].start
        for time in sorted({row.start, *ends.values()}):
            if closes is not None and time > closes:
                break
            running = {m for m in here if ends[m] > time >= row.start}
            demand = sum(kind.compute(self.rows[m].group) for m in running)
            if time >= row.start and demand < level:
                return time - row.start, False, running
        assert closes is not None
        return closes - row.start, True, set()
