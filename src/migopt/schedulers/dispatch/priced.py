"""Priced: the jobs and slices of the partition in force that are worth most at the jobs' present prices."""

from __future__ import annotations

from migopt.schedulers._changes import take_changes
from migopt.schedulers.joint.planner import priced_planner
from migopt.schedulers.joint.rules import JointDispatch


def make(argument: str = "") -> JointDispatch:
    """Return the rule; the argument names a stored set of numbers or gives them, ``/`` between.

    Options of the partition rule, ``scope`` and ``keep``, are read and left to it.
    """
    rest, _ = take_changes("priced", argument)
    return JointDispatch(f"priced:{rest}", priced_planner("priced", rest))
