"""What the two slot models share: their data, plans on the grid, first plans, the answer.

The models themselves are ``slot_milp`` (Pyomo) and ``slot_cpsat`` (CP-SAT): the same variables,
constraints and objective, file by file. Statement and proofs: docs/exact/slot.md.
"""

from migopt.exact.slots.data import why_not

__all__ = ["why_not"]
