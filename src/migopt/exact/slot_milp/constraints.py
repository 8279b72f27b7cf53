"""Constraints of the slot model in Pyomo."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.variables import Variables


def add_constraints(model: pyo.ConcreteModel, data: SlotData, var: Variables[pyo.Var]) -> None:
    """Add every constraint."""
    model.rows = pyo.ConstraintList()
    add_partitions(model, data, var)
    add_slices(model, data, var)
    add_work(model, data, var)
    add_stays(model, data, var)
    add_levels(model, data, var)
    add_equal_jobs(model, data, var)


def add_partitions(model: pyo.ConcreteModel, data: SlotData, var: Variables[pyo.Var]) -> None:
    """One partition is in force in each slot; a change is one where a partition was not in force before."""
    classes = range(len(data.classes))
    for t in range(data.slots if data.changing else 1):
        model.rows.add(sum(var.z[c, data.class_slot(c, t)] for c in classes) == 1)
        if t > 0:
            for c in classes:
                if c != data.off:
                    model.rows.add(var.ch[t,] >= var.z[c, t] - var.z[c, t - 1])


def add_slices(model: pyo.ConcreteModel, data: SlotData, var: Variables[pyo.Var]) -> None:
    """No group runs more jobs than the partition in force has slices of it."""
    for t in range(data.slots):
        for k in data.groups:
            here = [var.on_group(data, j, t)[k] for j in data.jobs if k in var.on_group(data, j, t)]
            if here:
                offered = sum(
                    kept.slices[k] * var.z[c, data.class_slot(c, t)]
                    for c, kept in enumerate(data.classes)
                    if kept.slices[k]
                )
                model.rows.add(sum(here) <= offered)


def add_work(model: pyo.ConcreteModel, data: SlotData, var: Variables[pyo.Var]) -> None:
    """A job runs on one slice at a time, until it is done; it is done when its work is."""
    for j in data.jobs:
        work: list[Any] = []
        for t in range(data.first[j], data.last[j] + 1):
            here = var.on_group(data, j, t)
            model.rows.add(sum(here.values()) <= 1 - var.done(data, j, t))
            work += [data.full[j][k] * x for k, x in here.items()]
            if (j, t) in var.lost:
                most = max(data.loss[j])
                losing = sum(data.loss[j][k] * x for k, x in here.items())
                model.rows.add(var.lost[j, t] >= losing - most * (1 - var.ch[t,]))
                work.append(-var.lost[j, t])
            after = var.done(data, j, t + 1)
            model.rows.add(sum(work) / data.need[j] >= after)
            if t > data.first[j]:
                model.rows.add(var.done(data, j, t) <= after)


def add_stays(model: pyo.ConcreteModel, data: SlotData, var: Variables[pyo.Var]) -> None:
    """A job that must not be stopped goes on where it is until it is done, and no partition changes then."""
    for j in data.jobs:
        if not data.stays[j]:
            continue
        for t in range(data.first[j], data.last[j]):
            before, here = var.on_group(data, j, t), var.on_group(data, j, t + 1)
            after = var.done(data, j, t + 1)
            for k, x in before.items():
                model.rows.add(here[k] >= x - after)
            if (t + 1,) in var.ch:
                model.rows.add(sum(before.values()) - after + var.ch[t + 1,] <= 1)


def add_levels(model: pyo.ConcreteModel, data: SlotData, var: Variables[pyo.Var]) -> None:
    """At most one busy level holds in a slot, and it is as high as the slices that run jobs."""
    if not data.level_cost:
        return
    for t in range(data.slots):
        busy = [
            data.compute[k] * x
            for j in data.jobs
            for k, x in var.on_group(data, j, t).items()
            if data.compute[k]
        ]
        model.rows.add(sum(var.q[u, t] for u in data.level_cost) <= 1)
        if busy:
            model.rows.add(sum(busy) <= sum(u * var.q[u, t] for u in data.level_cost))


def add_equal_jobs(model: pyo.ConcreteModel, data: SlotData, var: Variables[pyo.Var]) -> None:
    """Of jobs that nothing tells apart the first is done no later."""
    last: dict[object, int] = {}
    for j in data.jobs:
        key = (data.full[j], data.need[j], data.first[j], data.late[j], data.stays[j])
        if key in last:
            for t in range(data.first[j] + 1, data.last[j] + 1):
                model.rows.add(var.done(data, last[key], t) >= var.done(data, j, t))
        last[key] = j
