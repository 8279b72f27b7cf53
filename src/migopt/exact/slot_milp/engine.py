"""MILP engines by name, through Pyomo: which are installed, how limits are said, what their answers mean."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo
from pyomo.opt import TerminationCondition as Ended

from migopt.errors import InputError
from migopt.results import Budget, StopReason

#: Our name of an engine to Pyomo's names of it, the direct interfaces first.
ENGINES: dict[str, tuple[str, ...]] = {
    "highs": ("highs", "appsi_highs"),
    "cbc": ("cbc", "appsi_cbc"),
    "glpk": ("glpk",),
    "scip": ("scip", "scip_direct"),
    "gurobi": ("gurobi_direct", "gurobi"),
    "cplex": ("cplex_direct", "cplex"),
    "xpress": ("xpress_direct", "xpress"),
    "mosek": ("mosek_direct", "mosek"),
    "copt": ("copt_direct", "copt"),
}
#: What the engines call the relative gap, the seed, the threads, and the time where Pyomo does not pass it on.
OPTIONS: dict[str, tuple[str, str, str, str]] = {
    "highs": ("mip_rel_gap", "random_seed", "", ""),
    "cbc": ("ratioGap", "randomCbcSeed", "threads", ""),
    "glpk": ("mipgap", "", "", ""),
    "scip": ("limits/gap", "randomization/randomseedshift", "", ""),
    "gurobi": ("MIPGap", "Seed", "Threads", "TimeLimit"),
    "cplex": ("mip_tolerances_mipgap", "randomseed", "threads", "timelimit"),
}

STOPS: dict[Ended, StopReason] = {
    Ended.optimal: StopReason.FINISHED,
    Ended.globallyOptimal: StopReason.FINISHED,
    Ended.locallyOptimal: StopReason.FINISHED,
    Ended.maxTimeLimit: StopReason.TIME_LIMIT,
    Ended.maxIterations: StopReason.TIME_LIMIT,
    Ended.maxEvaluations: StopReason.TIME_LIMIT,
    Ended.resourceInterrupt: StopReason.TIME_LIMIT,
    # CBC's words for a limit that comes before a solution.
    Ended.intermediateNonInteger: StopReason.TIME_LIMIT,
    Ended.noSolution: StopReason.TIME_LIMIT,
    Ended.userInterrupt: StopReason.INTERRUPTED,
    Ended.feasible: StopReason.TIME_LIMIT,
    Ended.minFunctionValue: StopReason.ERROR,
    Ended.minStepLength: StopReason.ERROR,
    Ended.other: StopReason.ERROR,
    Ended.unbounded: StopReason.ERROR,
    Ended.infeasible: StopReason.ERROR,
    Ended.infeasibleOrUnbounded: StopReason.ERROR,
    Ended.invalidProblem: StopReason.ERROR,
    Ended.solverFailure: StopReason.ERROR,
    Ended.internalSolverError: StopReason.ERROR,
    Ended.error: StopReason.ERROR,
    Ended.licensingProblems: StopReason.ERROR,
    Ended.unknown: StopReason.ERROR,
}


@dataclass(frozen=True)
class Ending:
    """How a run ended: why, the lower bound of the engine or None, whether a solution was loaded."""

    stop: StopReason
    lower: float | None
    solved: bool
    said: str


def installed() -> list[str]:
    """Return the names of the engines that can be used here."""
    return [name for name in ENGINES if _pyomo_name(name) is not None]


def find(name: str) -> str:
    """Return Pyomo's name of an engine that is installed; any name that Pyomo knows will do.

    Raises
    ------
    InputError
        It is not installed; the message names those that are.
    """
    found = _pyomo_name(name)
    if found is None:
        have = ", ".join(installed()) or "none"
        raise InputError(f"MILP engine {name!r} is not installed; installed: {have}")
    return found


def _pyomo_name(name: str) -> str | None:
    for candidate in ENGINES.get(name, (name,)):
        with _quiet():
            try:
                if pyo.SolverFactory(candidate).available(exception_flag=False):
                    return candidate
            except Exception:  # each interface fails in its own way where its engine is missing
                continue
    return None


def run(
    model: pyo.ConcreteModel, name: str, pyomo_name: str, budget: Budget, seconds: float | None
) -> Ending:
    """Solve the model; a solution, if there is one, is loaded into it."""
    solver = pyo.SolverFactory(pyomo_name)
    wanted = (budget.gap, budget.seed, max(1, budget.threads), seconds)
    for option, value in zip(OPTIONS.get(name, ()), wanted, strict=False):
        if option and value is not None:
            solver.options[option] = value
    limits: dict[str, Any] = {} if seconds is None else {"timelimit": max(1.0, seconds)}
    with _quiet():
        results = solver.solve(model, load_solutions=False, tee=False, **limits)
        solved = len(results.solution) > 0
        if solved:
            model.solutions.load_from(results)
    ended = results.solver.termination_condition
    return Ending(STOPS.get(ended, StopReason.ERROR), _bound(results), solved, str(ended))


def _bound(results: Any) -> float | None:
    try:
        return float(results.problem.lower_bound)
    except (TypeError, ValueError, AttributeError):
        return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Pyomo from writing to the log what the caller is told anyway."""
    logger = logging.getLogger("pyomo")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
