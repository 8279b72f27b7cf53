"""The functions most people need: solve, simulate, and what came out, checked and scored."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from dataclasses import replace
from pathlib import Path

from migopt.answer import Answer, judge
from migopt.model import Instance
from migopt.registry import Entry, PolicySolver, entries, resolve
from migopt.results import Budget, Solver
from migopt.schedulers import parse_policy

__all__ = ["Answer", "show_versions", "simulate", "solve", "solvers"]


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
    return judge(
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
