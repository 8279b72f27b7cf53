"""The openb importer: what becomes of every row, on small lists and on the published file."""

import csv
import gzip
from collections import Counter
from fractions import Fraction

import pytest

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import load_gpu
from migopt.io.traces import NothingLeftError, format_names, format_options, import_trace
from migopt.io.traces._import_options import ImportOptions
from migopt.io.traces._jobs import JobBuilder
from migopt.units import MS_PER_DAY

KEY = "A100-40GB"
HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)
#: Ends at the last moment of every list below, so that no other pod is taken for cut off.
LAST = "end,1,1,1,1000,,BE,Running,0,99999999,0"


def pod(name="p", *, gpus=1, milli=1000, qos="LS", phase="Running", times=("100", "160", "100")):
    """One row; ``times`` are creation, deletion, scheduling."""
    return f"{name},1000,1000,{gpus},{milli},,{qos},{phase},{','.join(times)}"


def listing(tmp_path, *rows, header=HEADER, last=LAST, end="\n", newline="\n"):
    """Write a pod list and return its path."""
    lines = [header, *rows, last]
    path = tmp_path / "pods.csv"
    path.write_bytes((newline.join(line for line in lines if line is not None) + end).encode())
    return path


def test_registry():
    """The format is found by the name of its file, and a misspelt one names the nearest."""
    assert "openb" in format_names()
    with pytest.raises(UnknownNameError, match="nearest: openb"):
        import_trace("open-b", "x")


def test_a_pod_becomes_a_job(tmp_path):
    """Arrival is the creation, run time deletion minus scheduling, due date arrival plus twice that."""
    path = listing(tmp_path, pod("a", milli=470, qos="LS", times=("50", "90", "60")))
    report = import_trace("openb", path)
    (job,) = report.instance.jobs
    assert (job.name, job.kind, job.elasticity) == ("a", "inference", "capped-4g")
    assert (job.release_ms, job.due_ms) == (50_000, 50_000 + 60_000)
    assert job.work == 30_000 * 1_000_000
    assert (report.rows, report.accepted, report.dropped) == (2, 1, {"no_end": 1})


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (pod(gpus=0, milli=0), "cpu_only"),
        (pod(gpus=2), "multi_gpu"),
        (pod(times=("100", "160", "")), "never_started"),
        (pod(times=("", "160", "100")), "no_arrival"),
        (pod(times=("100", "", "100")), "no_end"),
        (pod(times=("100", "99999999", "100")), "no_end"),
        (pod(times=("100", "100", "100")), "zero_duration"),
        (pod(times=("100", "90", "100")), "negative_duration"),
        ("a,b,c", "malformed"),
        (pod() + ",1", "malformed"),
        (pod(gpus="one"), "malformed"),
        (pod(milli=1001), "malformed"),
        (pod(milli=0), "malformed"),
        (pod(milli=-10), "malformed"),
        (pod(name=""), "malformed"),
        (pod(times=("nan", "160", "100")), "malformed"),
        (pod(times=("-5", "160", "100")), "malformed"),
        (pod(times=("1e300", "160", "100")), "malformed"),
        (pod(name='"open'), "malformed"),
        ("\x00,,,,,,,,,,", "malformed"),
    ],
)
def test_every_reason_for_dropping(tmp_path, row, reason):
    """A row that cannot be a job is counted under its reason, and rows = accepted + dropped."""
    report = import_trace("openb", listing(tmp_path, row, pod("good")))
    expected = {"no_end": 1}
    expected[reason] = expected.get(reason, 0) + 1
    assert report.dropped == expected
    assert (report.rows, report.accepted) == (3, 1)


def test_reasons_apply_in_the_fixed_order(tmp_path):
    """A CPU pod that never started is cpu_only; a multi-GPU one that never started is multi_gpu."""
    path = listing(
        tmp_path,
        pod(gpus=0, times=("100", "160", "")),
        pod(gpus=4, times=("100", "", "")),
        pod(gpus=4, times=("", "", "")),
        pod(times=("100", "", "")),
        pod("good"),
    )
    assert list(import_trace("openb", path).dropped.items()) == [
        ("no_arrival", 1),
        ("cpu_only", 1),
        ("multi_gpu", 1),
        ("never_started", 1),
        ("no_end", 1),
    ]


