"""The CP-SAT model of one case, and one run of the engine on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from ortools.sat.python import cp_model

from migopt.exact.cpsat.case import Case, Row, Rows
from migopt.exact.cpsat.constraints import add_constraints, add_windows
from migopt.exact.cpsat.objective import EXACT_BELOW
from migopt.exact.cpsat.variables import Variables, add_hint, add_variables


class Status(StrEnum):
    """What one run of the engine showed about schedules that cost at most the cutoff."""

    OPTIMAL = "optimal"
    NONE_BETTER = "none_better"
    OPEN = "open"


@dataclass
class CaseModel:
    """A model of the schedules of one case that cost at most ``cutoff``, relaxed or with exact levels.

    ``windows`` adds the area cuts per interval.

    The engine's floats carry whole numbers below 2^53 only. Where the objective could be larger, its
    coefficients are divided by 2^shift and rounded down: what is proved of the rounded objective then holds
    of the true one, times 2^shift.
    """

    case: Case
    cutoff: int
    hint: Rows
    exact_levels: bool
    windows: bool = False
    shift: int = field(init=False, default=0)
    model: cp_model.CpModel = field(init=False)
    variables: Variables | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        case = self.case
        self.model = cp_model.CpModel()
        latest = case.latest(self.cutoff)
        possible = all(
            any(case.release[j] + duration <= latest[j] for _, duration in case.modes(j))
            for j in range(case.count)
        )
        if not possible or self.cutoff < case.root_bound():
            return
        self.variables = add_variables(self.model, case, latest, self.exact_levels)
        add_constraints(self.model, case, self.variables)
        if self.windows and self.variables.level_time:
            add_windows(self.model, case, self.variables, latest)
        self._add_objective(latest)
        add_hint(self.model, case, self.variables, self.hint)

    def _add_objective(self, latest: list[int]) -> None:
        case, variables = self.case, self.variables
        assert variables is not None
        per_slice, per_level = case.split
        terms: list[tuple[int, cp_model.LinearExprT, int]] = []
        for j, use in enumerate(variables.use):
            durations = dict(case.modes(j))
            terms += [(per_slice[k] * durations[k], use[k], 1) for k in use if per_slice[k]]
            terms.append((case.late_cost[j], variables.late[j], max(0, latest[j] - case.due[j])))
        for level, cost in per_level.items():
            terms.append((cost, variables.level_time[level], variables.span))
        largest = sum(abs(cost) * most for cost, _, most in terms)
        while (largest >> self.shift) >= EXACT_BELOW:
            self.shift += 1
        objective = sum((cost >> self.shift) * term for cost, term, _ in terms)
        self.model.add(objective <= self.cutoff >> self.shift)
        self.model.minimize(objective)


@dataclass(frozen=True)
class Run:
    """The end of one run: its status and the lower bound it proved for the case."""

    status: Status
    lower: int


class Watcher(cp_model.CpSolverSolutionCallback):
    """Hands every schedule that the engine finds to ``found``."""

    def __init__(self, built: CaseModel, found: Callable[[Rows], None]) -> None:
        super().__init__()
        self._built, self._found = built, found

    def on_solution_callback(self) -> None:
        """Read starts and groups."""
        variables = self._built.variables
        assert variables is not None
        rows = []
        for j, use in enumerate(variables.use):
            group = next(k for k, literal in use.items() if self.boolean_value(literal))
            rows.append(Row(group, self.value(variables.start[j])))
        self._found(tuple(rows))


def run(
    built: CaseModel,
    solver: cp_model.CpSolver,
    found: Callable[[Rows], None],
    bounded: Callable[[int], None],
) -> Run:
    """Run the engine on a model.

    Parameters
    ----------
    built : CaseModel
    solver : CpSolver
        With its parameters set; another thread may stop it.
    found, bounded : callable
        Called with each schedule, and with each lower bound for the case.

    Raises
    ------
    RuntimeError
        The engine calls the model invalid.
    """
    shift, worse = built.shift, built.cutoff + 1
    if built.variables is None:
        return Run(Status.NONE_BETTER, worse)

    def whole(bound: float) -> int:
        # Bounds are whole numbers in floats below 2^50; the float may be off by a fraction of 1.
        if not math.isfinite(bound):
            return built.case.root_bound()
        return min(worse, math.floor(bound + 0.25) << shift)

    solver.best_bound_callback = lambda bound: bounded(whole(bound))
    status = solver.solve(built.model, Watcher(built, found))
    if status == cp_model.INFEASIBLE:
        return Run(Status.NONE_BETTER, worse)
    if status == cp_model.OPTIMAL:
        return Run(Status.OPTIMAL, round(solver.objective_value) << shift)
    if status in (cp_model.FEASIBLE, cp_model.UNKNOWN):
        return Run(Status.OPEN, whole(solver.best_objective_bound))
    raise RuntimeError(f"CP-SAT: {solver.status_name(status)}: {built.model.validate()}")
