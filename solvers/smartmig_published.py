"""SMART-MIG's published bound, for comparison only: it is not valid on super-linear profiles.

Never counted as a lower bound. Reference: SMART-MIG, arXiv 2606.29775.
"""

from __future__ import annotations

from migopt.model import Instance
from migopt.results import Solver

REQUIRES = ()
PARAMETERS = {}
CLAIMS = "published"


def applies(instance: Instance) -> str | None:
    """Return None for scheduling instances; the form itself says when it cannot be computed."""
    return None if instance.kind == "schedule" else f"kind {instance.kind} is not covered"


def make() -> Solver:
    """Return the published form as a solver without a certified bound."""
    from migopt.bounds.smartmig_published import SmartMigPublished
    from migopt.bounds.solver import BoundSolver

    return BoundSolver(SmartMigPublished(), certified=False)
