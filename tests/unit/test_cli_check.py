"""The check command: exit codes, the table, the list of violations, JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from factories import make_instance, make_job, make_schedule, seg
from migopt.check import Rule
from migopt.cli import cli
from migopt.gpus import load_gpu
from migopt.io import write_instance, write_schedule
from migopt.metrics import measure

# Files name a GPU by its key, so the instance must hold the table of that key.
INSTANCE = make_instance(make_job(0, ms=28_000), gpus=(load_gpu("A100-40GB"),))
LEGAL = make_schedule(seg(0, "4g.20gb@0", 0, 7_000))
SHORT = make_schedule(seg(0, "4g.20gb@0", 0, 6_999))


@pytest.fixture
def run(tmp_path):
    """Run the command on the instance and one schedule; return exit code, stdout, stderr."""

    def call(schedule, *options):
        write_instance(INSTANCE, tmp_path / "instance.json")
        write_schedule(schedule, tmp_path / "schedule.json", INSTANCE)
        files = [str(tmp_path / "instance.json"), str(tmp_path / "schedule.json")]
        result = CliRunner().invoke(cli, ["check", *files, *options])
        return result.exit_code, result.stdout, result.stderr

    return call


def test_a_legal_schedule_exits_0_and_prints_its_numbers(run):
    """Exit 0, the word legal, and the same cost that measure gives."""
    code, out, _ = run(LEGAL)
    assert code == 0
    assert out.startswith("legal: 1 jobs in 1 segments\n")
    assert f"{measure(INSTANCE, LEGAL).cost:.6f}" in out
    assert "utilisation" in out


def test_an_illegal_schedule_exits_1_and_lists_what_is_wrong(run):
    """Exit 1, one line per violation, and no numbers."""
    code, out, _ = run(SHORT)
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "illegal: 1 violations"
    assert lines[1].startswith("unfinished: job 0 ends at 6999 ms with 4000000 of")
    assert len(lines) == 2


def test_json_of_both(run):
    """One JSON document: legal, violations, metrics; metrics only of a legal schedule."""
    code, out, _ = run(LEGAL, "--json")
    document = json.loads(out)
    assert (code, document["legal"], document["violations"]) == (0, True, [])
    assert document["metrics"] == json.loads(json.dumps(measure(INSTANCE, LEGAL).as_dict()))
    code, out, _ = run(SHORT, "--json")
    document = json.loads(out)
    assert (code, document["legal"], document["metrics"]) == (1, False, None)
    assert document["violations"][0]["rule"] == "unfinished"
    assert document["violations"][0]["amount"] == 4_000_000
    assert document["violations"][0]["unit"] == "work"


def test_unreadable_files_exit_2(run, tmp_path):
    """A missing file, and a file that is no schedule, are one line on stderr and exit 2."""
    run(LEGAL)
    instance = str(tmp_path / "instance.json")
    broken = tmp_path / "broken.json"
    broken.write_text('{"format": "migopt-schedule"')
    for schedule in (tmp_path / "absent.json", broken):
        result = CliRunner().invoke(cli, ["check", instance, str(schedule)])
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stdout == ""


def test_a_long_list_is_cut_as_text_and_whole_in_json(run):
    """Text shows the first 50 violations and says how many more; JSON holds all."""
    segments = tuple(
        replace(LEGAL.segments[0], start_ms=10_000 * i, end_ms=10_000 * i + 1) for i in range(1, 61)
    )
    many = replace(LEGAL, segments=LEGAL.segments + segments)
    code, out, _ = run(many)
    assert code == 1
    assert out.splitlines()[-1] == "… and 10 more; --json lists all"
    assert len(json.loads(run(many, "--json")[1])["violations"]) == 60


def test_help_has_an_example():
    """--help documents the exit codes and an example."""
    out = CliRunner().invoke(cli, ["check", "--help"]).stdout
    assert "Example: migopt simulate day.json -o schedule.json" in out
    assert "Exit code 0" in out


def test_rules_are_listed():
    """--rules needs no files and prints one line per rule."""
    result = CliRunner().invoke(cli, ["check", "--rules"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(Rule)
