"""The slot model as a mixed integer program in Pyomo, for any MILP engine that Pyomo can call.

``variables``, ``constraints``, ``objective`` and ``decode`` are those of ``slot_cpsat``, line by line; the
data come from ``migopt.exact.slots``. Statement: docs/exact/slot.md.
"""

from __future__ import annotations

from typing import Any

__all__ = ["SlotMilp"]


def __getattr__(name: str) -> Any:
    # Loading Pyomo takes most of a second; asking whether the model applies does not need it.
    if name == "SlotMilp":
        from migopt.exact.slot_milp.solver import SlotMilp

        return SlotMilp
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
