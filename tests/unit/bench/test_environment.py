"""What records say about where they were made."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from migopt.bench.environment import commit, describe_environment


def git(folder: Path, *arguments: str) -> str:
    """Run git with an identity of its own."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_environment_is_json_and_complete() -> None:
    """Command, versions, machine size and commit are there, quoted as a shell would need it."""
    found = json.loads(json.dumps(describe_environment(["migopt", "bench", "my suite"])))
    assert found["command"] == "migopt bench 'my suite'"
    assert {"python", "migopt", "ortools"} <= set(found["versions"])
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["memory_gib"] > 0
    assert isinstance(found["commit"], str)


def test_commit_of_a_checkout(tmp_path: Path) -> None:
    """A tracked file gives its commit, marked when anything tracked has changed since."""
    file = tmp_path / "module.py"
    file.write_text("a = 1\n")
    git(tmp_path, "init", "-q")
    assert commit(file) == ""
    git(tmp_path, "add", "module.py")
    git(tmp_path, "commit", "-q", "-m", "first")
    head = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert commit(file) == head
    file.write_text("a = 2\n")
    assert commit(file) == f"{head}+changes"


def test_no_commit_for_an_installed_package(tmp_path: Path) -> None:
    """A package inside somebody else's repository, or in none, has no commit of its own."""
    other = tmp_path / "module.py"
    other.write_text("")
    assert commit(other) == ""
    git(tmp_path, "init", "-q")
    (tmp_path / "theirs.txt").write_text("x")
    git(tmp_path, "add", "theirs.txt")
    git(tmp_path, "commit", "-q", "-m", "theirs")
    assert commit(other) == ""
