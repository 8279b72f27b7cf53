"""Rollout: what the priced policy does at the level of prices that is cheapest over sampled futures."""

from __future__ import annotations

from migopt.schedulers._changes import take_changes
from migopt.schedulers.joint.rules import JointDispatch
from migopt.schedulers.joint.sampled import rollout_planner


def make(argument: str = "") -> JointDispatch:
    """Return the rule; the argument is a scenario and settings, as ``rollout_planner`` reads them.

    Options of the partition rule, ``scope`` and ``keep``, are read and left to it.
    """
    rest, _ = take_changes("rollout", argument)
    return JointDispatch(f"rollout:{rest}", rollout_planner(rest))
