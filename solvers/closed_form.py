"""Closed-form lower bound: least energy per job, and late or crowded jobs.

When to use: always, it takes milliseconds. Weak on full days (see the bound's page in the docs).
"""

from __future__ import annotations

from migopt.model import Instance
from migopt.results import Solver

REQUIRES = ()
PARAMETERS = {}
CLAIMS = "bound"


def applies(instance: Instance) -> str | None:
    """Return None: every instance of kind ``schedule`` has this bound, or the bound says why not."""
    return None if instance.kind == "schedule" else f"kind {instance.kind} is not covered"


def make() -> Solver:
    """Return the bound as a solver."""
    from migopt.bounds.closed_form import ClosedForm
    from migopt.bounds.solver import BoundSolver

    return BoundSolver(ClosedForm())
