"""One run inside a worker: rebuild the instance, solve, and say in a record what happened."""

from __future__ import annotations

import math
import os
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from migopt import io
from migopt.api import Answer, solve
from migopt.bench.environment import utc_now
from migopt.bench.spec import InstanceSpec, RunSpec
from migopt.errors import (
    InfeasiblePartitionError,
    InputError,
    MigoptError,
    MissingExtraError,
    NotApplicableError,
)
from migopt.metrics.periods import Period
from migopt.metrics.time_of_day import time_of_day
from migopt.model import Instance
from migopt.records import Settings, Status
from migopt.registry import validate
from migopt.results import Outcome, StopReason

Solve = Callable[..., Answer]
#: Violations kept per record; the count of the rest is said.
_MOST_VIOLATIONS = 20
_OF_INSTANCE = {
    "started_at",
    "claims",
    "digest",
    "jobs",
    "horizon_ms",
    "settings",
    "constant_cost",
}
_NO_ANSWER = {Outcome.NOT_APPLICABLE, Outcome.INFEASIBLE_PARTITION}


class MissingDataError(MigoptError):
    """A trace file that a suite names is not on this machine."""


class InstanceCache:
    """The last few instances with their digests; runs of one instance follow each other."""

    def __init__(self, size: int = 4) -> None:
        self._size = size
        self._held: OrderedDict[tuple[str, int], tuple[Instance, str]] = OrderedDict()

    def get(self, spec: InstanceSpec, seed: int) -> tuple[Instance, str]:
        """Return the instance and its digest, built when not held."""
        key = (spec.name, seed if spec.how != "file" else 0)
        if key not in self._held:
            instance = build_instance(spec, seed)
            self._held[key] = instance, io.instance_digest(instance)
            if len(self._held) > self._size:
                self._held.popitem(last=False)
        return self._held[key]


def build_instance(spec: InstanceSpec, seed: int) -> Instance:
    """Read, generate or import the instance of a spec.

    Raises
    ------
    MissingDataError
        The trace file of an import is absent.
    InputError
        The file, or a parameter, is not acceptable.
    """
    if spec.how == "file":
        return io.load(Path(spec.path))
    if spec.how == "generator":
        from migopt.io.generators import generate

        return generate(spec.source, seed=seed, **spec.parameters)
    from migopt.io.traces import import_trace

    if not Path(spec.path).is_file():
        raise MissingDataError(f"trace file {spec.path} is not there")
    return import_trace(spec.source, Path(spec.path), seed=seed, **spec.parameters).instance


def execute(
    run: RunSpec, folder: Path, instances: InstanceCache, solver: Solve = solve
) -> dict[str, Any]:
    """Do one run and return the fields of its record that only the worker knows.

    Nothing that a solver raises leaves this function, except ``SystemExit`` and its like: those
    end the worker, and the runner records the death.
    """
    fields: dict[str, Any] = {"started_at": utc_now()}
    try:
        entry = validate(run.spec)
        fields["claims"] = "heuristic" if entry is None else entry.claims
        instance, digest = instances.get(run.instance, run.seed)
        fields |= describe(instance, digest)
        if run.figures_only and (figures := figures_of(instance, run)) is not None:
            return fields | figures | {"ended_at": utc_now()}
        answer = solver(instance, run.spec, budget=run.budget)
        fields |= _answered(answer)
        if run.keep_schedule and answer.schedule is not None:
            fields |= _store(run, folder, answer)
        else:
            fields["periods"] = _periods(answer)
    except (MissingExtraError, MissingDataError, NotApplicableError) as error:
        fields |= {"status": Status.SKIPPED, "reason": str(error)}
    except MigoptError as error:
        fields |= {"status": Status.FAILED, "reason": str(error)}
    except Exception as error:
        fields |= {
            "status": Status.FAILED,
            "reason": f"{type(error).__name__}: {error}",
            "traceback": "".join(traceback.format_exception(error)[-12:]),
        }
    bad = _not_finite(fields)
    if bad:
        fields = {
            **{name: value for name, value in fields.items() if name in _OF_INSTANCE},
            "status": Status.FAILED,
            "reason": f"{bad} is not a finite number",
        }
    fields["ended_at"] = utc_now()
    return fields


def figures_of(instance: Instance, run: RunSpec) -> dict[str, Any] | None:
    """Return a record's fields for a policy that the compiled simulator plays, None for any other.

    No schedule is built, so none is checked; the figures are those of ``measure`` (the two are
    compared on thousands of cases by the tests of the simulator).
    """
    from migopt.schedulers.figures import policy_figures

    began = time.perf_counter()
    try:
        played = policy_figures(instance, run.spec, seed=run.seed)
    except (InfeasiblePartitionError, NotApplicableError) as error:
        return {"status": Status.SKIPPED, "reason": str(error)}
    if played is None:
        return None
    wall = time.perf_counter() - began
    metrics, changes = played
    return {
        "status": Status.OK,
        "reason": "",
        "outcome": str(Outcome.FEASIBLE),
        "stop": str(StopReason.FINISHED),
        "engine": "migopt simulator",
        "message": "figures only: the schedule was not built",
        "upper": metrics.cost,
        "wall_s": wall,
        **_measured(metrics.as_dict() | changes),
    }


