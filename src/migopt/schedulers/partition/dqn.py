"""A trained network chooses the partition: ``dqn`` (the one of the scenario), ``dqn:s0-tight``, ``dqn:FILE``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from migopt.errors import NotApplicableError
from migopt.model import Instance
from migopt.schedulers.learned.checkpoint import (
    LearnedPolicy,
    find_policy,
    load_policy,
    shipped_policies,
)
from migopt.schedulers.learned.player import steer
from migopt.sim import Dispatcher, PartitionDecision, Partitioner, SimState
from migopt.sim.rules import PartitionPlan


class Dqn:
    """Decides at every arrival and completion by the greatest value of the network.

    Parameters
    ----------
    policy : LearnedPolicy or None
        None stands for the shipped policy of the instance's scenario.
    dispatcher : callable, optional
        Makes the dispatch rule that forecasts play; ``resolve`` sets it.
    """

    #: On the reference simulator forecasts are slow.
    few_jobs = 0

    def __init__(
        self, policy: LearnedPolicy | None, dispatcher: Callable[[], Dispatcher] | None = None
    ) -> None:
        self.policy, self.dispatcher = policy, dispatcher

    def resolve(
        self, instance: Instance, dispatcher: Callable[[], Dispatcher], seed: int
    ) -> Partitioner:
        """Return the rule for an instance; raises NotApplicableError for another GPU or catalogue."""
        policy = self.policy or _of_scenario(instance)
        policy.refuse_other(instance)
        return Dqn(policy, dispatcher)

    def plan(self, instance: Instance) -> PartitionPlan:
        """Return the same for the kernel."""
        policy = self.policy or _of_scenario(instance)
        return PartitionPlan([instance.catalogue(0)[policy.first]], steer=steer(policy))

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return the partition of greatest value."""
        from migopt.schedulers.learned.reference import decide

        policy = self.policy or _of_scenario(state.instance)
        decision: PartitionDecision = decide(policy, state, self.dispatcher)
        return decision


def _of_scenario(instance: Instance) -> LearnedPolicy:
    origin: Any = instance.origin or {}
    name = str(origin.get("generator", ""))
    known = shipped_policies()
    if name not in known:
        raise NotApplicableError(
            f"dqn: no policy ships for this instance; name one: {', '.join(known)}, or a file"
        )
    return load_policy(find_policy(name))


def make(argument: str = "") -> Dqn:
    """Return the rule; the argument names a shipped policy or a file."""
    return Dqn(load_policy(find_policy(argument)) if argument else None)
