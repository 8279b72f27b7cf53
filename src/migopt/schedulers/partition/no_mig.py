"""No MIG: every GPU runs whole, with MIG off, from beginning to end."""

from __future__ import annotations

from migopt.errors import NotApplicableError
from migopt.model import OFF_PARTITION, Instance
from migopt.schedulers._arguments import no_argument
from migopt.schedulers.partition.static import refuse_unrunnable
from migopt.sim import PartitionDecision, SimState
from migopt.sim.rules import PartitionPlan


class NoMig:
    """Keeps MIG off; the instance must allow it (``mig_off``)."""

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return ``off`` at time 0, nothing later."""
        if state.partitions[gpu] is not None:
            return PartitionDecision()
        if gpu == 0:
            self.plan(state.instance)
        return PartitionDecision(OFF_PARTITION)

    def plan(self, instance: Instance) -> PartitionPlan:
        """Return the same for the kernel."""
        if not instance.mig_off:
            raise NotApplicableError(
                "no_mig: the instance does not allow MIG off (mig_off is false)"
            )
        chosen = [OFF_PARTITION] * len(instance.gpus)
        refuse_unrunnable(instance, chosen)
        return PartitionPlan(chosen)


def make(argument: str = "") -> NoMig:
    """Return the rule; it takes no argument."""
    no_argument("no_mig", argument)
    return NoMig()
