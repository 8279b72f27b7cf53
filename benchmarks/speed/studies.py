"""A study of 24,000 runs on all cores, decisions of many environments, and how fast commands start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from _measure import Figure, answer_of, cpu_of_children, cpu_of_command, cpu_seconds

from migopt.io import write_instance
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.schedulers import parse_policy
from migopt.schedulers.batch import Day, run_batch
from migopt.sim import vector
from migopt.sim.stepper import VectorStepper
from migopt.testing.cases import small_instance

RULES = ("edf_fs", "edf_ss", "edf_ss_restricted", "llf")
MIGOPT = [sys.executable, "-m", "migopt"]


def figures() -> Iterator[Figure]:
    """Yield the figures of this file."""
    yield from grid()
    yield many_environments()
    yield from starts()


def grid() -> Iterator[Figure]:
    """500 days x 12 partitions x 4 rules, generating the days included, on all cores."""
    policies = [f"{rule}+static:{number}" for rule in RULES for number in range(1, 13)]
    days = [Day("s0-slack", seed) for seed in range(1, 501)]
    start, used = time.perf_counter(), cpu_of_children()
    result = run_batch(days, policies)
    seconds, used = time.perf_counter() - start, cpu_of_children() - used
    assert result.outcome.count("ok") == len(result.outcome) == 24_000
    day = days[-1].instance()
    expected = measure(day, parse_policy(policies[-1]).run(day, engine="reference")).cost
    assert result.columns["cost"][-1, 0, -1] == expected
    name = "500 days x 12 partitions x 4 rules"
    cores = os.cpu_count() or 1
    yield Figure(f"{name}, CPU time over {cores} cores", used / cores, "s", at_most=20)
    yield Figure(f"{name}, wall time on this machine as busy as it is", seconds, "s")


def many_environments() -> Figure:
    """Random partition decisions at arrivals and completions of 64 days stepped together; one core."""
    days = [generate("s0-slack", seed=seed) for seed in range(1, 65)]
    runs = VectorStepper(days, parse_policy("edf_ss_restricted+static:1").dispatcher().compiled)
    actions = np.random.default_rng(1).integers(1, 13, (1024, len(days)))
    decisions = 0

    def work() -> None:
        nonlocal decisions
        decisions = 0
        runs.reset(3)
        step = 0
        while waiting := len(runs.waiting_for_decision):
            runs.step(actions[step % len(actions)])
            decisions += waiting
            step += 1

    work()
    seconds = cpu_seconds(work, 5)
    assert (runs.seen[:, vector.SEE_FINISHED] == [len(day.jobs) for day in days]).all()
    return Figure("64 days stepped together", decisions / seconds / 1e6, "M decisions/s/core")


def starts() -> Iterator[Figure]:
    """CPU times of fresh processes, least of several."""
    code = "import time; t = time.process_time(); import migopt; print(time.process_time() - t)"
    seconds = min(float(answer_of(code)) for _ in range(15))
    yield Figure("import migopt", 1000 * seconds, "ms", at_most=50)
    shown = subprocess.run([*MIGOPT, "--help"], check=True, capture_output=True, text=True).stdout
    assert "simulate" in shown
    yield Figure("migopt --help", 1000 * cpu_of_command([*MIGOPT, "--help"], 15), "ms", at_most=150)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny.json"
        write_instance(small_instance(1), path)
        for engine in ("auto", "compiled"):
            command = [*MIGOPT, "simulate", str(path), "--engine", engine]
            assert b"feasible" in subprocess.run(command, check=True, capture_output=True).stdout
            seconds = cpu_of_command(command)
            yield Figure(
                f"migopt simulate, second start, engine {engine}", seconds, "s", at_most=1.5
            )


if __name__ == "__main__":
    for figure in figures():
        print(figure.line(), flush=True)
