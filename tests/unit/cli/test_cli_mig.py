"""``migopt mig``: answers, exit codes and JSON keys that scripts rely on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migopt.cli import cli

A100 = ("--gpu", "A100-40GB")


def run(*arguments: str) -> Result:
    """Run ``migopt mig`` in this process."""
    return CliRunner().invoke(cli, ["mig", *arguments])


@pytest.mark.parametrize(
    ("slices", "code", "text"),
    [
        ("4g.20gb@0,3g.20gb@4", 0, "possible on A100-40GB: 4g.20gb@0,3g.20gb@4\n"),
        ("4g.20gb,3g.20gb", 0, "4g.20gb@0,3g.20gb@4 (one of the ways to place them)"),
        ("1g.5gb:3,3g.20gb", 0, "3g.20gb@0,1g.5gb@4,1g.5gb@5,1g.5gb@6"),
        ("3x1g.5gb", 0, "1g.5gb@0,1g.5gb@1,1g.5gb@2"),
        ("4g.20gb@0,3g.20gb@0", 1, "both cover memory unit 0"),
        ("4g.20gb@4", 1, "may start at 0"),
        ("3x3g.20gb", 1, "room for at most 2"),
        ("1g.5gb+me@0,1g.5gb+me@1", 1, "more JPEG engines"),
        ("4g.21gb", 2, "nearest: 4g.20gb"),
        ("4g.20gb@x", 2, "is not a placement"),
        ("", 2, "no slice is named"),
    ],
)
def test_check(slices: str, code: int, text: str) -> None:
    """Exit 0 with a placement, 1 with the reason, 2 with one line on stderr."""
    result = run("check", *A100, slices)
    assert result.exit_code == code
    assert text in (result.stderr if code == 2 else result.stdout)
    if code == 2:
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1


def test_check_json() -> None:
    """The JSON answer has the keys possible, placements and reason, whatever the verdict."""
    good = json.loads(run("check", *A100, "2g.10gb,3g.20gb@4", "--json").stdout)
    assert good["possible"] is True
    assert good["placements"] == [
        {"profile": "2g.10gb", "start": 0},
        {"profile": "3g.20gb", "start": 4},
    ]
    assert good["reason"] is None
    assert good["free_memory_units"] == [2, 3]
    assert "2g.10gb@2" in good["could_be_added"]
    bad = run("check", *A100, "2g.10gb@4,3g.20gb@4", "--json")
    assert bad.exit_code == 1
    document = json.loads(bad.stdout)
    assert (document["possible"], document["placements"]) == (False, [])
    assert document["reason"]["rule"] == "memory"
    assert document["reason"]["conflict"] == ["2g.10gb@4", "3g.20gb@4"]


def test_check_tells_the_catalogues() -> None:
    """A partition of the paper is told with its number."""
    numbers = json.loads(run("check", *A100, "3g.20gb@0,3g.20gb@4", "--json").stdout)["catalogues"]
    assert numbers["paper-12"] == 5


@pytest.mark.parametrize(("driver", "code"), [("470", 1), ("R510", 0), ("550.54.15", 0)])
def test_driver_decides_four_three(driver: str, code: int) -> None:
    """4g beside 3g is refused before R510 and possible since."""
    result = run("check", *A100, "4g.20gb,3g.20gb", "--driver", driver)
    assert result.exit_code == code
    assert ("refused by drivers before R510" in result.stdout) == (code == 1)


def test_bad_driver_and_gpu() -> None:
    """Unusable options are one line on stderr and exit 2."""
    for arguments, text in (
        ((*A100, "--driver", "new"), "is not a driver version"),
        (("--gpu", "H100-80GB-SXM", "--driver", "470"), "needs driver 525.85.12 or later"),
        (("--gpu", "A100"), "unknown GPU 'A100'; nearest: "),
        (("--gpu", "none.toml"), "cannot be read"),
    ):
        result = run("check", *arguments, "1g.5gb")
        assert result.exit_code == 2
        assert text in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "positional", "distinct"),
    [
        (("--maximal", "--kinds", "plain"), 19, 14),
        (("--maximal", "--kinds", "plain,double_memory"), 78, 38),
        (("--catalogue", "exact-cover", "--kinds", "plain+double_memory"), 45, 22),
        (("--catalogue", "exact-cover"), 115, 32),
        (("--catalogue", "paper-17"), 17, 12),
        (("--catalogue", "paper-12"), 12, 12),
        (("--maximal",), 239, 64),
        ((), 2318, 127),
    ],
)
def test_list_counts(arguments: tuple[str, ...], positional: int, distinct: int) -> None:
    """The known numbers of A100-40GB, as JSON and as the lines of the text."""
    for multisets, count in (((), positional), (("--multisets",), distinct)):
        document = json.loads(run("list", *A100, *arguments, *multisets, "--json").stdout)
        assert (document["positional"], document["multisets"]) == (positional, distinct)
        assert [row["number"] for row in document["partitions"]] == list(range(1, count + 1))
        text = run("list", *A100, *arguments, *multisets).stdout
        assert f": {positional} partitions, {distinct} without places\n" in text
        assert sum(line.startswith(" ") and "gb" in line for line in text.splitlines()) == count


def test_list_counts_every_group_of_kinds() -> None:
    """Without kinds, the plain and the plain with double memory are counted below."""
    result = run("list", *A100, "--maximal")
    assert "  plain: 19 partitions, 14 without places\n" in result.stdout
    assert "  plain+double_memory: 78 partitions, 38 without places\n" in result.stdout


def test_list_prints_the_partitions() -> None:
    """Partitions are numbered lines in the notation that check reads back."""
    lines = run("list", *A100, "--catalogue", "paper-12").stdout.splitlines()
    assert lines[4].split() == ["5", "3g.20gb@0,3g.20gb@4"]
    for line in lines[:12]:
        assert run("check", *A100, line.split()[1]).exit_code == 0
    sets = run("list", *A100, "--catalogue", "paper-12", "--multisets").stdout.splitlines()
    assert sets[11].split(maxsplit=1)[1] == "1g.10gb, 6 x 1g.5gb"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--gpu", "A30", "--catalogue", "paper-12"), "known: all, exact-cover, maximal"),
        ((*A100, "--catalogue", "paper12"), "nearest: paper-12"),
        ((*A100, "--catalogue", "paper-12", "--maximal"), "exclude each other"),
        ((*A100, "--catalogue", "maximal:plain", "--kinds", "me"), "exclude each other"),
        ((*A100, "--kinds", "plian"), "nearest: plain"),
        ((), "no GPU is given"),
    ],
)
def test_list_refuses(arguments: tuple[str, ...], text: str) -> None:
    """Names that do not exist here and options that contradict each other are exit 2."""
    result = run("list", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert text in result.stderr


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    """``--gpu FILE.toml`` judges by the user's table."""
    path = tmp_path / "mine.toml"
    path.write_text(
        """
key = "MINE"
architecture = "Test"
memory_units = 2
compute_slices = 2
sources = { here = "my own card" }
[[profiles]]
name = "half"
kind = "plain"
compute_slices = 1
memory_units = 1
starts = [0, 1]
max_count = 2
confidence = "lgipp"
source = ["here"]
""",
        encoding="utf-8",
    )
    assert run("check", "--gpu", str(path), "half:2").stdout.startswith(
        "possible on MINE: half@0,half@1"
    )
    assert json.loads(run("list", "--gpu", str(path), "--json").stdout)["positional"] == 3


@pytest.mark.parametrize("command", [(), ("check",), ("list",)])
def test_help_has_an_example(command: tuple[str, ...]) -> None:
    """Each help ends with a command to copy."""
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Example: migopt mig" in " ".join(result.stdout.split())


def test_unknown_subcommand_names_the_nearest() -> None:
    """A misspelt subcommand is an error with the nearest one."""
    result = run("chekc")
    assert result.exit_code == 2
    assert "no command 'chekc'; nearest: check" in result.stderr
