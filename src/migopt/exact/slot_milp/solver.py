"""The slot model solved by a MILP engine of the user's choice."""

from __future__ import annotations

import time
from importlib.metadata import version

import pyomo.environ as pyo

from migopt.exact.slot_milp import engine
from migopt.exact.slot_milp.constraints import add_constraints
from migopt.exact.slot_milp.objective import add_objective
from migopt.exact.slot_milp.variables import add_variables
from migopt.exact.slots.answer import Found, answer, prepare
from migopt.exact.slots.decode import to_plan
from migopt.exact.slots.plan import Plan
from migopt.exact.slots.values import values
from migopt.exact.slots.variables import Variables
from migopt.interrupt import CtrlC, ctrl_c
from migopt.model import Instance
from migopt.results import Budget, SolveResult, StopReason

#: Relative room for an engine's tolerances.
SAFETY = 1e-8
#: The first plan's cost in the unit of the engine's objective.
OBJECTIVE = 1000.0
#: Runs until a plan is found that is whole in integers, too.
MOST_TRIES = 20


class SlotMilp:
    """Schedules of one GPU that act at slot edges only, best of them by a MILP engine through Pyomo.

    Parameters
    ----------
    partition : str or int
        ``free``: it may change, each change loses tau of a slot; ``one``: one for the whole run, chosen by
        the solver; a number of the catalogue (1-based).
    slot_ms : int
        Length of a slot in milliseconds; 0 chooses it.
    slots : int
        About how many slots the work fills where ``slot_ms`` is 0; 0 means 24.
    engine : str
        ``highs``, ``cbc``, ``glpk``, ``scip``, ``gurobi``, ``cplex``, ``xpress``, or another name that Pyomo knows.

    Notes
    -----
    Optimal on its grid; for continuous time its schedule is an upper bound, and ``lower`` is always None.
    ``detail["grid"]`` says which grid, what the plan counts there, and what was proved of that.
    """

    def __init__(
        self,
        partition: str | int = "free",
        slot_ms: int = 0,
        slots: int = 0,
        *,
        engine: str = "highs",
    ) -> None:
        self.partition, self.slot_ms, self.slots = partition, slot_ms, slots
        self.engine = engine

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the best plan found within the budget, as a schedule; grid, value and bound in ``detail``.

        Raises
        ------
        InputError
            The engine is not installed; the message names those that are.
        """
        began = time.perf_counter()
        found = prepare(instance, self.partition, self.slot_ms, self.slots, began)
        if isinstance(found, SolveResult):
            return found
        pyomo_name = engine.find(self.engine)
        label = f"{self.engine} by Pyomo {version('pyomo')}"
        if not instance.jobs:
            return answer(found, StopReason.FINISHED, label, "slot_milp")
        with ctrl_c(CtrlC(raises=True)) as noted:
            try:
                stop, note = search(found, budget, self.engine, pyomo_name)
            except KeyboardInterrupt:
                stop, note = StopReason.INTERRUPTED, ""
        if noted.pressed and stop is StopReason.ERROR:
            stop, note = StopReason.INTERRUPTED, ""  # engines call being stopped an error
        return answer(found, stop, label, "slot_milp", note)


def build(found: Found) -> tuple[pyo.ConcreteModel, Variables[pyo.Var], float]:
    """Return the model of the data with the plan's values, and the unit of its objective."""
    model = pyo.ConcreteModel()
    unit = max(1.0, found.upper / OBJECTIVE)
    var = add_variables(model, found.data, values(found.data, found.plan))
    add_constraints(model, found.data, var)
    add_objective(model, found.data, var, unit)
    return model, var, unit


def search(found: Found, budget: Budget, name: str, pyomo_name: str) -> tuple[StopReason, str]:
    """Run the engine until the plan is proved, the gap is reached or the time is out."""
    model, var, unit = build(found)
    for _ in range(MOST_TRIES):
        left = None
        if budget.time_limit_s is not None:
            left = budget.time_limit_s - (time.perf_counter() - found.began)
            if left <= 0:
                return StopReason.TIME_LIMIT, ""
        ending = engine.run(model, name, pyomo_name, budget, left)
        if ending.lower is not None:
            found.bound_found(ending.lower * unit * (1 - SAFETY))
        if ending.stop is StopReason.ERROR:
            return StopReason.ERROR, f"{name} ended with {ending.said}"
        if not ending.solved:
            return ending.stop, ""
        plan = to_plan(found.data, var, lambda variable: variable.value or 0.0)
        if plan.whole:
            found.plan_found(plan)
            return _stop(found, ending.stop, budget.gap), ""
        if ending.stop is not StopReason.FINISHED:
            return ending.stop, ""
        exclude(model, found, var, plan)
    return StopReason.TIME_LIMIT, "plans short of work by less than the engine's tolerance"


def _stop(found: Found, stop: StopReason, gap: float) -> StopReason:
    """An engine is also done when the gap asked for is reached."""
    if stop is not StopReason.FINISHED or found.upper - found.bound <= 1e-6 * found.upper:
        return stop
    return StopReason.GAP_REACHED if gap > 0 else StopReason.TIME_LIMIT


def exclude(model: pyo.ConcreteModel, found: Found, var: Variables[pyo.Var], plan: Plan) -> None:
    """Cut off the slots of every job that these leave unfinished, if only by a unit of work.

    Engines allow a row to be broken by a small tolerance; integers do not.
    """
    data = found.data
    for j, run in enumerate(plan.runs):
        done = sum(
            data.full[j][k] - (data.loss[j][k] if plan.changes_at(t) else 0) for t, k in run.items()
        )
        if done < data.need[j]:
            here = {key: x for key, x in var.x.items() if key[0] == j}
            taken = [x for (_, k, t), x in here.items() if run.get(t) == k]
            others = [x for (_, k, t), x in here.items() if run.get(t) != k]
            saved = [1 - var.ch[t,] for t in run if plan.changes_at(t)]
            model.rows.add(sum(1 - x for x in taken) + sum(others) + sum(saved) >= 1)
