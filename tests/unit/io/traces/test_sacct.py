"""The sacct importer: steps, states, times and TRES in all the forms that Slurm prints."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migopt.errors import InputError
from migopt.io.traces import NothingLeftError, import_trace
from migopt.io.traces._tres import gpus_of

HEADER = "JobID|State|Submit|Start|End|AllocTRES"
GOOD = "1|COMPLETED|2024-04-01T10:00:00|2024-04-01T10:00:05|2024-04-01T10:10:05|gres/gpu=1"


def line(job="2", state="COMPLETED", *, start="10:00:05", end="10:10:05", tres="gres/gpu=1"):
    """One line of the columns above, all on one day."""
    times = ["10:00:00", start, end]
    shown = [f"2024-04-01T{time}" if ":" in time else time for time in times]
    return "|".join([job, state, *shown, tres])


def accounts(tmp_path, *rows, header=HEADER):
    """Write what sacct printed and return the path."""
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join(row for row in (header, *rows) if row is not None))
    return path


def records(report):
    """What the trace said of each job, by field."""
    table = report.instance.origin["records"]
    return [dict(zip(table["fields"], row, strict=True)) for row in table["rows"]]


def test_steps_are_no_jobs(tmp_path):
    """Of a job and its three steps one job is left, and the steps are noted, not dropped."""
    rows = [line("239023"), line("239023.batch"), line("239023.extern")]
    rows.append(line("239023.0", "CANCELLED", start="10:00:06", end="10:10:04"))
    report = import_trace("sacct", accounts(tmp_path, *rows))
    assert (report.rows, report.accepted, report.dropped) == (1, 1, {})
    (record,) = records(report)
    assert (record["id"], record["run_s"], record["status"]) == ("239023", 600, "completed")
    assert "3 lines of job steps, not counted as rows" in report.notes
    assert report.instance.jobs[0].release_ms == 10 * 3_600_000


def test_a_job_that_never_started(tmp_path):
    """Start None with an end, and no resources: never started, and not for want of a GPU."""
    row = "141|CANCELLED by 32874|2022-09-09T17:39:14|None|2022-09-09T17:39:37|"
    with pytest.raises(NothingLeftError, match=r"of 1 rows \(never_started 1\)"):
        import_trace("sacct", accounts(tmp_path, row))


@pytest.mark.parametrize(
    ("tres", "expected"),
    [
        (
            "billing=64,cpu=9,gres/cpu=9,gres/gpu:a100_3g.20gb=1,gres/gpu=1,mem=60G,node=1",
            (1, "3g.20gb"),
        ),
        ("cpu=256,gres/gpu:a100=4", (4, "")),
        ("gres/gpu=2,gres/gpu:a100=2", (2, "")),
        ("gres/gpu:3g.20gb=1,gres/gpu=1", (1, "3g.20gb")),
        ("gres/gpu:nvidia_a100_1g.5gb=1", (1, "1g.5gb")),
        ("gres/gpu:a100_3g.20gb=2,gres/gpu=2", (2, "")),
        ("gres/gpu:a100=1,gres/gpu:a100_1g.5gb=1", (2, "")),
        ("gres/gpu:a100=1,gres/gpu=1", (1, "")),
        ("cpu=4,gres/cpu=9,gres/gpumem=3,mem=1G", (0, "")),
        ("", (0, "")),
    ],
)
def test_gpus_in_tres(tres, expected):
    """Typed entries stand beside the total; a MIG type is one slice; gres/cpu is no GPU."""
    assert gpus_of(tres) == expected


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (line(tres="cpu=4"), "cpu_only"),
        (line(tres="cpu=4", start="Unknown"), "never_started"),
        (line(tres="gres/gpu=2", start=""), "never_started"),
        (line(tres="gres/gpu=2"), "multi_gpu"),
        (line(state="RUNNING", end="Unknown"), "not_terminal"),
        (line(state="PENDING", start="Unknown", end="Unknown"), "never_started"),
        (line("5_[1-3,7]", "PENDING", start="Unknown", end="Unknown"), "never_started"),
        (line(end="Unknown"), "no_end"),
        (line(end="10:00:05"), "zero_duration"),
        (line(end="10:00:04"), "negative_duration"),
        (line().replace("2024-04-01T10:00:00", "Unknown"), "no_arrival"),
        (line("job"), "malformed"),
        (line(state=" "), "malformed"),
        (line(tres="gres/gpu"), "malformed"),
        (line(tres="gres/gpu=one"), "malformed"),
        (line(end="tomorrow"), "malformed"),
        (line() + "|x", "malformed"),
        ("1|COMPLETED", "malformed"),
    ],
)
def test_every_reason_for_dropping(tmp_path, row, reason):
    """A line that is no job on one GPU is counted under its reason."""
    report = import_trace("sacct", accounts(tmp_path, GOOD, row))
    assert (report.rows, report.accepted, report.dropped) == (2, 1, {reason: 1})


def test_states(tmp_path):
    """The first word counts; what ran is kept; an unknown word is a warning and a drop."""
    states = {
        "CANCELLED by 1001": "cancelled",
        "FAILED": "failed",
        "OUT_OF_MEMORY": "failed",
        "NODE_FAIL": "failed",
        "BOOT_FAIL": "failed",
        "TIMEOUT": "timeout",
        "DEADLINE": "timeout",
        "PREEMPTED": "cancelled",
        "REQUEUED": "cancelled",
    }
    rows = [line(str(number), state) for number, state in enumerate(states, 2)]
    report = import_trace("sacct", accounts(tmp_path, *rows, line("99", "VANISHED")))
    assert [record["status"] for record in records(report)] == list(states.values())
    assert report.dropped == {"not_terminal": 1}
    assert any("warning: unknown state 'VANISHED': 1 rows" in note for note in report.notes)


def test_forms_of_job_ids(tmp_path):
    """Plain, array and heterogeneous jobs are jobs."""
    rows = [line(job) for job in ("123", "123_4", "123+0", "123_4+1")]
    assert import_trace("sacct", accounts(tmp_path, *rows)).accepted == 4


def test_a_slice_is_the_reference_of_the_run_time(tmp_path):
    """A run on 3g.20gb is work at the rate of that slice, and the job is capped there."""
    path = accounts(tmp_path, line(tres="gres/gpu:a100_3g.20gb=1,gres/gpu=1"))
    report = import_trace("sacct", path)
    (job,) = report.instance.jobs
    assert job.elasticity == "capped-3g"
    assert job.work == 600_000 * job.rates["A100-40GB"]["3g.20gb"]
    assert records(report)[0]["share"] == pytest.approx(3 / 7)
    full = accounts(tmp_path, line(tres="gres/gpu:7g.40gb=1"))
    assert records(import_trace("sacct", full))[0]["share"] == 1


def test_slices_of_another_card(tmp_path):
    """A profile the model lacks counts as the one with as many compute slices, with a note."""
    path = accounts(tmp_path, line(tres="gres/gpu:a100_3g.40gb=1"))
    report = import_trace("sacct", path)
    assert report.instance.jobs[0].elasticity == "capped-3g"
    note = "3g.40gb is no profile of A100-40GB: 1 jobs read as on 3g.20gb"
    assert note in report.notes
    with pytest.raises(InputError, match="A30-24GB has no profile of 3 compute slices; known: 1g"):
        import_trace("sacct", path, gpu="A30-24GB")


def test_running_jobs_can_be_kept(tmp_path):
    """With censored keep a running job has what was seen until the last time of the file."""
    path = accounts(tmp_path, GOOD, line(state="RUNNING", start="10:00:05", end="Unknown"))
    report = import_trace("sacct", path, censored="keep")
    assert [record["run_s"] for record in records(report)] == [600, 600]


def test_job_names_with_bars_and_trailing_bar(tmp_path):
    """A last column JobName may hold bars; the trailing bar of --parsable is no column."""
    path = accounts(tmp_path, GOOD + "|a|b|c", header=HEADER + "|JobName")
    assert import_trace("sacct", path).accepted == 1
    path = accounts(tmp_path, GOOD + "|", header=HEADER + "|")
    assert import_trace("sacct", path).accepted == 1


def test_without_a_header(tmp_path):
    """A file without header needs its columns, by name and in any case; missing ones are listed."""
    path = accounts(tmp_path, GOOD, header=None)
    with pytest.raises(InputError, match="no header line; name the columns"):
        import_trace("sacct", path)
    columns = HEADER.replace("|", ",").lower()
    assert import_trace("sacct", path, columns=columns).accepted == 1
    with pytest.raises(InputError, match="missing columns: State, Start$"):
        import_trace("sacct", accounts(tmp_path, header="JobID|Submit|End|AllocTRES"))


def test_time_zones(tmp_path):
    """Printed in UTC and counted in Berlin, 10:00 in April is 12:00; run times stay."""
    path = accounts(tmp_path, GOOD)
    report = import_trace("sacct", path, printed_tz="UTC", tz="Europe/Berlin")
    assert report.arrivals_by_hour[12] == 1
    assert records(report)[0]["run_s"] == 600
    assert import_trace("sacct", path, printed_tz="UTC").arrivals_by_hour[10] == 1
    assert import_trace("sacct", path, tz="Europe/Berlin").arrivals_by_hour[10] == 1
    night = "1|COMPLETED|2024-03-31T00:00:00|2024-03-31T01:30:00|2024-03-31T03:30:00|gres/gpu=1"
    spring = import_trace("sacct", accounts(tmp_path, night), tz="Europe/Berlin")
    assert records(spring)[0]["run_s"] == 3600
    with pytest.raises(InputError, match="printed_tz: unknown time zone 'Utz'"):
        import_trace("sacct", path, printed_tz="Utz")


def test_eligible_as_arrival(tmp_path):
    """A job held by a dependency arrives when it becomes eligible, on request."""
    row = GOOD + "|2024-04-01T10:00:03"
    path = accounts(tmp_path, row, header=HEADER + "|Eligible")
    for arrival, second in (("submit", 0), ("eligible", 3)):
        (job,) = import_trace("sacct", path, arrival=arrival).instance.jobs
        assert job.release_ms == (36_000 + second) * 1000


@pytest.mark.parametrize(
    ("column", "value", "seconds"),
    [
        ("TimelimitRaw", "30", 1800),
        ("Timelimit", "30:00", 1800),
        ("Timelimit", "02:00:00", 7200),
        ("Timelimit", "1-00:00:01.5", 86_401),
        ("Timelimit", "UNLIMITED", 1200),
        ("TimelimitRaw", "Partition_Limit", 1200),
        ("Timelimit", "INVALID", 1200),
        ("Timelimit", "", 1200),
    ],
)
def test_deadlines_from_time_limits(tmp_path, column, value, seconds):
    """The limit in any form is the time to the due date; without one, twice the run time."""
    path = accounts(tmp_path, f"{GOOD}|{value}", header=f"{HEADER}|{column}")
    report = import_trace("sacct", path, deadline="timelimit")
    (job,) = report.instance.jobs
    assert job.due_ms - job.release_ms == seconds * 1000
    assert any(note.startswith("warning: ") for note in report.notes)
    with pytest.raises(InputError, match="deadline: missing columns: TimelimitRaw"):
        import_trace("sacct", accounts(tmp_path, GOOD), deadline="timelimit")


field = st.sampled_from(
    ["", "1", "2.0", "Unknown", "RUNNING", "COMPLETED", "2024-04-01T10:00:00", "gres/gpu=1", "|"]
) | st.text(max_size=9)


@settings(max_examples=80)
@given(st.lists(st.lists(field, min_size=5, max_size=7)))
def test_fuzzed_lines_never_break_the_import(tmp_path_factory, rows):
    """Any fields: each row is accounted for."""
    path = tmp_path_factory.mktemp("fuzz") / "sacct.txt"
    text = "\n".join([HEADER, GOOD, *("|".join(row) for row in rows)])
    path.write_text(text, encoding="utf-8", errors="replace")
    report = import_trace("sacct", path, censored="keep")
    assert report.rows == report.accepted + sum(report.dropped.values())


def test_an_empty_file(tmp_path):
    """An empty file is an error that names it."""
    with pytest.raises(InputError, match=r"sacct\.txt: the file is empty"):
        import_trace("sacct", accounts(tmp_path, header=None))
