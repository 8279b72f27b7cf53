"""When partitions change and which are in force, by time of day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from migopt.model import Instance, Partition
from migopt.units import MS_PER_DAY, MS_PER_HOUR

#: Hours per column of the table of partitions in force.
SPAN_HOURS = 4


def time_of_day(
    instance: Instance,
    first: Sequence[Partition],
    changes: Iterable[tuple[int, int, int, Partition]],
) -> dict[str, Any]:
    """Return repartitions by hour of day, and the time of each partition in every span of four hours.

    Parameters
    ----------
    instance : Instance
    first : sequence of Partition
        Per GPU the partition at time 0.
    changes : iterable of (start_ms, end_ms, gpu, new partition)
        In order of start; from its start on the new partition counts as in force.

    Returns
    -------
    dict
        ``repartitions_by_hour``: 24 counts by start. ``partition_ms_by_span``: catalogue number as
        text ("0": MIG off) to six times in ms, over [0, horizon] and all GPUs.
    """
    by_hour = [0] * 24
    spans: dict[str, list[int]] = {}
    now = [(0, partition) for partition in first]
    for start, _, gpu, new in changes:
        by_hour[start % MS_PER_DAY // MS_PER_HOUR] += 1
        _add(instance, spans, gpu, now[gpu], start)
        now[gpu] = (start, new)
    for gpu, since in enumerate(now):
        _add(instance, spans, gpu, since, instance.horizon_ms)
    return {"repartitions_by_hour": by_hour, "partition_ms_by_span": spans}


def _add(
    instance: Instance,
    spans: dict[str, list[int]],
    gpu: int,
    since: tuple[int, Partition],
    until: int,
) -> None:
    begin, partition = since
    end = min(until, instance.horizon_ms)
    number = "0" if partition.is_off else str(instance.catalogue(gpu).number(partition))
    row = spans.setdefault(number, [0] * (24 // SPAN_HOURS))
    size = SPAN_HOURS * MS_PER_HOUR
    while begin < end:
        stop = min(end, begin - begin % size + size)
        row[begin % MS_PER_DAY // size] += stop - begin
        begin = stop
