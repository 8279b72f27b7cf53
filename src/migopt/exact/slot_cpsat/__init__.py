"""The slot model in CP-SAT.

``variables``, ``constraints``, ``objective`` and ``decode`` are those of ``slot_milp``, line by line; the
data come from ``migopt.exact.slots``. Statement: docs/exact/slot.md.
"""

from __future__ import annotations

from typing import Any

__all__ = ["SlotCpSat"]


def __getattr__(name: str) -> Any:
    # Loading the engine takes half a second; asking whether the model applies does not need it.
    if name == "SlotCpSat":
        from migopt.exact.slot_cpsat.solver import SlotCpSat

        return SlotCpSat
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