def describe(instance: Instance, digest: str) -> dict[str, Any]:
    """Return what a record says about its instance."""
    return {
        "digest": digest,
        "jobs": len(instance.jobs),
        "horizon_ms": instance.horizon_ms,
        "settings": Settings.of(instance),
        "constant_cost": str(instance.constant_cost),
    }


def _answered(answer: Answer) -> dict[str, Any]:
    result, metrics = answer.result, answer.metrics
    shown = [str(violation) for violation in answer.violations[:_MOST_VIOLATIONS]]
    if len(answer.violations) > len(shown):
        shown.append(f"and {len(answer.violations) - len(shown)} more")
    status, reason = _verdict(answer)
    return {
        "status": status,
        "reason": reason,
        "outcome": str(result.outcome),
        "stop": str(result.stop),
        "proof": result.proof,
        "engine": result.engine,
        "message": result.message,
        "upper": answer.upper,
        "lower": _number(answer.lower),
        "class_lower": _number(result.class_lower),
        "class_name": result.class_name,
        "gap": answer.gap,
        "active_gap": answer.active_gap,
        "shares": _shares(answer),
        "violations": shown,
        "wall_s": answer.wall_s,
        **({} if metrics is None else _measured(metrics.as_dict() | _changes(answer))),
    }


def _shares(answer: Answer) -> tuple[float, ...]:
    """Return what each job adds to the bound, to as many digits as anyone reads."""
    shares = answer.result.detail.get("shares", ())
    if shares and len(shares) != len(answer.instance.jobs):
        raise InputError(
            f"{len(shares)} shares for {len(answer.instance.jobs)} jobs", where="shares"
        )
    return tuple(_short(share) for share in shares)


def _periods(answer: Answer) -> tuple[tuple[int, int, int, float, float], ...]:
    """Return the cost by busy period that a solver tells, held against the schedule's cost."""
    rows = answer.result.detail.get("periods", ())
    if not rows or answer.upper is None:
        return ()
    periods = [Period.from_dict(row) for row in rows]
    above = answer.upper - float(answer.instance.constant_cost)
    told = sum(period.upper for period in periods)
    if not math.isclose(told, above, rel_tol=1e-6, abs_tol=1e-9):
        raise InputError(f"they add up to {told!r}, the schedule costs {above!r}", where="periods")
    return tuple(
        (p.start_ms, p.end_ms, p.jobs, _short(p.energy), _short(p.tardiness)) for p in periods
    )


def _short(value: float) -> float:
    return float(f"{value:.9g}")


def _changes(answer: Answer) -> dict[str, Any]:
    """Return when partitions change; nothing for a schedule that never does."""
    schedule = answer.schedule
    if schedule is None or not schedule.reconfigurations or answer.violations:
        return {}
    moves = [(r.start_ms, r.end_ms, r.gpu, r.new) for r in schedule.reconfigurations]
    return time_of_day(answer.instance, schedule.initial, moves)


def _measured(metrics: dict[str, Any]) -> dict[str, Any]:
    return {
        "cost": metrics["cost"],
        "energy_wmin": metrics["energy_wmin"],
        "mean_tardiness_min": metrics["mean_tardiness_min"],
        "metrics": metrics,
    }


def _number(value: Any) -> float | None:
    # Solvers hand back numpy scalars and fractions; a record holds JSON numbers.
    return None if value is None else float(value)


def _not_finite(value: Any, place: str = "") -> str:
    """Return the path of the first NaN or infinity, empty when there is none."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else place
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    else:
        return ""
    found = (_not_finite(item, f"{place}.{key}" if place else str(key)) for key, item in items)
    return next(filter(None, found), "")


def _verdict(answer: Answer) -> tuple[Status, str]:
    result = answer.result
    if answer.claim_error:
        return Status.FAILED, f"failed its check: {answer.claim_error}"
    if str(result.stop) == "error":
        return Status.FAILED, result.message or "the solver reports an error"
    if result.outcome in _NO_ANSWER:
        said = str(result.outcome).replace("_", " ")
        return Status.SKIPPED, f"{said}: {result.message}" if result.message else said
    return Status.OK, ""


def _store(run: RunSpec, folder: Path, answer: Answer) -> dict[str, str]:
    """Write the schedule, and once the instance; both appear whole or not at all."""
    instance_file = Path("instances") / run.instance.name / f"{run.seed}.json.gz"
    schedule_file = Path("schedules") / f"{run.key}.json.gz"
    assert answer.schedule is not None
    if not (folder / instance_file).exists():
        _write(folder / instance_file, lambda path: io.write_instance(answer.instance, path))
    schedule = answer.schedule
    _write(
        folder / schedule_file,
        lambda path: io.write_schedule(schedule, path, answer.instance),
    )
    return {"instance_file": instance_file.as_posix(), "schedule_file": schedule_file.as_posix()}


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        write(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
