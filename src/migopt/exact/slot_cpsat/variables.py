"""Variables of the slot model in CP-SAT, each hinted by the first plan."""

from __future__ import annotations

from ortools.sat.python import cp_model

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.values import Key, Values
from migopt.exact.slots.variables import Variables

Vars = dict[Key, cp_model.IntVar]


def add_variables(
    model: cp_model.CpModel, data: SlotData, hints: Values
) -> Variables[cp_model.IntVar]:
    """Add every variable with its hint."""
    found = Variables(
        x=_binary(model, "x", hints.x),
        z=_binary(model, "z", hints.z),
        ch=_binary(model, "ch", hints.ch),
        e=_binary(model, "e", hints.e),
        lost={
            (j, t): model.new_int_var(0, max(data.loss[j]), f"lost{j},{t}") for j, t in hints.lost
        },
        q=_binary(model, "q", hints.q),
    )
    for name in ("x", "z", "ch", "e", "lost", "q"):
        for key, value in getattr(hints, name).items():
            model.add_hint(getattr(found, name)[key], value)
    return found


def _binary(model: cp_model.CpModel, name: str, hints: dict[Key, int]) -> Vars:
    return {key: model.new_bool_var(name + ",".join(map(str, key))) for key in hints}
