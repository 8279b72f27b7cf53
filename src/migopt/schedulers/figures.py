"""Figures of a policy's run without its schedule, from the compiled simulator."""

from __future__ import annotations

from typing import Any

from migopt.metrics import Metrics
from migopt.metrics.time_of_day import time_of_day
from migopt.model import Instance
from migopt.schedulers.play import compiled_run
from migopt.schedulers.policy import parse_policy


def policy_figures(
    instance: Instance, policy: str, *, seed: int = 0
) -> tuple[Metrics, dict[str, Any]] | None:
    """Return figures and, where partitions change, ``time_of_day``; None where a rule is not built in.

    Raises
    ------
    InfeasiblePartitionError, NotApplicableError, PolicyError
        As a simulation does.
    """
    parsed = parse_policy(policy)
    partitioner = parsed.partitioner(instance, seed=seed)
    run = compiled_run(instance, parsed.dispatcher(), partitioner, seed)
    if run is None:
        return None
    run.play()
    changes = run.changes()
    return run.metrics(), time_of_day(instance, run.plan.first, changes) if changes else {}
