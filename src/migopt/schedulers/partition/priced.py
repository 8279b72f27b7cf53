"""Priced: the partition in which the present jobs are worth most at their present prices."""

from __future__ import annotations

from migopt.schedulers.joint.planner import priced_planner
from migopt.schedulers.joint.rules import JointPartition


def make(argument: str = "") -> JointPartition:
    """Return the rule; the argument names a stored set of numbers or gives them, ``/`` between."""
    return JointPartition(f"priced:{argument}", priced_planner("priced", argument))
