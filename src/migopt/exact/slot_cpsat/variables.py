"""Variables of the slot model in CP-SAT, each hinted by the first plan."""

from __future__ import annotations

from dataclasses import dataclass

from ortools.sat.python import cp_model

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.values import Key, Values

Vars = dict[Key, cp_model.IntVar]


@dataclass
class Variables:
    """The variables by index.

    Attributes
    ----------
    x : dict
        ``x[j, k, t]``: job j runs on a slice of group k in slot t.
    z : dict
        ``z[c, t]``: partition c is in force in slot t; only t = 0 where it cannot change.
    ch : dict
        ``ch[t]``: the partition changes at the beginning of slot t.
    e : dict
        ``e[j, t]``: job j is done by the beginning of slot t.
    lost : dict
        ``lost[j, t]``: work that job j loses to a change in slot t.
    q : dict
        ``q[u, t]``: u compute slices are busy in slot t, u > 0.
    """

    x: Vars
    z: Vars
    ch: Vars
    e: Vars
    lost: Vars
    q: Vars


def add_variables(model: cp_model.CpModel, data: SlotData, hints: Values) -> Variables:
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
