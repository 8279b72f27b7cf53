"""Rollout: the partition of the priced policy at the level of prices that is cheapest over sampled futures."""

from __future__ import annotations

from migopt.schedulers._changes import take_changes
from migopt.schedulers.joint.rules import JointPartition
from migopt.schedulers.joint.sampled import rollout_planner


def make(argument: str = "") -> JointPartition:
    """Return the rule; the argument is a scenario and settings, as ``rollout_planner`` reads them.

    ``scope=slices`` and ``keep=yes`` (partial repartition) may stand among them.
    """
    rest, changes = take_changes("rollout", argument)
    return JointPartition(f"rollout:{rest}", rollout_planner(rest), changes)
