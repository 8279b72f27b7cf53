"""Interval MILP, started from the best built-in policies: proven optima for preemptive jobs on one GPU.

The optimum in continuous time, changes of partition included; without preemption or with a cost per
resume it gives a lower bound only. See docs/exact/interval_milp.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from migopt.model import Instance, Schedule
from migopt.results import Budget, Live, SolveResult

REQUIRES = ("highspy>=1.7",)
PARAMETERS = {"partition": ("free", None), "max_changes": (-1, (-1, 100))}
CLAIMS = "exact"
MOST_JOBS = 20
#: Share of the time in which policies are begun.
POLICY_SHARE = 0.1
#: Policies whose best schedule the search starts from.
POLICIES = (
    "edf_ss_restricted+best_fixed",
    "edf_fs+best_fixed",
    "sjf+best_fixed",
    "edf_fs+no_mig",
)


def applies(instance: Instance) -> str | None:
    """Return why the model does not cover the instance, or None."""
    if instance.kind != "schedule":
        return f"the interval MILP solves kind schedule, not {instance.kind}"
    if len(instance.gpus) != 1:
        return f"{len(instance.gpus)} GPUs: the interval MILP covers one; use the day bound"
    if len(instance.jobs) > MOST_JOBS:
        jobs = len(instance.jobs)
        return f"{jobs} jobs: the interval MILP covers up to {MOST_JOBS}; use the day bound"
    return None


def make(*, partition: str | int, max_changes: int) -> Any:
    """Return the solver; ``partition`` is ``free``, ``one`` or a number, ``max_changes`` -1 for any."""
    from migopt.exact.partition_choice import partition_choice

    choice = partition_choice("interval_milp", partition)
    return _FromPolicies(choice, None if max_changes < 0 else int(max_changes))


class _FromPolicies:
    def __init__(self, partition: Any, max_changes: int | None) -> None:
        self.partition, self.max_changes = partition, max_changes
        self.tell: Callable[[Live], None] | None = None

    def listening(self, tell: Callable[[Live], None]) -> _FromPolicies:
        """Return the solver with ``tell`` called as bounds move."""
        found = _FromPolicies(self.partition, self.max_changes)
        found.tell = tell
        return found

    def _report(self, state: Any) -> None:
        if self.tell is not None:
            self.tell(Live(state.wall_s, state.upper, state.lower, state.note))

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Solve from the best schedule of the policies; with a restricted partition from none."""
        from migopt.exact.interval_milp import IntervalMilp

        hint, limit, began = None, budget.time_limit_s, time.perf_counter()
        if self.partition == "free" and self.max_changes is None:
            seconds = math.inf if limit is None else POLICY_SHARE * limit
            hint = best_of_policies(instance, budget.seed, seconds)
        if limit is not None:
            limit = max(0.0, limit - (time.perf_counter() - began))
        solver = IntervalMilp(self.partition, self.max_changes, hint, self._report)
        return solver.solve(instance, replace(budget, time_limit_s=limit))


def best_of_policies(instance: Instance, seed: int, seconds: float = math.inf) -> Schedule | None:
    """Return the cheapest schedule of the policies that apply and are begun within ``seconds``."""
    from migopt.errors import MigoptError
    from migopt.metrics import measure
    from migopt.schedulers import parse_policy

    best, began = None, time.perf_counter()
    for text in POLICIES:
        if time.perf_counter() - began > seconds:
            break
        try:
            schedule = parse_policy(text).run(instance, seed=seed)
        except (
            MigoptError
        ):  # no_mig where MIG off is not allowed, a partition on which a job has no place
            continue
        cost = measure(instance, schedule).cost_exact
        if best is None or cost < best[0]:
            best = (cost, schedule)
    return None if best is None else best[1]
