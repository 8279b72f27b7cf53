"""Batches: many days, seeds and policies from one call."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from factories import make_instance, make_job
from migopt.errors import (
    InfeasiblePartitionError,
    InputError,
    MissingExtraError,
    PolicyError,
    UnknownNameError,
)
from migopt.metrics import measure
from migopt.schedulers import parse_policy
from migopt.schedulers.batch import FIGURES, Day, run_batch
from migopt.testing.cases import small_instance

POLICIES = (
    "edf_fs+static:3",
    "random_slice+static:7",
    "sjf+timetable:0:05=2,0:10=7",
    "fifo+no_mig",
)


def test_rows_are_what_single_runs_give() -> None:
    """Every figure of every run equals measuring the reference's schedule; what cannot run says why."""
    days = [small_instance(seed, jobs=15, gpus=3, mig_off=seed == 2) for seed in (1, 2)]
    result = run_batch(days, POLICIES, seeds=(0, 7), workers=1)
    assert result.columns["cost"].shape == (2, 2, 4)
    records = list(result.records())
    assert len(records) == 16
    for number, record in enumerate(records):
        day = days[number // 8]
        policy = parse_policy(record["policy"])
        if record["outcome"] != "ok":
            assert (record["policy"], record["day"]) == ("fifo+no_mig", days[0].name)
            assert record["cost"] is None
            continue
        expected = measure(day, policy.run(day, seed=record["seed"], engine="reference"))
        assert {name: record[name] for name in FIGURES} == {
            name: getattr(expected, name) for name in FIGURES
        }
    drawn = [
        r["cost"] for r in records if r["policy"].startswith("random") and r["day"] == days[0].name
    ]
    assert len(set(drawn)) == 2


def test_two_processes_give_the_same_arrays_and_report_progress() -> None:
    """Generated days in two workers: same arrays as in one, progress ends at the number of runs."""
    days = [Day("s0-slack", seed, {"jobs": 20}) for seed in range(5)]
    seen: list[tuple[int, int]] = []
    two = run_batch(days, POLICIES[:2], workers=2, progress=lambda *at: seen.append(at))
    one = run_batch(days, POLICIES[:2], workers=1)
    for name in FIGURES:
        assert np.array_equal(two.columns[name], one.columns[name])
    assert seen[-1] == (10, 10)
    assert seen == sorted(seen)


def test_infeasible_partitions_are_outcomes() -> None:
    """A job that fits on no slice is an outcome of that run, and the means leave it out."""
    job = make_job(0, speed={"7g.40gb": 1_000_000})
    result = run_batch([make_instance(job)], ["fifo+static:1", "fifo+static:2"], workers=1)
    assert result.outcome == ["ok", "infeasible_partition"]
    means = result.means()
    assert means[0]["runs"] == 1
    assert means[1] == {
        "policy": "fifo+static:2",
        "runs": 0,
        "mean_cost": None,
        "mean_tardiness_min": None,
        "mean_energy_wmin": None,
    }


def test_bad_arguments_are_refused_before_anything_runs() -> None:
    """No policy, no seed, an unknown rule: one clear error each."""
    with pytest.raises(InputError, match="at least one policy"):
        run_batch([], [])
    with pytest.raises(UnknownNameError, match="edf_fsx"):
        run_batch([Day("s0-slack", 1)], ["edf_fsx+static:1"])
    days = [small_instance(1), Day("s0-slak", 1)]
    with pytest.raises(UnknownNameError, match="nearest: s0-slack"):
        run_batch(days, ["fifo+static:1"], progress=lambda *_: pytest.fail("a run was made"))
    with pytest.raises(UnknownNameError, match="unknown parameter of s0-slack 'nope'"):
        run_batch([Day("s0-slack", 1, {"nope": 1})], ["fifo+static:1"])


def test_runs_of_one_day_are_shared_among_workers() -> None:
    """One day with several run seeds gives both workers pieces, and the same arrays as one worker."""
    day = [small_instance(1, jobs=12)]
    seen: list[tuple[int, int]] = []
    policies = ("random_slice+static:7", "fifo+static:3", "edf_fs+no_mig")
    two = run_batch(day, policies, seeds=(0, 1, 2), workers=2, progress=lambda *at: seen.append(at))
    one = run_batch(day, policies, seeds=(0, 1, 2), workers=1)
    assert two.outcome == one.outcome
    for name in FIGURES:
        assert np.array_equal(two.columns[name], one.columns[name], equal_nan=True)
    # Two workers, three pieces each: nine runs come in six pieces.
    assert len(seen) == 6
    assert seen[-1] == (9, 9)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_rule_that_fails_ends_the_batch_in_one_line(tmp_path: Path, workers: int) -> None:
    """The error of a rule file comes back from a worker as one that names day, policy, error and line."""
    file = tmp_path / "raises.py"
    file.write_text(
        "class Rule:\n    def dispatch(self, state):\n        return 1 / 0\n\n\n"
        "def make(argument=''):\n    return Rule()\n"
    )
    days = [small_instance(seed, jobs=5) for seed in (1, 2)]
    with pytest.raises(PolicyError, match=r"raises.py\+static:3 failed: ZeroDivisionError.*line 3"):
        run_batch(days, [f"{file}+static:3"], workers=workers)


def test_errors_survive_the_way_between_processes() -> None:
    """Every deliberate error comes out of a pickle with its text and its fields."""
    errors = [
        UnknownNameError("rule", "fofi", ["fifo"], where="x"),
        InputError("is wrong", where="a", source="b"),
        InfeasiblePartitionError("job 3 waits", 3),
        MissingExtraError("torch", "rl", "training"),
    ]
    for error in errors:
        back = pickle.loads(pickle.dumps(error))
        assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))


