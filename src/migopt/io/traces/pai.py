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
from migopt.io.traces._pai_tables import copies_of, mean_runs, moment, share_of, submissions
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
        for option in ("job_table", "instance_table"):
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
        self.earliest: dict[str, float] = {}
        self.without_instances = 0

    def items(self, rows: Iterable[tuple[int, str]]) -> Iterator[Record | Rejection | Stated]:
        """Yield one item per task."""
        yield Stated(OBSERVED if self.jobs is None else (*OBSERVED, "tenant"), True)
        waiting: list[tuple[str, Record | str, float | None]] = []
        for line, text in rows:
            try:
                waiting.append(self._task(line, split_csv(text)))
            except ValueError:
                yield Rejection("malformed")
        for job, item, start in waiting:
            arrival, user = self._arrival(job)
            placed = self._placed(item, arrival, user, start)
            if placed is not None:
                yield placed
        yield from self.open.close()
        if self.without_instances:
            self.notes.append(
                f"{self.without_instances} tasks without an instance that ended: run time from the "
                "task table"
            )

    def _arrival(self, job: str) -> tuple[float | None, str]:
        if self.jobs is not None:
            return self.jobs.get(job, (None, ""))
        return self.earliest.get(job), ""

    def _placed(
        self, item: Record | str, arrival: float | None, user: str, start: float | None
    ) -> Record | Rejection | None:
        """Return a task's item now that the arrival of its job is known."""
        if arrival is None:
            return Rejection("no_arrival")
        wall = self.clock.wall(arrival)
        if isinstance(item, str):
            return Rejection(item, wall)
        item.arrival_s, item.tenant = wall, user
        if not item.status and start is not None:
            return self.open.item("not_terminal", item, start)
        return item

    def _task(self, line: int, fields: list[str]) -> tuple[str, Record | str, float | None]:
        """Return job, record or reason (but for a missing arrival), and start; status "" is open."""
        if len(fields) != self.width:
            raise ValueError(line)
        job, task, number, status, first, last, demand = self.needed(fields)
        copies, share, start, end = (
            copies_of(number),
            share_of(demand, 100),
            moment(first),
            moment(last),
        )
        if not job or not (status in _ENDED or status in _OPEN):
            raise ValueError(status)
        if start is not None and not start >= self.earliest.get(job, start + 1):
            self.earliest[job] = start
        self.open.last_s = max(self.open.last_s, start or 0, end or 0)
        if share == 0 or share > 1:
            return job, "cpu_only" if share == 0 else "multi_gpu", start
        run = self._run(f"{job}/{task}", start, end)
        if start is None and run is None:
            return job, "never_started", start
        if status in _OPEN and start is None:
            return job, "not_terminal", start
        if status in _ENDED and run is None:
            return job, "no_end", start
        record = Record(
            line=line,
            id=f"{job}/{task}",
            arrival_s=0,
            run_s=0 if status in _OPEN or run is None else run,
            share=share,
            kind="inference" if "evaluator" in task else "",
            status=_ENDED.get(status, ""),
            card="" if self.card is None else fields[self.card],
            instances=copies,
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
