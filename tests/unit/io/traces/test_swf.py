"""The SWF importer: sizes, clocks and unknown values, on small logs and on two published ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migopt.errors import InputError
from migopt.io.traces import NothingLeftError, import_trace

TOKYO = "; UnixStartTime: 1272639895\n; TimeZoneString: Asia/Tokyo\n"


def row(number=1, submit=100, run=60, procs=1, *, asked=-1, limit=-1, status=1, user=7):
    """One line of 18 numbers."""
    return f"{number} {submit} 5 {run} {procs} -1 -1 {asked} {limit} -1 {status} {user} 1 -1 0 -1 -1 -1"


def log(tmp_path, *rows, header="; Version: 2\n"):
    """Write a log and return its path."""
    path = tmp_path / "log.swf"
    path.write_text(header + "\n".join(rows))
    return path


def test_a_line_becomes_a_job(tmp_path):
    """Arrival is field 2 and run time field 4; without a zone the log keeps its own zero."""
    report = import_trace("swf", log(tmp_path, row()), one_gpu_each=True)
    (job,) = report.instance.jobs
    assert (job.name, job.release_ms, job.work) == ("1", 100_000, 60_000 * 1_000_000)
    assert not report.hour_of_day_real
    assert any("hour of day not real" in note for note in report.notes)


@pytest.mark.parametrize("options", [{}, {"procs_per_gpu": 4, "one_gpu_each": True}])
def test_what_a_gpu_is_must_be_said(tmp_path, options):
    """Processors are no GPUs: exactly one of the two options says what a GPU is worth."""
    with pytest.raises(InputError, match="give procs_per_gpu or one_gpu_each, one of the two"):
        import_trace("swf", log(tmp_path, row()), **options)


def test_unknown_request_and_run_of_zero(tmp_path):
    """The size is what was allocated where no request is known; a run of 0 s is a zero duration."""
    line = "3 100 -1 0 4 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1"
    path = log(tmp_path, line)
    with pytest.raises(NothingLeftError, match="zero_duration 1"):
        import_trace("swf", path, procs_per_gpu=4)
    with pytest.raises(NothingLeftError, match="multi_gpu 1"):
        import_trace("swf", path, procs_per_gpu=3)
    report = import_trace("swf", path, procs_per_gpu=8, min_run_s=0.25)
    assert report.instance.origin["records"]["rows"][0][2:5] == [0.25, "", 0.5]
    unknown = log(tmp_path, line.replace(" 0 4 ", " -1 4 "))
    with pytest.raises(NothingLeftError, match="no_end 1"):
        import_trace("swf", unknown, procs_per_gpu=4)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (row(submit=-1), "no_arrival"),
        (row(run=-1), "no_end"),
        (row(run=-1, status=5), "no_end"),
        (row(run="0.0"), "zero_duration"),
        (row(procs=9), "multi_gpu"),
        (row(procs=1, asked=9), "multi_gpu"),
        (row(procs=-1), "malformed"),
        (row(procs=0), "malformed"),
        (row() + " 1", "malformed"),
        ("1 2 3", "malformed"),
        (row(run="x"), "malformed"),
        (row(run="nan"), "malformed"),
        (row(run=-7), "malformed"),
        (row(submit="1e99"), "malformed"),
        (row(status="done"), "malformed"),
    ],
)
def test_every_reason_for_dropping(tmp_path, line, reason):
    """A line that is no job on one GPU is counted under its reason."""
    report = import_trace("swf", log(tmp_path, row(), line), procs_per_gpu=8)
    assert (report.rows, report.accepted, report.dropped) == (2, 1, {reason: 1})


def test_processors_below_a_gpu_are_a_share(tmp_path):
    """Two of eight processors are a quarter of a GPU: capped at the smallest slice that covers it."""
    path = log(tmp_path, row(procs=2), row(2, procs=2, asked=8))
    shared, whole = import_trace("swf", path, procs_per_gpu=8).instance.jobs
    assert shared.elasticity == "capped-2g"
    assert whole.name == "2"
    rows = import_trace("swf", path, procs_per_gpu=8).instance.origin["records"]["rows"]
    assert [row[4] for row in rows] == [0.25, 1]


def test_status_and_partial_lines(tmp_path):
    """Failed and cancelled jobs ran; lines of parts of an execution are no rows, and are noted."""
    rows = [row(n, status=s) for n, s in enumerate((1, 0, 5, -1, 2, 3, 4, 9), 1)]
    report = import_trace("swf", log(tmp_path, *rows), one_gpu_each=True)
    assert (report.rows, report.accepted) == (5, 5)
    assert any("3 lines of partial executions skipped" in note for note in report.notes)
    statuses = [r[7] for r in report.instance.origin["records"]["rows"]]
    assert statuses == ["completed", "failed", "cancelled", "", ""]


def test_clock_with_zone(tmp_path):
    """UnixStartTime in Tokyo: 0:04:55 on the day of the header's StartTime, so arrival 100 is 0:06:35."""
    report = import_trace("swf", log(tmp_path, row(), header=TOKYO), one_gpu_each=True)
    assert report.instance.jobs[0].release_ms == (6 * 60 + 35) * 1000
    assert report.hour_of_day_real
    assert report.arrivals_by_hour[0] == 1
    utc = import_trace("swf", log(tmp_path, row(), header=TOKYO), one_gpu_each=True, tz="UTC")
    assert utc.arrivals_by_hour[15] == 1


