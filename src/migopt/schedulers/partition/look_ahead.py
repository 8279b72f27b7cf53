"""Look-ahead: simulate the present jobs under every partition, repartition when the gain beats its cost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from migopt.errors import MigoptError
from migopt.metrics.gpu_time import power_profile
from migopt.model import Instance, Partition, Schedule
from migopt.schedulers._arguments import named, real_number, whole_number
from migopt.schedulers._changes import OPTIONS, Changes, changes_of
from migopt.sim import Dispatcher, PartitionDecision, Partitioner, SimState
from migopt.sim.fork import Fork
from migopt.sim.rules import Ahead, PartitionPlan
from migopt.sim.state import Cause
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN

DEFAULTS = {"first": "1", "margin": "0", **OPTIONS}


class LookAhead:
    """Decides at every arrival and completion; ``resolve`` tells it the dispatch rule.

    A forecast plays the jobs that are there to their end with that rule, nothing else coming, and
    counts the energy and time that the change takes. The GPU changes to the partition of least cost
    if that is below (1 - margin) times the cost of staying.

    Parameters
    ----------
    first : int
        Catalogue number of the first partition.
    margin : float
    changes : Changes
        Scope of repartitions; ``keep`` allows those that stop no running job only.
    """

    #: Forecasts are slow on the reference simulator.
    few_jobs = 40

    def __init__(
        self,
        first: int,
        margin: float,
        changes: Changes,
        dispatcher: Callable[[], Dispatcher] | None = None,
    ) -> None:
        self.first, self.margin, self.changes = first, margin, changes
        self.dispatcher = dispatcher

    def resolve(
        self, instance: Instance, dispatcher: Callable[[], Dispatcher], seed: int
    ) -> Partitioner:
        """Return the rule for a dispatch rule."""
        self.changes.refuse_other(instance)
        return LookAhead(self.first, self.margin, self.changes, dispatcher)

    def plan(self, instance: Instance) -> PartitionPlan:
        """Return the same for the kernel."""
        energy, tardiness = prices(instance)
        first = [instance.catalogue(gpu)[self.first] for gpu in range(len(instance.gpus))]
        return PartitionPlan(first, ahead=Ahead(energy, tardiness, self.margin, self.changes.keep))

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return the partition of least forecast cost."""
        catalogue = state.instance.catalogue(gpu)
        stay = state.partitions[gpu]
        if stay is None:
            return PartitionDecision(catalogue[self.first])
        asked = state.cause & (Cause.ARRIVAL | Cause.COMPLETION)
        if not asked or not (state.waiting or state.running) or stay.is_off:
            return PartitionDecision()
        left, least = self._forecast(state, gpu, stay)
        least -= self.margin * least
        best = stay
        for target in catalogue:
            if target == stay or state.why_not_repartition(gpu, target):
                continue
            if not self.changes.allows(state, gpu, target):
                continue
            unfinished, cost = self._forecast(state, gpu, target)
            if unfinished < left or (unfinished == left and cost < least):
                best, left, least = target, unfinished, cost
        return PartitionDecision(best)

    def _forecast(self, state: SimState, gpu: int, target: Partition) -> tuple[int, float]:
        """Return how many of the present jobs never end in a partition, and what the others cost."""
        if self.dispatcher is None:
            raise MigoptError("look_ahead must be told the dispatch rule (resolve) before it runs")
        fork = Fork(state)
        unfinished = fork.play(gpu, PartitionDecision(target), self.dispatcher())
        rest = fork.rest()
        jobs = state.instance.jobs
        ends = {segment.job: segment.end_ms for segment in rest.segments}
        active = [*state.waiting, *state.running]
        tardiness = sum(
            jobs[job].weight * max(0, ends[jobs[job].id] - jobs[job].due_ms)
            for job in active
            if jobs[job].id in ends and job not in fork.state.waiting
        )
        energy, late = prices(state.instance)
        return unfinished, energy * _energy_uj(state.instance, rest) + late * tardiness


def prices(instance: Instance) -> tuple[float, float]:
    """Return cost per microjoule and per millisecond of weighted tardiness, both times (a + 1)."""
    weight = max(1, instance.total_weight) * MS_PER_MINUTE
    return float(instance.weight_a / UJ_PER_WMIN), float(1 / weight)


def _energy_uj(instance: Instance, rest: Schedule) -> int:
    """Return the energy of a schedule above that of idle GPUs."""
    total = 0
    for steps in power_profile(instance, rest):
        if steps:
            idle = steps[-1][1]
            for (start, power), (end, _) in pairwise(steps):
                total += (power - idle) * (end - start)
    return total


def make(argument: str = "") -> LookAhead:
    """Return the rule.

    Parameters
    ----------
    argument : str
        ``first=N`` (1), ``margin=SHARE`` (0), ``scope=slices`` (as the instance), ``keep=yes`` (no),
        separated by commas.
    """
    values = named("look_ahead", argument, DEFAULTS)
    return LookAhead(
        whole_number("look_ahead", "first", values["first"], 1),
        real_number("look_ahead", "margin", values["margin"], 0.0, 1.0),
        changes_of("look_ahead", values),
    )
