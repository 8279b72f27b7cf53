"""Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 for unknown.

Source: the format's definition at the Parallel Workloads Archive (Feitelson and others). Processors
are CPU cores in most logs, so the user says what a GPU is worth. The hour of day is real only where
the header has UnixStartTime and TimeZoneString (its older key TimeZone is deprecated as wrong).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from pydantic import Field

from migopt.errors import InputError, UnknownNameError
from migopt.io.traces._clock import Zone, number, zone
from migopt.io.traces._timelimit import TimelimitOptions
from migopt.io.traces.common import Record, Rejection, Stated

TITLE = "Standard Workload Format (SWF), with --procs-per-gpu, --one-gpu-each or --gpus 1"
HOUR_OF_DAY_REAL = False
OBSERVED = ("id", "arrival", "run_time", "processors", "status", "tenant")

_STATUS = {"1": "completed", "0": "failed", "5": "cancelled", "-1": ""}
#: Parts of an execution that was suspended; the job's own line has the whole of it.
_PARTIAL = {"2", "3", "4"}


class Options(TimelimitOptions):
    """What a GPU is worth in processors."""

    procs_per_gpu: int | None = Field(
        None, ge=1, description="processors of one GPU; a job of fewer asks for that share of it"
    )
    one_gpu_each: bool = Field(False, description="every job takes one GPU, whatever its size")


def read(
    lines: Iterable[tuple[int, str]], options: Options, notes: list[str]
) -> Iterator[Record | Rejection | Stated]:
    """Yield what the header says of the clock, then one item per job."""
    # One GPU, and nothing said of processors: then every job takes that GPU.
    alone = "gpus" in options.model_fields_set and options.gpus == 1
    one_each = options.one_gpu_each or (options.procs_per_gpu is None and alone)
    if (options.procs_per_gpu is None) == (not one_each):
        raise InputError(
            "SWF counts processors: give procs_per_gpu or one_gpu_each, one of the two "
            "(gpus 1 alone means one_gpu_each)",
            where="procs_per_gpu",
        )
    rows = iter(lines)
    header: dict[str, str] = {}
    first = None
    for line, text in rows:
        if not text.lstrip().startswith(";"):
            first = (line, text)
            break
        match = re.match(r"\s*;\s*(\w+)\s*:\s*(.*\S)", text)
        if match:
            header.setdefault(match[1], match[2])
    if first is None:
        raise InputError("the file has no jobs")
    start, clock = _clock(header, options, notes)
    yield Stated(OBSERVED, clock is not None)
    seen: Counter[str] = Counter()
    for line, text in chain([first], rows):
        if text.lstrip().startswith(";"):
            continue
        try:
            item = _job(line, text.split(), options, seen)
        except ValueError:
            item = Rejection("malformed")
        if item is None:
            continue
        yield _shifted(item, start, clock) if clock is not None else item
    if seen["partial"]:
        notes.append(f"{seen['partial']} lines of partial executions skipped, not counted as rows")


def _clock(header: dict[str, str], options: Options, notes: list[str]) -> tuple[float, Zone | None]:
    """Return the log's start in seconds since 1970 and its zone, None when that is not known."""
    name = options.tz or header.get("TimeZoneString", "")
    try:
        place = zone(name)
        start = float(header["UnixStartTime"])
        if place is None or not 0 <= start < 1e10:
            return 0, None
    except UnknownNameError:
        if options.tz:
            raise
        notes.append(f"unknown TimeZoneString {name!r}; give tz")
        return 0, None
    except (KeyError, ValueError):
        if options.tz:
            raise InputError("the header has no UnixStartTime to count from", where="tz") from None
        return 0, None
    return start, Zone(place)


def _shifted(item: Record | Rejection, start: float, clock: Zone) -> Record | Rejection:
    if item.arrival_s is None:
        return item
    wall = clock.wall(start + item.arrival_s)
    if isinstance(item, Rejection):
        return Rejection(item.reason, wall)
    item.arrival_s = wall
    return item


def _job(
    line: int, fields: list[str], options: Options, seen: Counter[str]
) -> Record | Rejection | None:
    """Return the item of a line, or None when it is only a part of an execution."""
    if len(fields) != 18:
        raise ValueError(line)
    if fields[10] in _PARTIAL:
        seen["partial"] += 1
        return None
    submit, run, allocated, requested, limit = [_value(fields[i]) for i in (1, 3, 4, 7, 8)]
    status = _STATUS[fields[10]] if fields[10] in _STATUS else _whole(fields[10])
    if submit is None:
        return Rejection("no_arrival")
    share = 1.0
    if options.procs_per_gpu is not None:
        size = allocated if requested is None else requested
        if not size:
            raise ValueError(line)
        if size > options.procs_per_gpu:
            return Rejection("multi_gpu", submit)
        share = size / options.procs_per_gpu
    if run is None:
        return Rejection("no_end", submit)
    record = Record(
        line=line,
        id=fields[0],
        arrival_s=submit,
        run_s=run,
        share=share,
        status=status,
        tenant="" if fields[11] == "-1" else fields[11],
    )
    if options.deadline == "timelimit":
        record.limit_s = limit or 0
    return record


def _whole(text: str) -> str:
    """Return the status of a code that is written as a decimal; raises ValueError for no code."""
    value = float(text)
    return _STATUS.get(str(int(value)) if value == int(value) else text, "")


def _value(text: str) -> float | None:
    """Read a field, None for -1; any other negative number is no value of the format."""
    return None if text in ("-1", "-1.0", "-1.00") else number(text)
