"""Variables of the slot model in Pyomo, each with the first plan's value."""

from __future__ import annotations

import pyomo.environ as pyo

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.values import Values
from migopt.exact.slots.variables import Variables


def add_variables(model: pyo.ConcreteModel, data: SlotData, hints: Values) -> Variables[pyo.Var]:
    """Add every variable with its first value."""
    model.x = pyo.Var(list(hints.x), domain=pyo.Binary, initialize=hints.x)
    model.z = pyo.Var(list(hints.z), domain=pyo.Binary, initialize=hints.z)
    model.ch = pyo.Var([t for (t,) in hints.ch], domain=pyo.Binary)
    model.e = pyo.Var(list(hints.e), domain=pyo.Binary, initialize=hints.e)
    model.lost = pyo.Var(
        list(hints.lost),
        bounds=lambda _, j, t: (0, max(data.loss[j])),
        initialize=hints.lost,
    )
    model.q = pyo.Var(list(hints.q), domain=pyo.Binary, initialize=hints.q)
    for (t,), value in hints.ch.items():
        model.ch[t].value = value
    return Variables(
        x={key: model.x[key] for key in hints.x},
        z={key: model.z[key] for key in hints.z},
        ch={(t,): model.ch[t] for (t,) in hints.ch},
        e={key: model.e[key] for key in hints.e},
        lost={key: model.lost[key] for key in hints.lost},
        q={key: model.q[key] for key in hints.q},
    )
