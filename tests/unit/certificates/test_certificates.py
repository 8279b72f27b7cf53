"""Certificates hold what was found and proven; verification believes nothing that it has not evaluated."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories import A100, make_instance, make_job
from migopt.api import certify
from migopt.bounds.split import Multipliers, proven_lower
from migopt.certificates import Bound, read_certificate, steps, verify, write_certificate
from migopt.certificates.board import Board, CertificateError
from migopt.certificates.clock import Clock
from migopt.certificates.files import certificate_to_dict, parse_certificate
from migopt.cli import cli
from migopt.io import write_instance
from migopt.model import FrozenMap
from migopt.results import Outcome, SolveResult, StopReason
from migopt.schedulers import parse_policy
from migopt.testing.cases import conformance_cases, small_instance


def _free(seed, **options):
    made = small_instance(seed, **options)
    return made.replace(jobs=tuple(replace(job, preemptible=True) for job in made.jobs))


@pytest.fixture(scope="module")
def made():
    """Return the certificate of a case with MIG off allowed, late jobs and tau, and an engine's claim."""
    found = certify(_free(5, jobs=4, mig_off=True), time_limit_s=4.0)
    claim = Bound("by_hand", "engine", found.checkable.lower, "Some engine 1.0")
    return replace(found, bounds=(*found.bounds, claim))


@pytest.fixture
def document(made):
    """Return its file's content, to be tampered with."""
    return json.loads(json.dumps(certificate_to_dict(made)))


def _faults(document, instance=None):
    return verify(parse_certificate(document), instance).faults


def test_sides_and_proofs(made):
    """The bound is at most the cost; a multipliers proof and an engine's claim stand apart."""
    assert made.lower <= made.upper
    assert made.upper_energy + made.upper_tardiness == pytest.approx(made.upper, rel=1e-12)
    assert {bound.proof for bound in made.bounds} == {"closed_form", "engine", "multipliers"}
    assert made.checkable.proof == "multipliers"
    assert made.checkable.lower <= made.lower
    assert 0 <= made.active_gap < 0.5


def test_verifies_what_was_written(made, tmp_path):
    """Through a gzipped file: no fault, the same numbers, the best proof evaluated to what is stored."""
    path = tmp_path / "c.json.gz"
    write_certificate(made, path)
    found = verify(read_certificate(path))
    assert found.faults == []
    assert found.upper == made.upper
    assert found.proven_lower == made.checkable.lower
    assert found.lower == made.lower
    assert verify(read_certificate(path), made.instance).ok


@pytest.mark.parametrize("instance", list(conformance_cases()), ids=lambda item: item.name)
def test_every_kind_of_instance(instance):
    """Every mode and scope, two GPUs, another GPU, no jobs, milliseconds: a bound, in order, verified."""
    made = certify(instance, time_limit_s=1.0)
    assert made.lower is not None
    if made.upper is not None:
        assert Fraction(made.checkable.lower) <= Fraction(made.upper) + Fraction(1, 10**12)
    assert _faults(json.loads(json.dumps(certificate_to_dict(made)))) == []


# ---------------------------------------------------------------- tampering


def test_tampered_schedule(document, made):
    """A segment that ends a tick early leaves work undone: the rule and the amount are said."""
    document["schedule"]["segments"][-1]["end_ms"] -= 1
    assert "the schedule breaks a rule" in _faults(document)[0]


def test_dearer_schedule_with_the_old_cost(document, made):
    """Another legal schedule under the old value: both costs are said."""
    schedule = parse_policy("fifo+static:1").run(made.instance)
    from migopt.io import schedule_to_dict
    from migopt.metrics import measure

    document["schedule"] = schedule_to_dict(schedule, made.instance)
    fault = _faults(document)[0]
    assert repr(measure(made.instance, schedule).cost) in fault
    assert repr(made.upper) in fault


@pytest.mark.parametrize("side", ["upper", "lower", "gap", "active_gap", "checkable_lower"])
@pytest.mark.parametrize("change", [1e-6, -1e-6])
def test_tampered_value(document, side, change):
    """A number changed by a millionth, up or down, is seen; the fault has both numbers."""
    stored = document[side]
    document[side] = stored * (1 + change) if stored else change
    faults = _faults(document)
    assert any(repr(document[side]) in fault for fault in faults)


