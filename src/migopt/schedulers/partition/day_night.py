"""The seed paper's Day-Night: [2g, 2g, 3g] from 5:00 to 17:00, [4g, 3g] otherwise (6 and 2 of ``paper-12``)."""

from __future__ import annotations

from collections.abc import Callable

from migopt.errors import MigoptError, NotApplicableError
from migopt.model import Instance
from migopt.schedulers._arguments import no_argument
from migopt.schedulers.partition.timetable import Timetable
from migopt.sim import Dispatcher, PartitionDecision, Partitioner, SimState
from migopt.units import MS_PER_HOUR

#: Begin of each part of the day, and the compute slices of its partition in order of start.
PARTS = ((5 * MS_PER_HOUR, (2, 2, 3)), (17 * MS_PER_HOUR, (4, 3)))


class DayNight:
    """Resolves to the timetable of the two partitions, whatever their numbers in the catalogue."""

    def resolve(
        self, instance: Instance, dispatcher: Callable[[], Dispatcher], seed: int
    ) -> Partitioner:
        """Return the timetable; raises NotApplicableError where a catalogue has no such partition."""
        found = [
            {number_of(instance, gpu, sizes) for gpu in range(len(instance.gpus))}
            for _, sizes in PARTS
        ]
        if any(len(numbers) > 1 for numbers in found):
            raise NotApplicableError(
                "day_night: its partitions have other numbers on other GPUs of the instance"
            )
        starts = [start for start, _ in PARTS]
        return Timetable(tuple(zip(starts, (n for (n,) in found), strict=True)))

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Refuse: this rule only resolves to another."""
        raise MigoptError("day_night must be resolved on the whole instance before it runs")


def number_of(instance: Instance, gpu: int, sizes: tuple[int, ...]) -> int:
    """Return the number of the partition of plain slices of these sizes, in this order where there is one."""
    model, catalogue = instance.gpus[gpu], instance.catalogue(gpu)
    other = None
    for number, partition in enumerate(catalogue, 1):
        profiles = [model.profile(place.profile) for place in partition]
        if any(profile.kind != "plain" for profile in profiles):
            continue
        slices = tuple(profile.compute_slices for profile in profiles)
        if slices == sizes:
            return number
        if other is None and sorted(slices) == sorted(sizes):
            other = number
    if other is None:
        wanted = ", ".join(f"{size}g" for size in sizes)
        raise NotApplicableError(
            f"day_night: catalogue {catalogue.name} of {model.key} has no partition [{wanted}];"
            " `timetable` takes any"
        )
    return other


def make(argument: str = "") -> DayNight:
    """Return the rule; it takes no argument (``timetable`` takes any times and partitions)."""
    no_argument("day_night", argument)
    return DayNight()
