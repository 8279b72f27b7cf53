"""A worker process as the runner sees it: start, send a run, read what comes, kill."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from migopt.bench.spec import RunSpec

#: Seconds a worker may take to import what it needs.
START_LIMIT_S = 120.0
_STDERR_TAIL = 2000
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def worker_command(folder: Path) -> list[str]:
    """Return the command line of a worker that stores schedules below ``folder``."""
    return [sys.executable, "-P", "-m", "migopt.bench.worker", str(folder)]


class Worker:
    """One worker process in a process group of its own.

    Attributes
    ----------
    run : RunSpec or None
        What it works on.
    ready : bool
        Whether it has finished its imports.
    since : float
        Monotonic time of its start, or of the start of its run.
    """

    def __init__(self, command: Sequence[str], threads: int = 1) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115, lives as long as the worker
        environment = dict.fromkeys(_THREAD_VARIABLES, str(threads)) | os.environ
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
            env=environment,
        )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._buffer = b""
        self.run: RunSpec | None = None
        self.ready = False
        self.since = time.monotonic()

    def fileno(self) -> int:
        """Return the pipe to wait on."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def send(self, run: RunSpec) -> None:
        """Give the worker a run; BrokenPipeError when it is gone."""
        assert self._process.stdin is not None
        self.run, self.since = run, time.monotonic()
        # The worker writes at the same file offset, so this drops what earlier runs printed.
        os.ftruncate(self._stderr.fileno(), 0)
        os.lseek(self._stderr.fileno(), 0, os.SEEK_SET)
        self._process.stdin.write(json.dumps(run.as_dict()).encode() + b"\n")
        self._process.stdin.flush()

    def receive(self) -> list[dict[str, Any]]:
        """Return the messages that have come; EOFError when all is read and the worker is gone."""
        while True:
            try:
                chunk = os.read(self.fileno(), 1 << 16)
            except BlockingIOError:
                break
            if not chunk:
                if b"\n" not in self._buffer:
                    raise EOFError
                break
            self._buffer += chunk
        complete, newline, rest = self._buffer.rpartition(b"\n")
        self._buffer = rest
        return [json.loads(line) for line in complete.split(b"\n")] if newline else []

    @property
    def is_dead(self) -> bool:
        """True when the process has ended, even if a child of it still holds the pipe."""
        return self._process.poll() is not None

    @property
    def spent_s(self) -> float:
        """Seconds since it was started or given its run."""
        return time.monotonic() - self.since

    @property
    def limit_s(self) -> float:
        """Seconds after which it is killed."""
        if not self.ready:
            return START_LIMIT_S
        return self.run.hard_limit_s if self.run is not None else float("inf")

    def kill(self) -> None:
        """Kill the worker and every process in its group, and wait for it."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def death(self) -> str:
        """Say how a dead worker died, with the end of what its run printed."""
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else _signal_name(-code)
        tail = self.printed()
        return f"the worker died ({how})" + (f"; it printed: {tail}" if tail else "")

    def printed(self) -> str:
        """Return the end of what the current run wrote to stderr and stdout."""
        size = os.fstat(self._stderr.fileno()).st_size
        start = max(0, size - _STDERR_TAIL)
        return os.pread(self._stderr.fileno(), size - start, start).decode(errors="replace").strip()


def _signal_name(number: int) -> str:
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
