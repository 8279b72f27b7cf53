"""Receding horizon: the partition of the first decision of the exact relaxation over the jobs known now."""

from __future__ import annotations

from migopt.schedulers._changes import take_changes
from migopt.schedulers.joint.receding import receding_planner
from migopt.schedulers.joint.rules import JointPartition


def make(argument: str = "") -> JointPartition:
    """Return the rule; the argument is settings, as ``receding_planner`` reads them.

    ``scope=slices`` and ``keep=yes`` (partial repartition) may stand among them.
    """
    rest, changes = take_changes("receding_horizon", argument)
    return JointPartition(f"receding_horizon:{rest}", receding_planner(rest), changes)
