"""The value that every variable of the slot models has in a plan: hints for both engines."""

from __future__ import annotations

from dataclasses import dataclass, field

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.plan import Plan

Key = tuple[int, ...]


@dataclass
class Values:
    """Values by index: ``x[j, k, t]``, ``z[c, t]``, ``ch[t]``, ``e[j, t]``, ``lost[j, t]``, ``q[u, t]``."""

    x: dict[Key, int] = field(default_factory=dict)
    z: dict[Key, int] = field(default_factory=dict)
    ch: dict[Key, int] = field(default_factory=dict)
    e: dict[Key, int] = field(default_factory=dict)
    lost: dict[Key, int] = field(default_factory=dict)
    q: dict[Key, int] = field(default_factory=dict)


def indices(data: SlotData) -> Values:
    """Return the index of every variable of the models, all values 0."""
    found = Values()
    for j in data.jobs:
        for t in range(data.first[j], data.last[j] + 1):
            for k in data.fitting(j):
                found.x[j, k, t] = 0
            if t > data.first[j]:
                found.e[j, t] = 0
            if data.changing and t > 0 and any(data.loss[j]):
                found.lost[j, t] = 0
    for t in range(data.slots):
        for c in range(len(data.classes)):
            found.z[c, data.class_slot(c, t)] = 0
        if data.changing and t > 0:
            found.ch[t,] = 0
        for level in data.level_cost:
            found.q[level, t] = 0
    return found


def values(data: SlotData, plan: Plan) -> Values:
    """Return the value of every variable in a whole plan."""
    found = indices(data)
    for j, run in enumerate(plan.runs):
        for t, k in run.items():
            found.x[j, k, t] = 1
            if (j, t) in found.lost and plan.changes_at(t):
                found.lost[j, t] = data.loss[j][k]
        for _, t in [key for key in found.e if key[0] == j]:
            found.e[j, t] = int(t > max(run))
    for t in range(data.slots):
        found.z[plan.classes[t], data.class_slot(plan.classes[t], t)] = 1
        if (t,) in found.ch:
            found.ch[t,] = int(plan.changes_at(t))
        level = sum(data.compute[k] for _, k in plan.busy(t))
        if (level, t) in found.q:
            found.q[level, t] = 1
    return found