def test_pending_pod_never_started(tmp_path):
    """A pod that stayed pending is dropped as never started, but its arrival counts as a rate."""
    row = "openb-pod-9001,4000,15258,1,220,,BE,Pending,9679175,9973826,"
    path = listing(tmp_path, row, last=None)
    with pytest.raises(
        NothingLeftError, match="no job left of 1 rows \\(never_started 1\\)"
    ) as info:
        import_trace("openb", path)
    assert info.value.dropped == {"never_started": 1}
    good = pod("good", times=("0", "9", "0"))
    without = import_trace("openb", listing(tmp_path, good)).asked_by_hour
    both = import_trace("openb", listing(tmp_path, good, row))
    counted = both.asked_by_hour
    assert sum(both.arrivals_by_hour) == both.accepted
    assert [b - a for a, b in zip(without, counted, strict=True)] == [1] + [0] * 23


def test_phase_running_decides_nothing(tmp_path):
    """Of two running pods the one that ends with the trace was cut off, the other one ended."""
    path = listing(
        tmp_path,
        pod("cut", times=("12537000", "12902960", "12537000")),
        pod("ended", times=("12537000", "12830636", "12537010")),
        last=None,
    )
    report = import_trace("openb", path)
    assert report.dropped == {"no_end": 1}
    assert [job.name for job in report.instance.jobs] == ["ended"]
    assert report.instance.jobs[0].work == (12830636 - 12537010) * 1000 * 1_000_000


def test_censored_pods_can_be_kept(tmp_path):
    """With censored keep, a pod cut off by the trace's end has the run time that was seen."""
    report = import_trace("openb", listing(tmp_path), censored="keep")
    assert report.instance.jobs[0].work == 99_999_999 * 1000 * 1_000_000


def test_failed_pods_held_the_gpu(tmp_path):
    """A failed pod is kept unless only completed ones are wanted."""
    path = listing(tmp_path, pod("f", phase="Failed"), pod("good"))
    assert import_trace("openb", path).accepted == 2
    report = import_trace("openb", path, only_completed=True)
    assert report.dropped == {"no_end": 1, "not_completed": 1}


def test_zero_duration_can_be_kept(tmp_path):
    """min_run_s gives a row that ran for 0 s a run time."""
    path = listing(tmp_path, pod(times=("5", "5", "5")))
    assert import_trace("openb", path, min_run_s="0.001").instance.jobs[0].work == 1_000_000


def test_five_column_variant_is_refused(tmp_path):
    """The variants without times are refused by name of what they lack, with header or without."""
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli"
    for first in (header, None):
        path = listing(tmp_path, "a,1,1,1,1000", "b,1,1,1,460", header=first, last=None)
        with pytest.raises(InputError, match="this variant has no arrival times"):
            import_trace("openb", path)


def test_missing_columns_are_listed(tmp_path):
    """A list without needed columns stops with all their names."""
    header = HEADER.replace(",qos", "").replace("gpu_milli", "milli")
    with pytest.raises(InputError, match="missing columns: gpu_milli, qos$"):
        import_trace("openb", listing(tmp_path, header=header))


def test_unknown_columns_are_ignored_with_one_note(tmp_path):
    """Extra columns change nothing and are noted once."""
    plain = import_trace("openb", listing(tmp_path, pod("a")))
    path = listing(tmp_path, pod("a") + ",1,2", header=HEADER + ",x,y", last=LAST + ",1,2")
    report = import_trace("openb", path)
    assert report.instance.jobs == plain.instance.jobs
    assert [note for note in report.notes if "x, y" in note] == ["unknown columns ignored: x, y"]


def test_columns_go_by_name(tmp_path):
    """Columns in another order are read by the header."""
    names = HEADER.split(",")
    rows = [",".join(reversed(row.split(","))) for row in (pod("a", milli=230), LAST)]
    path = listing(tmp_path, rows[0], header=",".join(reversed(names)), last=rows[1])
    assert import_trace("openb", path).instance.jobs[0].name == "a"


