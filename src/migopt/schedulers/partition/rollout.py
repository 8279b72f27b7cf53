"""Rollout: the partition of the priced policy at the level of prices that is cheapest over sampled futures."""

from __future__ import annotations

from migopt.schedulers.joint.rules import JointPartition
from migopt.schedulers.joint.sampled import rollout_planner


def make(argument: str = "") -> JointPartition:
    """Return the rule; the argument is a scenario and settings, as ``rollout_planner`` reads them."""
    return JointPartition(f"rollout:{argument}", rollout_planner(argument))
