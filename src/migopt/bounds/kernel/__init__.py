"""Best busy vector and assignment of jobs to its slices: one compiled kernel for every bound and plan."""

from migopt.bounds.kernel.assign import assigned_groups, best_of, fill
from migopt.bounds.kernel.tables import Tables, make_tables

__all__ = ["Tables", "assigned_groups", "best_of", "fill", "make_tables"]
