"""Objective of the slot model in CP-SAT."""

from __future__ import annotations

from ortools.sat.python import cp_model

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.variables import Variables


def add_objective(model: cp_model.CpModel, data: SlotData, var: Variables[cp_model.IntVar]) -> None:
    """Minimise power per busy slot and lateness per slot in which a job is not done."""
    total = []
    for j in data.jobs:
        for t in range(data.last[j] + 1):
            if data.late[j][t]:
                total.append(data.late[j][t] * (1 - var.done(data, j, t)))
    for (u, _), q in var.q.items():
        total.append(data.level_cost[u] * q)
    if data.off is not None and data.off_cost:
        for j in data.jobs:
            for t in range(data.first[j], data.last[j] + 1):
                here = var.on_group(data, j, t)
                total += [data.off_cost * x for k, x in here.items() if not data.compute[k]]
    model.minimize(sum(total))