def test_text_oddities_change_nothing(tmp_path):
    """Header or not, BOM, CR LF, blank lines, no last line end, gzip: the same jobs, byte for byte."""
    rows = [pod("a", times=("7", "90", "8")), pod("b", milli=320, times=("5", "50", "6"))]
    expected = import_trace("openb", listing(tmp_path, *rows)).instance.jobs
    variants = [
        listing(tmp_path, *rows, header=None).read_bytes(),
        listing(tmp_path, *rows, newline="\r\n", end="").read_bytes(),
        b"\xef\xbb\xbf" + listing(tmp_path, *rows).read_bytes(),
        listing(tmp_path, "", *rows, "  ").read_bytes(),
        gzip.compress(listing(tmp_path, *rows).read_bytes()),
    ]
    for number, data in enumerate(variants):
        path = tmp_path / f"variant{number}.csv"
        path.write_bytes(data)
        report = import_trace("openb", path)
        assert report.instance.jobs == expected
        assert report.rows == 3


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"\x1f\x8b\x08broken", gzip.compress(b"name\n" * 99, mtime=0)[:-9]]
)
def test_unusable_files_are_one_clear_error(tmp_path, data):
    """An empty or broken file is an error that names the file, never a traceback."""
    path = tmp_path / "bad.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match="bad.csv"):
        import_trace("openb", path)


def test_absent_file(tmp_path):
    """A file that is not there is an error with the system's reason."""
    with pytest.raises(InputError, match="No such file"):
        import_trace("openb", tmp_path / "absent.csv")


def test_day_window(tmp_path):
    """day N keeps arrivals in [86400 N, 86400 (N + 1)), shifts them by its start, and H is 24 h."""
    rows = [
        pod(f"p{t}", times=(str(t), str(t + 10), str(t))) for t in (86399, 86400, 172799, 172800)
    ]
    report = import_trace("openb", listing(tmp_path, *rows), day=1)
    assert [job.name for job in report.instance.jobs] == ["p86400", "p172799"]
    assert [job.release_ms for job in report.instance.jobs] == [0, 86_399_000]
    assert report.dropped == {"no_end": 1, "outside_window": 2}
    assert report.instance.horizon_ms == MS_PER_DAY
    two = import_trace("openb", listing(tmp_path, *rows), window_days="0-1")
    assert [job.name for job in two.instance.jobs] == ["p86399", "p86400", "p172799"]
    assert two.instance.horizon_ms == 2 * MS_PER_DAY


def test_order_of_jobs(tmp_path):
    """Jobs are numbered by arrival, ties by line."""
    rows = [pod(n, times=(t, "500", "300")) for n, t in (("c", "9"), ("b", "4"), ("a", "4"))]
    report = import_trace("openb", listing(tmp_path, *rows))
    assert [job.name for job in report.instance.jobs] == ["b", "a", "c"]
    assert [job.id for job in report.instance.jobs] == [0, 1, 2]


def test_thinning_is_independent_and_seeded(tmp_path):
    """keep thins at random per pod: 1/4 equals 0.25, seeds differ, the order of lines does not matter."""
    rows = [pod(f"p{i}", times=(str(i), str(i + 5), str(i))) for i in range(2000)]
    path = listing(tmp_path, *rows)

    def kept(**options):
        return {job.name for job in import_trace("openb", path, **options).instance.jobs}

    quarter = kept(keep="1/4", seed=1)
    assert quarter == kept(keep="0.25", seed=1)
    assert quarter != kept(keep="0.25", seed=2)
    assert 420 < len(quarter) < 580
    assert quarter < kept(keep="1/2", seed=1)
    report = import_trace("openb", path, keep="1/4", seed=1)
    assert report.rows == report.accepted + sum(report.dropped.values())
    assert report.dropped["thinned"] == 2000 - len(quarter)


@pytest.mark.parametrize(
    ("share", "profile", "gib"),
    [
        (125, "capped-1g", 4.75),
        (130, "capped-2g", 9.62),
        (250, "capped-2g", 9.62),
        (320, "capped-3g", 19.5),
        (430, "capped-4g", 19.5),
        (500, "capped-4g", 19.5),
        (510, "capped-7g", 39.25),
        (810, "capped-7g", 39.25),
    ],
)
def test_shared_requests_are_capped_at_the_slice_that_covers_them(tmp_path, share, profile, gib):
    """Sevenths of compute and eighths of memory must both cover the share."""
    path = listing(tmp_path, pod(milli=share))
    (job,) = import_trace("openb", path).instance.jobs
    assert (job.elasticity, job.memory_bytes) == (profile, 0)
    (bound,) = import_trace("openb", path, memory_floor="share").instance.jobs
    assert bound.memory_bytes / 2**30 == pytest.approx(gib, abs=0.01)


