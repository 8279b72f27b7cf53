"""Progress of a suite on stderr: a bar with the time left, or plain lines without a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from migopt.bench.spec import RunSpec
from migopt.records import Record, Status


class TimeLeft:
    """Estimates the seconds left from how long the runs of each entry have taken so far."""

    def __init__(self, todo: Sequence[RunSpec], jobs: int) -> None:
        self._left: dict[str, int] = {}
        for run in todo:
            self._left[run.entry] = self._left.get(run.entry, 0) + 1
        self._jobs = jobs
        self._seen: dict[str, list[float]] = {}
        self._start = time.monotonic()

    def record(self, record: Record) -> None:
        """Take a finished run into account."""
        self._left[record.entry] -= 1
        self._seen.setdefault(record.entry, []).append(record.wall_s or 0.0)

    def seconds(self) -> float | None:
        """Return the estimate, None before the first run has ended."""
        done = [wall for walls in self._seen.values() for wall in walls]
        if not done:
            return None
        # Instances are built and schedules checked outside the solver's own time.
        busy = sum(done) or 1e-9
        overhead = max(0.0, (time.monotonic() - self._start) * self._jobs - busy) / len(done)
        overall = busy / len(done)
        total = 0.0
        for entry, count in self._left.items():
            walls = self._seen.get(entry)
            total += count * (overhead + (sum(walls) / len(walls) if walls else overall))
        return total / self._jobs


@contextmanager
def progress(
    todo: Sequence[RunSpec], jobs: int, stream: TextIO
) -> Iterator[Callable[[Record], None]]:
    """Show progress while runs end; yields the function to call with each record.

    Failures and skips are always said on a line of their own, with their reason.
    """
    left = TimeLeft(todo, jobs)
    if stream.isatty():
        yield from _bar(len(todo), left, stream)
    else:
        yield _lines(len(todo), left, stream)


def _lines(total: int, left: TimeLeft, stream: TextIO) -> Callable[[Record], None]:
    count = 0

    def show(record: Record) -> None:
        nonlocal count
        count += 1
        left.record(record)
        rest = f"; {duration(left.seconds())} left" if count < total else ""
        print(f"[{count}/{total}] {describe(record)}{rest}", file=stream, flush=True)

    return show


def _bar(total: int, left: TimeLeft, stream: TextIO) -> Iterator[Callable[[Record], None]]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(file=stream)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=total, left="")

        def show(record: Record) -> None:
            left.record(record)
            if record.status is not Status.OK:
                console.print(escape(describe(record)), highlight=False)
            text = f"{duration(left.seconds())} left"
            bar.update(task, advance=1, left=text, description=escape(record.key))

        yield show


def describe(record: Record) -> str:
    """Return one line about a finished run."""
    wall = "" if record.wall_s is None else f" in {record.wall_s:.2f} s"
    if record.status is not Status.OK:
        return f"{record.key} {record.status}{wall}: {record.reason}"
    facts = [
        f"{name} {value:.6g}"
        for name, value in (("cost", record.upper), ("lower", record.lower))
        if value is not None
    ]
    return f"{record.key} ok{wall}" + (f": {', '.join(facts)}" if facts else "")


def duration(seconds: float | None) -> str:
    """Return a time span for people: ``45 s``, ``12 min``, ``3 h 05 min``."""
    if seconds is None:
        return "unknown time"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"
