"""Interval MILP with refinement: proven optima for preemptive jobs on one GPU, in continuous time.

Variables, constraints, objective, refinement and decoding are one file each; docs/exact/interval_milp.md
states the model and proves that its value is a lower bound on every grid.
"""

from migopt.exact.interval_milp.driver import IntervalMilp, Progress

__all__ = ["IntervalMilp", "Progress"]
