"""From values of an engine's variables to a plan."""

from __future__ import annotations

from collections.abc import Callable

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.plan import Plan, settled
from migopt.exact.slots.variables import V, Variables


def to_plan(data: SlotData, var: Variables[V], value: Callable[[V], float]) -> Plan:
    """Return the plan of a solution; ``value`` reads a variable."""
    runs: list[dict[int, int]] = [{} for _ in data.jobs]
    for (j, k, t), x in var.x.items():
        if value(x) > 0.5:
            runs[j][t] = k
    classes = []
    for t in range(data.slots):
        numbers = range(len(data.classes))
        classes.append(max(numbers, key=lambda c: value(var.z[c, data.class_slot(c, t)])))
    return settled(data, classes, runs)
