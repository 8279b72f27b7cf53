"""What every trace format shares: text, columns, records, reasons for dropping a row.

A format is one file here whose stem is its name. It defines

* ``TITLE`` and ``HOUR_OF_DAY_REAL`` (whether the trace's clock shows a real time of day),
* ``OBSERVED``, the fields that the trace itself states,
* ``Options``, a subclass of ``ImportOptions`` (its own options added, if any),
* ``read(lines, options, notes)``, a generator of ``Record`` and ``Rejection``, one per row; where
  the file decides about clock or fields, one ``Stated`` comes before them.

Everything after that (window, thinning, deadlines, elasticity) is done once, in ``pipeline``.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from migopt.errors import InputError

#: Why a row is dropped; where several reasons apply, the first in this order is counted.
REASONS = (
    "malformed",
    "no_arrival",
    "cpu_only",
    "multi_gpu",
    "never_started",
    "not_terminal",
    "no_end",
    "negative_duration",
    "zero_duration",
    "not_completed",
    "outside_window",
    "thinned",
)


@dataclass(slots=True)
class Record:
    """A row that ran on one GPU.

    Attributes
    ----------
    line : int
        Line of the file, 1-based; it breaks ties of arrival.
    id : str
        The trace's own name of the job.
    arrival_s : float
        On the trace's clock; a whole multiple of 86,400 is midnight where that clock is real.
    run_s : float
        Time on the GPU, positive.
    share : float
        Share of a GPU that was asked for, 1 for a whole one.
    kind : str
        ``inference``, ``training`` or empty when the trace does not say.
    status : str
        ``completed``, ``failed``, ``cancelled`` or ``timeout``; empty when unknown.
    card : str
        Card that the run time was measured on, when known.
    profile : str
        MIG profile that the run time was measured on, when it was not a whole GPU.
    instances : int
        Equal copies.
    memory_bytes : int
        GPU memory seen in use, 0 when unknown.
    tenant : str
        Who submitted it, for campaigns.
    request : bool
        A single inference request rather than a job.
    limit_s : float
        Time from arrival to the deadline where it is taken from a time limit, 0 otherwise.
    """

    line: int
    id: str
    arrival_s: float
    run_s: float
    share: float = 1.0
    kind: str = ""
    status: str = ""
    card: str = ""
    profile: str = ""
    instances: int = 1
    memory_bytes: int = 0
    tenant: str = ""
    request: bool = False
    limit_s: float = 0


@dataclass(frozen=True, slots=True)
class Rejection:
    """A row that is dropped, with its reason, and its arrival when it has one."""

    reason: str
    arrival_s: float | None = None


@dataclass(frozen=True, slots=True)
class Stated:
    """What this file states, where that differs from file to file.

    Attributes
    ----------
    observed : tuple of str
        Fields that the file itself states.
    hour_of_day_real : bool
        Whether its clock shows a real time of day.
    """

    observed: tuple[str, ...]
    hour_of_day_real: bool


class OpenRuns:
    """Jobs that were still running when the trace was cut off.

    Parameters
    ----------
    censored : str
        ``drop``: they have no end; ``keep``: their run time is what was seen of it.
    """

    def __init__(self, censored: str) -> None:
        self.keep = censored == "keep"
        self.held: list[tuple[Record, float]] = []
        self.last_s = 0.0

    def item(self, reason: str, record: Record, start_s: float) -> Record | Rejection | None:
        """Return the rejection of an open job, or None when it is held until ``close``."""
        if not self.keep:
            return Rejection(reason, record.arrival_s)
        self.held.append((record, start_s))
        self.last_s = max(self.last_s, start_s)
        return None

    def close(self) -> Iterator[Record]:
        """Yield what is held; the trace is taken to end at its last time, ``last_s``."""
        for record, start_s in self.held:
            record.run_s += self.last_s - start_s
            yield record


def open_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, text without line end) of every line that is not blank.

    Reads ``.gz`` as well; accepts a byte order mark, CR LF and a missing last line end. Raises
    InputError when the file cannot be read.
    """
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path) if zipped else path.open("rb") as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline=None)
            for number, line in enumerate(text, 1):
                if not line.isspace():
                    yield number, line.rstrip("\n")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(f"cannot read: {reason}", source=str(path)) from None


def split_csv(line: str) -> list[str]:
    """Split one CSV line; an unmatched quote spoils this line only, never the ones after it."""
    if '"' not in line:
        return line.split(",")
    return next(csv.reader([line]), [])


class Columns:
    """Positions of named columns, by the header when there is one, else by documented order.

    Parameters
    ----------
    first : sequence of str
        Fields of the first line.
    documented : sequence of str
        All columns in the publisher's order.
    notes : list of str
        One note on unknown columns is added here.
    """

    def __init__(self, first: Sequence[str], documented: Sequence[str], notes: list[str]) -> None:
        names = [name.strip() for name in first]
        known = set(documented)
        self.has_header = len(known.intersection(names)) >= min(2, len(names))
        if not self.has_header:
            names = list(documented[: len(names)])
        self.width = len(first)
        self.index = {name: position for position, name in enumerate(names)}
        unknown = [name for name in names if name not in known]
        if unknown:
            notes.append(f"unknown columns ignored: {', '.join(unknown)}")

    def require(self, needed: Sequence[str]) -> None:
        """Raise InputError with the list of needed columns that are absent."""
        missing = [name for name in needed if name not in self.index]
        if missing:
            raise InputError(f"missing columns: {', '.join(missing)}")
