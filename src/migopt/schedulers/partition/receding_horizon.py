"""Receding horizon: the partition of the first decision of the exact relaxation over the jobs known now."""

from __future__ import annotations

from migopt.schedulers.joint.receding import receding_planner
from migopt.schedulers.joint.rules import JointPartition


def make(argument: str = "") -> JointPartition:
    """Return the rule; the argument is settings, as ``receding_planner`` reads them."""
    return JointPartition(f"receding_horizon:{argument}", receding_planner(argument))
