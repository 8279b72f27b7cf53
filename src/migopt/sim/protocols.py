"""What a rule must offer: one method, from a state to a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from migopt.model import Partition
from migopt.sim.state import SimState


@dataclass(frozen=True, slots=True)
class DispatchDecision:
    """Who runs where from now on.

    Attributes
    ----------
    runs : Mapping
        Position in ``state.slices`` to job index; a slice not listed idles, a running job not
        listed is stopped.
    wake_ms : int or None
        Ask again at this time, even if nothing happens before.
    """

    runs: Mapping[int, int] = field(default_factory=dict)
    wake_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionDecision:
    """Which partition one GPU shall have.

    Attributes
    ----------
    target : Partition or None
        The partition to change to; None, or the one in force, changes nothing. The first decision
        of a run (``state.partitions[gpu] is None``) must name one: it is free.
    wake_ms : int or None
        Ask again at this time, even if nothing happens before.
    """

    target: Partition | None = None
    wake_ms: int | None = None


class Dispatcher(Protocol):
    """Decides which job runs on which slice, at every event instant."""

    def dispatch(self, state: SimState) -> DispatchDecision:
        """Return who runs where from ``state.now_ms`` on."""
        ...


class Partitioner(Protocol):
    """Decides which partition a GPU has, at time 0 and at every event instant."""

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return the wanted partition of GPU ``gpu``; not asked while that GPU is changing."""
        ...