def test_share_of_the_source_card_s_memory(tmp_path):
    """With memory:16 half a card needs 8 GiB and a whole one 16 GiB: 2g and 3g suffice."""
    path = listing(tmp_path, pod("half", milli=500), pod("whole"))
    half, whole = import_trace("openb", path, share_of="memory:16").instance.jobs
    assert (half.elasticity, half.memory_bytes) == ("capped-2g", 8 * 2**30)
    assert whole.memory_bytes == 16 * 2**30
    assert whole.elasticity != "capped-7g"


def test_whole_gpu_jobs_fall_into_thirds_by_name(tmp_path):
    """Whole-GPU pods are linear, sublinear or capped by a hash of the name, whatever the order."""
    rows = [pod(f"p{i}", times=(str(i), "999999", str(i))) for i in range(900)]
    label = {
        job.name: job.elasticity
        for job in import_trace("openb", listing(tmp_path, *rows)).instance.jobs
    }
    counts = {
        "linear": sum(v == "linear" for v in label.values()),
        "capped": sum(v.startswith("capped") for v in label.values()),
        "sublinear": sum(":" in v for v in label.values()),
    }
    assert all(250 < count < 350 for count in counts.values())
    again = import_trace("openb", listing(tmp_path, *reversed(rows))).instance.jobs
    assert {job.name: job.elasticity for job in again} == label


def test_deadline_slack(tmp_path):
    """Slack is a number or a name; chronus draws between 1.1 and 5 with median about 2."""
    rows = [pod(f"p{i}", times=("0", "1000", "0")) for i in range(400)]
    path = listing(tmp_path, *rows)
    dues = {}
    for slack in ("1.5", "tight", "loose", "chronus"):
        jobs = import_trace("openb", path, deadline_slack=slack).instance.jobs
        dues[slack] = sorted((job.due_ms - job.release_ms) / 1_000_000 for job in jobs)
    assert set(dues["1.5"]) == {1.5}
    assert set(dues["tight"]) == {1.1}
    assert set(dues["loose"]) == {3.5}
    assert dues["chronus"][0] >= 1.1
    assert dues["chronus"][-1] <= 5.001
    assert dues["chronus"][200] == pytest.approx(1.97, abs=0.15)


def test_instance_settings(tmp_path):
    """GPUs, catalogue, weight and MIG off are the instance's; a card without power curve weighs no energy."""
    path = listing(tmp_path, pod("a"))
    two = import_trace("openb", path, gpus="2", mig_off="false", weight_a="1/9", tau_s=0).instance
    assert (len(two.gpus), two.mig_off, two.weight_a) == (2, False, Fraction(1, 9))
    assert two.repartition.tau_ms == 0
    one, shared = (import_trace("openb", path, gpus=g).instance.weight_a for g in (1, 4))
    assert shared == one / 4
    report = import_trace("openb", path, gpu="A30-24GB")
    assert report.instance.weight_a == 0
    assert any("no power curve" in note for note in report.notes)
    assert report.instance.options(report.instance.jobs[0])


def test_observed_and_invented_are_told_apart(tmp_path):
    """The report and the instance say which fields the trace states and which are made up."""
    report = import_trace("openb", listing(tmp_path, pod("a", milli=470)))
    assert report.observed == ("id", "arrival", "run_time", "share", "class", "status")
    assert report.invented == ("memory", "deadline", "elasticity")
    records = report.instance.origin["records"]
    row = dict(zip(records["fields"], records["rows"][0], strict=True))
    assert (row["id"], row["arrival_s"], row["run_s"], row["share"]) == ("a", 100, 60, 0.47)
    assert any("hour of day not real" in note for note in report.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": "0"}, "keep: must be above 0 and at most 1, not 0"),
        ({"keep": "3/2"}, "keep: must be above 0"),
        ({"keep": "some"}, "keep: 'some' is not a number; write 0.01 or 1/100"),
        ({"day": "-1"}, "day: input should be greater"),
        ({"day": 1, "window_days": "1-2"}, "give day or window_days, not both"),
        ({"window_days": "5-2"}, "write first-last"),
        ({"deadline_slack": "0"}, "deadline_slack: must be above 0"),
        ({"share_of": "memory"}, "share_of: write a100 or memory:GB"),
        ({"speed": "T4=0"}, "speed of T4 must be above 0"),
        ({"merge_campaigns": 60}, "this trace does not name tenants"),
        ({"origin": "first", "day": 0}, "origin first goes with the whole trace"),
        ({"gpu": "A100"}, "nearest: A100"),
        ({"slack": 2}, "unknown option of openb 'slack'; nearest: deadline_slack"),
    ],
)
def test_bad_options_are_one_clear_error(tmp_path, options, message):
    """Each bad option names itself and what would be valid."""
    with pytest.raises(InputError, match=message):
        import_trace("openb", listing(tmp_path, pod("a")), **options)


