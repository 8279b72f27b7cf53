"""Priced: the partition in which the present jobs are worth most at their present prices."""

from __future__ import annotations

from migopt.schedulers._changes import take_changes
from migopt.schedulers.joint.planner import priced_planner
from migopt.schedulers.joint.rules import JointPartition


def make(argument: str = "") -> JointPartition:
    """Return the rule; the argument names a stored set of numbers or gives them, ``/`` between.

    ``scope=slices`` and ``keep=yes`` (partial repartition) may stand among them.
    """
    rest, changes = take_changes("priced", argument)
    return JointPartition(f"priced:{rest}", priced_planner("priced", rest), changes)
