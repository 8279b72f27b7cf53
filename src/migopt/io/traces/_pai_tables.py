"""The tables beside PAI's task table: submissions of jobs, run times of instances, memory in use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from math import ceil
from operator import itemgetter
from pathlib import Path

from migopt.errors import InputError
from migopt.io.traces._clock import number
from migopt.io.traces.common import Columns, open_lines, split_csv

JOB_COLUMNS = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
INSTANCE_COLUMNS = (
    *("job_name", "task_name", "inst_name", "worker_name", "inst_id", "status"),
    *("start_time", "end_time", "machine"),
)
SENSOR_COLUMNS = (
    *("job_name", "task_name", "worker_name", "inst_id", "machine", "gpu_name", "cpu_usage"),
    *("gpu_wrk_util", "avg_mem", "max_mem", "avg_gpu_wrk_mem", "max_gpu_wrk_mem", "read", "write"),
    *("read_count", "write_count"),
)
GIB = 2**30
#: More copies than this of one task are an error of the file.
_MOST_COPIES = 100_000


def moment(text: str) -> float | None:
    """Read a time of the trace; 0 means missing, as empty does."""
    if not text or text.isspace():
        return None
    return number(text) or None


@lru_cache(maxsize=65_536)
def copies_of(text: str) -> int:
    """Read the number of instances, 1 where none is given; raises ValueError when it is none."""
    if not text or text.isspace():
        return 1
    value = number(text)
    if value != int(value) or not 1 <= value <= _MOST_COPIES:
        raise ValueError(text)
    return int(value)


@lru_cache(maxsize=65_536)
def share_of(text: str, whole: int) -> float:
    """Read a GPU demand per instance in units of ``whole`` to a GPU; empty is 0."""
    return number(text) / whole if text and not text.isspace() else 0.0


def rows_of(
    lines: Iterable[tuple[int, str]],
    documented: tuple[str, ...],
    needed: tuple[str, ...],
    notes: list[str],
) -> Iterator[tuple[str, ...] | None]:
    """Yield the needed fields of every row, None for a row of the wrong width."""
    rows = iter(lines)
    first = next(rows, None)
    if first is None:
        raise InputError("the file is empty")
    columns = Columns(split_csv(first[1]), documented, notes)
    columns.require(needed)
    pick = itemgetter(*(columns.index[name] for name in needed))
    for _, text in rows if columns.has_header else chain([first], rows):
        fields = split_csv(text)
        yield pick(fields) if len(fields) == columns.width else None


def submissions(path: str, notes: list[str]) -> dict[str, tuple[float, str]]:
    """Return when each job was submitted (seconds) and by whom; rows without a time are left out."""
    found: dict[str, tuple[float, str]] = {}
    unread = 0
    needed = ("job_name", "user", "start_time")
    try:
        for row in rows_of(open_lines(Path(path)), JOB_COLUMNS, needed, notes):
            if row is None:
                unread += 1
                continue
            job, user, text = row
            try:
                start = moment(text)
            except ValueError:
                unread += 1
                continue
            if start is not None:
                found[job] = (start, user)
    except InputError as error:
        raise _in(path, error) from None
    if unread:
        notes.append(f"{unread} malformed rows of the job table ignored")
    return found


def mean_runs(path: str, notes: list[str]) -> dict[str, tuple[float, int]]:
    """Return the sum of run times and the number of instances that ended, by ``job/task``.

    An instance without both ends, or of negative length, is not counted.
    """
    found: dict[str, tuple[float, int]] = {}
    unread = 0
    needed = ("job_name", "task_name", "start_time", "end_time")
    try:
        for row in rows_of(open_lines(Path(path)), INSTANCE_COLUMNS, needed, notes):
            if row is None:
                unread += 1
                continue
            job, task, first, last = row
            try:
                start, end = moment(first), moment(last)
            except ValueError:
                unread += 1
                continue
            if start is not None and end is not None and end >= start:
                key = f"{job}/{task}"
                total, count = found.get(key, (0, 0))
                found[key] = (total + end - start, count + 1)
    except InputError as error:
        raise _in(path, error) from None
    if unread:
        notes.append(f"{unread} malformed rows of the instance table ignored")
    return found


def peak_memory(path: str, notes: list[str]) -> dict[str, int]:
    """Return the most GPU memory in bytes that any worker had in use, by ``job/task``.

    The table calls its unit GB; its values are whole numbers of MiB, so it is GiB.
    """
    found: dict[str, int] = {}
    unread = 0
    needed = ("job_name", "task_name", "max_gpu_wrk_mem")
    try:
        for row in rows_of(open_lines(Path(path)), SENSOR_COLUMNS, needed, notes):
            if row is None:
                unread += 1
                continue
            job, task, text = row
            try:
                peak = moment(text)
            except ValueError:
                unread += 1
                continue
            if peak is not None:
                key = f"{job}/{task}"
                found[key] = max(found.get(key, 0), ceil(peak * GIB))
    except InputError as error:
        raise _in(path, error) from None
    if unread:
        notes.append(f"{unread} malformed rows of the sensor table ignored")
    return found


def _in(path: str, error: InputError) -> InputError:
    return error if error.source else InputError(error.message, source=path)
