"""migopt import: the account of every row, exit codes, and a real day through the whole line."""

import json

import pytest
from click.testing import CliRunner

from migopt.cli import cli
from migopt.io import read_instance

HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)
ROWS = [
    "made-up-0,4000,8192,1,1000,,LS,Succeeded,100,1300,101",
    "made-up-1,4000,8192,1,460,,LS,Succeeded,86500,88000,86500",
    "made-up-2,4000,8192,1,230,,BE,Failed,300,900,302",
    "made-up-3,4000,8192,0,0,,BE,Succeeded,400,900,400",
    "made-up-4,4000,8192,1,810,,BE,Running,500,99999,500",
]


@pytest.fixture
def pods(tmp_path):
    """A list of five made-up pods."""
    path = tmp_path / "pods.csv"
    path.write_text("\n".join([HEADER, *ROWS]))
    return path


def run(*arguments):
    """Run migopt in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_json_accounts_for_every_row(tmp_path, pods):
    """--json has rows, accepted and dropped by reason, and the file holds the accepted jobs."""
    out = tmp_path / "o.json"
    result = run("import", "openb", pods, "-o", out, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["rows"], document["accepted"]) == (5, 3)
    assert document["dropped"] == {"cpu_only": 1, "no_end": 1}
    assert [job.name for job in read_instance(out).jobs] == ["made-up-0", "made-up-2", "made-up-1"]
    assert document["hour_of_day_real"] is False


def test_text_says_the_same(tmp_path, pods):
    """Without --json the counts, the invented fields and the clock's caveat are printed."""
    result = run("import", "openb", pods, "-o", tmp_path / "o.json", "--day", 0)
    assert result.exit_code == 0
    for text in ("5 rows read, 2 accepted", "outside_window: 1", "invented: ", "not real"):
        assert text in result.stdout


def test_every_option_of_the_format_is_a_switch(tmp_path, pods):
    """Options of the import are switches of the command, flags included."""
    out = tmp_path / "o.json"
    switches = ("--day", 0, "--gpus", 2, "--no-mig-off", "--only-completed", "--weight-a", "1/7")
    result = run("import", "openb", pods, "-o", out, *switches, "--tau-s", 2, "--json")
    assert result.exit_code == 0, result.output
    instance = read_instance(out)
    assert len(instance.gpus) == 2
    assert not instance.mig_off
    assert str(instance.weight_a) == "1/7"
    assert instance.repartition.tau_ms == 2000
    assert json.loads(result.stdout)["dropped"]["not_completed"] == 1


def test_nothing_left_is_exit_1_with_the_counts(tmp_path, pods):
    """A window without jobs exits with 1, prints the counts and writes no file."""
    out = tmp_path / "o.json"
    result = run("import", "openb", pods, "-o", out, "--day", 7, "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document == {
        "rows": 5,
        "accepted": 0,
        "dropped": {"cpu_only": 1, "no_end": 1, "outside_window": 3},
    }
    assert "no job left of 5 rows" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("openbb", (), "unknown trace format 'openbb'; nearest: openb"),
        ("openb", ("--keep", "2"), "error: keep: must be above 0 and at most 1, not 2"),
        ("openb", ("--gpu", "A100-40G"), "nearest: A100-40GB"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path, pods, format, options, message):
    """Bad names and values are one error line with exit code 2."""
    result = run("import", format, pods, "-o", tmp_path / "o.json", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def _through_the_line(tmp_path, source, *options):
    day, schedule = tmp_path / "day.json", tmp_path / "schedule.json"
    assert run("import", "openb", source, "-o", day, *options).exit_code == 0
    policy = "edf_ss_restricted+static:3"
    simulated = run("simulate", day, "--policy", policy, "-o", schedule, "--json")
    assert simulated.exit_code == 0, simulated.output
    checked = run("check", day, schedule)
    assert checked.exit_code == 0, checked.output
    bounded = run("solve", day, "--solver", "closed_form", "--json")
    assert bounded.exit_code == 0, bounded.output
    upper, lower = json.loads(simulated.stdout)["upper"], json.loads(bounded.stdout)["lower"]
    assert 0 < lower <= upper
    return read_instance(day)


def test_an_imported_day_runs_through_the_line(tmp_path, pods):
    """Import, simulate, check and bound: the made-up pods end to end."""
    assert len(_through_the_line(tmp_path, pods).jobs) == 3


def test_a_real_day_runs_through_the_line(tmp_path, shared):
    """A thinned day of the published pod list on two GPUs: legal, and above its lower bound."""
    source = shared / "data" / "alibaba_gpu_v2023_openb" / "openb_pod_list_default.csv"
    options = ("--day", 120, "--gpus", 2, "--keep", "1/4", "--seed", 1)
    instance = _through_the_line(tmp_path, source, *options)
    assert 25 < len(instance.jobs) < 80
    assert instance.horizon_ms == 86_400_000


SMALL = {
    "pai": (
        "j,worker,1.0,Terminated,100.0,160.0,6.0,2.0,50.0,T4\n"
        "k,ps,1.0,Terminated,1.0,2.0,6.0,2.0,,\n",
        (),
    ),
    "philly": (
        '[{"status": "Pass", "vc": "v", "jobid": "a", "submitted_time": "2017-10-07 01:11:39", '
        '"attempts": [{"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23", '
        '"detail": [{"ip": "m", "gpus": ["gpu0"]}]}]}, null]',
        (),
    ),
    "philly-list": (
        "timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,66.0,1,v\n,66.0,1,v\n",
        (),
    ),
    "swf": ("1 9 -1 60 1 -1 -1 1 -1 -1 1 3 1 -1 1 -1 -1 -1\n1 2 3\n", ("--one-gpu-each",)),
    "sacct": (
        "JobID|State|Submit|Start|End|AllocTRES\n"
        "1|COMPLETED|2024-04-01T10:00:00|2024-04-01T10:00:05|2024-04-01T10:10:05|gres/gpu=1\n"
        "2|PENDING|2024-04-01T10:00:00|Unknown|Unknown|\n",
        ("--tz", "UTC"),
    ),
}


@pytest.mark.parametrize("format", SMALL)
def test_every_format_accounts_for_its_rows(tmp_path, format):
    """One row is kept and one dropped, in the JSON document and in the file; the help has an example."""
    text, switches = SMALL[format]
    source, out = tmp_path / "trace", tmp_path / "o.json"
    source.write_text(text)
    result = run("import", format, source, "-o", out, "--json", *switches)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["rows"], document["accepted"]) == (2, 1)
    assert sum(document["dropped"].values()) == 1
    assert len(read_instance(out).jobs) == 1
    assert f"migopt import {format} " in run("import", format, "--help").stdout
