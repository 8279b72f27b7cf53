"""Slurm accounting: what ``sacct --parsable2`` prints, GPUs and MIG slices from AllocTRES.

Source: the manual pages of sacct and of TRES in Slurm. Command to make such a file:

    TZ=UTC sacct --allusers --parsable2 --allocations --duplicates --format=JobIDRaw,JobID,User,\
Account,Partition,State,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,ReqTRES,AllocTRES,JobName \
--starttime ... --endtime ...
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal

from pydantic import Field

from migopt.errors import InputError
from migopt.gpus import load_gpu
from migopt.io.traces._clock import Zone, number, wall_seconds, zone
from migopt.io.traces._timelimit import TimelimitOptions
from migopt.io.traces._tres import Slices, gpus_of
from migopt.io.traces.common import Columns, OpenRuns, Record, Rejection

TITLE = "Slurm accounting (sacct --parsable2)"
HOUR_OF_DAY_REAL = True
OBSERVED = ("id", "arrival", "run_time", "gpus", "slice", "status", "tenant")

COLUMNS = (
    *("JobIDRaw", "JobID", "User", "Account", "Partition", "State", "Submit", "Eligible", "Start"),
    *("End", "ElapsedRaw", "Elapsed", "TimelimitRaw", "Timelimit", "ReqTRES", "AllocTRES"),
    "JobName",
)
_SPELLING = {name.lower(): name for name in COLUMNS}
_ENDED = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "OUT_OF_MEMORY": "failed",
    "NODE_FAIL": "failed",
    "BOOT_FAIL": "failed",
    "TIMEOUT": "timeout",
    "DEADLINE": "timeout",
    "CANCELLED": "cancelled",
    "PREEMPTED": "cancelled",
    "REQUEUED": "cancelled",
    "REVOKED": "cancelled",
}
_OPEN = {"RUNNING", "PENDING", "SUSPENDED", "RESIZING", "COMPLETING", "CONFIGURING", "STOPPED"}
_MISSING = {"", "Unknown", "None", "N/A"}
_JOB = re.compile(r"\d+(_(\d+|\[[^\]]*\]))?(\+\d+)?")
_TIME = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")


class Options(TimelimitOptions):
    """How the file was printed, and what counts as arrival."""

    arrival: Literal["submit", "eligible"] = Field(
        "submit", description="arrival: Submit, or Eligible (after dependencies and begin times)"
    )
    columns: str = Field(
        "", description="columns of a file without a header line, JobIDRaw,State,…"
    )
    printed_tz: str = Field(
        "", description="time zone the file was printed in, e.g. UTC (default: the same as tz)"
    )


def read(
    lines: Iterable[tuple[int, str]], options: Options, notes: list[str]
) -> Iterator[Record | Rejection]:
    """Yield one item per job; lines of job steps are no rows and are noted."""
    rows = iter(lines)
    first = next(rows, None)
    if first is None:
        raise InputError("the file is empty")
    columns, has_header = _columns(first[1], options, notes)
    reader = _Reader(columns, options)
    for line, text in rows if has_header else chain([first], rows):
        try:
            item = reader.item(line, text)
        except (ValueError, OverflowError):
            item = Rejection("malformed")
        if item is not None:
            yield item
    yield from reader.open.close()
    notes.extend(reader.notes())


def _columns(first: str, options: Options, notes: list[str]) -> tuple[Columns, bool]:
    """Return the columns and whether the first line names them."""
    fields = first.rstrip("|").split("|")
    names = [_SPELLING.get(name.strip().lower(), name.strip()) for name in fields]
    has_header = sum(name in COLUMNS for name in names) >= min(2, len(names))
    if not has_header:
        if not options.columns:
            raise InputError("no header line; name the columns with columns", where="columns")
        given = [name.strip() for name in options.columns.replace("|", ",").split(",")]
        names = [_SPELLING.get(name.lower(), name) for name in given]
    columns = Columns(names, COLUMNS, notes)
    if not columns.has_header:
        raise InputError("missing columns: State, Submit, Start, End, AllocTRES")
    arrival = "Eligible" if options.arrival == "eligible" else "Submit"
    ident = "JobID" if "JobIDRaw" not in columns.index else "JobIDRaw"
    columns.require([ident, "State", arrival, "Start", "End", "AllocTRES"])
    if options.deadline == "timelimit" and not {"TimelimitRaw", "Timelimit"} & set(columns.index):
        raise InputError("missing columns: TimelimitRaw", where="deadline")
    return columns, has_header


class _Reader:
    """Turns one line after the other into its item, counting what the notes tell."""

    def __init__(self, columns: Columns, options: Options) -> None:
        at = columns.index
        self.options, self.width = options, columns.width
        ident = "JobIDRaw" if "JobIDRaw" in at else "JobID"
        arrival = "Eligible" if options.arrival == "eligible" else "Submit"
        wanted = (ident, "State", arrival, "Start", "End", "AllocTRES")
        self.at = [at[name] for name in wanted]
        # The id of an array task or of a step shows only in JobID.
        self.shown = at.get("JobID", self.at[0])
        self.user = at.get("User")
        self.limit = (at.get("TimelimitRaw"), at.get("Timelimit"))
        self.ends_in_name = at.get("JobName") == columns.width - 1
        self.printed = Zone(zone(options.printed_tz, "printed_tz") or zone(options.tz))
        self.shift = Zone(zone(options.tz)) if options.printed_tz and options.tz else None
        self.open = OpenRuns(options.censored)
        self.slices = Slices(load_gpu(options.gpu))
        self.steps = 0
        self.unknown: Counter[str] = Counter()

    def item(self, line: int, text: str) -> Record | Rejection | None:
        """Return the item of a line; None for a step, and for a job held until the end is known."""
        fields = text.split("|", self.width - 1) if self.ends_in_name else text.split("|")
        if len(fields) == self.width + 1 and not fields[-1]:
            del fields[-1]
        if len(fields) != self.width:
            raise ValueError(line)
        ident, state, submit, start, end, tres = [fields[i] for i in self.at]
        if "." in ident or "." in fields[self.shown]:
            self.steps += 1
            return None
        if not (ident.isdecimal() or _JOB.fullmatch(ident)) or not state.strip():
            raise ValueError(ident)
        arrived, started, ended = self._utc(submit), self._utc(start), self._utc(end)
        gpus, profile = gpus_of(tres)
        if arrived is None:
            return Rejection("no_arrival")
        if self.shift:
            arrival = self.shift.wall(arrived)
        else:
            arrival = arrived if self.printed.place is None else wall_seconds(submit)
        if started is None:
            return Rejection("never_started", arrival)
        if gpus != 1:
            return Rejection("cpu_only" if gpus == 0 else "multi_gpu", arrival)
        record = Record(line, ident, arrival, 0)
        if profile:
            record.profile, record.share = self.slices.of(profile)
        record.tenant = "" if self.user is None else fields[self.user]
        if self.options.deadline == "timelimit":
            record.limit_s = self._limit(fields)
        return self._ended(record, state.split()[0], started, ended)

    def _ended(
        self, record: Record, state: str, started: float, ended: float | None
    ) -> Record | Rejection | None:
        """Return the item of a job that started on one GPU."""
        if state not in _ENDED:
            if state not in _OPEN:
                self.unknown[state[:40]] += 1
                return Rejection("not_terminal", record.arrival_s)
            return self.open.item("not_terminal", record, started)
        record.status = _ENDED[state]
        if ended is None:
            return self.open.item("no_end", record, started)
        record.run_s = ended - started
        return record

    def _utc(self, text: str) -> float | None:
        """Return seconds since 1970 (on the wall clock where no zone is known), None if missing."""
        if text in _MISSING:
            return None
        moment = wall_seconds(text)
        if self.printed.place is not None:
            moment = self.printed.utc(moment)
        if moment > self.open.last_s:
            self.open.last_s = moment
        return moment

    def _limit(self, fields: list[str]) -> float:
        """Return the time limit in seconds, 0 when there is none."""
        raw, text = [None if i is None else fields[i] for i in self.limit]
        if raw is not None and raw.isdecimal():
            return float(number(str(int(raw) * 60)))
        match = _TIME.fullmatch(text or "")
        if match is None:
            return 0
        days, hours, minutes, seconds = [int(part or 0) for part in match.groups()]
        return float(number(str(((days * 24 + hours) * 60 + minutes) * 60 + seconds)))

    def notes(self) -> list[str]:
        """Return what the report should say besides the counts."""
        notes = [f"{self.steps} lines of job steps, not counted as rows"] if self.steps else []
        for state, count in sorted(self.unknown.items()):
            notes.append(f"warning: unknown state {state!r}: {count} rows dropped as not_terminal")
        notes.extend(self.slices.notes())
        return notes
