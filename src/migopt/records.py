"""One JSON line per finished run: what the benchmark runner appends and the report reads.

Runner and report share nothing else, so that a report can be rebuilt from records alone.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from migopt.errors import InputError
from migopt.model import Instance

RECORDS_FILE = "records.jsonl"
RECORD_VERSION = 1
#: Claims of an entry whose ``lower`` no schedule of the instance can beat.
PROVEN_CLAIMS = frozenset({"bound", "exact"})


class Status(StrEnum):
    """What became of a run."""

    OK = "ok"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Settings:
    """The rules of an instance that a table of results must print.

    Attributes
    ----------
    kind : str
        Problem kind.
    gpus : Mapping
        GPU key to count.
    catalogue : str
        Catalogue names, joined when GPU models differ.
    preemption, resume_overhead_ms : str, int
        Preemption mode and its overhead per resume.
    scope, tau_ms : str, int
        Repartition scope and time.
    mig_off : bool
        Whether MIG may be off.
    weight_a : str
        Weight of energy, a rational.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: str
    gpus: Mapping[str, int]
    catalogue: str
    preemption: str
    resume_overhead_ms: int
    scope: str
    tau_ms: int
    mig_off: bool
    weight_a: str

    @classmethod
    def of(cls, instance: Instance) -> Settings:
        """Return the settings of an instance."""
        names = dict.fromkeys(instance.catalogues[model.key].name for model in instance.gpu_models)
        return cls(
            kind=instance.kind,
            gpus=dict(Counter(model.key for model in instance.gpus)),
            catalogue=", ".join(names),
            preemption=instance.preemption.mode,
            resume_overhead_ms=instance.preemption.resume_overhead_ms,
            scope=instance.repartition.scope,
            tau_ms=instance.repartition.tau_ms,
            mig_off=instance.mig_off,
            weight_a=str(instance.weight_a),
        )

    def described(self) -> dict[str, str]:
        """Return the settings as label to text, for people."""
        overhead = (
            f" ({self.resume_overhead_ms / 1000:g} s per resume)"
            if self.preemption == "cost"
            else ""
        )
        tau = "" if self.scope == "never" else f"{self.tau_ms / 1000:g} s"
        return {
            "GPUs": ", ".join(f"{count} x {key}" for key, count in self.gpus.items()),
            "catalogue": self.catalogue,
            "preemption": self.preemption + overhead,
            "repartition scope": self.scope,
            "tau": tau or "none",
            "MIG off": "allowed" if self.mig_off else "not allowed",
            "a": self.weight_a,
        }


@dataclass(frozen=True, slots=True)
class Record:
    """One run of one entry on one instance with one seed and budget.

    Attributes
    ----------
    key : str
        ``instance/seed/entry/budget``; of two records of one key the later counts.
    suite, instance, instance_class, seed, entry, spec, budget : mixed
        What was asked for. ``entry`` is the name in tables, ``spec`` what was resolved.
    definition : Mapping
        The run's whole definition; a resumed suite must agree with it.
    status, reason : Status, str
        What became of it, and why when it is not ``ok``.
    digest, jobs, horizon_ms, settings, constant_cost : mixed
        The instance; ``constant_cost`` is the rational a H sum_g P_g(0) / (a+1).
    claims, outcome, stop, proof, engine, message : str
        What the entry claims and how it ended.
    upper, lower, class_lower, class_name : mixed
        Bounds in units of cost; ``upper`` only of a schedule that passed the check.
    cost, energy_wmin, mean_tardiness_min : float or None
        Measured, also for a schedule that failed its check.
    gap, active_gap : float or None
        From this run's own two bounds.
    shares : tuple of float
        What each job adds to ``lower`` above the constant, in order of release, where the bound tells;
        for the gap by busy period of any schedule.
    periods : tuple of (start_ms, end_ms, jobs, energy, tardiness)
        Cost above idle by busy period, where the solver tells and its schedule is not kept.
    metrics : Mapping
        Everything ``measure`` gave.
    violations : list
        What the checker found, as text.
    wall_s, parallel_runs : float, int
        Wall seconds of the solver, and how many runs shared the machine.
    instance_file, schedule_file : str
        Paths inside the results folder; empty when not kept.
    environment : Mapping
        Versions, machine size, commit, command.
    started_at, ended_at : str
        UTC.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    key: str
    suite: str
    instance: str
    instance_class: str
    seed: int
    entry: str
    spec: str
    budget: Mapping[str, Any]
    definition: Mapping[str, Any]
    status: Status
    reason: str = ""
    digest: str = ""
    jobs: int | None = None
    horizon_ms: int | None = None
    settings: Settings | None = None
    constant_cost: str = "0"
    claims: str = ""
    outcome: str = ""
    stop: str = ""
    proof: str = ""
    engine: str = ""
    message: str = ""
    upper: float | None = None
    lower: float | None = None
    class_lower: float | None = None
    class_name: str = ""
    cost: float | None = None
    energy_wmin: float | None = None
    mean_tardiness_min: float | None = None
    gap: float | None = None
    active_gap: float | None = None
    shares: tuple[float, ...] = ()
    periods: tuple[tuple[int, int, int, float, float], ...] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    violations: tuple[str, ...] = ()
    wall_s: float | None = None
    parallel_runs: int = 1
    instance_file: str = ""
    schedule_file: str = ""
    traceback: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    started_at: str = ""
    ended_at: str = ""
    version: int = RECORD_VERSION

    @property
    def proven_lower(self) -> float | None:
        """The lower bound if this entry's bounds are proven, else None."""
        return self.lower if self.claims in PROVEN_CLAIMS else None

    def to_line(self) -> bytes:
        """Return the record as one line of JSON; NaN or infinity raises ValueError."""
        text = json.dumps(dataclasses.asdict(self), allow_nan=False, separators=(",", ":"))
        return text.encode() + b"\n"


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