def test_tampered_bound_value(document, made):
    """A raised bound beside honest prices: what they prove and what was written are both said."""
    row = next(row for row in document["bounds"] if row["proof"] == "multipliers")
    honest = row["lower"]
    row["lower"] = honest * 1.01
    fault = next(fault for fault in _faults(document) if "prove" in fault)
    assert repr(honest) in fault
    assert repr(honest * 1.01) in fault


def test_tampered_constant_and_parts(document):
    """The constant, and parts that do not add up, are seen."""
    other = copy.deepcopy(document)
    other["constant"] = "1/2"
    assert "the constant is" in _faults(other)[0]
    document["upper_parts"]["energy"] *= 1.5
    assert "energy costs" in _faults(document)[0]


def test_tampered_parts_of_the_bound_and_infeasibility(document):
    """Parts of the bound at the top that are not those below, and a schedule of what is said to have none."""
    other = copy.deepcopy(document)
    other["lower_parts"] = {"energy": 0.5, "tardiness": 0.25}
    assert "lower_parts are (0.5, 0.25)" in _faults(other)[0]
    document["infeasible"] = "no slice fits"
    assert "no schedule exists (no slice fits)" in _faults(document)[0]


def test_missing_case(document):
    """Prices of MIG on alone prove nothing where MIG off is allowed."""
    row = next(row for row in document["bounds"] if row["proof"] == "multipliers")
    row["multipliers"] = [item for item in row["multipliers"] if item["case"] == "mig"]
    assert "case off is missing" in _faults(document)[0]


def test_other_instance(document, made):
    """A certificate of one problem is none of another: both digests are said."""
    other = _free(6, jobs=4, mig_off=True)
    fault = _faults(document, other)[0]
    assert made.digest[:12] in fault
    document["instance"]["jobs"][0]["due_ms"] += 60_000
    assert "is problem" in _faults(document)[0]


def test_engine_claim_above_the_cost(document, made):
    """An engine's claim is believed by nobody, but above the schedule's cost it is refuted."""
    row = next(row for row in document["bounds"] if row["proof"] == "engine")
    row["lower"] = document["lower"] = made.upper * 1.001
    fault = _faults(document)[0]
    assert "above the cost" in fault
    assert repr(made.upper) in fault


