"""The variables of a slot model by index, whatever engine they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from migopt.exact.slots.data import SlotData
from migopt.exact.slots.values import Key

V = TypeVar("V")


@dataclass
class Variables(Generic[V]):
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

    x: dict[Key, V]
    z: dict[Key, V]
    ch: dict[Key, V]
    e: dict[Key, V]
    lost: dict[Key, V]
    q: dict[Key, V]

    def done(self, data: SlotData, j: int, t: int) -> Any:
        """Return "job j is done by the beginning of slot t", a constant outside the job's slots."""
        if t <= data.first[j]:
            return 0
        return self.e[j, t] if t <= data.last[j] else 1

    def on_group(self, data: SlotData, j: int, t: int) -> dict[int, V]:
        """Return the variables of job j in slot t by group."""
        inside = data.first[j] <= t <= data.last[j]
        return {k: self.x[j, k, t] for k in data.fitting(j)} if inside else {}
