"""An optional package that is absent gives one line that says what to install."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from migopt.errors import MissingExtraError
from migopt.registry import read_entry, resolve

NEEDY = '''"""Needs what nobody has."""

REQUIRES = ("{package}>=1",)
PARAMETERS = {{}}
CLAIMS = "heuristic"

import {module}


def applies(instance):
    return None


def make():
    return {module}
'''


def entry_file(folder: Path, package: str) -> Path:
    """Write a solver file that needs ``package``."""
    path = folder / "needy.py"
    path.write_text(NEEDY.format(package=package, module=package.replace("-", "_")))
    return path


def test_absent_package_is_named(tmp_path: Path) -> None:
    """Resolving an entry whose package is absent raises MissingExtraError and imports nothing of it."""
    path = entry_file(tmp_path, "no-such-package")
    with pytest.raises(MissingExtraError) as caught:
        resolve(str(path))
    text = str(caught.value)
    assert text == (
        "solver needy needs no-such-package>=1, which is not installed: pip install 'migopt[all]'"
    )


@pytest.mark.parametrize(("package", "extra"), [("torch-x", "rl"), ("gymnasium-x", "rl")])
def test_learning_packages_name_their_extra(tmp_path: Path, package: str, extra: str) -> None:
    """A missing learning library points to the extra ``rl``."""
    with pytest.raises(MissingExtraError, match=rf"pip install 'migopt\[{extra}\]'"):
        resolve(str(entry_file(tmp_path, package)))


def test_listing_needs_no_package(tmp_path: Path) -> None:
    """An entry can be listed, with what it misses, although its package is absent."""
    entry = read_entry(entry_file(tmp_path, "no-such-package"))
    assert entry.error == ""
    assert entry.missing == ("no-such-package>=1",)


def test_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    """``migopt solve`` with such an entry prints one error line and exits with 2."""
    from migopt.cli import cli
    from migopt.io import write_instance
    from migopt.testing.cases import small_instance

    write_instance(small_instance(1, jobs=1), tmp_path / "small.json")
    path = entry_file(tmp_path, "no-such-package")
    done = CliRunner().invoke(cli, ["solve", str(tmp_path / "small.json"), "--solver", str(path)])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: solver needy needs no-such-package>=1")
