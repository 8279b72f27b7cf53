"""One run in a worker: every way it can end is a record with a reason, never an exception."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from factories import P_43, make_instance, make_job, seg
from migopt import io
from migopt.api import Answer
from migopt.bench.execute import InstanceCache, execute
from migopt.bench.spec import InstanceSpec, RunSpec
from migopt.check import check
from migopt.errors import InputError, MissingExtraError, NotApplicableError
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.metrics.periods import gap_by_period
from migopt.model import Instance, Schedule
from migopt.results import Budget, Outcome, SolveResult, StopReason

INSTANCE = make_instance(make_job(0, ms=28_000), make_job(1, ms=12_000))
SCHEDULE = Schedule((P_43,), (seg(0, "4g.20gb@0", 0, 7_000), seg(1, "3g.20gb@4", 0, 4_000)))


class Held(InstanceCache):
    """A cache that holds one instance made by hand."""

    def get(self, spec: InstanceSpec, seed: int) -> tuple[Instance, str]:
        """Return the instance and a made-up digest."""
        return INSTANCE, "digest"


def run_of(**changes: Any) -> RunSpec:
    """Return a run of a policy on the instance made by hand."""
    fields: dict[str, Any] = {
        "key": "hand/1/fifo+static:1/1s",
        "suite": "test",
        "instance": InstanceSpec("hand", "class", "generator", "g"),
        "seed": 1,
        "entry": "fifo+static:1",
        "spec": "fifo+static:1",
        "time_limit_s": 1.0,
        "keep_schedule": False,
    }
    return RunSpec(**(fields | changes))


def solver(**result: Any) -> Callable[..., Answer]:
    """Return a stand-in for ``migopt.solve`` that answers with the given result."""

    def solve(instance: Instance, spec: str, *, budget: Budget) -> Answer:
        made = SolveResult(**({"stop": StopReason.FINISHED} | result))
        schedule = made.schedule
        metrics = None if schedule is None else measure(instance, schedule)
        violations = () if schedule is None else tuple(check(instance, schedule))
        return Answer(spec, instance, made, metrics, violations, 0.25)

    return solve


def raising(error: BaseException) -> Callable[..., Answer]:
    """Return a stand-in for ``migopt.solve`` that raises."""

    def solve(instance: Instance, spec: str, *, budget: Budget) -> Answer:
        raise error

    return solve


def fields_of(solve: Callable[..., Answer], **changes: Any) -> dict[str, Any]:
    """Execute a run and return its fields, which must be JSON."""
    fields = execute(run_of(**changes), Path("nowhere"), Held(), solve)
    json.dumps({key: value for key, value in fields.items() if key != "settings"}, allow_nan=False)
    return fields


def test_a_schedule_is_scored_by_migopt_not_by_its_solver() -> None:
    """Cost, energy and tardiness come from ``measure``; what the solver claims does not enter."""
    fields = fields_of(
        solver(outcome=Outcome.FEASIBLE, schedule=SCHEDULE, lower=0.5, claimed_upper=1e9)
    )
    metrics = measure(INSTANCE, SCHEDULE)
    assert fields["status"] == "ok"
    assert fields["upper"] == fields["cost"] == metrics.cost
    assert fields["energy_wmin"] == metrics.energy_wmin
    assert fields["gap"] == pytest.approx((metrics.cost - 0.5) / metrics.cost)
    assert fields["claims"] == "heuristic"
    assert fields["digest"] == "digest"
    assert fields["constant_cost"] == str(INSTANCE.constant_cost)
    assert fields["settings"].described()["catalogue"] == "by-hand"


def test_a_cost_claimed_too_low_fails_its_check() -> None:
    """More than whole milliseconds account for: the run has failed, and both numbers are said."""
    cost = measure(INSTANCE, SCHEDULE).cost
    claimed = cost - 0.5
    fields = fields_of(
        solver(outcome=Outcome.FEASIBLE, schedule=SCHEDULE, claimed_upper=claimed, lower=0.5)
    )
    assert fields["status"] == "failed"
    assert repr(cost) in fields["reason"]
    assert repr(claimed) in fields["reason"]
    accounted = solver(
        outcome=Outcome.FEASIBLE,
        schedule=SCHEDULE,
        claimed_upper=claimed,
        detail={"tick_allowance": 0.5},
    )
    assert fields_of(accounted)["status"] == "ok"


def test_an_illegal_schedule_fails_its_check() -> None:
    """Its violations are recorded, it gives no upper bound, and the run has failed."""
    bad = Schedule((P_43,), (seg(0, "4g.20gb@0", 0, 6_999), seg(1, "3g.20gb@4", 0, 4_000)))
    fields = fields_of(solver(outcome=Outcome.OPTIMAL, schedule=bad, lower=0.5))
    assert fields["status"] == "failed"
    assert fields["reason"].startswith("failed its check")
    assert fields["violations"]
    assert fields["upper"] is None
    assert fields["cost"] is not None


def test_a_bound_above_the_own_schedule_fails() -> None:
    """A solver that claims more than it shows is caught on the spot."""
    fields = fields_of(solver(outcome=Outcome.OPTIMAL, schedule=SCHEDULE, lower=1e6))
    assert fields["status"] == "failed"
    assert "above the cost" in fields["reason"]


@pytest.mark.parametrize("outcome", [Outcome.NOT_APPLICABLE, Outcome.INFEASIBLE_PARTITION])
def test_no_answer_is_a_skip_with_its_reason(outcome: Outcome) -> None:
    """A solver that does not apply is skipped, and its message is kept."""
    fields = fields_of(solver(outcome=outcome, message="142 jobs"))
    assert fields["status"] == "skipped"
    assert fields["reason"] == f"{outcome.value.replace('_', ' ')}: 142 jobs"


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (MissingExtraError("torch", "rl", "solver dqn"), "skipped", r"pip install 'migopt\[rl\]'"),
        (NotApplicableError("two GPUs"), "skipped", "two GPUs"),
        (InputError("negative", where="jobs[3]"), "failed", r"jobs\[3\]: negative"),
        (ZeroDivisionError("division"), "failed", "ZeroDivisionError: division"),
        (RecursionError(), "failed", "RecursionError"),
    ],
)
def test_whatever_a_solver_raises_is_recorded(error: Exception, status: str, reason: str) -> None:
    """A missing package or an instance it does not cover is a skip, all else a failure."""
    fields = fields_of(raising(error))
    assert fields["status"] == status
    assert re.search(reason, fields["reason"])
    assert ("traceback" in fields) == (type(error).__module__ == "builtins")


def test_an_error_stop_is_a_failure() -> None:
    """An engine that reports an error has failed, also when it left a bound."""
    fields = fields_of(solver(outcome=Outcome.BOUND_ONLY, stop=StopReason.ERROR, lower=0.1))
    assert fields["status"] == "failed"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_none_fail(value: float) -> None:
    """A NaN or infinite bound is named, not written; what is known of the instance stays."""
    fields = fields_of(solver(outcome=Outcome.BOUND_ONLY, lower=value))
    assert fields["status"] == "failed"
    assert fields["reason"] == "lower is not a finite number"
    assert fields["digest"] == "digest"
    assert "lower" not in fields


def test_numpy_numbers_are_taken() -> None:
    """A bound in single precision is stored as a JSON number."""
    fields = fields_of(solver(outcome=Outcome.BOUND_ONLY, lower=np.float32(0.5)))
    assert fields["lower"] == 0.5
    assert type(fields["lower"]) is float


def test_shares_of_a_bound_are_kept() -> None:
    """What each job adds to the bound is in the record, to nine digits; a wrong number of them fails."""
    shares = [np.float64(1 / 3), 0.25]
    found = {"outcome": Outcome.BOUND_ONLY, "lower": 1.0, "proof": "multipliers"}
    fields = fields_of(solver(**found, detail={"shares": shares}))
    assert (fields["status"], fields["shares"]) == ("ok", (0.333333333, 0.25))
    fields = fields_of(solver(**found, detail={"shares": [*shares, 0.1]}))
    assert (fields["status"], fields["reason"]) == ("failed", "shares: 3 shares for 2 jobs")
    assert fields_of(solver(**found))["shares"] == ()


def test_periods_are_kept_where_the_schedule_is_not() -> None:
    """Busy periods that a solver tells are in the record if they add up to the schedule's cost.

    A minute at 7 busy slices costs 10 x 7 / 3 (see ``factories``): 4 s of 7 and 3 s of 4 slices.
    """
    rows = [period.as_dict() for period in gap_by_period(INSTANCE, SCHEDULE)]
    found = {"outcome": Outcome.FEASIBLE, "schedule": SCHEDULE}
    fields = fields_of(solver(**found, detail={"periods": rows}))
    assert fields["status"] == "ok"
    ((start, end, jobs, energy, tardiness),) = fields["periods"]
    assert (start, end, jobs, tardiness) == (0, 7_000, 2, 0.0)
    assert energy == pytest.approx(10 / 3 * (4 * 7 + 3 * 4) / 60, rel=1e-8)
    wrong = [{**rows[0], "energy": 2 * rows[0]["energy"]}]
    fields = fields_of(solver(**found, detail={"periods": wrong}))
    assert fields["status"] == "failed"
    assert "they add up to" in fields["reason"]
    assert fields_of(solver(**found))["periods"] == ()


def test_an_absent_trace_is_a_skip(tmp_path: Path) -> None:
    """A suite that names a trace which this machine lacks goes on without it."""
    absent = InstanceSpec("t", "c", "import", "openb", str(tmp_path / "absent.csv"))
    fields = execute(run_of(instance=absent), tmp_path, InstanceCache())
    assert fields["status"] == "skipped"
    assert fields["reason"] == f"trace file {tmp_path / 'absent.csv'} is not there"


def test_schedule_and_instance_are_stored(tmp_path: Path) -> None:
    """Both can be read again and measure the same; no partial file is left."""
    made = InstanceSpec("few", "c", "generator", "s0-slack", "", {"jobs": 5, "load": 0.9})
    run = run_of(instance=made, key="few/1/fifo+static:1/1s", keep_schedule=True)
    fields = execute(run, tmp_path, InstanceCache())
    assert fields["schedule_file"] == "schedules/few/1/fifo+static:1/1s.json.gz"
    instance = io.read_instance(tmp_path / fields["instance_file"])
    schedule = io.read_schedule(tmp_path / fields["schedule_file"], instance)
    assert measure(instance, schedule).cost == fields["cost"]
    assert io.instance_digest(instance) == fields["digest"]
    files = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["1.json.gz", "1s.json.gz"]


def test_a_file_may_be_a_spec(tmp_path: Path) -> None:
    """A shipped day is a file of generator, seed and digest; it runs as the instance it stands for."""
    instance = generate("s0-slack", seed=3, jobs=4, load=0.9)
    io.write_spec(instance, tmp_path / "day.json")
    spec = InstanceSpec("day", "c", "file", path=str(tmp_path / "day.json"))
    assert execute(run_of(instance=spec), tmp_path, InstanceCache())["jobs"] == 4


def test_the_cache_builds_an_instance_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of one instance and seed share it; another seed builds another."""
    from migopt.bench import execute as module

    built = []

    def build(spec: InstanceSpec, seed: int) -> Instance:
        built.append((spec.name, seed))
        return INSTANCE

    monkeypatch.setattr(module, "build_instance", build)
    monkeypatch.setattr(module.io, "instance_digest", lambda instance: "d", raising=False)
    cache = InstanceCache(size=2)
    generated = InstanceSpec("g", "c", "generator", "s0-slack")
    file = InstanceSpec("f", "c", "file", path="x.json")
    for spec, seed in ((generated, 1), (generated, 1), (file, 1), (file, 2), (generated, 2)):
        cache.get(spec, seed)
    assert built == [("g", 1), ("f", 1), ("g", 2)]
