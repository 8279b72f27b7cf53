"""Priced: the jobs and slices of the partition in force that are worth most at the jobs' present prices."""

from __future__ import annotations

from migopt.schedulers.joint.planner import priced_planner
from migopt.schedulers.joint.rules import JointDispatch


def make(argument: str = "") -> JointDispatch:
    """Return the rule; the argument names a stored set of numbers or gives them, ``/`` between."""
    return JointDispatch(f"priced:{argument}", priced_planner("priced", argument))
