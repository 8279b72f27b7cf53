"""Budgets refuse limits that mean nothing."""

from __future__ import annotations

import math

import pytest
from click.testing import CliRunner

from migopt.api import certify
from migopt.cli import cli
from migopt.errors import InputError
from migopt.io import write_instance
from migopt.results import Budget
from migopt.testing.cases import small_instance


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("time_limit_s", math.nan),
        ("time_limit_s", -1.0),
        ("gap", math.nan),
        ("gap", -0.1),
        ("threads", 0),
        ("seed", -1),
    ],
)
def test_impossible_limits(field, value):
    """NaN and numbers below the least are an error that names the field; no limit and infinity are not."""
    with pytest.raises(InputError, match=rf"budget\.{field}: must be at least \d, not {value}"):
        Budget(**{field: value})
    assert Budget(None) != Budget(math.inf)


def test_certify_refuses_them_before_it_starts():
    """A time that is no number is an error, not a run without time."""
    with pytest.raises(InputError, match=r"budget\.time_limit_s"):
        certify(small_instance(3, jobs=2), time_limit_s=math.nan)


@pytest.mark.parametrize("command", [["certify"], ["solve", "--solver", "closed_form"]])
def test_commands_refuse_nan(command, tmp_path):
    """``--time-limit nan``: exit code 2 and a line that names the option."""
    path = tmp_path / "i.json"
    write_instance(small_instance(3, jobs=2), path)
    done = CliRunner().invoke(cli, [*command, str(path), "--time-limit", "nan"])
    assert done.exit_code == 2
    assert "--time-limit" in done.stderr