def test_file_that_cannot_be_written_is_refused_before_the_runs(tmp_path: Path) -> None:
    """A folder that does not exist is exit code 2 and one line."""
    from migopt.cli import cli

    line = f"batch s0-slack --days 1 -p fifo+static:2 -o {tmp_path / 'none' / 'x.jsonl'}"
    done = CliRunner().invoke(cli, line.split())
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_interrupt_ends_a_batch_and_its_workers() -> None:
    """Ctrl-C, which reaches parent and workers alike, ends all of them soon, with exit code 130."""
    line = "-m migopt batch s0-slack --days 100000 --workers 2 -p fifo+static:2 --set jobs=5"
    group = subprocess.Popen(
        [sys.executable, *line.split()], stderr=subprocess.PIPE, start_new_session=True
    )
    time.sleep(2.5)
    os.killpg(group.pid, signal.SIGINT)
    try:
        # The pipe is held by the workers, too: its end means that they have ended.
        _, shown = group.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        os.killpg(group.pid, signal.SIGKILL)
        raise
    assert group.returncode == 130
    assert b"interrupted" in shown


def test_command_prints_means_and_writes_records(tmp_path: Path) -> None:
    """``migopt batch`` shows a row per policy and stores a record per run."""
    from migopt.cli import cli

    file = tmp_path / "runs.jsonl"
    line = f"batch s0-slack --days 3 --set jobs=10 -p fifo+static:2 -p sjf+static:3 --workers 1 -o {file}"
    done = CliRunner().invoke(cli, line.split())
    assert done.exit_code == 0, done.output
    assert [row.split()[0] for row in done.stdout.splitlines()[1:]] == [
        "fifo+static:2",
        "sjf+static:3",
    ]
    records = [json.loads(row) for row in file.read_text().splitlines()]
    assert [r["day"] for r in records] == [f"s0-slack:{s}" for s in (1, 1, 2, 2, 3, 3)]
    shown = json.loads(CliRunner().invoke(cli, [*line.split(), "--json"]).stdout)
    mean = sum(r["cost"] for r in records if r["policy"] == "fifo+static:2") / 3
    assert shown["policies"][0]["mean_cost"] == pytest.approx(mean)
