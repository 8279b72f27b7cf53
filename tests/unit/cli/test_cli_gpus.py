"""``migopt gpus``: what is known about each GPU, how well, and from where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migopt.cli import cli
from migopt.gpus import gpu_keys


def run(*arguments: str) -> Result:
    """Run ``migopt gpus`` in this process."""
    return CliRunner().invoke(cli, ["gpus", *arguments])


def test_list_names_every_gpu() -> None:
    """The table and the JSON list have one row per GPU, with where a power curve is known."""
    rows = [line.split()[0] for line in run("list").stdout.splitlines() if "GB" in line]
    assert rows == gpu_keys()
    documents = json.loads(run("list", "--json").stdout)
    assert [document["key"] for document in documents] == gpu_keys()
    assert [d["key"] for d in documents if d["power"]] == ["A100-40GB"]


@pytest.mark.parametrize("key", gpu_keys())
def test_show_loses_no_profile(key: str) -> None:
    """Each GPU is shown with all profiles, whole (nothing cut), with confidence and sources."""
    document = json.loads(run("show", key, "--json").stdout)
    text = run("show", key).stdout
    for profile in document["profiles"]:
        (line,) = (row for row in text.splitlines() if row.split()[:1] == [profile["name"]])
        assert ",".join(map(str, profile["starts"])) in line.split()
        assert profile["confidence"] in line.split()
        assert profile["source"]
    assert "…" not in text
    for source in document["sources"]:
        assert source in text
    for note in document["notes"]:
        assert note in text


def test_show_details() -> None:
    """Memory, ids and the published curve of A100-40GB, found by product name."""
    result = run("show", "NVIDIA A100-SXM4-40GB")
    row = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["3g.20gb"])
    assert row.split()[:10] == [
        "3g.20gb",
        "9",
        "plain",
        "3",
        "4",
        "0,4",
        "2",
        "19.50",
        "42",
        "2/0/0/0",
    ]
    assert "40, 119, 160, 205.3, 243.9, 247.7, 248.5, 248.5 W for 0 to 7 busy" in result.stdout
    assert "before driver R510: no 4g.20gb with 3g.20gb" in result.stdout
    unknown = run("show", "B300").stdout
    row = next(line for line in unknown.splitlines() if line.split()[:1] == ["7g.269gb"])
    assert row.split()[7:9] == ["–", "–"]


def test_show_json_keys() -> None:
    """Scripts find geometry, counts and catalogues under stable keys."""
    document = json.loads(run("show", "A30", "--json").stdout)
    assert document["key"] == "A30-24GB"
    assert document["memory_units"] == 4
    assert document["engine_budget"] == {"decoders": 4, "encoders": 0, "jpeg": 1, "ofa": 1}
    assert document["counts"]["plain"]["valid_positional"] == 25
    assert document["catalogues"] == ["maximal", "exact-cover", "all"]
    assert document["power"] == {}


def test_unknown_gpu(tmp_path: Path) -> None:
    """An unknown name and an unreadable table are one line on stderr, exit 2."""
    for name, text in (("A101", "nearest: "), (str(tmp_path / "x.toml"), "cannot be read")):
        result = run("show", name)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert text in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [(), ("list",), ("show",)])
def test_help_has_an_example_for_gpus(command: tuple[str, ...]) -> None:
    """Each help ends with a command to copy."""
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Example: migopt gpus" in result.stdout
