"""Philly job list (CSV), derived from Microsoft's trace of 2017: one row per job that ran.

Source: GitHub msr-fiddle/blox (MIT), workload_pollux/traces/philly.csv, made from
msr-fiddle/philly-traces (CC BY 4.0; Jeon et al., USENIX ATC 2019). Times are wall clock without zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter

from migopt.errors import InputError
from migopt.io.traces._clock import ZonedOptions, number, wall_seconds, zone
from migopt.io.traces.common import Columns, Record, Rejection, split_csv

TITLE = "Philly job list of blox (CSV: timestamp, duration, num_gpus, cluster)"
HOUR_OF_DAY_REAL = True
OBSERVED = ("arrival", "run_time", "gpus", "tenant")

COLUMNS = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")
_NEEDED = ("timestamp", "duration", "num_gpus")


class Options(ZonedOptions):
    """The list has no options of its own; durations are elapsed seconds, so ``tz`` only labels."""


def read(
    lines: Iterable[tuple[int, str]], options: Options, notes: list[str]
) -> Iterator[Record | Rejection]:
    """Yield one item per row; jobs have no names in this list and get those of their lines."""
    zone(options.tz)
    rows = iter(lines)
    first = next(rows, None)
    if first is None:
        raise InputError("the file is empty")
    columns = Columns(split_csv(first[1]), COLUMNS, notes)
    columns.require(_NEEDED)
    needed = itemgetter(*(columns.index[name] for name in _NEEDED))
    tenant = columns.index.get("cluster")
    for line, text in rows if columns.has_header else chain([first], rows):
        fields = split_csv(text)
        if len(fields) != columns.width:
            yield Rejection("malformed")
            continue
        try:
            timestamp, duration, gpus = needed(fields)
            who = "" if tenant is None else fields[tenant]
            yield _job(line, timestamp, duration, gpus, who)
        except ValueError:
            yield Rejection("malformed")


def _job(line: int, timestamp: str, duration: str, gpus: str, tenant: str) -> Record | Rejection:
    count = number(gpus)
    if count != int(count):
        raise ValueError(gpus)
    arrival = wall_seconds(timestamp) if timestamp and not timestamp.isspace() else None
    run = None
    if duration and not duration.isspace():
        below = duration.lstrip().startswith("-")
        run = -number(duration.strip()[1:]) if below else number(duration)
    if arrival is None:
        return Rejection("no_arrival")
    if count != 1:
        return Rejection("cpu_only" if count == 0 else "multi_gpu", arrival)
    if run is None:
        return Rejection("no_end", arrival)
    return Record(line=line, id=f"line{line}", arrival_s=arrival, run_s=run, tenant=tenant)