@given(data=st.data())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_tampering_with_prices_lifts_the_bound(made, data):
    """Any change of prices, windows, grid, exponent or parts: a fault, or no more than they prove."""
    document = json.loads(json.dumps(certificate_to_dict(made)))
    row = next(row for row in document["bounds"] if row["proof"] == "multipliers")
    which = data.draw(st.integers(0, len(row["multipliers"]) - 1))
    old = Multipliers.from_dict(row["multipliers"][which])
    field = data.draw(st.sampled_from(("prices", "first", "last", "grid_ms", "exponent", "parts")))
    if field in ("exponent", "parts"):
        changed = getattr(old, field) + data.draw(st.integers(-2000, 2000))
    else:
        changed = getattr(old, field).copy()
        at = data.draw(st.integers(0, changed.size - 1))
        value = data.draw(st.one_of(st.integers(-5, 5), st.integers(-(2**62), 2**62)))
        with np.errstate(over="ignore"):
            changed.flat[at] += value
    new = replace(old, **{field: changed})
    row["multipliers"][which] = new.to_dict()
    if data.draw(st.booleans()):
        row["lower"] = row["lower"] * 1.5
    found = verify(parse_certificate(document))
    for bound in found.bounds:
        if bound.proof == "multipliers":
            proofs = [Multipliers.from_dict(item) for item in row["multipliers"]]
            assert Fraction(bound.accepted) <= proven_lower(made.instance, proofs)
            assert bound.accepted <= made.upper
    if row["lower"] > made.checkable.lower:
        assert not found.ok


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 2 is unknown; this migopt reads version 1"),
        ({"format": "migopt-schedule"}, 'must be "migopt-certificate"'),
        ({"upper": "cheap"}, "upper"),
        ({"more": 1}, "more"),
    ],
)
def test_form(document, change, message, tmp_path):
    """A newer version, another format, a wrong type or an unknown key: exit 1 and one line."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps({**document, **change}))
    done = CliRunner().invoke(cli, ["certify", "--verify", str(path)])
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------- command


def test_command_end_to_end(tmp_path):
    """certify writes file and drawing, --json has the keys, --verify reads them back; cut files fail."""
    path, cert, svg = tmp_path / "i.json", tmp_path / "c.json", tmp_path / "c.svg"
    write_instance(_free(3, jobs=3), path)
    run = CliRunner()
    done = run.invoke(
        cli,
        ["certify", str(path), "--time-limit", "2", "-o", str(cert), "--svg", str(svg), "--json"],
    )
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    for key in ("upper", "lower", "gap", "active_gap", "lower_by", "upper_by", "proof"):
        assert key in answer
    assert "split_bound" in done.stderr
    assert svg.read_text().startswith("<svg")
    assert sum(row["upper"] for row in answer["periods"]) == pytest.approx(
        answer["upper"] - float(Fraction(answer["constant"])), rel=1e-9, abs=1e-15
    )
    good = run.invoke(cli, ["certify", str(path), "--verify", str(cert)])
    assert good.exit_code == 0, good.stderr
    assert "claim of HiGHS" in good.stdout
    assert "multipliers evaluated" in good.stdout
    cert.write_text(cert.read_text()[:-500])
    bad = run.invoke(cli, ["certify", "--verify", str(cert)])
    assert bad.exit_code == 1
    assert "is not JSON" in bad.stderr
    assert bad.stderr.count("\n") == 1


def test_unusable_input(tmp_path):
    """No instance, a missing file, a folder that is not there: exit 2 and one line."""
    path = tmp_path / "i.json"
    write_instance(_free(3, jobs=3), path)
    for arguments in (
        [],
        [str(tmp_path / "none.json")],
        ["--verify", str(tmp_path / "none.json")],
        [str(path), "-o", str(tmp_path / "no" / "c.json")],
    ):
        done = CliRunner().invoke(cli, ["certify", *arguments])
        assert done.exit_code == 2
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1


def test_verifies_without_any_engine(made, tmp_path):
    """With HiGHS, OR-Tools and Pyomo hidden, verification gives the same answer."""
    path = tmp_path / "c.json"
    write_certificate(made, path)
    code = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('highspy', 'ortools', 'pyomo'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "from migopt.certificates import Bound, read_certificate, verify\n"
        f"found = verify(read_certificate({str(path)!r}))\n"
        "assert found.ok, found.faults\n"
        "print(repr(found.proven_lower))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == made.checkable.lower


# ---------------------------------------------------------------- the run


def test_every_step_gets_less_than_what_is_left(monkeypatch):
    """Shares are of the time left, the end kept free; a step that took too long shortens those after it."""
    given = {}

    def slow(name):
        def step(board, seconds, budget):
            given[name] = seconds, board.clock.left
            time.sleep(0.1)
            return SolveResult(Outcome.NOTHING, StopReason.TIME_LIMIT)

        return step

    for name in ("split_bound", "interval_milp", "day_plan"):
        monkeypatch.setattr(steps, name, slow(name))
    made = certify(_free(3, jobs=3), time_limit_s=20.0)
    assert list(given) == ["split_bound", "interval_milp", "day_plan"]
    for seconds, left in given.values():
        assert 0 < seconds < left
    assert [stage.name for stage in made.stages][:2] == ["closed_form", "policies"]


def test_a_run_that_its_limit_ended_says_so():
    """45 jobs are not closed in two seconds: the limit ended the run."""
    made = certify(_free(8, jobs=45), time_limit_s=2.0)
    assert made.active_gap > 0
    assert made.stop == "time_limit"


def test_too_little_time_still_gives_a_bound():
    """In a hundredth of a second: the closed form, and the reason why the others did not run."""
    made = certify(_free(3, jobs=3), time_limit_s=0.01)
    assert made.lower is not None
    assert made.proof == "closed_form"
    assert any("too few" in stage.message for stage in made.stages)


def test_what_is_proven_is_not_searched_again(monkeypatch):
    """Once the interval MILP proves its plan, whatever whole milliseconds add, no day plan is made."""

    def proven(board, seconds, budget):
        return SolveResult(Outcome.OPTIMAL, StopReason.FINISHED, board.schedule)

    monkeypatch.setattr(steps, "interval_milp", proven)
    made = certify(_free(3, jobs=3), time_limit_s=6.0)
    assert made.stages[-1].message == "proven optimal before rounding"
    assert made.stop == "finished"


def test_a_crash_of_one_step_loses_nothing(monkeypatch):
    """A solver that raises is a stage with its error; the bounds of the others stand."""

    def broken(board, seconds, budget):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(steps, "interval_milp", broken)
    made = certify(_free(3, jobs=3), time_limit_s=2.0)
    stage = next(stage for stage in made.stages if stage.name == "interval_milp")
    assert stage.outcome == "error"
    assert "ZeroDivisionError: by zero" in stage.message
    assert {bound.by for bound in made.bounds} >= {"closed_form", "split_bound"}


def test_a_bound_is_kept_without_a_schedule():
    """No partition holds both jobs for the whole run and none may change: bounds only, and why."""
    base = _free(3, jobs=2, scope="never")
    key = base.gpus[0].key
    first, second = (
        FrozenMap({key: FrozenMap({profile: 1_000_000})}) for profile in ("7g.40gb", "1g.5gb")
    )
    jobs = tuple(
        replace(job, rates=rates, memory_bytes=0)
        for job, rates in zip(base.jobs, (first, second), strict=True)
    )
    made = certify(base.replace(jobs=jobs), time_limit_s=2.0)
    assert made.upper is None
    assert made.schedule is None
    assert made.lower > 0
    assert "runs every job: job" in made.infeasible
    assert {stage.outcome for stage in made.stages} == {"bound_only", "infeasible_partition"}
    assert made.wall_s < 1.0
    assert _faults(json.loads(json.dumps(certificate_to_dict(made)))) == []


@pytest.mark.parametrize(("scope", "gpus"), [("gpu", 1), ("never", 2)])
def test_policies_that_find_nothing_prove_nothing(scope, gpus):
    """Jobs for two different partitions, more than CP-SAT covers: no schedule found, none ruled out."""
    speeds = ({"7g.40gb": 1_000_000}, {"3g.20gb": 1_000_000})
    jobs = [make_job(i, ms=1000, speed=speeds[i % 2], preemptible=False) for i in range(82)]
    made = certify(make_instance(*jobs, scope=scope, gpus=(A100,) * gpus), time_limit_s=1.0)
    assert made.infeasible == ""


def test_contradictions_are_errors():
    """A schedule dearer than claimed, and a bound above a schedule's cost: both numbers, no certificate."""
    instance = _free(3, jobs=3)
    schedule = parse_policy("edf_fs+static:1").run(instance)
    board = Board(instance, Clock(5.0), None)
    claimed = SolveResult(
        Outcome.FEASIBLE, StopReason.FINISHED, schedule, claimed_upper=float(instance.constant_cost)
    )
    with pytest.raises(CertificateError, match="more than the"):
        board.take("liar", claimed)
    board.take("honest", SolveResult(Outcome.FEASIBLE, StopReason.FINISHED, schedule))
    high = SolveResult(
        Outcome.BOUND_ONLY, StopReason.FINISHED, lower=board.upper * 1.1, proof="engine"
    )
    with pytest.raises(CertificateError, match=r"is above the cost"):
        board.take("liar", high)


