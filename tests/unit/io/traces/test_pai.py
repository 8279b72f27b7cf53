"""The PAI importer: task table with and without the tables beside it, and the simulator's list."""

import csv
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migopt.errors import InputError
from migopt.io.traces import NothingLeftError, import_trace
from migopt.io.traces._pai_tables import mean_runs
from migopt.model import Job

HEADER = (
    "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"
)
PUBLISHED = (
    "4f057009a5d481acec67b088,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC",
    "5c1e0a7b66d0f2aa90b1c2d3,worker,2.0,Terminated,1739170.0,1739290.0,600.0,29.3,100.0,T4",
)
LIST = "job_id,num_inst,submit_time,num_cpu,num_gpu,gpu_type,duration,user"


def task(
    job="j", name="worker", *, n="1.0", status="Terminated", times=("100.0", "160.0"), gpu="50.0"
):
    """One row of the task table."""
    return f"{job},{name},{n},{status},{times[0]},{times[1]},600.0,29.3,{gpu},T4"


def table(tmp_path, *rows, name="tasks.csv"):
    """Write a table and return its path."""
    path = tmp_path / name
    path.write_text("\n".join(rows))
    return path


def records(report):
    """What the trace said of each job, by field."""
    stated = report.instance.origin["records"]
    return [dict(zip(stated["fields"], row, strict=True)) for row in stated["rows"]]


@pytest.mark.parametrize("header", [(), (HEADER,)])
def test_first_row_is_not_lost(tmp_path, header):
    """Without a header line, as published, both tasks are read; with one in front, the same."""
    report = import_trace("pai", table(tmp_path, *header, *PUBLISHED))
    assert (report.rows, report.accepted) == (2, 2)
    assert [record["run_s"] for record in records(report)] == [38, 120]
    assert [record["share"] for record in records(report)] == [0.5, 1]
    assert [record["instances"] for record in records(report)] == [1, 2]
    assert [job.name.partition("/")[2] for job in report.instance.jobs] == [
        "tensorflow",
        "worker",
        "worker#1",
    ]


def test_no_gpu_asked_for(tmp_path):
    """An empty plan_gpu is a CPU task: neither an error nor a share of 0."""
    with pytest.raises(NothingLeftError, match=r"of 1 rows \(cpu_only 1\)"):
        import_trace("pai", table(tmp_path, "aaaa,ps,1.0,Terminated,100.0,200.0,600.0,10.0,,"))


def test_hours_are_those_of_utc_plus_8(tmp_path):
    """Second 494319 is 01:18:39 in the trace's zone, hour 1 and not 17."""
    path = table(tmp_path, task(times=("494319.0", "494400.0")))
    report = import_trace("pai", path)
    assert report.instance.jobs[0].release_ms == (3600 + 18 * 60 + 39) * 1000
    assert report.arrivals_by_hour[1] == 1
    assert report.hour_of_day_real
    assert import_trace("pai", path, tz="UTC").arrivals_by_hour[17] == 1


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (task("x", gpu="0"), "cpu_only"),
        (task("x", gpu="200.0"), "multi_gpu"),
        (task("x", times=("", "160.0")), "no_arrival"),
        (task("x", status="Waiting", times=("", "")), "no_arrival"),
        (task("good", "other", times=("0.0", "160.0")), "never_started"),
        (task("good", "other", status="Waiting", times=("", "")), "never_started"),
        (task("x", status="Running", times=("100.0", "")), "not_terminal"),
        (task("x", status="Failed", times=("100.0", "")), "no_end"),
        (task("x", times=("100.0", "0.0")), "no_end"),
        (task("x", times=("100.0", "100.0")), "zero_duration"),
        (task("x", times=("100.0", "99.0")), "negative_duration"),
        (task("x", n="1.5"), "malformed"),
        (task("x", n="1e9"), "malformed"),
        (task("x", n="0"), "malformed"),
        (task("x", gpu="-1"), "malformed"),
        (task("x", status="Lost"), "malformed"),
        (task("x", times=("nan", "1")), "malformed"),
        (task(""), "malformed"),
        (task("x") + ",1", "malformed"),
    ],
)
def test_every_reason_for_dropping(tmp_path, row, reason):
    """A task that is no job on one GPU is counted under its reason; 0 means missing, as empty does."""
    report = import_trace("pai", table(tmp_path, task("good"), row))
    assert (report.rows, report.accepted, report.dropped) == (2, 1, {reason: 1})


