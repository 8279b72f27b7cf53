"""migopt generate: files, parameters, and errors on one line."""

import json

import pytest
from click.testing import CliRunner

from migopt.cli import cli
from migopt.io import instance_digest, read_instance
from migopt.io.generators import generate, parameter_table


def run(*arguments):
    """Run migopt in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_file_holds_the_generated_instance(tmp_path):
    """The file reads back to what generate returns, byte for byte alike on every run."""
    path, again = tmp_path / "day.json", tmp_path / "again.json"
    for target in (path, again):
        assert run("generate", "s0-slack", "--seed", 3, "-o", target).exit_code == 0
    assert read_instance(path) == generate("s0-slack", seed=3)
    assert path.read_bytes() == again.read_bytes()


def test_options_and_settings_reach_the_generator(tmp_path):
    """Named options and --set both set parameters; --json says what was written."""
    path = tmp_path / "small.json.gz"
    result = run(
        *("generate", "s0-tight", "--seed", 1, "--jobs", 6, "--load", 0.9, "--weight-a", "1/9"),
        *("--set", "inference-share=0.5", "--set", "caps=2,3", "-o", path, "--json"),
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    expected = generate(
        "s0-tight", seed=1, jobs=6, load=0.9, weight_a="1/9", inference_share=0.5, caps=(2, 3)
    )
    assert document["digest"] == instance_digest(expected)
    assert (document["jobs"], document["weight_a"]) == (6, "1/9")
    assert document["instance_file"] == str(path)


def test_cluster_by_multiplier(tmp_path):
    """rate-multiplier and gpus are options of their own."""
    path = tmp_path / "c.json"
    arguments = ("--gpus", 8, "--rate-multiplier", 20, "-o", path)
    assert run("generate", "smartmig", "--seed", 1, *arguments).exit_code == 0
    instance = read_instance(path)
    assert len(instance.gpus) == 8
    assert 3800 < len(instance.jobs) < 4500


@pytest.mark.parametrize("name", ["s0-slack", "smartmig"])
def test_parameters_are_listed(name):
    """--parameters prints every parameter with its description, as text and as JSON."""
    text = run("generate", name, "--parameters")
    table = json.loads(run("generate", name, "--parameters", "--json").stdout)
    assert text.exit_code == 0
    assert [row["name"] for row in table] == [row["name"] for row in parameter_table(name)]
    assert all(row["name"] in text.stdout for row in table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("s0-slak", "-o", "x.json"), "error: unknown scenario 's0-slak'; nearest: s0-slack"),
        (("s0-slack",), "error: --output: say where to write with -o FILE"),
        (("s0-slack", "-o", "x.json", "--gpus", "none"), "error: gpus: input should be a valid"),
        (("s0-slack", "-o", "x.json", "--set", "load"), "error: --set: write NAME=VALUE"),
        (("s0-slack", "-o", "x.json", "--set", "lod=1"), "nearest: load"),
        (("s0-slack", "-o", "no/such/x.json"), "error: no/such/x.json: cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path, monkeypatch, arguments, message):
    """Each bad call prints one error line on stderr, writes nothing and exits with 2."""
    monkeypatch.chdir(tmp_path)
    result = run("generate", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
