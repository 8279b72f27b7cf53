"""compiled: code kept between runs is never older than its sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY

CALLEE = """from migopt.compiled import compiled


@compiled
def answer(x):
    return x + {}
"""
CALLER = """from migopt.compiled import compiled
from migopt.sim.rules.callee import answer


@compiled
def ask(x):
    return 10 * answer(x)
"""
ASK = "from migopt.sim.rules.caller import ask; print(ask(1), sum(ask.stats.cache_hits.values()))"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package that may be edited."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "src" / "migopt", tmp_path / "migopt", ignore=ignore)
    return tmp_path


def run(copy: Path, code: str) -> str:
    """Run code on the copy, with a cache of its own."""
    environment = os.environ | {"PYTHONPATH": str(copy), "MIGOPT_CACHE_DIR": str(copy / "cache")}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_edit_of_a_called_file_is_seen(copy: Path) -> None:
    """A compiled function that calls another file's gives the new answer after an edit there, the old from cache."""
    rules = copy / "migopt" / "sim" / "rules"
    (rules / "caller.py").write_text(CALLER)
    (rules / "callee.py").write_text(CALLEE.format(1))
    assert run(copy, ASK) == "20 0"
    assert run(copy, ASK) == "20 1"
    stamp = (rules / "callee.py").stat().st_mtime
    (rules / "callee.py").write_text(CALLEE.format(2))
    os.utime(rules / "callee.py", (stamp, stamp))
    assert run(copy, ASK) == "30 0"


@pytest.mark.slow
def test_edit_of_a_rule_is_seen_by_the_kernel(copy: Path) -> None:
    """A rule edited from the fastest to the slowest slice changes the simulated schedule at the next start."""
    code = (
        "from migopt.testing.cases import small_instance\n"
        "from migopt.schedulers import parse_policy\n"
        "policy = parse_policy('fifo+static:2')\n"
        "print(policy.run(small_instance(1, jobs=1), engine='compiled').segments)"
    )
    before = run(copy, code)
    rule = copy / "migopt" / "sim" / "rules" / "choose.py"
    text = rule.read_text()
    edited = text.replace("best < 0 or ms <= best_ms", "best < 0 or ms >= best_ms")
    edited = edited.replace("best < 0 or ms < best_ms or", "best < 0 or ms > best_ms or")
    assert edited != text
    rule.write_text(edited)
    after = run(copy, code)
    assert "4g.20gb" in before
    assert "3g.20gb" in after


def test_cache_folder_that_cannot_be_written_is_no_error(copy: Path) -> None:
    """Without a writable home compiled code goes to the folder for temporary files."""
    (copy / "file").write_text("")
    code = "from migopt.compiled import cache_folder; print(cache_folder('sim'))"
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "MIGOPT_CACHE_DIR": str(copy / "file" / "x"),
    }
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert "migopt-" in shown