def test_a_job_arrives_with_its_earliest_task(tmp_path):
    """Without the job table all tasks of a job arrive when its first one, of whatever kind, starts."""
    rows = [task("a", "worker"), task("a", "ps", times=("40.0", "200.0"), gpu="")]
    report = import_trace("pai", table(tmp_path, *rows, task("b")), tz="UTC")
    assert [(r["id"], r["arrival_s"]) for r in records(report)] == [
        ("a/worker", 40),
        ("b/worker", 100),
    ]


def test_job_table_gives_submission_and_tenant(tmp_path):
    """Arrival is the job's submission; a job it does not know has no arrival; users are tenants."""
    jobs = table(
        tmp_path,
        "a,i,u1,Terminated,10.0,200.0",
        "b,i,u1,Terminated,30.0,200.0",
        "c,i,u1,Terminated,,",
        "d,i,u1",
        name="jobs.csv",
    )
    path = table(tmp_path, *(task(name) for name in "abcd"))
    options = {"job_table": str(jobs), "tz": "UTC"}
    report = import_trace("pai", path, **options)
    assert [record["arrival_s"] for record in records(report)] == [10, 30]
    assert report.dropped == {"no_arrival": 2}
    assert "tenant" in report.observed
    assert "1 malformed rows of the job table ignored" in report.notes
    merged = import_trace("pai", path, merge_campaigns=60, **options)
    assert [record["arrival_s"] for record in records(merged)] == [10, 10]
    with pytest.raises(InputError, match="does not name tenants"):
        import_trace("pai", path, merge_campaigns=60)


def test_instance_table_gives_mean_run_times(tmp_path):
    """Run time is the mean over instances that ended; a task without any keeps its own."""
    instances = table(
        tmp_path,
        "a,worker,n1,w1,i,Terminated,100.0,110.0,m",
        "a,worker,n2,w2,i,Terminated,100.0,130.0,m",
        "a,worker,n3,w3,i,Running,100.0,,m",
        "a,worker,n4,w4,i,Interrupted,0,150.0,m",
        name="instances.csv",
    )
    path = table(tmp_path, task("a", n="2.0"), task("b"))
    report = import_trace("pai", path, instance_table=str(instances))
    assert [record["run_s"] for record in records(report)] == [20, 60]
    assert any("1 tasks without an instance that ended" in note for note in report.notes)
    assert report.accepted == 2
    assert len(report.instance.jobs) == 3


def test_running_tasks_can_be_kept(tmp_path):
    """With censored keep a running task has what was seen until the last time of the table."""
    path = table(tmp_path, task("a"), task("r", status="Running", times=("120.0", "")))
    report = import_trace("pai", path, censored="keep")
    assert [record["run_s"] for record in records(report)] == [60, 40]


def test_evaluators_are_inference(tmp_path):
    """A task named evaluator is inference however long it ran; others go by run time."""
    rows = [task("a", "evaluator", times=("1", "9999")), task("b", times=("1", "9999"))]
    jobs = import_trace("pai", table(tmp_path, *rows)).instance.jobs
    assert [job.kind for job in jobs] == ["inference", "training"]


def test_speed_of_cards(tmp_path):
    """The card of a task is known, so its speed can be given."""
    (job,) = import_trace("pai", table(tmp_path, task()), speed="T4=0.25").instance.jobs
    assert job.work == 15_000 * 1_000_000


def test_columns(tmp_path):
    """A header that lacks columns names them."""
    path = table(tmp_path, HEADER.replace("plan_gpu", "gpu"), task())
    with pytest.raises(InputError, match="missing columns: plan_gpu$"):
        import_trace("pai", path)


def test_tables_that_cannot_be_read(tmp_path):
    """A missing or unfit second table is an error that names that table."""
    path = table(tmp_path, task())
    with pytest.raises(InputError, match=r"absent\.csv: cannot read"):
        import_trace("pai", path, job_table=str(tmp_path / "absent.csv"))
    other = table(tmp_path, "job_name,task_name,x", name="other.csv")
    with pytest.raises(InputError, match=r"other\.csv: missing columns: start_time, end_time"):
        import_trace("pai", path, instance_table=str(other))
    empty = table(tmp_path, name="empty.csv")
    with pytest.raises(InputError, match=r"empty\.csv: the file is empty"):
        import_trace("pai", empty)


def test_simulator_list(tmp_path):
    """The list with a header: num_gpu counts GPUs, its clock is unknown, second 0 is a time."""
    rows = [
        "7,2,0,600,0.5,V100,66,u",
        "8,1,5,600,0,CPU,9,u",
        "9,1,5,600,2,T4,9,u",
        "10,1,5,,1,T4,0,u",
    ]
    report = import_trace("pai", table(tmp_path, LIST, *rows))
    assert (report.rows, report.accepted) == (4, 1)
    assert report.dropped == {"cpu_only": 1, "multi_gpu": 1, "zero_duration": 1}
    (record,) = records(report)
    assert (record["id"], record["share"], record["instances"]) == ("7", 0.5, 2)
    assert (record["arrival_s"], record["run_s"], record["card"]) == (0, 66, "V100")
    assert not report.hour_of_day_real
    assert "tenant" in report.observed
    assert "status" not in report.observed
    with pytest.raises(InputError, match="job_table: goes with the task table"):
        import_trace("pai", table(tmp_path, LIST, *rows), job_table="x")


