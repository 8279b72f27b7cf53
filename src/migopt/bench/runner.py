"""Run a suite: what is still to do, worker processes with hard limits, one record per run."""

from __future__ import annotations

import selectors
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from migopt.bench.environment import utc_now
from migopt.bench.process import Worker, worker_command
from migopt.bench.spec import RunSpec
from migopt.errors import InputError, MigoptError
from migopt.records import RECORDS_FILE, Record, RecordLog, RecordWriter, Status, read_records

_TICK_S = 0.1


class WorkerStartError(MigoptError):
    """Worker processes do not come up, so that no run can be done."""


@dataclass
class Plan:
    """What of a suite is done in a results folder and what is left.

    Attributes
    ----------
    done : list of Record
        Runs with a good record.
    todo : list of RunSpec
        Runs without one, in order.
    again : int
        How many of ``todo`` failed or were skipped before.
    notice : str
        What was found wrong with the records file and mended; empty when nothing was.
    """

    done: list[Record]
    todo: list[RunSpec]
    again: int = 0
    notice: str = ""


@dataclass
class Session:
    """A results folder, open for one runner.

    Attributes
    ----------
    folder : Path
        The results folder.
    environment : dict
        Goes into each record.
    command : sequence of str, optional
        Command line of a worker; tests put another one in.
    """

    folder: Path
    environment: dict[str, Any] = field(default_factory=dict)
    command: Sequence[str] | None = None

    def __post_init__(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._writer = RecordWriter(self.folder / RECORDS_FILE)
        except OSError as error:
            raise InputError(
                f"cannot write there: {error.strerror}", source=str(self.folder)
            ) from None

    def plan(self, runs: Sequence[RunSpec]) -> Plan:
        """Compare the runs with the records; an unfinished last line is cut off and reported.

        Raises
        ------
        InputError
            A record of the same key was made from another definition of its instance or entry.
        """
        log = read_records(self.folder / RECORDS_FILE)
        plan = Plan([], [], notice=self._mend(log))
        for run in runs:
            record = log.records.get(run.key)
            if record is not None and record.status is Status.OK:
                _require_same(run, record, str(self.folder / RECORDS_FILE))
                plan.done.append(record)
            else:
                plan.again += record is not None
                plan.todo.append(run)
        return plan

    def _mend(self, log: RecordLog) -> str:
        if not log.truncated:
            return ""
        self._writer.truncate(log.good_bytes)
        start = log.truncated[:60]
        return f"{RECORDS_FILE} ended in an unfinished line, which was removed: {start}"

    def run(
        self, todo: Sequence[RunSpec], jobs: int, report: Callable[[Record], None]
    ) -> list[Record]:
        """Do the runs on ``jobs`` workers; every record is on disk before ``report`` sees it.

        However this ends, by an interrupt too, no worker is left and the records file is whole.
        """
        threads = max((run.threads for run in todo), default=1)
        pool = _Pool(self.command or worker_command(self.folder), jobs, threads)
        records = []
        try:
            for run, fields in pool.results(deque(todo)):
                record = Record(
                    **_asked(run), **fields, parallel_runs=jobs, environment=self.environment
                )
                self._writer.append(record)
                records.append(record)
                report(record)
        finally:
            pool.kill()
        return records

    def close(self) -> None:
        """Close the records file and give up the folder's lock."""
        self._writer.close()


def _require_same(run: RunSpec, record: Record, source: str) -> None:
    if record.definition != run.definition():
        raise InputError(
            f"{run.key} was recorded from another definition of its instance or entry; "
            "use another results folder",
            source=source,
        )


def _asked(run: RunSpec) -> dict[str, Any]:
    return {
        "key": run.key,
        "suite": run.suite,
        "instance": run.instance.name,
        "instance_class": run.instance.instance_class,
        "seed": run.seed,
        "entry": run.entry,
        "spec": run.spec,
        "budget": {"time_limit_s": run.time_limit_s, "gap": run.gap, "threads": run.threads},
        "definition": run.definition(),
    }


class _Pool:
    """Workers that are started as needed and replaced when they die or are killed."""

    def __init__(self, command: Sequence[str], jobs: int, threads: int) -> None:
        self._command, self._jobs, self._threads = command, jobs, threads
        self._workers: list[Worker] = []
        self._selector = selectors.DefaultSelector()

    def results(self, todo: deque[RunSpec]) -> Any:
        """Yield (run, record fields) as runs end, in whatever order."""
        while todo or any(worker.run for worker in self._workers):
            while len(self._workers) < min(self._jobs, len(self._working()) + len(todo)):
                self._start()
            ready = {key.fileobj for key, _ in self._selector.select(_TICK_S)}
            for worker in list(self._workers):
                yield from self._look_at(worker, worker in ready)
                if worker.ready and worker.run is None and todo and worker in self._workers:
                    self._give(worker, todo)

    def _working(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.run is not None]

    def _start(self) -> None:
        worker = Worker(self._command, self._threads)
        self._workers.append(worker)
        self._selector.register(worker, selectors.EVENT_READ)

    def _give(self, worker: Worker, todo: deque[RunSpec]) -> None:
        run = todo.popleft()
        try:
            worker.send(run)
        except BrokenPipeError:  # it died idle; the run has not been tried
            todo.appendleft(run)
            self._remove(worker)

    def _look_at(self, worker: Worker, has_news: bool) -> Any:
        died = worker.is_dead
        if has_news or died:
            try:
                for message in worker.receive():
                    if message.get("ready"):
                        worker.ready = True
                    else:
                        run, worker.run = worker.run, None
                        yield run, _checked_fields(message)
            except EOFError:
                died = True
        if died:
            yield from self._bury(worker)
        elif worker.spent_s > worker.limit_s:
            yield from self._overdue(worker)

    def _bury(self, worker: Worker) -> Any:
        self._remove(worker)
        if not worker.ready:
            raise WorkerStartError(f"worker processes cannot start: {worker.death()}")
        if worker.run is not None:
            yield worker.run, _lost(worker, worker.death())

    def _overdue(self, worker: Worker) -> Any:
        self._remove(worker)
        run = worker.run
        if run is None:
            raise WorkerStartError(f"a worker did not start within {worker.limit_s:g} s")
        reason = (
            f"killed at the hard limit of {run.hard_limit_s:g} s (budget {run.time_limit_s:g} s)"
        )
        yield run, _lost(worker, reason)

    def _remove(self, worker: Worker) -> None:
        self._selector.unregister(worker)
        self._workers.remove(worker)
        worker.kill()

    def kill(self) -> None:
        """Kill all workers."""
        for worker in list(self._workers):
            self._remove(worker)
        self._selector.close()


def _lost(worker: Worker, reason: str) -> dict[str, Any]:
    return {
        "status": Status.FAILED,
        "reason": reason,
        "wall_s": round(worker.spent_s, 3),
        "ended_at": utc_now(),
    }


def _checked_fields(message: dict[str, Any]) -> dict[str, Any]:
    from migopt.records import Settings

    fields: dict[str, Any] = message["fields"]
    fields["status"] = Status(fields["status"])
    fields["violations"] = tuple(fields.get("violations", ()))
    fields["shares"] = tuple(fields.get("shares", ()))
    fields["periods"] = tuple(tuple(row) for row in fields.get("periods", ()))
    if fields.get("settings") is not None:
        fields["settings"] = Settings(**fields["settings"])
    return fields
