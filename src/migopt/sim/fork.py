"""A simulator that goes on from a state of another one, with the jobs that are there and no others."""

from __future__ import annotations

from migopt.errors import InfeasiblePartitionError
from migopt.model import Instance, Schedule, Segment
from migopt.sim.engine import Simulator
from migopt.sim.protocols import Dispatcher, PartitionDecision
from migopt.sim.state import SimState, Slice


class Fork(Simulator):
    """Plays the active jobs of a state to their end; the state itself does not change.

    Parameters
    ----------
    state : SimState
        At a decision.
    """

    def __init__(self, state: SimState) -> None:
        # No job of the instance is to come: only the state says which jobs there are.
        super().__init__(state.instance, seed=state.seed)
        self._arrivals = []
        self.begin_ms = state.now_ms
        self.state = _copied(state.instance, state)

    def play(self, gpu: int, decision: PartitionDecision, dispatcher: Dispatcher) -> int:
        """Take a partition decision and play on with fixed partitions; return how many jobs never end."""
        self.apply_partition(gpu, decision)
        self.decide_dispatch(dispatcher)
        try:
            while self.advance():
                self.decide_dispatch(dispatcher)
        except InfeasiblePartitionError:
            pass
        return self.state.unfinished

    def rest(self) -> Schedule:
        """Return what was played from the fork on."""
        segments = [
            Segment(max(s.start_ms, self.begin_ms), s.end_ms, s.gpu, s.placement, s.job)
            for s in self._segments
        ]
        first = tuple(partition for partition in self.state.partitions if partition is not None)
        return Schedule(first, tuple(segments))


def _copied(instance: Instance, state: SimState) -> SimState:
    new = SimState(instance, state.seed)
    new.now_ms, new.cause = state.now_ms, state.cause
    new.waiting = set(state.waiting)
    new.slices = [
        Slice(s.gpu, s.placement, s.compute_slices, s.memory_units, s.job) for s in state.slices
    ]
    new.running = {place.job: place for place in new.slices if place.job is not None}
    new.unfinished = len(new.waiting) + len(new.running)
    for name in (
        "partitions",
        "changing_until_ms",
        "changed_at_ms",
        "threshold_stops",
        "left",
        "overhead_left_ms",
        "run_since_ms",
        "end_ms",
        "started",
        "stopped_at",
        "stopped_overhead_ms",
    ):
        setattr(new, name, list(getattr(state, name)))
    new._rates = state._rates
    return new
