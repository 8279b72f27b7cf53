"""The simulator: one transition function on integers, played by a dispatch and a partition rule."""

from migopt.sim.engine import Simulator, simulate
from migopt.sim.protocols import DispatchDecision, Dispatcher, PartitionDecision, Partitioner
from migopt.sim.state import SimState, Slice

__all__ = [
    "DispatchDecision",
    "Dispatcher",
    "PartitionDecision",
    "Partitioner",
    "SimState",
    "Simulator",
    "Slice",
    "simulate",
]
