"""Dispatch rules (which job on which slice) and partition rules (which partition, when)."""

from migopt.schedulers.policy import Policy, dispatch_rules, parse_policy, partition_rules

__all__ = ["Policy", "dispatch_rules", "parse_policy", "partition_rules"]
