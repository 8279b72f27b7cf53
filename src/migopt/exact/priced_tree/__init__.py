"""Branch and bound over the splitting bound, for few jobs on one GPU whose partitions change within tau.

``kernel`` (jobs and GPU with restrictions), ``levels`` (grids and evaluation), ``tree`` (nodes, branching).
Statement and proof: docs/exact/interval_milp.md, "Tree over prices".
"""
