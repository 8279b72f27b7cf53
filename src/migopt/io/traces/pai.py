"""Alibaba PAI 2020 (cluster-trace-gpu-v2020): the task table, or the simulator's list of 100K jobs.

Source: GitHub alibaba/clusterdata, cluster-trace-gpu-v2020 (CC BY 4.0); Weng et al., NSDI 2022. The
tables ship without a header line. Times are seconds; read as Unix time in UTC+8 hour and weekday are
true, the date is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter

from pydantic import Field

from migopt.errors import InputError
from migopt.io.traces._clock import Zone, ZonedOptions, zone
from migopt.io.traces._pai_list import is_list, read_list
from migopt.io.traces._pai_tables import (
    copies_of,
    mean_runs,
    moment,
    peak_memory,
    share_of,
    submissions,
)
from migopt.io.traces.common import Columns, OpenRuns, Record, Rejection, Stated, split_csv

TITLE = "Alibaba PAI 2020 task table, or the simulator's job list (CSV)"
HOUR_OF_DAY_REAL = True
OBSERVED = ("id", "arrival", "run_time", "share", "instances", "card", "status")

COLUMNS = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
_NEEDED = (*COLUMNS[:6], "plan_gpu")
_ENDED = {"Terminated": "completed", "Failed": "failed", "Interrupted": "cancelled"}
_OPEN = {"Running", "Waiting"}
_CLOCK = "Asia/Shanghai"


class Options(ZonedOptions):
    """The tables that say more than the task table does."""

    job_table: str | None = Field(
        None, description="pai_job_table: arrival is then its submission, tenant its user"
    )
    instance_table: str | None = Field(
        None, description="pai_instance_table: run time is then the mean over instances that ended"
    )
    sensor_table: str | None = Field(
        None, description="pai_sensor_table: a task needs the most memory any worker had in use"
    )


def read(
    lines: Iterable[tuple[int, str]], options: Options, notes: list[str]
) -> Iterator[Record | Rejection | Stated]:
    """Yield one item per task, or what the simulator's list states and one item per job of it."""
    rows = iter(lines)
    first = next(rows, None)
    if first is None:
        raise InputError("the file is empty")
    fields = split_csv(first[1])
    if is_list(fields):
        for option in ("job_table", "instance_table", "sensor_table"):
            if getattr(options, option) is not None:
                raise InputError("goes with the task table, not with the job list", where=option)
        return read_list(fields, rows, Zone(zone(options.tz)), notes)
    columns = Columns(fields, COLUMNS, notes)
    columns.require(_NEEDED)
    return _Tasks(columns, options, notes).items(
        rows if columns.has_header else chain([first], rows)
    )


class _Tasks:
    """Reads the task table; items wait for its end, since a job arrives with its earliest task."""

    def __init__(self, columns: Columns, options: Options, notes: list[str]) -> None:
        self.width, self.notes = columns.width, notes
        self.needed = itemgetter(*(columns.index[name] for name in _NEEDED))
        self.card = columns.index.get("gpu_type")
        self.clock = Zone(zone(options.tz or _CLOCK))
        self.open = OpenRuns(options.censored)
        self.jobs = self.runs = None
        if options.job_table is not None:
            self.jobs = submissions(options.job_table, notes)
        if options.instance_table is not None:
            self.runs = mean_runs(options.instance_table, notes)
        self.memory: dict[str, int] = {}
        if options.sensor_table is not None:
            self.memory = peak_memory(options.sensor_table, notes)
        #: When the earliest task of each job started; the task table names no users.
        self.earliest: dict[str, tuple[float, str]] = {}
        self.without_instances = 0

    def items(self, rows: Iterable[tuple[int, str]]) -> Iterator[Record | Rejection | Stated]:
        """Yield one item per task."""
        extra = ["tenant"] if self.jobs is not None else []
        extra += ["memory"] if self.memory else []
        yield Stated((*OBSERVED, *extra), True)
        waiting: list[tuple[str, Record | str, float | None]] = []
        for line, text in rows:
            try:
                waiting.append(self._task(line, split_csv(text)))
            except ValueError:
                yield Rejection("malformed")
        found = self.earliest if self.jobs is None else self.jobs
        for job, item, start in waiting:
            placed = self._placed(item, found.get(job), start)
            if placed is not None:
                yield placed
        yield from self.open.close()
        if self.without_instances:
            self.notes.append(
                f"{self.without_instances} tasks without an instance that ended: run time from the "
                "task table"
            )

    def _placed(
        self, item: Record | str, arrival: tuple[float, str] | None, start: float | None
    ) -> Record | Rejection | None:
        """Return a task's item now that arrival and user of its job are known."""
        if arrival is None:
            return Rejection("no_arrival")
        wall = self.clock.wall(arrival[0])
        if isinstance(item, str):
            return Rejection(item, wall)
        item.arrival_s, item.tenant = wall, arrival[1]
        if not item.status and start is not None:
            return self.open.item("not_terminal", item, start)
        return item

    def _task(self, line: int, fields: list[str]) -> tuple[str, Record | str, float | None]:
        """Return job, record or reason (but for a missing arrival), and start; status "" is open."""
        if len(fields) != self.width:
            raise ValueError(line)
        job, task, number, status, first, last, demand = self.needed(fields)
        copies, share = copies_of(number), share_of(demand, 100)
        start, end = moment(first), moment(last)
        ended = _ENDED.get(status)
        if not job or (ended is None and status not in _OPEN):
            raise ValueError(status)
        if start is not None:
            seen = self.earliest.get(job)
            if seen is None or start < seen[0]:
                self.earliest[job] = (start, "")
        latest = start if end is None else end if start is None else max(start, end)
        if latest is not None and latest > self.open.last_s:
            self.open.last_s = latest
        if share == 0 or share > 1:
            return job, "cpu_only" if share == 0 else "multi_gpu", start
        name = f"{job}/{task}"
        run = self._run(name, start, end)
        if start is None and run is None:
            return job, "never_started", start
        if ended is None and start is None:
            return job, "not_terminal", start
        if ended is not None and run is None:
            return job, "no_end", start
        record = Record(
            line,
            name,
            0,
            0 if ended is None or run is None else run,
            share,
            "inference" if "evaluator" in task else "",
            ended or "",
            "" if self.card is None else fields[self.card],
            "",
            copies,
            self.memory.get(name, 0),
        )
        return job, record, start

    def _run(self, key: str, start: float | None, end: float | None) -> float | None:
        """Return the mean over instances that ended, else the task's own run time, None if unknown."""
        if self.runs is not None:
            if key in self.runs:
                total, count = self.runs[key]
                return total / count
            self.without_instances += 1
        return None if start is None or end is None else end - start