def test_clock_that_is_not_known(tmp_path):
    """A misspelt zone in the header is a note; one given with no start time to go with is an error."""
    odd = TOKYO.replace("Asia/Tokyo", "JST")
    report = import_trace("swf", log(tmp_path, row(), header=odd), one_gpu_each=True)
    assert not report.hour_of_day_real
    assert any("unknown TimeZoneString 'JST'; give tz" in note for note in report.notes)
    for tz, message in (("Asia/Tokio", "nearest: Asia/Tokyo"), ("Asia/Tokyo", "no UnixStartTime")):
        with pytest.raises(InputError, match=message):
            import_trace("swf", log(tmp_path, row()), one_gpu_each=True, tz=tz)


def test_deadlines_from_time_limits(tmp_path):
    """On request the due date is arrival + requested time, with a warning; without one, slack."""
    path = log(tmp_path, row(1, limit=7200), row(2))
    options = {"one_gpu_each": True}
    plain = import_trace("swf", path, **options)
    assert [job.due_ms - job.release_ms for job in plain.instance.jobs] == [120_000, 120_000]
    assert not any("time limit" in note for note in plain.notes)
    report = import_trace("swf", path, deadline="timelimit", **options)
    assert [job.due_ms - job.release_ms for job in report.instance.jobs] == [7_200_000, 120_000]
    assert any("warning: 1 deadlines are time limits" in note for note in report.notes)
    assert any("1 jobs without a time limit" in note for note in report.notes)
    assert "deadline" in report.invented


def test_campaigns_need_users(tmp_path):
    """A user's burst is one arrival; a log without users cannot have campaigns."""
    path = log(tmp_path, row(1, 100), row(2, 150), row(3, 230, user=8))
    jobs = import_trace("swf", path, one_gpu_each=True, merge_campaigns=60).instance.jobs
    assert [job.release_ms for job in jobs] == [100_000, 100_000, 230_000]
    path = log(tmp_path, row(user=-1))
    with pytest.raises(InputError, match="does not name tenants"):
        import_trace("swf", path, one_gpu_each=True, merge_campaigns=60)


@pytest.mark.parametrize("text", ["", "; Version: 2\n; only: header\n"])
def test_logs_without_jobs(tmp_path, text):
    """A log that ends before its first job is an error that names the file."""
    path = tmp_path / "log.swf"
    path.write_text(text)
    with pytest.raises(InputError, match=r"log\.swf: the file has no jobs"):
        import_trace("swf", path, one_gpu_each=True)


def test_arrivals_out_of_range(tmp_path):
    """Seconds since 1970 on a clock without zone are too far from 0; origin first takes them."""
    path = log(tmp_path, row(submit=999_999_999))
    report = import_trace("swf", path, one_gpu_each=True, origin="first")
    assert report.instance.jobs[0].release_ms == 0


@settings(max_examples=80)
@given(st.lists(st.text(max_size=60) | st.lists(st.integers(-2, 9), min_size=18, max_size=18)))
def test_fuzzed_logs_never_break_the_import(tmp_path_factory, lines):
    """Any lines: each row is accounted for, or one clear error."""
    texts = [line if isinstance(line, str) else " ".join(map(str, line)) for line in lines]
    path = tmp_path_factory.mktemp("fuzz") / "log.swf"
    path.write_text("\n".join([row(), *texts]), encoding="utf-8", errors="replace")
    report = import_trace("swf", path, procs_per_gpu=4)
    assert report.rows == report.accepted + sum(report.dropped.values())


class TestPublishedLogs:
    """Anchors on excerpts of two logs of the archive (not shipped here)."""

    def test_ricc(self, shared):
        """RICC 2010: 3,000 jobs, run times 3,917,263 s, 2,884 on one processor, hours of Tokyo."""
        path = shared / "data" / "swf" / "ricc_2010_excerpt.swf"
        report = import_trace("swf", path, one_gpu_each=True, min_run_s=1e-9)
        assert (report.rows, report.accepted, report.hour_of_day_real) == (3000, 3000, True)
        rows = report.instance.origin["records"]["rows"]
        assert round(sum(r[2] for r in rows)) == 3_917_263
        single = import_trace("swf", path, procs_per_gpu=1, min_run_s=1e-9)
        assert (single.accepted, single.dropped) == (2884, {"multi_gpu": 116})

    def test_lublin(self, shared):
        """The Lublin model: 1,000 jobs, run times 5,155,236 s, sizes as allocated, no zone."""
        path = shared / "data" / "swf" / "lublin_256_first1000.swf"
        report = import_trace("swf", path, one_gpu_each=True)
        assert (report.rows, report.accepted, report.hour_of_day_real) == (1000, 1000, False)
        assert sum(r[2] for r in report.instance.origin["records"]["rows"]) == 5_155_236
        sized = import_trace("swf", path, procs_per_gpu=256)
        assert sized.accepted == 1000
        assert import_trace("swf", path, procs_per_gpu=1).dropped["multi_gpu"] > 0


def test_a_single_gpu_is_taken_whole(tmp_path):
    """``gpus 1`` alone says that every job takes the one GPU; with processors it is only a number."""
    path = log(tmp_path, row(procs=4))
    alone = import_trace("swf", path, gpus="1").instance.jobs
    assert alone == import_trace("swf", path, one_gpu_each=True).instance.jobs
    report = import_trace("swf", path, gpus="1", procs_per_gpu=8)
    assert report.instance.origin["records"]["rows"][0][4] == 0.5
    with pytest.raises(InputError, match="gpus 1 alone means"):
        import_trace("swf", path, gpus="2")
