"""Objective of the slot model in Pyomo."""

from __future__ import annotations

import pyomo.environ as pyo

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.variables import Variables


def add_objective(
    model: pyo.ConcreteModel, data: SlotData, var: Variables[pyo.Var], unit: float
) -> None:
    """Minimise power per busy slot and lateness per slot in which a job is not done, over ``unit``.

    Engines measure gaps and tolerances in absolute numbers too, so costs are kept near 1.
    """
    total = []
    for j in data.jobs:
        for t in range(data.last[j] + 1):
            if data.late[j][t]:
                total.append(data.late[j][t] / unit * (1 - var.done(data, j, t)))
    for (u, _), q in var.q.items():
        total.append(data.level_cost[u] / unit * q)
    if data.off is not None and data.off_cost:
        for j in data.jobs:
            for t in range(data.first[j], data.last[j] + 1):
                here = var.on_group(data, j, t)
                total += [data.off_cost / unit * x for k, x in here.items() if not data.compute[k]]
    model.cost = pyo.Objective(expr=sum(total))
