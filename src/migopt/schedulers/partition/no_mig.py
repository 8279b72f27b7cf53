"""No MIG: every GPU runs whole, with MIG off, from beginning to end."""

from __future__ import annotations

from migopt.errors import NotApplicableError
from migopt.model import OFF_PARTITION
from migopt.schedulers._arguments import no_argument
from migopt.schedulers.partition.static import refuse_unrunnable
from migopt.sim import PartitionDecision, SimState


class NoMig:
    """Keeps MIG off; the instance must allow it (``mig_off``)."""

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return ``off`` at time 0, nothing later."""
        if state.partitions[gpu] is not None:
            return PartitionDecision()
        if not state.instance.mig_off:
            raise NotApplicableError(
                "no_mig: the instance does not allow MIG off (mig_off is false)"
            )
        if gpu == 0:
            refuse_unrunnable(state.instance, [OFF_PARTITION] * len(state.instance.gpus))
        return PartitionDecision(OFF_PARTITION)


def make(argument: str = "") -> NoMig:
    """Return the rule; it takes no argument."""
    no_argument("no_mig", argument)
    return NoMig()
