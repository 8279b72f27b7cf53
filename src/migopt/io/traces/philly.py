"""Philly job log (JSON list), Microsoft 2017: jobs with all their attempts.

Source: GitHub msr-fiddle/philly-traces, cluster_job_log (CC BY 4.0); Jeon et al., USENIX ATC 2019.
Times are wall clock without zone; with ``tz`` run times across a change of summer time are right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from migopt.errors import InputError
from migopt.io.traces._clock import Zone, ZonedOptions, wall_seconds, zone
from migopt.io.traces._json_list import elements
from migopt.io.traces.common import OpenRuns, Record, Rejection

TITLE = "Microsoft Philly 2017 job log (JSON list)"
HOUR_OF_DAY_REAL = True
OBSERVED = ("id", "arrival", "run_time", "gpus", "status", "tenant")

_NEEDED = ("status", "vc", "jobid", "attempts", "submitted_time")
_MISSING = ("", "None")
_STATUS = {"Pass": "completed", "Killed": "cancelled", "Failed": "failed"}


class Options(ZonedOptions):
    """The log has no options of its own."""


def read(
    lines: Iterable[tuple[int, str]], options: Options, notes: list[str]
) -> Iterator[Record | Rejection]:
    """Yield one item per job; an attempt without both ends adds nothing to the run time."""
    reader = _Reader(Zone(zone(options.tz)), OpenRuns(options.censored))
    for position, job in enumerate(elements(lines), 1):
        if position == 1:
            _require(job)
        try:
            item = reader.item(position, job)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
            item = Rejection("malformed")
        if item is not None:
            yield item
    yield from reader.open.close()


def _require(job: Any) -> None:
    missing = [key for key in _NEEDED if not isinstance(job, dict) or key not in job]
    if missing:
        raise InputError(f"the first job lacks the keys: {', '.join(missing)}")


class _Reader:
    """Turns one job after the other into its record or the reason why there is none."""

    def __init__(self, clock: Zone, open_runs: OpenRuns) -> None:
        self.clock, self.open = clock, open_runs
        self.shifts = clock.place is not None

    def item(self, position: int, job: dict[str, Any]) -> Record | Rejection | None:
        """Return the item of a job, or None when it is held until the end of the trace is known."""
        name, tenant, arrival = job["jobid"], job["vc"], _moment(job["submitted_time"])
        run: float = 0
        most, started = 0, False
        start = end = None
        for attempt in job["attempts"]:
            start, end = self._utc(attempt["start_time"]), self._utc(attempt["end_time"])
            gpus = 0
            for machine in attempt["detail"]:
                gpus += len(machine["gpus"])
            most = max(most, gpus)
            if start is not None:
                started = True
                run += 0 if end is None else end - start
        if not name or not isinstance(name, str) or not isinstance(tenant, str):
            raise ValueError(name)
        if arrival is None:
            return Rejection("no_arrival")
        if started and most == 0:
            return Rejection("cpu_only", arrival)
        if most > 1:
            return Rejection("multi_gpu", arrival)
        if not started:
            return Rejection("never_started", arrival)
        status = job["status"]
        if status not in _STATUS:
            return Rejection("not_terminal", arrival)
        record = Record(position, name, arrival, run, status=_STATUS[status], tenant=tenant)
        if end is not None:
            return record
        if start is None:
            return Rejection("no_end", arrival)
        return self.open.item("no_end", record, start)

    def _utc(self, text: str | None) -> float | None:
        """Return the elapsed seconds at a time as written, None where it is missing."""
        if text is None or text in _MISSING:
            return None
        moment = wall_seconds(text)
        if self.shifts:
            moment = self.clock.utc(moment)
        if moment > self.open.last_s:
            self.open.last_s = moment
        return moment


def _moment(text: str | None) -> float | None:
    """Read a time; null and the word None are missing ones."""
    return None if text is None or text in _MISSING else wall_seconds(text)
