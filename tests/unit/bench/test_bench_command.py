"""``migopt bench`` and ``migopt report`` as users and scripts run them, real workers included."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from migopt.bench.runner import Session
from migopt.bench.spec import InstanceSpec, RunSpec
from migopt.records import RECORDS_FILE, Status, read_records

SUITE = """
seeds = 2
entries = [{entries}]

[budget]
time_limit_s = 20

[[instances]]
class = "few jobs"
name = "few"
generator = "s0-slack"
parameters = {{ jobs = 5, load = 0.9 }}
"""

#: Says which process it is, starts a child, and sleeps longer than any test.
SLEEPER = '''"""Never answers."""
import subprocess, sys, time
from pathlib import Path

CLAIMS = "heuristic"

def applies(instance):
    return None

class Sleeper:
    def solve(self, instance, budget):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        import os
        note = Path(__file__).with_suffix(".pids")
        note.with_suffix(".partial").write_text(f"{os.getpid()} {child.pid}")
        note.with_suffix(".partial").replace(note)
        print("chatter on stdout", flush=True)
        time.sleep(1000)

def make():
    return Sleeper()
'''

TWO_RULES = '"edf_fs+static:3", "fifo+static:1"'


def write_suite(folder: Path, entries: str) -> Path:
    """Write a suite of two generated instances."""
    path = folder / "mine.toml"
    path.write_text(SUITE.format(entries=entries))
    return path


def migopt(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "migopt", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
    )


def start_bench(folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a suite whose last entry sleeps; return once it sleeps, with its process ids."""
    (folder / "sleeper.py").write_text(SLEEPER)
    suite = write_suite(folder, f'{TWO_RULES}, "./sleeper.py"')
    command = [sys.executable, "-m", "migopt", "bench", str(suite), "-o", "out", "--jobs", "1"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    note = folder / "sleeper.pids"
    deadline = time.monotonic() + 40
    while not note.exists():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process, [int(text) for text in note.read_text().split()]


def wait_until_gone(pids: list[int]) -> None:
    """Wait until no process of these ids runs (a zombie does not run)."""
    deadline = time.monotonic() + 10
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Return whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def resume(folder: Path) -> dict[str, Any]:
    """Finish the rules of an interrupted suite and return the JSON document."""
    done = migopt("bench", "mine.toml", "-o", "out", "--filter", "+", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_suite_from_start_to_report(tmp_path: Path) -> None:
    """Records, schedules and report are written; the second call repeats nothing; JSON agrees."""
    suite = write_suite(tmp_path, TWO_RULES)
    first = migopt("bench", suite, "-o", "out", "--jobs", "2", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    for text in ("few jobs: GPUs 1 x A100-40GB", "active gap", "lower bound", "out/report.html"):
        assert text in first.stdout
    assert "[4/4]" in first.stderr
    records = read_records(tmp_path / "out" / RECORDS_FILE).records
    assert len(records) == 4
    for record in records.values():
        assert (tmp_path / "out" / record.schedule_file).is_file()
        assert record.environment["command"].startswith("migopt bench ")
        assert record.environment["machine"]["cores"] >= 1
        again = migopt(
            "check", f"out/{record.instance_file}", f"out/{record.schedule_file}", cwd=tmp_path
        )
        assert again.returncode == 0, again.stderr

    second = migopt("bench", suite, "-o", "out", "--json", cwd=tmp_path)
    assert "0 runs on" in second.stderr
    assert "4 done before" in second.stderr
    rows = json.loads(second.stdout)["rows"]
    report = migopt("report", "out", "--json", cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    assert json.loads(report.stdout)["rows"] == rows
    by_entry = {row["entry"]: row for row in rows}
    costs = [r.upper or 0.0 for r in records.values() if r.entry == "fifo+static:1"]
    assert by_entry["fifo+static:1"]["cost"] == pytest.approx(sum(costs) / 2)
    assert by_entry["fifo+static:1"]["class"] == "few jobs"


def test_ctrl_c_leaves_valid_files_and_no_process(tmp_path: Path) -> None:
    """An interrupt ends with 130, whole records, dead workers, and can be resumed."""
    process, pids = start_bench(tmp_path)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "goes on from here" in errors
    assert "Traceback" not in errors
    wait_until_gone(pids)
    log = read_records(tmp_path / "out" / RECORDS_FILE)
    assert log.truncated == ""
    assert {record.entry for record in log.records.values()} == {"edf_fs+static:3", "fifo+static:1"}
    assert resume(tmp_path)["runs"] == 4


def test_a_killed_runner_leaves_no_worker_and_is_resumed(tmp_path: Path) -> None:
    """After SIGKILL the worker ends by itself, and the done runs are not repeated."""
    process, pids = start_bench(tmp_path)
    process.kill()
    process.communicate(timeout=20)
    wait_until_gone(pids)
    before = read_records(tmp_path / "out" / RECORDS_FILE).records
    assert len(before) == 2
    assert resume(tmp_path)["runs"] == 4
    after = read_records(tmp_path / "out" / RECORDS_FILE).records
    assert all(after[key] == record for key, record in before.items())


def test_a_hanging_solver_is_killed_with_its_children(tmp_path: Path) -> None:
    """At the hard limit a real worker and what its solver started are gone; the record says so."""
    solver = tmp_path / "sleeper.py"
    solver.write_text(SLEEPER)
    # A busy machine may not even reach the solver within the short limit; then the long one counts.
    for grace in (4.0, 40.0):
        run = RunSpec(
            key="few/1/sleeper/0.1s",
            suite="test",
            instance=InstanceSpec(
                "few", "c", "generator", "s0-slack", "", {"jobs": 5, "load": 0.9}
            ),
            seed=1,
            entry="sleeper",
            spec=str(solver),
            time_limit_s=0.1,
            grace_s=grace,
        )
        session = Session(tmp_path / "out")
        (record,) = session.run([run], 1, lambda record: None)
        session.close()
        assert record.status is Status.FAILED
        assert record.reason.startswith(f"killed at the hard limit of {grace + 0.15:g} s")
        if solver.with_suffix(".pids").exists():
            break
    wait_until_gone([int(text) for text in solver.with_suffix(".pids").read_text().split()])


CRASHER = (
    SLEEPER.partition("class Sleeper")[0]
    + """
class Crasher:
    def solve(self, instance, budget):
        import os
        print("chatter on stdout", flush=True)
        os.abort()

def make():
    return Crasher()
"""
)


def test_a_failed_run_gives_exit_code_1(tmp_path: Path) -> None:
    """A crash costs its own run only, and is shown with the reason in every output."""
    (tmp_path / "crasher.py").write_text(CRASHER)
    suite = write_suite(tmp_path, f'"./crasher.py", {TWO_RULES}')
    done = migopt("bench", suite, "-o", "out", "--seeds", "1", cwd=tmp_path)
    assert done.returncode == 1
    assert "error: 1 of 3 runs failed" in done.stderr
    assert "SIGABRT; it printed" not in done.stderr
    for text in ("crasher", "signal 6, SIGABRT", "chatter on stdout"):
        assert text in done.stdout
    assert "SIGABRT" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bench", "quik", "-o", "out"), "error: unknown suite 'quik'; nearest: quick"),
        (("bench", "./absent.toml", "-o", "out"), "error: ./absent.toml: no such suite file"),
        (("bench", "mine.toml", "-o", "mine.toml"), "error: mine.toml: cannot write there"),
        (("bench", "mine.toml", "-o", "out", "--filter", "x/y"), "no run key matches 'x/y'"),
        (("report", "."), "error: .: holds no records.jsonl"),
        (("bench", "mine.toml", "-o", "out", "--jobs", "0"), "Invalid value for '--jobs'"),
    ],
)
def test_unusable_input_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    """Nothing ends in a traceback; the nearest name is offered."""
    write_suite(tmp_path, TWO_RULES)
    done = migopt(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_report_draws_the_schedules_asked_for(tmp_path: Path) -> None:
    """``--gantt`` takes run keys; an unknown one is an error with the nearest."""
    suite = write_suite(tmp_path, TWO_RULES)
    assert migopt("bench", suite, "-o", "out", "--no-report", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "out" / "report.html").exists()
    key = "few/2/fifo+static:1/20s"
    done = migopt("report", "out", "-o", "pages", "--gantt", key, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "pages" / "report.html").read_text()
    assert page.count("<h3>Schedule of ") == 1
    assert f"<h3>Schedule of {key}" in page
    wrong = migopt("report", "out", "--gantt", "few/2/fifo+static:1/2s", cwd=tmp_path)
    assert wrong.returncode == 2
    assert key in wrong.stderr


SPLIT = """
title = "Days that explain themselves"
seeds = 1
keep_schedules = "none"
entries = ["split_bound", "day_plan"]

[budget]
time_limit_s = 1

[[instances]]
class = "slack"
generator = "s0-slack"
parameters = { jobs = 12, load = 0.5 }
"""


def test_gap_by_period_from_records_alone(tmp_path: Path) -> None:
    """A bound's shares and a plan's periods go through worker and records into the report.

    No schedule is kept; costs and shares in the records are those of both runs, to nine digits.
    """
    pytest.importorskip("highspy")
    suite, folder = tmp_path / "split.toml", tmp_path / "out"
    suite.write_text(SPLIT)
    command = [sys.executable, "-m", "migopt", "bench", str(suite), "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    bound, plan = (
        next(row for row in lines if row["entry"] == name) for name in ("split_bound", "day_plan")
    )
    constant = float(Fraction(bound["constant_cost"]))
    assert len(bound["shares"]) == 12
    assert sum(bound["shares"]) == pytest.approx(bound["lower"] - constant, rel=1e-7)
    assert plan["schedule_file"] == ""
    assert sum(row[2] for row in plan["periods"]) == 12
    costs = sum(row[3] + row[4] for row in plan["periods"])
    assert costs == pytest.approx(plan["upper"] - constant, rel=1e-7)
    assert (
        "Gap by busy period: day_plan against split_bound" in (folder / "report.html").read_text()
    )
