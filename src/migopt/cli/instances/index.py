"""INDEX.json: per shipped instance the best upper and lower bound known, and who found them.

Nothing in it is typed in: an upper bound is the measured cost of a schedule that the checker
accepts, a lower bound is what a bound or an exact solver returned for the whole instance. For
``tiny`` the optimum derived by hand in the file is a bound as well, by ``hand``.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import migopt
from migopt.api import Answer, solve
from migopt.check import check
from migopt.errors import InputError, MissingExtraError
from migopt.io import instance_digest, load, read_schedule
from migopt.metrics import measure
from migopt.model import Instance
from migopt.registry import entries
from migopt.results import Budget, Outcome, active_gap, gap

INDEX = "INDEX.json"
#: Relative room for the float error of two ways to compute one cost.
TOLERANCE = 1e-9
POLICIES = (
    "edf_ss_restricted+best_fixed",
    "edf_ss+best_fixed",
    "edf_fs+best_fixed",
    "edf_ss_nonpreemptive+best_fixed",
    "llf+best_fixed",
    "edf_ss_restricted+no_mig",
)
#: Folders whose instances are small enough for exact solvers.
EXACT = ("tiny", "small")
ABOUT = (
    "Best known bounds on the cost of each shipped instance and who found them; refreshed by "
    "`migopt instances index`, never by hand. gap = (upper - lower) / upper; active_gap: without "
    "the cost of idle power, which no schedule changes."
)


def read_index(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a folder's index by file; raises InputError when there is none."""
    try:
        document = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(folder / INDEX)) from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", source=str(folder / INDEX)) from None
    return {row["file"]: row for row in document["instances"]}


def instance_files(folder: Path, only: str = "*/*") -> list[str]:
    """Return the instance and spec files below ``folder``, as ``class/name.json``, sorted."""
    files = (path.relative_to(folder).as_posix() for path in folder.glob("*/*.json"))
    return sorted(file for file in files if fnmatch.fnmatch(file, only))


def refresh(
    folder: Path,
    only: str,
    time_limit_s: float,
    solvers: Iterable[str] = (),
    *,
    fresh: bool = False,
) -> list[dict[str, Any]]:
    """Improve the index with new runs and write it after each instance; returns the treated rows.

    Raises InputError when bounds contradict each other or nothing matches.
    """
    rows = read_index(folder) if (folder / INDEX).exists() else {}
    rows = {file: row for file, row in rows.items() if (folder / file).exists()}
    files = instance_files(folder, only)
    if not files:
        raise InputError(f"no instance matches {only!r}", source=str(folder))
    for file in files:
        names = tuple(solvers) or usual_solvers(file.partition("/")[0])
        before = None if fresh else rows.get(file)
        rows[file] = _improved(folder, file, before, names, time_limit_s)
        _write(folder, rows)
    return [rows[file] for file in files]


def usual_solvers(folder: str) -> tuple[str, ...]:
    """Return the policies above, all heuristics and bounds, and exact solvers where they can end."""
    claims = ("heuristic", "bound", *(("exact",) if folder in EXACT else ()))
    return (
        *POLICIES,
        *(entry.name for entry in entries() if entry.claims in claims and not entry.missing),
    )


def _improved(
    folder: Path,
    file: str,
    before: dict[str, Any] | None,
    solvers: Iterable[str],
    time_limit_s: float,
) -> dict[str, Any]:
    instance = load(folder / file)
    digest = instance_digest(instance)
    row: dict[str, Any] = {
        "file": file,
        "digest": digest,
        "gpus": len(instance.gpus),
        "jobs": len(instance.jobs),
        **dict.fromkeys(("upper", "upper_by", "lower", "lower_by")),
    }
    if before is not None and before["digest"] == digest:
        row |= {key: before[key] for key in ("upper", "upper_by", "lower", "lower_by")}
    _by_hand(folder, file, instance, row)
    for name in solvers:
        answer = _run(instance, name, time_limit_s)
        if answer is not None:
            _take(row, answer.upper, answer.lower, f"{name} (migopt {migopt.__version__})")
    upper, lower = row["upper"], row["lower"]
    if upper is not None and lower is not None:
        if lower > upper + TOLERANCE * max(1.0, abs(upper)):
            raise InputError(
                f"{row['lower_by']} claims {lower!r}, above the cost {upper!r} that "
                f"{row['upper_by']} reached",
                source=file,
            )
        # Two ways to compute one optimum may differ in the last digit.
        row["lower"] = min(lower, upper)
    row["gap"] = gap(upper, row["lower"])
    row["active_gap"] = active_gap(instance, upper, row["lower"])
    return row


def _run(instance: Instance, solver: str, time_limit_s: float) -> Answer | None:
    """Return the answer of one solver, None where it does not apply or is not installed."""
    try:
        answer = solve(instance, solver, budget=Budget(time_limit_s))
    except MissingExtraError:
        return None
    if answer.claim_error:
        raise InputError(f"{solver}: {answer.claim_error}", source=instance.name)
    return None if answer.outcome is Outcome.NOT_APPLICABLE else answer


def _take(row: dict[str, Any], upper: float | None, lower: float | None, by: str) -> None:
    """Keep what is better than the row has, by more than float error."""
    if upper is not None and (row["upper"] is None or upper < row["upper"] * (1 - TOLERANCE)):
        row["upper"], row["upper_by"] = upper, by
    if lower is not None and (row["lower"] is None or lower > row["lower"] * (1 + TOLERANCE)):
        row["lower"], row["lower_by"] = lower, by


def _by_hand(folder: Path, file: str, instance: Instance, row: dict[str, Any]) -> None:
    """Take the optimum derived in the file, and the cost of the schedule that reaches it."""
    optimum = instance.origin.get("optimum")
    if optimum is None:
        return
    solution = (folder / file).parent / "solutions" / Path(file).name
    schedule = read_schedule(solution, instance)
    violations = check(instance, schedule)
    if violations:
        raise InputError(f"its schedule breaks a rule: {violations[0]}", source=str(solution))
    _take(row, measure(instance, schedule).cost, float(Fraction(optimum["cost"])), "hand")


def _write(folder: Path, rows: dict[str, dict[str, Any]]) -> None:
    lines = ",\n".join("  " + json.dumps(rows[file], allow_nan=False) for file in sorted(rows))
    text = f'{{\n "about": {json.dumps(ABOUT)},\n "instances": [\n{lines}\n ]\n}}\n'
    (folder / INDEX).write_text(text, encoding="utf-8")
