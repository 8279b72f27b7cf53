"""The slot model solved by CP-SAT."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from ortools.sat.python import cp_model

from migopt.exact.slot_cpsat.constraints import add_constraints
from migopt.exact.slot_cpsat.objective import add_objective
from migopt.exact.slot_cpsat.variables import add_variables
from migopt.exact.slots.answer import Found, answer, prepare
from migopt.exact.slots.decode import to_plan
from migopt.exact.slots.values import values
from migopt.exact.slots.variables import Variables
from migopt.model import Instance
from migopt.results import Budget, SolveResult, StopReason

ENGINE = f"CP-SAT, OR-Tools {version('ortools')}"


class SlotCpSat:
    """Schedules of one GPU that act at slot edges only, best of them by CP-SAT.

    Parameters
    ----------
    partition : str or int
        ``free``: it may change, each change loses tau of a slot; ``one``: one for the whole run, chosen by
        the solver; a number of the catalogue (1-based).
    slot_ms : int
        Length of a slot in milliseconds; 0 chooses it.
    slots : int
        About how many slots the work fills where ``slot_ms`` is 0; 0 means 24.

    Notes
    -----
    Optimal on its grid; for continuous time its schedule is an upper bound, and ``lower`` is always None.
    ``detail["grid"]`` says which grid, what the plan counts there, and what was proved of that.
    """

    def __init__(self, partition: str | int = "free", slot_ms: int = 0, slots: int = 0) -> None:
        self.partition, self.slot_ms, self.slots = partition, slot_ms, slots

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the best plan found within the budget, as a schedule; grid, value and bound in ``detail``."""
        began = time.perf_counter()
        found = prepare(instance, self.partition, self.slot_ms, self.slots, began)
        if isinstance(found, SolveResult):
            return found
        if not instance.jobs:
            return answer(found, StopReason.FINISHED, ENGINE, "slot_cpsat")
        return answer(found, search(found, budget), ENGINE, "slot_cpsat")


class Watcher(cp_model.CpSolverSolutionCallback):
    """Takes every plan that the engine finds."""

    def __init__(self, found: Found, var: Variables[cp_model.IntVar]) -> None:
        super().__init__()
        self._found, self._var = found, var
        self.objectives: list[int] = []

    def on_solution_callback(self) -> None:
        """Read the plan and keep it."""
        self.objectives.append(round(self.objective_value))
        self._found.plan_found(to_plan(self._found.data, self._var, self.value))


def build(found: Found) -> tuple[cp_model.CpModel, Variables[cp_model.IntVar]]:
    """Return the model of the data, hinted by the plan."""
    model = cp_model.CpModel()
    var = add_variables(model, found.data, values(found.data, found.plan))
    add_constraints(model, found.data, var)
    add_objective(model, found.data, var)
    return model, var


def search(found: Found, budget: Budget) -> StopReason:
    """Run the engine until the plan is proved, the gap is reached or the time is out."""
    model, var = build(found)
    solver = cp_model.CpSolver()
    if budget.time_limit_s is not None:
        spent = time.perf_counter() - found.began
        solver.parameters.max_time_in_seconds = max(0.0, budget.time_limit_s - spent)
    solver.parameters.random_seed = budget.seed
    solver.parameters.num_workers = max(1, budget.threads)
    solver.parameters.relative_gap_limit = budget.gap
    solver.parameters.linearization_level = 2
    solver.parameters.catch_sigint_signal = False
    watcher = Watcher(found, var)
    # In a thread of its own, so that Ctrl-C is heard while the engine runs.
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(solver.solve, model, watcher)
        try:
            status = run.result()
        except KeyboardInterrupt:
            solver.stop_search()
            status = run.result()
            take(found, solver, status)
            return StopReason.INTERRUPTED
    return take(found, solver, status, budget.gap)


def take(
    found: Found, solver: cp_model.CpSolver, status: cp_model.CpSolverStatus, gap: float = 0.0
) -> StopReason:
    """Keep the bound, and return what the engine's status means.

    Raises
    ------
    RuntimeError
        The engine calls the model invalid, or infeasible although a plan is known.
    """
    if status == cp_model.OPTIMAL:
        # The status also stands for "within the gap asked for".
        found.bound_found(whole(solver.best_objective_bound))
        return StopReason.FINISHED if found.bound >= found.upper else StopReason.GAP_REACHED
    if status in (cp_model.FEASIBLE, cp_model.UNKNOWN):
        found.bound_found(whole(solver.best_objective_bound))
        reached = gap > 0 and found.upper - found.bound <= gap * found.upper
        return StopReason.GAP_REACHED if reached else StopReason.TIME_LIMIT
    raise RuntimeError(f"CP-SAT on the slot model: {solver.status_name(status)}")


def whole(bound: float) -> float:
    """Return a bound on a whole number in floats, rounded to what it can mean."""
    return math.floor(bound + 0.25) if math.isfinite(bound) else 0.0
