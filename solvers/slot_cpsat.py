"""Slot model in CP-SAT: best schedule that acts every so many seconds only.

When to use: for operators who act on a clock, and as a cross-check of ``slot_milp``. An upper bound for
continuous time, where better schedules may exist; see docs/exact/slot.md.
"""

from __future__ import annotations

from typing import Any

from migopt.model import Instance

REQUIRES = ("ortools>=9.12",)
PARAMETERS = {
    "partition": ("free", None),
    "slot_s": (0, (0, 1_000_000)),
    "slots": (24, (1, 400)),
}
CLAIMS = "heuristic"


def applies(instance: Instance) -> str | None:
    """Return why the model does not cover the instance, or None."""
    from migopt.exact.slots import why_not

    return why_not(instance)


def make(*, partition: str, slot_s: float, slots: int) -> Any:
    """Return the solver; ``slot_s`` = 0 takes slots such that the work fills about ``slots`` of them."""
    from migopt.exact.partition_choice import partition_choice
    from migopt.exact.slot_cpsat import SlotCpSat

    choice = partition_choice("slot_cpsat", partition)
    return SlotCpSat(choice, round(1000 * slot_s), int(slots))
