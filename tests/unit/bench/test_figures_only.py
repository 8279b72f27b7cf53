"""Suites that check the schedules of the first seed only: the same figures, no schedule."""

from __future__ import annotations

from pathlib import Path

from migopt.bench.execute import InstanceCache, execute
from migopt.bench.expand import load_suite
from migopt.records import Status

SUITE = """
seeds = 2
check_schedules = "first_seed"
entries = ["edf_ss+static:3", "edf_ss+look_ahead", "edf_fs+no_mig", "closed_form"]
[budget]
time_limit_s = 5
[[instances]]
class = "few"
generator = "s0-slack"
parameters = { jobs = 30, load = 0.6 }
"""


def test_figures_are_those_of_the_checked_schedule(tmp_path: Path) -> None:
    """With and without a schedule a run has the same figures, repartition times among them."""
    path = tmp_path / "few.toml"
    path.write_text(SUITE, encoding="utf-8")
    runs = load_suite(path).runs
    assert [run.figures_only for run in runs] == [False] * 4 + [True] * 3 + [False]
    short = [run for run in runs if run.figures_only]
    path.write_text(SUITE.replace('"first_seed"', '"all"'), encoding="utf-8")
    full = [run for run in load_suite(path).runs if run.seed == 2]
    for quick, whole in zip(short, full, strict=False):
        got, wanted = (execute(r, tmp_path, InstanceCache()) for r in (quick, whole))
        assert got["status"] is wanted["status"] is Status.OK
        assert got["upper"] == wanted["upper"]
        assert set(got["metrics"]) == set(wanted["metrics"])
        for name, value in wanted["metrics"].items():
            close = isinstance(value, float) and abs(value - got["metrics"][name]) < 1e-9
            assert close or value == got["metrics"][name], name
        assert "schedule_file" not in got


def test_a_run_that_cannot_be_is_skipped(tmp_path: Path) -> None:
    """A rule that the instance does not allow is skipped with its reason, also without a schedule."""
    path = tmp_path / "few.toml"
    path.write_text(SUITE.replace("load = 0.6", "load = 0.6, mig_off = false"), encoding="utf-8")
    run = next(r for r in load_suite(path).runs if r.seed == 2 and "no_mig" in r.entry)
    fields = execute(run, tmp_path, InstanceCache())
    assert fields["status"] is Status.SKIPPED
    assert "MIG off" in fields["reason"]
