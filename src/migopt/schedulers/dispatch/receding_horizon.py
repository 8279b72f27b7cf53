"""Receding horizon: the jobs on slices of the first decision of the exact relaxation over the jobs known now."""

from __future__ import annotations

from migopt.schedulers._changes import take_changes
from migopt.schedulers.joint.receding import receding_planner
from migopt.schedulers.joint.rules import JointDispatch


def make(argument: str = "") -> JointDispatch:
    """Return the rule; the argument is settings, as ``receding_planner`` reads them.

    Options of the partition rule, ``scope`` and ``keep``, are read and left to it.
    """
    rest, _ = take_changes("receding_horizon", argument)
    return JointDispatch(f"receding_horizon:{rest}", receding_planner(rest))
