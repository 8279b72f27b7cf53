"""Best fixed partition in hindsight: try every partition of the catalogue, keep the one of least cost."""

from __future__ import annotations

from collections.abc import Callable

from migopt.errors import InfeasiblePartitionError, MigoptError
from migopt.metrics import measure
from migopt.model import Instance
from migopt.schedulers._arguments import no_argument
from migopt.sim import Dispatcher, PartitionDecision, Partitioner, SimState, simulate


class BestFixed:
    """Resolves to the static partition (the same number on every GPU) whose simulated cost is least.

    Partitions on which some job cannot run are skipped; ties go to the lower number.
    """

    def resolve(
        self, instance: Instance, dispatcher: Callable[[], Dispatcher], seed: int
    ) -> Partitioner:
        """Return the best Static rule; raises InfeasiblePartitionError when every partition is infeasible."""
        from migopt.schedulers.partition.static import Static

        best: tuple[float, int] | None = None
        refused: InfeasiblePartitionError | None = None
        for number in range(
            1, 1 + min(len(instance.catalogue(gpu)) for gpu in range(len(instance.gpus)))
        ):
            try:
                schedule = simulate(instance, dispatcher(), Static((number,)), seed=seed)
            except InfeasiblePartitionError as error:
                refused = error
                continue
            cost = measure(instance, schedule).cost
            if best is None or cost < best[0]:
                best = (cost, number)
        if best is None:
            raise refused or MigoptError("the catalogue is empty")
        return Static((best[1],))

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Refuse: this rule only resolves to another."""
        raise MigoptError("best_fixed must be resolved on the whole instance before it runs")


def make(argument: str = "") -> BestFixed:
    """Return the rule; it takes no argument."""
    no_argument("best_fixed", argument)
    return BestFixed()
