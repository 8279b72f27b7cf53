"""What is shipped, pinned and set up: the wheel, the constraints file, the Makefile's helpers."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from conftest import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
#: Folders of the repository that ship as data, and where.
BUNDLED = {"solvers": "solvers", "benchmarks/suites": "suites", "instances": "instances"}
JUNK = re.compile(r"__pycache__|\.pyc$|\.egg-info|/\.")


def tracked(folder: str) -> set[str]:
    """Return the files of a folder that git tracks; the whole folder where there is no git."""
    done = subprocess.run(
        ["git", "ls-files", "--", folder], cwd=REPOSITORY, capture_output=True, text=True
    )
    if done.returncode == 0 and done.stdout:
        return {name for name in done.stdout.splitlines() if (REPOSITORY / name).is_file()}
    files = (path for path in (REPOSITORY / folder).rglob("*") if path.is_file())
    names = {path.relative_to(REPOSITORY).as_posix() for path in files}
    return {name for name in names if not JUNK.search(f"/{name}")}


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in a wheel built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_holds_the_package(wheel_names: set[str]) -> None:
    """Every tracked file of the package, data files too, is in the wheel, and nothing foreign is."""
    expected = {name.removeprefix("src/") for name in tracked("src/migopt")}
    assert expected - wheel_names == set()
    assert "migopt/py.typed" in wheel_names
    assert [name for name in wheel_names if name.endswith(".toml") and "/gpus/" in name]
    assert [name for name in wheel_names if not name.startswith(("migopt/", "migopt-"))] == []
    assert [name for name in wheel_names if JUNK.search(f"/{name}")] == []


@pytest.mark.parametrize("folder", BUNDLED)
def test_wheel_holds_the_bundled_folders(folder: str, wheel_names: set[str]) -> None:
    """Solvers, suites and instances ship as data under the names that the registry looks for."""
    target = f"migopt/_bundled/{BUNDLED[folder]}/"
    expected = {name.replace(f"{folder}/", target, 1) for name in tracked(folder)}
    assert expected
    assert expected - wheel_names == set()


def test_registry_finds_the_bundled_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout the folders of the repository are used, in a wheel those beside the package."""
    from migopt import registry

    for folder, name in BUNDLED.items():
        assert registry.bundled_folder(name) == REPOSITORY / folder
    installed = tmp_path / "site-packages" / "migopt"
    (installed / "_bundled" / "suites").mkdir(parents=True)
    monkeypatch.setattr(registry, "__file__", str(installed / "registry.py"))
    assert registry.bundled_folder("suites") == installed / "_bundled" / "suites"


def distribution(requirement: str) -> str:
    """Return the normalised name in a requirement."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def test_constraints_pin_everything_exactly() -> None:
    """Each dependency, of every extra and of the build, has one exact version in the constraints."""
    lines = (REPOSITORY / "constraints-dev.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[^=\s;]+", pin)] == []
    pinned = {distribution(pin) for pin in pins}
    assert len(pinned) == len(pins)
    project = PROJECT["project"]
    wanted = [*project["dependencies"], *PROJECT["build-system"]["requires"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    assert {distribution(item) for item in wanted} - pinned == {"migopt"}


def test_torch_is_needed_by_no_core_part() -> None:
    """torch comes with the extras rl and all only."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    holds_torch = {
        name for name, items in extras.items() if "torch" in {distribution(i) for i in items}
    }
    assert "torch" not in {distribution(item) for item in project["dependencies"]}
    assert holds_torch == {"rl"}
    assert extras["all"] == ["migopt[dev,rl]"]
    assert not [item for item in extras["dev"] if "rl" in item]


def find_python(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script that the Makefile finds its interpreter with."""
    return subprocess.run(
        ["/bin/bash", str(REPOSITORY / "tools" / "find-python.sh"), *arguments],
        capture_output=True,
        text=True,
        env=None if path is None else {"PATH": str(path)},
    )


def test_python_is_found_or_refused_in_one_line(tmp_path: Path) -> None:
    """A name that cannot run is passed over, a working one is taken, none at all is one clear line."""
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    refused = find_python(path=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: no Python >= 3.11")
    assert refused.stderr.count("\n") == 1
    (tmp_path / "python3.12").symlink_to(sys.executable)
    assert find_python(path=tmp_path).stdout == "python3.12\n"
    named = find_python(str(broken))
    assert named.returncode == 1
    assert named.stderr.count("\n") == 1


def test_ci_runs_what_a_contributor_runs() -> None:
    """``.ci/run`` is executable and calls ``make test``."""
    script = REPOSITORY / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "make test" in script.read_text(encoding="utf-8")


@pytest.mark.slow
def test_wheel_works_outside_the_repository() -> None:
    """The wheel, installed into an empty environment, lists solvers and runs the quick suite."""
    done = subprocess.run(
        ["make", "wheel-test", f"VENV={Path(sys.prefix)}"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "works outside the repository" in done.stdout
