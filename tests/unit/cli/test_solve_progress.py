"""Live bounds of solvers: through the API, and on standard error."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from migopt.api import solve
from migopt.cli import cli
from migopt.io import write_instance
from migopt.results import Budget, Live
from migopt.testing.cases import small_instance


@pytest.mark.parametrize(("spec", "note"), [("interval_milp", "grid points"), ("cpsat", "class")])
def test_solvers_report(spec, note):
    """Uppers never rise, lowers never fall, no lower is above an upper, and the note tells grid or class."""
    seen: list[Live] = []
    instance = small_instance(5, jobs=4)
    answer = solve(instance, spec, budget=Budget(5.0), progress=seen.append)
    assert seen
    assert note in seen[-1].note
    uppers = [state.upper for state in seen if state.upper is not None]
    lowers = [state.lower for state in seen if state.lower is not None]
    assert uppers == sorted(uppers, reverse=True)
    assert lowers == sorted(lowers)
    assert lowers[-1] <= uppers[-1] * (1 + 1e-9)
    assert answer.claim_error == ""


def test_progress_goes_to_standard_error(tmp_path):
    """With --progress a line with grid size and gap; without it none; standard output is the same kind of answer."""
    path = tmp_path / "i.json"
    write_instance(small_instance(5, jobs=3), path)
    command = ["solve", str(path), "--solver", "interval_milp", "--time-limit", "3", "--json"]
    told = CliRunner().invoke(cli, [*command, "--progress"])
    assert told.exit_code == 0
    assert "grid points" in told.stderr
    assert "active gap" in told.stderr
    assert CliRunner().invoke(cli, command).stderr == ""