@dataclass(frozen=True, slots=True)
class RecordLog:
    """What a records file holds.

    Attributes
    ----------
    records : dict
        Key to its last record, in order of first appearance.
    truncated : str
        The unfinished last line that a killed run left; empty when there is none.
    good_bytes : int
        Length of the file up to the last complete line.
    """

    records: dict[str, Record]
    truncated: str
    good_bytes: int


def read_records(path: Path) -> RecordLog:
    """Read a records file; an unfinished last line is set apart, any other bad line is an error.

    Raises
    ------
    InputError
        The file is missing, or a complete line is not a record; the message names the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read records: {error.strerror}", source=str(path)) from None
    complete, _, rest = data.rpartition(b"\n")
    records: dict[str, Record] = {}
    for number, line in enumerate(complete.split(b"\n") if complete else (), 1):
        record = _parse(line, f"line {number}", str(path))
        records[record.key] = record
    good = len(complete) + 1 if complete else 0
    return RecordLog(records, rest.decode(errors="replace"), good)


def _parse(line: bytes, where: str, source: str) -> Record:
    from pydantic import ValidationError

    try:
        record: Record = _adapter().validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"not a run record: {first['msg']}", where=f"{where} {place}".strip(), source=source
        ) from None
    if record.version != RECORD_VERSION:
        raise InputError(
            f"record version {record.version}, this migopt reads {RECORD_VERSION}",
            where=where,
            source=source,
        )
    return record


class RecordWriter:
    """Appends records to a file, each as one write, so that a crash can only cut the last line.

    Raises
    ------
    InputError
        Another writer has the file open.
    """

    def __init__(self, path: Path) -> None:
        self._source = str(path)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise InputError("another benchmark is writing here", source=str(path)) from None

    def truncate(self, length: int) -> None:
        """Cut the file to ``length`` bytes, to be rid of an unfinished line."""
        os.ftruncate(self._fd, length)

    def append(self, record: Record) -> None:
        """Append one record; InputError when the disk does not take the whole line."""
        line = record.to_line()
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            raise InputError(f"cannot write: {error.strerror}", source=self._source) from None
        if written != len(line):
            raise InputError("a record was cut short: is the disk full?", source=self._source)

    def close(self) -> None:
        """Close the file and give up its lock."""
        os.close(self._fd)


def best_bounds(records: Iterable[Record]) -> dict[str, tuple[Record | None, Record | None]]:
    """Return per instance digest the records with the best upper and the best proven lower bound.

    Bounds of entries whose ``claims`` is neither ``bound`` nor ``exact`` (published formulas,
    heuristics) never count. Of equals the first one counts.
    """
    best: dict[str, tuple[Record | None, Record | None]] = {}
    for record in records:
        if not record.digest:
            continue
        upper, lower = best.get(record.digest, (None, None))
        if record.upper is not None and (upper is None or record.upper < _known(upper.upper)):
            upper = record
        proven = record.proven_lower
        if proven is not None and (lower is None or proven > _known(lower.lower)):
            lower = record
        best[record.digest] = (upper, lower)
    return best


def _known(value: float | None) -> float:
    assert value is not None
    return value
