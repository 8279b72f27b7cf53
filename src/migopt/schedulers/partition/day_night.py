"""The seed paper's Day-Night: partition 6 from 5:00 to 17:00, partition 2 otherwise."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.partition import timetable


def make(argument: str = "") -> timetable.Timetable:
    """Return the rule; it takes no argument (``timetable`` takes any times)."""
    no_argument("day_night", argument)
    return timetable.make("5:00=6,17:00=2")
