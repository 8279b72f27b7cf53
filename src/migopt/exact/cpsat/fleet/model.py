"""The CP-SAT model of a fleet, and one run of the engine on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from migopt.exact.cpsat.fleet.constraints import add_constraints
from migopt.exact.cpsat.fleet.objective import add_objective
from migopt.exact.cpsat.fleet.problem import Fleet, Row, Rows
from migopt.exact.cpsat.fleet.variables import Hinted, Variables, add_variables
from migopt.exact.cpsat.model import Run, Status


@dataclass
class FleetModel:
    """A model of the schedules that cost at most ``cutoff``, relaxed or with exact levels, hinted by rows.

    With the cutoff at the cost of the rows these are a solution, and every variable has its value there as
    its hint.
    """

    fleet: Fleet
    cutoff: int
    rows: Rows
    exact_levels: bool
    model: cp_model.CpModel = field(init=False)
    variables: Variables = field(init=False)
    shift: int = field(init=False)

    def __post_init__(self) -> None:
        hinted = Hinted()
        latest = self.fleet.latest(self.cutoff)
        self.model = hinted.model
        self.variables = add_variables(hinted, self.fleet, latest, self.rows, self.exact_levels)
        add_constraints(hinted, self.fleet, self.variables, self.rows)
        self.shift = add_objective(self.model, self.fleet, self.variables, latest, self.cutoff)


class Watcher(cp_model.CpSolverSolutionCallback):
    """Hands every schedule that the engine finds to ``found``; keeps its objectives."""

    def __init__(self, built: FleetModel, found: Callable[[Rows], None]) -> None:
        super().__init__()
        self._built, self._found = built, found
        self.objectives: list[int] = []

    def on_solution_callback(self) -> None:
        """Read seats and starts."""
        self.objectives.append(round(self.objective_value) << self._built.shift)
        var, rows = self._built.variables, []
        for j, seats in enumerate(var.seat):
            gpu, c, k = next(seat for seat, z in seats.items() if self.boolean_value(z))
            rows.append(Row(gpu, c, k, self.value(var.start[j])))
        self._found(tuple(rows))


def run(
    built: FleetModel,
    solver: cp_model.CpSolver,
    found: Callable[[Rows], None],
    bounded: Callable[[int], None],
) -> Run:
    """Run the engine on a model.

    Raises
    ------
    RuntimeError
        The engine calls the model invalid, or infeasible although the rows are a solution.
    """

    def whole(bound: float) -> int:
        # Bounds are whole numbers in floats below 2^50; the float may be off by a fraction of 1.
        if not math.isfinite(bound):
            return built.fleet.root_bound()
        return min(built.cutoff, math.floor(bound + 0.25) << built.shift)

    solver.best_bound_callback = lambda bound: bounded(whole(bound))
    status = solver.solve(built.model, Watcher(built, found))
    if status == cp_model.OPTIMAL:
        return Run(Status.OPTIMAL, min(built.cutoff, round(solver.objective_value) << built.shift))
    if status in (cp_model.FEASIBLE, cp_model.UNKNOWN):
        return Run(Status.OPEN, whole(solver.best_objective_bound))
    raise RuntimeError(f"CP-SAT: {solver.status_name(status)}: {built.model.validate()}")
