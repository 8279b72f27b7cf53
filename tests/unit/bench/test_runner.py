"""The runner: limits, crashes, resuming, and a records file that is whole whatever happens."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from migopt.bench.runner import Session, WorkerStartError
from migopt.bench.spec import InstanceSpec, RunSpec, run_key
from migopt.errors import InputError
from migopt.records import RECORDS_FILE, Record, Status, read_records

WORKER = [sys.executable, str(Path(__file__).with_name("scripted_worker.py"))]


def run_of(spec: str, seed: int = 1, **changes: object) -> RunSpec:
    """Return a run of a scripted entry with a short limit."""
    fields: dict[str, object] = {
        "key": run_key("made", seed, spec, "0.1s"),
        "suite": "test",
        "instance": InstanceSpec("made", "class", "generator", "g"),
        "seed": seed,
        "entry": spec,
        "spec": spec,
        "time_limit_s": 0.1,
        "grace_s": 0.4,
    }
    return RunSpec(**(fields | changes))  # type: ignore[arg-type]


def do(folder: Path, runs: list[RunSpec], jobs: int = 1) -> dict[str, Record]:
    """Run what is to do and return the records of the file."""
    session = Session(folder, {"command": "test"}, WORKER)
    try:
        session.run(session.plan(runs).todo, jobs, lambda record: None)
    finally:
        session.close()
    return read_records(folder / RECORDS_FILE).records


def test_a_record_per_run(tmp_path: Path) -> None:
    """Each run ends as one line with its key, status and what was asked for."""
    records = do(tmp_path, [run_of("ok", seed) for seed in (1, 2, 3)], jobs=2)
    assert set(records) == {f"made/{seed}/ok/0.1s" for seed in (1, 2, 3)}
    record = records["made/2/ok/0.1s"]
    assert (record.status, record.upper, record.seed) == (Status.OK, 2.0, 2)
    assert record.environment == {"command": "test"}
    assert record.parallel_runs == 2


def test_a_hanging_run_is_killed_at_its_hard_limit(tmp_path: Path) -> None:
    """A run that ignores its budget is killed, recorded as failed, and the next one is done."""
    start = time.monotonic()
    records = do(tmp_path, [run_of("hang"), run_of("ok")])
    assert time.monotonic() - start < 10
    hung = records["made/1/hang/0.1s"]
    assert hung.status is Status.FAILED
    assert hung.reason == "killed at the hard limit of 0.55 s (budget 0.1 s)"
    assert hung.wall_s is not None
    assert 0.55 <= hung.wall_s < 5
    assert records["made/1/ok/0.1s"].status is Status.OK


def test_a_dying_worker_costs_one_run(tmp_path: Path) -> None:
    """Death by signal or exit is recorded with its cause and last words; other runs go on."""
    records = do(tmp_path, [run_of(spec) for spec in ("abort", "exit:3", "ok", "fail", "skip")])
    by_entry = {record.entry: record for record in records.values()}
    assert "signal 6, SIGABRT" in by_entry["abort"].reason
    assert "about to abort" in by_entry["abort"].reason
    assert "exit code 3" in by_entry["exit:3"].reason
    assert by_entry["ok"].status is Status.OK
    assert by_entry["fail"].status is Status.FAILED
    assert by_entry["skip"].status is Status.SKIPPED
    assert by_entry["skip"].reason == "not for this instance"


def test_a_child_that_keeps_the_pipe_open_does_not_stall(tmp_path: Path) -> None:
    """A worker that dies and leaves a child is noticed at once, and the child is killed."""
    limit = {"time_limit_s": 60.0}
    start = time.monotonic()
    records = do(tmp_path, [run_of("spawn", **limit), run_of("ok", **limit)])
    assert time.monotonic() - start < 30
    assert "exit code 4" in records["made/1/spawn/0.1s"].reason
    assert records["made/1/ok/0.1s"].status is Status.OK


def test_resume_skips_good_runs_and_repeats_the_rest(tmp_path: Path) -> None:
    """Only runs without a good record are done again; the later record of a key counts."""
    runs = [run_of("ok"), run_of("fail"), run_of("skip")]
    do(tmp_path, runs)
    session = Session(tmp_path, {}, WORKER)
    plan = session.plan([*runs, run_of("ok", 2)])
    session.close()
    assert [run.entry for run in plan.todo] == ["fail", "skip", "ok"]
    assert [record.entry for record in plan.done] == ["ok"]
    assert plan.again == 2
    do(tmp_path, runs)
    lines = (tmp_path / RECORDS_FILE).read_text().splitlines()
    assert [json.loads(line)["entry"] for line in lines] == ["ok", "fail", "skip", "fail", "skip"]
    assert len(read_records(tmp_path / RECORDS_FILE).records) == 3


def test_an_unfinished_last_line_is_cut_off_and_reported(tmp_path: Path) -> None:
    """What a killed run left of a line neither stops a resume nor glues to the next record."""
    do(tmp_path, [run_of("ok")])
    with (tmp_path / RECORDS_FILE).open("ab") as stream:
        stream.write(b'{"key":"made/2/ok/0.1s","sta')
    session = Session(tmp_path, {}, WORKER)
    plan = session.plan([run_of("ok"), run_of("ok", 2)])
    session.close()
    assert "unfinished line" in plan.notice
    assert [run.seed for run in plan.todo] == [2]
    records = do(tmp_path, [run_of("ok"), run_of("ok", 2)])
    assert [record.status for record in records.values()] == [Status.OK, Status.OK]


def test_a_broken_line_inside_the_file_is_an_error(tmp_path: Path) -> None:
    """A complete line that is no record is not passed over: the message names the line."""
    do(tmp_path, [run_of("ok")])
    with (tmp_path / RECORDS_FILE).open("ab") as stream:
        stream.write(b'{"key": 3}\n')
    session = Session(tmp_path, {}, WORKER)
    with pytest.raises(InputError, match="line 2"):
        session.plan([run_of("ok")])
    session.close()


def test_records_of_another_definition_are_refused(tmp_path: Path) -> None:
    """The same key with another generator parameter is not taken for the same run."""
    do(tmp_path, [run_of("ok")])
    other = InstanceSpec("made", "class", "generator", "g", parameters={"load": 0.5})
    session = Session(tmp_path, {}, WORKER)
    with pytest.raises(InputError, match="another definition"):
        session.plan([run_of("ok", instance=other)])
    session.close()


def test_two_runners_do_not_share_a_folder(tmp_path: Path) -> None:
    """A second runner on the same folder is refused while the first one is open."""
    first = Session(tmp_path, {}, WORKER)
    with pytest.raises(InputError, match="another benchmark is writing here"):
        Session(tmp_path, {}, WORKER)
    first.close()
    Session(tmp_path, {}, WORKER).close()


def test_workers_that_cannot_start_stop_the_suite(tmp_path: Path) -> None:
    """A broken installation is one error with the worker's words, not a failure per run."""
    session = Session(tmp_path, {}, [*WORKER, "--broken"])
    with pytest.raises(WorkerStartError, match="no module named anything"):
        session.run([run_of("ok")], 1, lambda record: None)
    session.close()
    assert (tmp_path / RECORDS_FILE).read_bytes() == b""


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    """An interrupt in the middle leaves whole lines, and the folder can be resumed."""

    def stop(record: Record) -> None:
        raise KeyboardInterrupt

    runs = [run_of("ok", seed) for seed in range(1, 5)]
    session = Session(tmp_path, {}, WORKER)
    with pytest.raises(KeyboardInterrupt):
        session.run(runs, 2, stop)
    session.close()
    log = read_records(tmp_path / RECORDS_FILE)
    assert len(log.records) == 1
    assert log.truncated == ""
    assert len(do(tmp_path, runs)) == 4
