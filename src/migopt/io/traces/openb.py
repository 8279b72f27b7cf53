"""Alibaba openb 2023 pod list (cluster-trace-gpu-v2023): pods with GPU shares and arrival times.

Source: GitHub alibaba/clusterdata, cluster-trace-gpu-v2023; Weng et al., "Beware of Fragmentation",
USENIX ATC 2023. Its clock starts at an undisclosed moment, so the hour of day is not real.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter

from migopt.errors import InputError
from migopt.io.traces._import_options import ImportOptions
from migopt.io.traces.common import Columns, Record, Rejection, split_csv
from migopt.units import MAX_TIME_MS

TITLE = "Alibaba openb 2023 pod list (CSV)"
HOUR_OF_DAY_REAL = False
OBSERVED = ("id", "arrival", "run_time", "share", "class", "status")

COLUMNS = (
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)
_TIMES = ("creation_time", "deletion_time", "scheduled_time")
_NEEDED = ("name", "num_gpu", "gpu_milli", "qos", *_TIMES)


class Options(ImportOptions):
    """openb has no options of its own."""


def read(
    lines: Iterable[tuple[int, str]], options: ImportOptions, notes: list[str]
) -> Iterator[Record | Rejection]:
    """Yield one item per pod, in order of the file.

    A pod whose deletion time equals the largest one of the file was cut off by the trace's end. So
    the rows are held until that is known. The last phase seen decides nothing but failure.
    """
    rows = iter(lines)
    first = next(rows, None)
    if first is None:
        raise InputError("the file is empty")
    columns = _columns(split_csv(first[1]), notes)
    rows = rows if columns.has_header else chain([first], rows)
    pods = list(_pods(rows, columns))
    last = max((end for _, end in pods if end is not None), default=None)
    for item, end in pods:
        if end == last and isinstance(item, Record) and options.censored == "drop":
            item = Rejection("no_end", item.arrival_s)
        yield item


def _columns(first: list[str], notes: list[str]) -> Columns:
    columns = Columns(first, COLUMNS, notes)
    if "creation_time" not in columns.index and set(COLUMNS[:5]) <= set(columns.index):
        raise InputError("this variant has no arrival times")
    columns.require(_NEEDED)
    return columns


def _pods(
    rows: Iterable[tuple[int, str]], columns: Columns
) -> Iterator[tuple[Record | Rejection, float | None]]:
    """Yield each pod's item and its end."""
    needed = itemgetter(*(columns.index[key] for key in _NEEDED))
    phase = columns.index.get("pod_phase")
    for line, text in rows:
        fields = split_csv(text)
        if len(fields) != columns.width:
            yield Rejection("malformed"), None
            continue
        try:
            yield _pod(line, needed(fields), "" if phase is None else fields[phase])
        except ValueError:
            yield Rejection("malformed"), None


def _pod(line: int, fields: tuple[str, ...], phase: str) -> tuple[Record | Rejection, float | None]:
    """Return a pod's record, or the first reason in the fixed order why there is none; and its end."""
    name, num_gpu, gpu_milli, qos, first, last, begun = fields
    gpus, milli = int(num_gpu), int(gpu_milli or 0)
    created, end, started = _time(first), _time(last), _time(begun)
    if not name or gpus < 0 or not (gpus == 1) <= milli <= 1000:
        raise ValueError(line)
    if created is None:
        return Rejection("no_arrival"), end
    if gpus != 1:
        return Rejection("cpu_only" if gpus == 0 else "multi_gpu", created), end
    if started is None:
        return Rejection("never_started", created), end
    if end is None:
        return Rejection("no_end", created), None
    kind = "inference" if qos == "LS" else "training"
    status = "failed" if phase == "Failed" else "completed"
    return Record(line, name, created, end - started, milli / 1000, kind, status), end


def _time(text: str) -> float | None:
    """Return seconds, None for an empty field; raises ValueError for anything else."""
    if not text or text.isspace():
        return None
    if text.isdecimal() and len(text) < 10:
        return int(text)
    value = float(text)
    if not 0 <= value < MAX_TIME_MS / 1000:
        raise ValueError(text)
    return value