field = st.sampled_from(["", "0", "1.0", "50", "100", "Running", "Terminated", "-1", '"', "nan"])


@settings(max_examples=60)
@given(st.lists(st.lists(field, min_size=9, max_size=11)), st.sampled_from(["drop", "keep"]))
def test_fuzzed_tables_never_break_the_import(tmp_path_factory, rows, censored):
    """Any fields: each row is accounted for."""
    folder = tmp_path_factory.mktemp("fuzz")
    path = table(folder, task("good"), *(",".join(row) for row in rows))
    report = import_trace("pai", path, censored=censored)
    assert report.rows == len(rows) + 1 == report.accepted + sum(report.dropped.values())


def test_published_instances(tmp_path, shared):
    """6,000 rows: 4,395 ended, 23,498,184 s, 1,432 jobs, 1,639 tasks; tasks get those mean runs."""
    path = shared / "data" / "alibaba_gpu_v2020_pai" / "pai_instance_table_excerpt.csv"
    with path.open() as file:
        rows = list(csv.reader(file))
    tasks = {(row[0], row[1]) for row in rows}
    assert (len(rows), len({row[0] for row in rows}), len(tasks)) == (6000, 1432, 1639)
    done = [row for row in rows if row[5] == "Terminated"]
    assert len(done) == 4395
    ended = tmp_path / "ended.csv"
    ended.write_text("\n".join(",".join(row) for row in done))
    runs = mean_runs(str(ended), [])
    assert sum(count for _, count in runs.values()) == 4395
    assert sum(total for total, _ in runs.values()) == 23_498_184
    made_up = table(tmp_path, *(task(*names) for names in sorted(tasks)))
    report = import_trace("pai", made_up, instance_table=str(path), min_run_s=1)
    assert report.accepted == 1639
    means = {record["id"]: record["run_s"] for record in records(report)}
    assert all(means[key] == total / count for key, (total, count) in runs.items() if total)


def test_memory_in_use_is_the_need(tmp_path):
    """The most that any worker had in use counts, 2.5 GiB here; a task without sensors needs none."""
    row = "j,worker,w{},i,m,g,1.0,1.0,1.0,1.0,0.5,{},1.0,1.0,1.0,1.0"
    sensors = table(tmp_path, row.format(0, 1.25), row.format(1, 2.5), "j,x", name="sensors.csv")
    path = table(tmp_path, task("j", n="2.0"), task("k"))
    report = import_trace("pai", path, sensor_table=str(sensors))
    assert [job.memory_bytes for job in report.instance.jobs] == [5 * 2**29, 5 * 2**29, 0]
    assert "memory" in report.observed
    assert "memory" not in report.invented
    assert "1 malformed rows of the sensor table ignored" in report.notes


def test_name_and_hours_tell_which_rows(tmp_path):
    """The name carries thinning and seed; hours of accepted rows sum to them, of all rows to more."""
    path = table(
        tmp_path, *(task(f"j{i}", times=(f"{100 + i}.0", f"{200 + i}.0")) for i in range(40))
    )
    report = import_trace("pai", path, keep="1/4", seed=3)
    assert report.instance.name == "pai-tasks-keep1of4-seed3"
    assert sum(report.arrivals_by_hour) == report.accepted < 40
    assert sum(report.asked_by_hour) == 40
    assert import_trace("pai", path, day=0).instance.name == "pai-tasks-day0"


def test_run_time_of_years_is_a_slip(tmp_path):
    """An end in another century spoils its own row only, not the whole import."""
    path = table(tmp_path, task("a"), task("b", times=("100.0", "200000000.0")))
    report = import_trace("pai", path)
    assert (report.accepted, report.dropped) == (1, {"malformed": 1})


def test_jobs_are_like_those_of_the_constructor(tmp_path):
    """Jobs are filled without the guard of the frozen class, and are none the different for it."""
    (job,) = import_trace("pai", table(tmp_path, task())).instance.jobs
    same = Job(**{name: getattr(job, name) for name in Job.__slots__})
    assert type(job) is Job
    assert (job, hash(job), job.name) == (same, hash(same), same.name)
    with pytest.raises(FrozenInstanceError):
        job.work = 1
