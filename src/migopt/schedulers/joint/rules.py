"""The two rules of a joint policy: they ask one planner, the partition rule first."""

from __future__ import annotations

from collections.abc import Callable

from migopt.errors import NotApplicableError
from migopt.model import OFF_PROFILE, Partition
from migopt.schedulers._changes import Changes
from migopt.schedulers.joint.partial import choose
from migopt.schedulers.joint.planner import Planner, shared
from migopt.schedulers.joint.view import View
from migopt.sim import DispatchDecision, PartitionDecision, SimState


class JointDispatch:
    """Dispatches what the planner chooses for the slices that there are; it looks again after a step of time.

    Parameters
    ----------
    name : str
        Rule and argument; partition rules of the same name share the planner.
    make : callable
        Builds the planner of a run.
    """

    def __init__(self, name: str, make: Callable[[SimState], Planner]) -> None:
        self.name, self.make = name, make

    def dispatch(self, state: SimState) -> DispatchDecision:
        """Return who runs where from now on."""
        planner = shared(state, self.name, self.make)
        if any(place.placement.profile == OFF_PROFILE for place in state.slices):
            rule = self.name.partition(":")[0]
            raise NotApplicableError(f"{rule}: dispatches to slices; here MIG is off")
        if not state.slices:
            return DispatchDecision({}, None)
        return DispatchDecision(planner.runs(state), planner.wake_ms(state))


class JointPartition:
    """Changes to the partition that the planner wishes; the first one is that of type 0.

    Parameters
    ----------
    name, make
        As for ``JointDispatch``.
    changes : Changes, optional
        Scope of repartitions; by default as the instance says.
    """

    def __init__(
        self, name: str, make: Callable[[SimState], Planner], changes: Changes | None = None
    ) -> None:
        self.name, self.make = name, make
        self.changes = changes or Changes(name.partition(":")[0])

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return the wanted partition."""
        planner = shared(state, self.name, self.make)
        catalogue = state.instance.catalogue(gpu)
        current = state.partitions[gpu]
        if current is None:
            self.changes.refuse_other(state.instance)
            return PartitionDecision(catalogue[planner.view.types[0][0]])
        kind = type_of(planner.view, catalogue.number(current))
        wanted = planner.wish(state, kind)
        if state.instance.repartition.scope == "slices":
            return PartitionDecision(choose(planner, state, kind, wanted, self.changes))
        if wanted == kind:
            return PartitionDecision()
        offered = [catalogue[number] for number in planner.view.types[wanted]]
        target = nearest(current, offered)
        if state.why_not_repartition(gpu, target):
            return PartitionDecision()
        return PartitionDecision(target)


def type_of(view: View, number: int | None) -> int:
    """Return the type of a partition of the catalogue."""
    return next(c for c, numbers in enumerate(view.types) if number in numbers)


def nearest(current: Partition, offered: list[Partition]) -> Partition:
    """Return the partition that keeps most placements; of equals the lower number."""
    return max(offered, key=lambda partition: sum(place in partition for place in current))
