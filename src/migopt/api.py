"""The functions most people need: solve, simulate, and what came out, checked and scored."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from migopt.check import Violation, check
from migopt.errors import InputError
from migopt.metrics import Metrics, measure
from migopt.model import Instance, Schedule
from migopt.registry import Entry, PolicySolver, entries, resolve
from migopt.results import Budget, Outcome, Solver, SolveResult, active_gap, gap
from migopt.schedulers import parse_policy

#: Relative room for the float error of a lower bound against an exactly measured cost.
CLAIM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Answer:
    """A solver's result, its schedule checked by the independent checker and scored by ``measure``.

    Attributes
    ----------
    solver : str
        The name asked for.
    instance : Instance
    result : SolveResult
        What the solver said.
    metrics : Metrics or None
        The score of its schedule.
    violations : tuple of Violation
        Rules that its schedule breaks; such a schedule gives no upper bound.
    wall_s : float
        Wall time of the solver, checking not included.
    """

    solver: str
    instance: Instance
    result: SolveResult
    metrics: Metrics | None
    violations: tuple[Violation, ...]
    wall_s: float

    @property
    def schedule(self) -> Schedule | None:
        """The solver's schedule."""
        return self.result.schedule

    @property
    def upper(self) -> float | None:
        """Cost of the schedule, None when there is none or it is illegal."""
        return None if self.metrics is None or self.violations else self.metrics.cost

    @property
    def lower(self) -> float | None:
        """The solver's own lower bound for the instance, in units of cost."""
        return self.result.lower

    @property
    def gap(self) -> float | None:
        """(upper - lower) / upper."""
        return gap(self.upper, self.lower)

    @property
    def active_gap(self) -> float | None:
        """The gap without the constant cost of idle power."""
        return active_gap(self.instance, self.upper, self.lower)

    @property
    def outcome(self) -> Outcome:
        """What the solver has to show."""
        return self.result.outcome

    @property
    def claim_error(self) -> str:
        """Why the solver's claims cannot be true; empty when nothing speaks against them."""
        if self.violations:
            return f"its schedule breaks a rule: {self.violations[0]}"
        upper, lower = self.upper, self.lower
        if (
            upper is not None
            and lower is not None
            and lower > upper + CLAIM_TOLERANCE * max(1.0, abs(upper))
        ):
            return f"its lower bound {lower!r} is above the cost {upper!r} of its own schedule"
        return ""

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain data, for JSON."""
        result = self.result
        return {
            "solver": self.solver,
            "upper": self.upper,
            "lower": self.lower,
            "gap": self.gap,
            "active_gap": self.active_gap,
            "outcome": str(result.outcome),
            "stop": str(result.stop),
            "class_lower": result.class_lower,
            "class_name": result.class_name,
            "proof": result.proof,
            "engine": result.engine,
            "message": result.message,
            "wall_s": self.wall_s,
            "claim_error": self.claim_error,
            "violations": [str(violation) for violation in self.violations],
            "metrics": None if self.metrics is None else self.metrics.as_dict(),
        }


def solve(
    instance: Instance | str | Path, solver: str | Solver, *, budget: Budget | None = None
) -> Answer:
    """Solve an instance; the schedule is checked and scored by migopt, not by the solver.

    Parameters
    ----------
    instance : Instance or path
    solver : str or Solver
        A name as ``migopt solvers list`` prints it, with parameters after a colon
        (``cpsat:workers=2``), a policy string, or an object with ``solve(instance, budget)``.
    budget : Budget, optional
        60 s, one thread, seed 0 by default.

    Returns
    -------
    Answer

    Raises
    ------
    InputError, UnknownNameError, MissingExtraError
        The file, the name, or an optional package.
    """
    problem = _instance(instance)
    chosen = resolve(solver) if isinstance(solver, str) else solver
    start = time.perf_counter()
    result = chosen.solve(problem, budget or Budget())
    wall = time.perf_counter() - start
    return _answer(
        problem, solver if isinstance(solver, str) else type(solver).__name__, result, wall
    )


def simulate(
    instance: Instance | str | Path, policy: str, *, seed: int = 0, engine: str = "auto"
) -> Answer:
    """Run a policy, for example ``edf_ss_restricted+static:3``, and score its schedule.

    Parameters
    ----------
    instance : Instance or path
    policy : str
    seed : int
        Of rules that draw.
    engine : str
        ``compiled``, ``reference`` or ``auto``; the schedule is the same.

    Raises
    ------
    InputError, UnknownNameError
        The file, or a rule's name or argument.
    """
    solver = PolicySolver(parse_policy(policy), engine)
    return replace(solve(instance, solver, budget=Budget(None, seed=seed)), solver=policy)


def solvers() -> list[Entry]:
    """Return every named solver, with what it claims and needs."""
    return entries()


def show_versions() -> dict[str, str]:
    """Return the versions of migopt, Python and every engine, and the size of the machine."""
    versions = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
    }
    for name in ("migopt", "numpy", "networkx", "ortools", "highspy", "pyomo", "numba", "torch"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def _instance(instance: Instance | str | Path) -> Instance:
    if isinstance(instance, Instance):
        return instance
    from migopt.io import load

    return load(instance)


def _answer(instance: Instance, name: str, result: SolveResult, wall_s: float) -> Answer:
    if result.schedule is None:
        return Answer(name, instance, result, None, (), wall_s)
    violations = tuple(check(instance, result.schedule))
    try:
        metrics = measure(instance, result.schedule)
    except InputError:
        if not violations:
            raise
        metrics = None  # it names jobs or placements that do not exist; the violations say which
    return Answer(name, instance, result, metrics, violations, wall_s)
