"""What is known so far: the best schedule, a lower bound per case, and how both moved."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from fractions import Fraction

from migopt.bounds.base import float_below
from migopt.exact.cpsat.case import Case, Rows
from migopt.exact.cpsat.decode import from_schedule
from migopt.exact.cpsat.start import first_rows
from migopt.model import Instance, Schedule
from migopt.results import TrajectoryPoint


class Progress:
    """Best schedule and bounds over all cases; safe to report to from several threads.

    Attributes
    ----------
    rows : list of Rows
        The best schedule of each case.
    lower : list of int
        The best lower bound of each case, in the scale's unit.
    trajectory : list of TrajectoryPoint
        Every improvement of the whole.
    settled : set of int
        Cases solved to the end, although rounding keeps their bound below their best cost.
    """

    def __init__(
        self,
        instance: Instance,
        cases: list[Case],
        hint: Schedule | None,
        gap: float,
        on_event: Callable[[TrajectoryPoint], None] | None,
    ) -> None:
        self.started = time.perf_counter()
        self.instance, self.cases = instance, cases
        self.rows: list[Rows] = [first_rows(case, hint) for case in cases]
        self.lower = [case.root_bound() for case in cases]
        self.trajectory: list[TrajectoryPoint] = []
        self.settled: set[int] = set()
        self._gap = Fraction(gap)
        self._on_event = on_event
        self._lock = threading.Lock()
        self._costs = [case.cost(rows) for case, rows in zip(cases, self.rows, strict=True)]
        for c, case in enumerate(cases):
            given = None if hint is None else from_schedule(case, hint)
            if given is not None:
                self._keep(c, given)
        self._note()

    @property
    def best(self) -> int:
        """Cost of the best schedule, in the scale's unit, above idle."""
        return min(self._costs)

    @property
    def best_case(self) -> int:
        """The case that the best schedule belongs to."""
        return self._costs.index(self.best)

    @property
    def bound(self) -> int:
        """Lower bound over all cases, at most the best cost."""
        return min(self.best, *self.lower)

    @property
    def cutoff(self) -> int:
        """What a schedule must cost at most to matter: less than the best by more than the gap."""
        return min(self.best - 1, int(self.best * (1 - self._gap)) if self.best > 0 else self.best)

    def open_cases(self) -> list[int]:
        """Return the cases that may still hold a schedule within the cutoff, lowest bound first."""
        cutoff = self.cutoff
        found = [
            c for c in range(len(self.cases)) if c not in self.settled and self.lower[c] <= cutoff
        ]
        return sorted(found, key=lambda c: (self.lower[c], c))

    def schedule_found(self, c: int, rows: Rows) -> None:
        """Take a schedule of case ``c``."""
        with self._lock:
            if self._keep(c, rows):
                self._note()

    def bound_found(self, c: int, lower: int) -> None:
        """Take a lower bound of case ``c``."""
        with self._lock:
            if lower > self.lower[c]:
                self.lower[c] = lower
                self._note()

    def by_cost(self) -> list[int]:
        """Return all cases, the one with the cheapest schedule first."""
        return sorted(range(len(self.cases)), key=lambda c: (self._costs[c], c))

    def cost(self, objective: int) -> Fraction:
        """Return an objective as a cost of the instance."""
        return self.cases[0].scale.cost(self.instance, objective)

    def _keep(self, c: int, rows: Rows) -> bool:
        cost = self.cases[c].cost(rows)
        if cost >= self._costs[c]:
            return False
        self._costs[c], self.rows[c] = cost, rows
        return True

    def _note(self) -> None:
        upper, lower = float(self.cost(self.best)), float_below(self.cost(self.bound))
        last = self.trajectory[-1] if self.trajectory else None
        if last is None or (last.upper, last.lower) != (upper, lower):
            point = TrajectoryPoint(time.perf_counter() - self.started, upper, lower)
            self.trajectory.append(point)
            if self._on_event is not None:
                self._on_event(point)
