"""The Philly importers: the job log with its attempts, and the list made from it."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migopt.errors import InputError
from migopt.io.traces import NothingLeftError, import_trace
from migopt.io.traces._json_list import elements
from migopt.units import MS_PER_DAY


def attempt(start, end, gpus=1):
    """One attempt on one machine."""
    detail = [{"ip": "m1", "gpus": [f"gpu{i}" for i in range(gpus)]}]
    return {"start_time": start, "end_time": end, "detail": detail}


def job(name="a", *attempts, status="Pass", vc="v", submitted="2017-10-07 01:11:39"):
    """One job of the log."""
    return {
        "status": status,
        "vc": vc,
        "jobid": name,
        "attempts": list(attempts),
        "submitted_time": submitted,
        "user": "u",
    }


FIRST = attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23")
GOOD = job("good", FIRST)


def log(tmp_path, *jobs, indent=None):
    """Write a job log and return its path."""
    path = tmp_path / "cluster_job_log"
    path.write_text(json.dumps(jobs, indent=indent))
    return path


def listing(tmp_path, *rows, header="timestamp,duration,num_gpus,gpu_time,cluster"):
    """Write a job list and return its path."""
    path = tmp_path / "philly.csv"
    path.write_text("\n".join(line for line in (header, *rows) if line is not None))
    return path


def test_run_time_is_the_sum_of_attempts(tmp_path):
    """Two attempts of 74 s and 193,182 s make 193,256 s, counted from midnight of the first day."""
    second = attempt("2017-10-07 01:13:30", "2017-10-09 06:53:12")
    report = import_trace("philly", log(tmp_path, job("a", FIRST, second)))
    (only,) = report.instance.jobs
    assert only.work == 193_256 * 1000 * 1_000_000
    assert only.release_ms == (3600 + 11 * 60 + 39) * 1000
    assert report.instance.horizon_ms == MS_PER_DAY
    assert report.hour_of_day_real
    assert report.instance.origin["records"]["rows"][0][7] == "completed"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (job("x"), "never_started"),
        (job("x", attempt(None, "2017-10-07 01:13:23", 0)), "never_started"),
        (job("x", FIRST, attempt("2017-10-07 01:13:30", None)), "no_end"),
        (job("x", FIRST, attempt("2017-10-07 01:13:30", "None")), "no_end"),
        (job("x", FIRST, attempt("2017-10-07 01:13:30", "2017-10-07 02:00:00", 8)), "multi_gpu"),
        (job("x", attempt("2017-10-07 01:13:30", None, 8)), "multi_gpu"),
        (job("x", attempt("2017-10-07 01:13:30", "2017-10-07 02:00:00", 0)), "cpu_only"),
        (job("x", FIRST, submitted=None), "no_arrival"),
        (job("x", FIRST, submitted="None"), "no_arrival"),
        (job("x", FIRST, status="Running"), "not_terminal"),
        (job("x", attempt("2017-10-07 01:13:30", "2017-10-07 01:13:30")), "zero_duration"),
        (job("x", attempt("2017-10-07 01:13:30", "2017-10-07 01:13:29")), "negative_duration"),
        (job("x", FIRST, submitted="7 Oct 2017"), "malformed"),
        (job("x", FIRST, submitted=12), "malformed"),
        (job("", FIRST), "malformed"),
        ({"jobid": "x"}, "malformed"),
        (job("x", {"start_time": None}), "malformed"),
        ([1, 2], "malformed"),
        (None, "malformed"),
    ],
)
def test_every_reason_for_dropping(tmp_path, bad, reason):
    """A job without a usable run on one GPU is counted under its reason."""
    report = import_trace("philly", log(tmp_path, GOOD, bad))
    assert (report.rows, report.accepted, report.dropped) == (2, 1, {reason: 1})


def test_failed_and_killed_jobs_held_the_gpu(tmp_path):
    """They are kept, unless only completed jobs are wanted."""
    path = log(tmp_path, GOOD, job("k", FIRST, status="Killed"), job("f", FIRST, status="Failed"))
    assert import_trace("philly", path).accepted == 3
    assert import_trace("philly", path, only_completed=True).dropped == {"not_completed": 2}


def test_censored_jobs_can_be_kept(tmp_path):
    """A job that was still running has what was seen of it until the last time of the log."""
    cut = job("cut", FIRST, attempt("2017-10-07 01:13:30", None))
    late = job("late", attempt("2017-10-07 01:12:00", "2017-10-07 01:14:30"))
    report = import_trace("philly", log(tmp_path, cut, late), censored="keep")
    runs = {row[0]: row[2] for row in report.instance.origin["records"]["rows"]}
    assert runs == {"cut": 74 + 60, "late": 150}


def test_summer_time(tmp_path):
    """With a zone a run over the night of the change lasts an hour more; arrivals stay on the clock."""
    night = attempt("2017-11-05 00:30:00", "2017-11-05 03:30:00")
    path = log(tmp_path, job("n", night, submitted="2017-11-05 00:29:00"))
    for tz, hours in (("", 3), ("America/Los_Angeles", 4), ("Asia/Shanghai", 3)):
        (only,) = import_trace("philly", path, tz=tz).instance.jobs
        assert only.work == hours * 3_600_000 * 1_000_000
        assert only.release_ms == 29 * 60_000
    with pytest.raises(InputError, match="unknown time zone 'America/Los_Angels'; nearest: Am"):
        import_trace("philly", path, tz="America/Los_Angels")


def test_text_oddities_change_nothing(tmp_path):
    """Indented or on one line, BOM, gzip: the same jobs."""
    path = log(tmp_path, GOOD, job("b", FIRST))
    expected = import_trace("philly", path).instance.jobs
    data = path.read_bytes()
    indented = log(tmp_path, GOOD, job("b", FIRST), indent=1).read_bytes()
    for variant in (indented, b"\xef\xbb\xbf" + data, gzip.compress(data), data + b"\r\n"):
        path.write_bytes(variant)
        assert import_trace("philly", path).instance.jobs == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("{}", "begins with '{', not"),
        ("[", "it ends inside"),
        ("[{} {}]", "lacks the keys: status"),
        ('[{"jobid": ]', "not a JSON list: expecting value"),
        ("[" * 100_000, "nested too deeply"),
        ("[1" + "0" * 5000 + "]", "not a JSON list: "),
        ("[1]", "lacks the keys"),
    ],
)
def test_broken_files_are_one_clear_error(tmp_path, text, message):
    """What is no list of jobs is an error that names the file and the trouble."""
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as info:
        import_trace("philly", path)
    assert str(path) in str(info.value)


def test_a_list_that_breaks_off(tmp_path):
    """A log cut off in the middle, or with text after its end, is an error and not a shorter log."""
    text = log(tmp_path, GOOD, GOOD).read_text()
    for broken in (text[:-1], text[:-30], text + "x", text.replace("}, {", "} {", 1)):
        path = tmp_path / "broken"
        path.write_text(broken)
        with pytest.raises(InputError, match="not a JSON list"):
            import_trace("philly", path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=6), st.sampled_from([None, 0, 1]))
def test_elements_are_those_of_the_list(values, indent):
    """Reading element by element gives what reading the whole list gives."""
    text = json.dumps(values, indent=indent)
    assert list(elements(enumerate(text.split("\n"), 1))) == values


def test_elements_longer_than_a_chunk(monkeypatch):
    """Elements and numbers that a chunk of text cuts in two are put together again."""
    monkeypatch.setattr("migopt.io.traces._json_list._CHUNK", 1)
    values = [12, {"a": [1, 2, {"b": "x\ny"}]}, 345, "s"]
    text = json.dumps(values, indent=1)
    assert list(elements(enumerate(text.split("\n"), 1))) == values


@settings(max_examples=60)
@given(
    st.recursive(json_values, lambda x: st.fixed_dictionaries(dict.fromkeys(GOOD, x)), max_leaves=6)
)
def test_fuzzed_jobs_never_break_the_import(tmp_path_factory, value):
    """Whatever stands for the second job, each row is accounted for."""
    path = log(tmp_path_factory.mktemp("fuzz"), GOOD, value, GOOD | {"attempts": value})
    report = import_trace("philly", path)
    assert report.rows == 3 == report.accepted + sum(report.dropped.values())


def test_list_row_becomes_a_job(tmp_path):
    """A row has arrival and run time; its name is its line; a half second is kept."""
    rows = ["2017-10-09 07:01:55,66.5,1,66.5,v", "2017-10-09 06:00:00,9,4,36,v"]
    report = import_trace("philly-list", listing(tmp_path, *rows))
    (only,) = report.instance.jobs
    assert (only.name, only.release_ms) == ("line2", (7 * 3600 + 115) * 1000)
    assert only.work == 66_500 * 1_000_000
    assert report.dropped == {"multi_gpu": 1}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",5,1,5,v", "no_arrival"),
        ("2017-10-09 07:01:55,,1,,v", "no_end"),
        ("2017-10-09 07:01:55,0,1,0,v", "zero_duration"),
        ("2017-10-09 07:01:55,-3,1,0,v", "negative_duration"),
        ("2017-10-09 07:01:55,3,0,0,v", "cpu_only"),
        ("2017-10-09,3,1,0,v", "malformed"),
        ("2017-10-09 07:01:55,3,1,0", "malformed"),
        ("2017-10-09 07:01:55,nan,1,0,v", "malformed"),
        ("2017-10-09 07:01:55,3,0.5,0,v", "malformed"),
        ("2017-10-09 25:01:55,3,1,0,v", "malformed"),
        ("9999-10-09 07:01:55,3,1,0,v", "malformed"),
    ],
)
def test_list_reasons(tmp_path, row, reason):
    """Rows of the list that are no job are counted under their reason."""
    report = import_trace("philly-list", listing(tmp_path, "2017-10-09 07:01:55,3,1,3,v", row))
    assert (report.rows, report.accepted, report.dropped) == (2, 1, {reason: 1})


def test_zero_durations_can_be_kept(tmp_path):
    """A least run time keeps rows of run time 0 and gives them that time."""
    path = listing(tmp_path, "2017-10-09 07:01:55,0,1,0,v")
    with pytest.raises(NothingLeftError, match="zero_duration 1"):
        import_trace("philly-list", path)
    (only,) = import_trace("philly-list", path, min_run_s=0.001).instance.jobs
    assert only.work == 1_000_000


def test_list_columns(tmp_path):
    """Without a header the documented order counts; a header that lacks columns names them."""
    row = "2017-10-09 07:01:55,3,1,3,v"
    assert import_trace("philly-list", listing(tmp_path, row, header=None)).accepted == 1
    with pytest.raises(InputError, match="missing columns: duration, num_gpus$"):
        import_trace("philly-list", listing(tmp_path, header="timestamp,cluster"))


def test_campaigns(tmp_path):
    """A tenant's arrivals with gaps up to a minute become one arrival; other tenants keep theirs."""
    rows = [
        f"2017-10-09 07:{m:02}:00,9,1,9,{v}" for m, v in ((0, "a"), (1, "a"), (1, "b"), (3, "a"))
    ]
    jobs = import_trace("philly-list", listing(tmp_path, *rows), merge_campaigns=60).instance.jobs
    minutes = [job.release_ms // 60_000 - 420 for job in jobs]
    assert minutes == [0, 0, 1, 3]


class TestPublishedFiles:
    """Anchors on the published list and example (not shipped here)."""

    def test_list(self, shared):
        """82,247 rows: 5,620 on several GPUs, 76,627 accepted; all runs last 1,080,390,950 s."""
        path = shared / "data" / "philly" / "philly_jobs.csv"
        report = import_trace("philly-list", path)
        assert (report.rows, report.accepted) == (82_247, 76_627)
        assert report.dropped == {"multi_gpu": 5620}
        rows = path.read_text().splitlines()[1:]
        total = sum(float(row.split(",")[1]) for row in rows)
        one = sum(float(row.split(",")[1]) for row in rows if row.split(",")[2] == "1")
        assert total == 1_080_390_950
        assert sum(row[2] for row in report.instance.origin["records"]["rows"]) == one

    def test_example_of_the_log(self, shared):
        """The job of the trace's README has 8 GPUs: too many for one GPU."""
        path = shared / "data" / "philly" / "cluster_job_log_example.json"
        with pytest.raises(NothingLeftError, match=r"of 1 rows \(multi_gpu 1\)"):
            import_trace("philly", path)
