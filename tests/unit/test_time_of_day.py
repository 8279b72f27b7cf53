"""Partitions by time of day: counts by hour, and minutes in force by spans of four hours."""

from __future__ import annotations

from migopt.metrics.time_of_day import time_of_day
from migopt.testing.cases import small_instance
from migopt.units import MS_PER_HOUR


def test_counts_and_times_of_two_changes() -> None:
    """Partition 2 until 3:00, 5 until 9:30, then 2 again, over a horizon of 24 h.

    Spans are 0-4, 4-8, 8-12, ...: partition 2 has 3 h of the first, 2.5 h of the third and all of
    the last three; partition 5 the rest.
    """
    day = small_instance(1).replace(horizon_ms=24 * MS_PER_HOUR)
    two, five = day.catalogue(0)[2], day.catalogue(0)[5]
    changes = [(3 * MS_PER_HOUR, 0, 0, five), (19 * MS_PER_HOUR // 2, 0, 0, two)]
    found = time_of_day(day, [two], changes)
    assert [h for h, n in enumerate(found["repartitions_by_hour"]) if n] == [3, 9]
    hours = {k: [ms / MS_PER_HOUR for ms in v] for k, v in found["partition_ms_by_span"].items()}
    assert hours == {"2": [3, 0, 2.5, 4, 4, 4], "5": [1, 4, 1.5, 0, 0, 0]}


def test_horizon_of_two_days_and_late_changes() -> None:
    """Two days add up by hour of day; what is after the horizon counts as a change, not as time."""
    day = small_instance(1).replace(horizon_ms=48 * MS_PER_HOUR)
    two, five = day.catalogue(0)[2], day.catalogue(0)[5]
    found = time_of_day(day, [two], [(49 * MS_PER_HOUR, 0, 0, five)])
    assert found["repartitions_by_hour"][1] == 1
    assert found["partition_ms_by_span"] == {"2": [8 * MS_PER_HOUR] * 6, "5": [0] * 6}
