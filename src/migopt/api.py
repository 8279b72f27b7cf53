"""The functions most people need: solve, simulate, and what came out, checked and scored."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migopt.answer import Answer, judge
from migopt.model import Instance
from migopt.registry import Entry, PolicySolver, entries, resolve
from migopt.results import Budget, Live, Solver
from migopt.schedulers import parse_policy

if TYPE_CHECKING:
    from migopt.certificates import Certificate, Verification

__all__ = [
    "Answer",
    "certify",
    "show_versions",
    "simulate",
    "solve",
    "solvers",
    "verify_certificate",
]


def solve(
    instance: Instance | str | Path,
    solver: str | Solver,
    *,
    budget: Budget | None = None,
    progress: Callable[[Live], None] | None = None,
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
    progress : callable, optional
        Called now and then with a ``Live``, where the solver reports (it has a method ``listening``).

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
    if progress is not None and hasattr(chosen, "listening"):
        chosen = chosen.listening(progress)
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


def certify(
    instance: Instance | str | Path,
    *,
    time_limit_s: float | None = 60.0,
    threads: int = 1,
    seed: int = 0,
    progress: Callable[[Any], None] | None = None,
) -> Certificate:
    """Find the best schedule and lower bounds within a wall time, with what proves them.

    Parameters
    ----------
    instance : Instance or path
    time_limit_s : float, optional
        Wall seconds; compiling, once per version of migopt, comes before.
    threads, seed : int
    progress : callable, optional
        Called with a ``migopt.certificates.board.Progress`` now and then.

    Returns
    -------
    Certificate
        ``upper``, ``lower``, ``gap``, ``active_gap``, ``upper_by``, ``lower_by``, ``proof``, ``schedule``
        and ``bounds``; ``migopt.certificates.write_certificate`` stores it.

    Raises
    ------
    InputError
        The file cannot be used.
    CertificateError
        A solver claimed what cannot be true.
    """
    from migopt.certificates import certify as run

    return run(instance, time_limit_s=time_limit_s, threads=threads, seed=seed, progress=progress)


def verify_certificate(
    path: str | Path, instance: Instance | str | Path | None = None
) -> Verification:
    """Verify a certificate file: ``ok``, ``faults`` with both numbers, and the bounds that hold.

    Parameters
    ----------
    path : path
    instance : Instance or path, optional
        The problem it must be a certificate of; the instance within it is used otherwise.

    Raises
    ------
    InputError
        A file cannot be read, or is no certificate.
    """
    from migopt.certificates import read_certificate, verify

    return verify(read_certificate(path), None if instance is None else _instance(instance))


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