@pytest.mark.parametrize("stage", ["interval_milp", "split_bound", "day_plan", "cpsat"])
def test_interrupted_run_gives_its_best(stage):
    """Ctrl-C in the middle of a step: what was found by then, marked as interrupted, and it verifies."""
    if stage == "cpsat":
        instance = small_instance(8, jobs=7, mode="none")
    elif stage == "interval_milp":
        instance = _free(8, jobs=7)
    else:
        instance = _free(8, jobs=45)
    seen = []

    def stop(state):
        if state.stage == stage and not seen:
            seen.append(state)
            threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()

    made = certify(instance, time_limit_s=8.0, progress=stop)
    assert seen
    assert made.stop == "interrupted"
    assert made.upper is not None
    assert made.lower is not None
    assert made.wall_s < 8.0 + 4.0
    assert _faults(json.loads(json.dumps(certificate_to_dict(made)))) == []


def test_interrupted_command_writes_its_certificate(tmp_path):
    """Ctrl-C at the terminal: exit code 0, a certificate that verifies, no traceback."""
    path, cert = tmp_path / "i.json", tmp_path / "c.json"
    write_instance(_free(8, jobs=7), path)
    run = subprocess.Popen(
        [sys.executable, "-m", "migopt", "certify", path, "--time-limit", "8", "-o", cert],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in run.stderr:
        if "interval_milp" in line:
            break
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert "interrupted" in out
    assert "Traceback" not in err
    assert verify(read_certificate(cert)).faults == []
