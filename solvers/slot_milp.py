"""Slot model as a MILP: best schedule that acts every so many seconds only; any engine that Pyomo calls.

When to use: for operators who act on a clock, and as a cross-check of ``slot_cpsat``. An upper bound for
continuous time, where better schedules may exist; see docs/exact/slot.md.
"""

from __future__ import annotations

from typing import Any

from migopt.model import Instance

REQUIRES = ("pyomo>=6.8", "highspy>=1.7")
PARAMETERS = {
    "partition": ("free", None),
    "slot_s": (0, (0, 1_000_000)),
    "slots": (24, (1, 400)),
    "engine": ("highs", None),
}
CLAIMS = "heuristic"


def applies(instance: Instance) -> str | None:
    """Return why the model does not cover the instance, or None."""
    from migopt.exact.slots import why_not

    return why_not(instance)


def make(*, partition: str, slot_s: float, slots: int, engine: str) -> Any:
    """Return the solver; ``slot_s`` = 0 takes slots such that the work fills about ``slots`` of them."""
    from migopt.exact.partition_choice import partition_choice
    from migopt.exact.slot_milp import SlotMilp

    choice = partition_choice("slot_milp", partition)
    return SlotMilp(choice, round(1000 * slot_s), int(slots), engine=engine)
