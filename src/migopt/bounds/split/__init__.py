"""The variable splitting bound (Lagrangian decomposition by job and GPU), for whole days and small cases."""

from migopt.bounds.split.bound import SplitResult, split_bound, why_not
from migopt.bounds.split.exact import evaluate_multipliers, round_down
from migopt.bounds.split.multipliers import Multipliers

__all__ = [
    "Multipliers",
    "SplitResult",
    "evaluate_multipliers",
    "round_down",
    "split_bound",
    "why_not",
]
