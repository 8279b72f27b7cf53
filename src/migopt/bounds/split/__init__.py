"""The variable splitting bound (Lagrangian decomposition by job and GPU), for whole days and small cases."""

from migopt.bounds.split.bound import SplitResult, split_bound
from migopt.bounds.split.covers import cases, why_not
from migopt.bounds.split.exact import evaluate_multipliers, proven_lower, round_down
from migopt.bounds.split.multipliers import Multipliers
from migopt.bounds.split.shares import bound_shares

__all__ = [
    "Multipliers",
    "SplitResult",
    "bound_shares",
    "cases",
    "evaluate_multipliers",
    "proven_lower",
    "round_down",
    "split_bound",
    "why_not",
]
