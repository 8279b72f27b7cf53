"""Total tardiness without preemption on the slices of one partition, exactly, with no engine.

When to use: energy has no weight, jobs are not stopped, up to about 25 jobs. ``partition`` is a number of the
catalogue, or 0 to have it chosen. Where the instance allows preemption or repartition, the bound holds for
schedules without them only (``class_lower``). Statement and proofs: docs/exact/tardiness.md.
"""

from __future__ import annotations

from migopt.model import Instance
from migopt.results import Solver

REQUIRES = ()
PARAMETERS = {"partition": (0, (0, 1_000_000))}
CLAIMS = "exact"


def applies(instance: Instance) -> str | None:
    """Return why the search does not cover the instance, or None; ``solve`` looks at the partition."""
    from migopt.exact.tardiness.coverage import why_not

    return why_not(instance)


def make(*, partition: int) -> Solver:
    """Return the solver; ``partition`` 0 leaves the choice to it."""
    from migopt.exact.tardiness import Tardiness

    return Tardiness(partition or None)
