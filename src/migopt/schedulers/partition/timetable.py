"""Partitions by time of day: ``timetable:5:00=6,17:00=2`` is partition 6 from 5:00 to 17:00, else 2."""

from __future__ import annotations

import re

from migopt.errors import InputError, NotApplicableError
from migopt.model import Instance
from migopt.sim import PartitionDecision, SimState
from migopt.sim.rules import PartitionPlan
from migopt.units import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE

_ENTRY = re.compile(r"^(\d{1,2}):(\d{2})=(\d+)$")


class Timetable:
    """Changes to each entry's partition at its time of day, every day; time 0 of the instance is midnight.

    Where a change is not allowed yet (a GPU is changing, or a job may not be stopped), it is made
    at the next event at which it is.
    """

    def __init__(self, entries: tuple[tuple[int, int], ...]) -> None:
        self.entries = entries

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return the entry in force now, and when the next one begins."""
        self._refuse_never(state.instance)
        time_of_day = state.now_ms % MS_PER_DAY
        target = state.instance.catalogue(gpu)[self._number(time_of_day)]
        later = [start for start, _ in self.entries if start > time_of_day]
        wake = state.now_ms - time_of_day + (later[0] if later else MS_PER_DAY + self.entries[0][0])
        if state.partitions[gpu] is not None and state.why_not_repartition(gpu, target):
            return PartitionDecision(None, wake)
        return PartitionDecision(target, wake)

    def plan(self, instance: Instance) -> PartitionPlan:
        """Return the same for the kernel."""
        self._refuse_never(instance)
        catalogues = [instance.catalogue(gpu) for gpu in range(len(instance.gpus))]
        for catalogue in catalogues:
            for _, number in self.entries:
                catalogue[number]
        return PartitionPlan([catalogue[self._number(0)] for catalogue in catalogues], self.entries)

    def _number(self, time_of_day: int) -> int:
        begun = [number for start, number in self.entries if start <= time_of_day]
        return begun[-1] if begun else self.entries[-1][1]

    def _refuse_never(self, instance: Instance) -> None:
        if instance.repartition.scope == "never" and len(self.entries) > 1:
            raise NotApplicableError("timetable: the instance allows no repartition (scope never)")


def make(argument: str = "") -> Timetable:
    """Return the rule; the argument is a list of ``H:MM=number``."""
    entries = []
    for item in argument.split(","):
        match = _ENTRY.match(item.strip())
        if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3]) < 1:
            raise InputError(
                f"timetable: {item!r} is no entry; write H:MM=partition, for example 5:00=6,17:00=2"
            )
        entries.append((int(match[1]) * MS_PER_HOUR + int(match[2]) * MS_PER_MINUTE, int(match[3])))
    if len({start for start, _ in entries}) != len(entries):
        raise InputError("timetable: two entries begin at the same time")
    return Timetable(tuple(sorted(entries)))
