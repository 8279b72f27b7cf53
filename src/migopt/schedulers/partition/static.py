"""Fixed partitions: ``static:3``, per GPU ``static:3,5``, by counts ``static:2x3,6x5``, or ``static:best_day``."""

from __future__ import annotations

import re

from migopt.errors import InfeasiblePartitionError, InputError
from migopt.model import Instance, Partition
from migopt.schedulers._arguments import whole_number
from migopt.schedulers.partition import best_fixed
from migopt.sim import PartitionDecision, SimState
from migopt.sim.rules import PartitionPlan


class Static:
    """Keeps partition ``numbers[g]`` of the GPU's catalogue, or ``numbers[0]`` on every GPU (``everywhere``)."""

    def __init__(self, numbers: tuple[int, ...], *, everywhere: bool | None = None) -> None:
        self.numbers = numbers
        self.everywhere = len(numbers) == 1 if everywhere is None else everywhere

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return the fixed partition at time 0, nothing later."""
        if state.partitions[gpu] is not None:
            return PartitionDecision()
        chosen = self.chosen(state.instance)
        if gpu == 0:
            refuse_unrunnable(state.instance, chosen)
        return PartitionDecision(chosen[gpu])

    def plan(self, instance: Instance) -> PartitionPlan:
        """Return the same for the kernel."""
        chosen = self.chosen(instance)
        refuse_unrunnable(instance, chosen)
        return PartitionPlan(chosen)

    def chosen(self, instance: Instance) -> list[Partition]:
        """Return the partition of each GPU; raises InputError where the catalogue has no such number."""
        count = len(instance.gpus)
        if not self.everywhere and len(self.numbers) != count:
            raise InputError(
                f"static names {len(self.numbers)} partition(s) for {count} GPU(s); name one, or one per GPU"
            )
        numbers = self.numbers * count if self.everywhere else self.numbers
        return [instance.catalogue(gpu)[number] for gpu, number in enumerate(numbers)]


def refuse_unrunnable(instance: Instance, partitions: list[Partition]) -> None:
    """Raise InfeasiblePartitionError for the first job that fits on no slice of these partitions."""
    places = {
        (instance.gpus[g], profile)
        for g, part in enumerate(partitions)
        for profile in part.profiles
    }
    for job in instance.unlike_jobs:
        if not any(instance.rate(job, model, profile) for model, profile in places):
            kept = "; ".join(str(partition) for partition in dict.fromkeys(partitions))
            raise InfeasiblePartitionError(f"job {job.id} fits on no slice of {kept}", job.id)


_GROUP = re.compile(r"^(\d+)x(\d+)$")


def make(argument: str = "") -> Static | best_fixed.BestFixed:
    """Return the rule.

    Parameters
    ----------
    argument : str
        A catalogue number for all GPUs (``3``), one per GPU (``3,5``), counts of GPUs times numbers
        in order of GPU index (``2x3,6x5``), or ``best_day``.
    """
    if argument == "best_day":
        return best_fixed.make()
    if not argument:
        raise InputError("static needs a partition number, for example static:3 or static:2x3,6x5")
    numbers: list[int] = []
    for item in argument.split(","):
        group = _GROUP.match(item.strip())
        count, text = (group[1], group[2]) if group else ("1", item)
        repeat = whole_number("static", "a number of GPUs", count, 1)
        numbers += [whole_number("static", "a partition number", text, 1)] * repeat
    return Static(tuple(numbers), everywhere=len(numbers) == 1 and "x" not in argument)
