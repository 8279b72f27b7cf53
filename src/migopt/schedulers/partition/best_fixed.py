"""Best fixed partition in hindsight: try every partition of the catalogue, keep the one of least cost."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from migopt.errors import InfeasiblePartitionError, MigoptError
from migopt.model import Instance
from migopt.schedulers._arguments import no_argument
from migopt.schedulers.play import score
from migopt.sim import Dispatcher, PartitionDecision, Partitioner, SimState


class BestFixed:
    """Resolves to the static partition (the same number on every GPU) whose simulated cost is least.

    Partitions on which some job cannot run are skipped; ties go to the lower number. Of partitions with
    the same slices at other places the first is tried: where a slice lies changes no cost.
    """

    def resolve(
        self, instance: Instance, dispatcher: Callable[[], Dispatcher], seed: int
    ) -> Partitioner:
        """Return the best Static rule; raises InfeasiblePartitionError when every partition is infeasible."""
        from migopt.schedulers.partition.static import Static

        best: tuple[Fraction, int] | None = None
        refused: InfeasiblePartitionError | None = None
        least = min(len(instance.catalogue(gpu)) for gpu in range(len(instance.gpus)))
        seen: set[tuple[tuple[str, ...], ...]] = set()
        for number in range(1, 1 + least):
            slices = tuple(
                tuple(sorted(instance.catalogue(gpu)[number].profiles))
                for gpu in range(len(instance.gpus))
            )
            if slices in seen:
                continue
            seen.add(slices)
            try:
                cost = score(
                    instance, dispatcher(), Static((number,)), seed=seed, jobs=False
                ).cost_exact
            except InfeasiblePartitionError as error:
                refused = error
                continue
            if best is None or cost < best[0]:
                best = (cost, number)
        if best is None:
            if refused is None:
                raise MigoptError("the catalogue is empty")
            raise InfeasiblePartitionError(
                f"no partition kept on every GPU runs every job; the last one: {refused}",
                refused.job_id,
            )
        return Static((best[1],))

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Refuse: this rule only resolves to another."""
        raise MigoptError("best_fixed must be resolved on the whole instance before it runs")


def make(argument: str = "") -> BestFixed:
    """Return the rule; it takes no argument."""
    no_argument("best_fixed", argument)
    return BestFixed()