def test_option_table_is_complete():
    """Every option has a type and a description."""
    assert all(row["type"] and row["description"] for row in format_options("openb"))


def test_origin_first_starts_at_the_first_arrival(tmp_path):
    """With origin first the first arrival is time 0."""
    rows = [pod(n, times=(t, "900", t)) for n, t in (("a", "500"), ("b", "530"))]
    report = import_trace("openb", listing(tmp_path, *rows), origin="first")
    assert [job.release_ms for job in report.instance.jobs] == [0, 30_000]


class TestPublishedFile:
    """Anchors on the published pod lists (Apache-2.0, not shipped here)."""

    @pytest.fixture
    def folder(self, shared):
        """The folder with the pod lists."""
        return shared / "data" / "alibaba_gpu_v2023_openb"

    @pytest.mark.parametrize("name", ["default", "gpuspec33"])
    def test_counts_and_run_times(self, folder, name):
        """8,152 rows: every reason's count, the accepted rows, and both sums of run times."""
        report = import_trace("openb", folder / f"openb_pod_list_{name}.csv")
        assert report.rows == 8152
        assert report.accepted == len(report.instance.jobs) == 6099
        assert report.dropped == {
            "cpu_only": 1088,
            "multi_gpu": 75,
            "never_started": 860,
            "no_end": 30,
        }
        rows = report.instance.origin["records"]["rows"]
        assert sum(row[2] for row in rows) == 69_735_224
        assert sum(Fraction(str(row[4])) * int(row[2]) for row in rows) == Fraction("63486492.28")

    def test_variant_without_times(self, folder):
        """The 5-column variant is refused with its reason."""
        with pytest.raises(InputError, match="this variant has no arrival times"):
            import_trace("openb", folder / "openb_pod_list_multigpu20_first200.csv")

    def test_one_gpu_pods_by_smallest_profile(self, folder):
        """Of all one-GPU pods 0.4, 4.0, 5.6, 12.9 and 77.1 % need 1g, 2g, 3g, 4g and 7g at least."""
        builder = JobBuilder(load_gpu(KEY), ImportOptions())
        with (folder / "openb_pod_list_default.csv").open() as file:
            shares = [int(r["gpu_milli"]) for r in csv.DictReader(file) if r["num_gpu"] == "1"]
        counts = Counter(builder.fit(share / 1000).profile.name for share in shares)
        percent = {name: round(100 * count / len(shares), 1) for name, count in counts.items()}
        assert percent == {
            "1g.5gb": 0.4,
            "2g.10gb": 4.0,
            "3g.20gb": 5.6,
            "4g.20gb": 12.9,
            "7g.40gb": 77.1,
        }

    def test_a_thinned_day_on_two_gpus(self, folder):
        """Day 120 thinned to a tenth: a day of 24 h, half the weight, the same jobs at every run."""
        path = folder / "openb_pod_list_default.csv"
        options = {"day": 120, "gpus": 2, "keep": "0.1", "seed": 1}
        report = import_trace("openb", path, **options)
        assert report.rows == report.accepted + sum(report.dropped.values())
        assert 5 < report.accepted < 60
        assert all(0 <= job.release_ms < MS_PER_DAY for job in report.instance.jobs)
        assert report.instance.horizon_ms == MS_PER_DAY
        assert import_trace("openb", path, **options).instance == report.instance
