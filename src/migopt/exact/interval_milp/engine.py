"""One model in HiGHS: its linear relaxation with cuts, and the integer model with live bounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from migopt.exact._highs import new_highs
from migopt.exact.interval_milp.constraints import Rows, Usage, constraints, cut_rows
from migopt.exact.interval_milp.cuts import Cut, Separator
from migopt.exact.interval_milp.objective import objective
from migopt.exact.interval_milp.variables import Layout
from migopt.exact.one_gpu import Floats


class Model:
    """A layout with its rows loaded into HiGHS."""

    def __init__(
        self, layout: Layout, max_changes: int | None, cuts: list[Cut], upper: float | None
    ) -> None:
        self.layout = layout
        # Engines judge reduced costs in absolute terms: the best known cost becomes 100.
        self.scale = 100.0 / upper if upper else 1.0
        self.cost = objective(layout) * self.scale
        self.usage = Usage(layout)
        self.rows = constraints(layout, max_changes)
        self.upper = np.full(layout.columns, np.inf)
        for columns in layout.integer:
            self.upper[columns] = 1.0
        if layout.mode == "change":
            # A class can be arrived at any number of times in one interval.
            self.upper[layout.a.ravel()] = layout.problem.jobs + 1.0
        self.highs = new_highs()
        self._load(self.highs, self.rows)
        self._extra: list[Rows] = []
        self.add_cuts(cuts)

    def _load(self, highs: Any, rows: Rows) -> None:
        import highspy

        lp = highspy.HighsLp()
        starts, index, value = rows.arrays()
        lp.num_col_, lp.num_row_ = self.layout.columns, len(rows)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = (
            self.cost,
            np.zeros(self.layout.columns),
            self.upper,
        )
        lp.row_lower_, lp.row_upper_ = np.array(rows.lower), np.array(rows.upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = starts, index, value
        highs.passModel(lp)

    def add_cuts(self, cuts: list[Cut]) -> int:
        """Add cuts as rows; return how many rows came."""
        rows = cut_rows(self.layout, cuts, self.usage)
        if len(rows):
            starts, index, value = rows.arrays()
            lower, upper = np.array(rows.lower), np.array(rows.upper)
            self.highs.addRows(len(rows), lower, upper, len(index), starts[:-1], index, value)
            self._extra.append(rows)
        return len(rows)

    def relax(self, deadline: float) -> tuple[float, Floats, Floats] | None:
        """Solve the linear relaxation; return value, solution and reduced costs, None without optimum.

        Infeasibility raises ``NoBetter``: every way to complete some job has been excluded.
        """
        import highspy

        self.highs.setOptionValue("time_limit", self._clock(self.highs, deadline))
        self.highs.run()
        status = self.highs.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            raise NoBetter
        if status != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self.highs.getSolution()
        value = float(self.highs.getInfo().objective_function_value)
        dual = np.array(solution.col_dual) / self.scale
        return value / self.scale, np.array(solution.col_value), dual

    @staticmethod
    def _clock(highs: Any, deadline: float) -> float:
        # HiGHS counts its limit from the first run of an object on.
        return float(highs.getRunTime() + max(0.01, deadline - time.perf_counter()))

    def used(self, x: Floats) -> tuple[Floats, Floats]:
        """Return minutes per (interval, job, group) and per (interval, vector)."""
        layout, p = self.layout, self.layout.problem
        used = np.zeros((layout.intervals, p.jobs, p.groups))
        for i in range(layout.intervals):
            columns, jobs, kinds = self.usage.at(i)
            np.add.at(used[i], (jobs, kinds), x[columns])
        busy = np.zeros((layout.intervals, len(p.vectors)))
        for members, y in zip(layout.vectors, layout.y, strict=True):
            busy[:, members] += x[y]
        return used, busy

    def separate(self, separator: Separator, x: Floats) -> list[Cut]:
        """Return cuts that ``x`` violates."""
        used, busy = self.used(x)
        return separator.violated(self.layout.points, used, busy)

    def branch(
        self,
        deadline: float,
        cutoff: float,
        watch: Callable[[float, float, Floats | None], bool],
        *,
        threads: int = 1,
        seed: int = 0,
    ) -> tuple[float, Floats | None]:
        """Solve the integer model; return its proven lower bound and the best solution found.

        ``watch(lower, upper, solution)`` is called as the search goes on; it stops when that is True.
        Solutions of value above ``cutoff`` are not looked for; the bound never exceeds it.
        """
        import highspy

        highs = new_highs(
            threads=threads,
            random_seed=seed,
            mip_rel_gap=1e-7,
            mip_abs_gap=1e-9,
            objective_bound=cutoff * self.scale,
            mip_feasibility_tolerance=1e-7,
            # Orders found elsewhere are better than what general heuristics find, and cheaper.
            mip_heuristic_effort=0.0,
            mip_heuristic_run_feasibility_jump=False,
            mip_heuristic_run_root_reduced_cost=False,
            mip_heuristic_run_rins=False,
            mip_heuristic_run_rens=False,
            mip_detect_symmetry=False,
            time_limit=max(0.01, deadline - time.perf_counter()),
        )
        whole = Rows()
        for rows in (self.rows, *self._extra):
            whole.lower += rows.lower
            whole.upper += rows.upper
            whole.starts += [whole.starts[-1] + s for s in rows.starts[1:]]
            whole.index += rows.index
            whole.value += rows.value
        self._load(highs, whole)
        for columns in self.layout.integer:
            for column in columns:
                highs.changeColIntegrality(int(column), highspy.HighsVarType.kInteger)
        kind = highspy.cb.HighsCallbackType
        state: dict[str, Any] = {"last": 0.0}

        def call(which: Any, _message: str, out: Any, into: Any, _user: Any) -> None:
            if which == kind.kCallbackMipSolution:
                state["x"] = np.array(out.mip_solution)
            elif which == kind.kCallbackMipInterrupt:
                now = time.perf_counter()
                if now - state["last"] < 0.02:
                    return
                state["last"] = now
                bounds = out.mip_dual_bound / self.scale, out.mip_primal_bound / self.scale
                if watch(*bounds, state.pop("x", None)):
                    into.user_interrupt = True

        highs.setCallback(call, None)
        highs.startCallback(kind.kCallbackMipInterrupt)
        highs.startCallback(kind.kCallbackMipSolution)
        highs.run()
        status = highs.getModelStatus()
        info = highs.getInfo()
        if status == highspy.HighsModelStatus.kInfeasible:
            return cutoff, None
        x = np.array(highs.getSolution().col_value) if info.primal_solution_status == 2 else None
        bound = float(info.mip_dual_bound) / self.scale
        return (min(bound, cutoff) if np.isfinite(bound) else -np.inf), x


class NoBetter(Exception):
    """No schedule better than the best known one is left in the model."""
