"""Gap by busy period in reports: which runs are split, what the table and the picture say, to the digit.

The instance is the one of ``tests/unit/test_periods.py``: a minute at u busy slices costs 10 u / 3 above idle
and a minute of lateness 2/9. The plan costs 80/60 + 2/540 in its first period (job 0) and 260/180 + 2/540 in
its second (jobs 1 and 2).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from factories import make_instance, make_job, make_schedule, seg
from migopt import io
from migopt.cli import cli
from migopt.gpus import load_gpu
from migopt.metrics import measure
from migopt.metrics.periods import Period
from migopt.model import Schedule
from migopt.records import Record, RecordWriter
from migopt.report.certificate import split_bound_text
from migopt.report.collect import collect
from migopt.report.period_svg import clock, period_picture, period_svg, span_text
from migopt.report.periods import MOST_DAYS, period_table, size_table, split_days
from migopt.report.write import load, write_report
from record_factory import make_record

INSTANCE = make_instance(
    make_job(0, ms=24_000, due=5_000),
    make_job(1, ms=12_000, release=20_000, due=24_000),
    make_job(2, ms=14_000, release=24_000, due=100_000),
    gpus=(load_gpu("A100-40GB"),),
)
PLAN = make_schedule(
    seg(0, "4g.20gb@0", 0, 6_000),
    seg(1, "3g.20gb@4", 21_000, 25_000),
    seg(2, "4g.20gb@0", 24_000, 27_500),
)
#: Job 0 on 3g from 14 s: 2 s of it after job 1 comes.
WORSE = make_schedule(
    seg(0, "3g.20gb@4", 14_000, 22_000),
    seg(1, "4g.20gb@0", 20_000, 23_000),
    seg(2, "4g.20gb@0", 24_000, 27_500),
)
CONSTANT = float(INSTANCE.constant_cost)
SHARES = (1.3, 0.4, 1.0)


def stored(folder: Path, entry: str, schedule: Schedule, **changes: Any) -> Record:
    """Store a schedule with its instance and return the record of its run."""
    files = {"instance_file": "instance.json.gz", "schedule_file": f"{entry}.json.gz"}
    io.write_instance(INSTANCE, folder / files["instance_file"])
    io.write_schedule(schedule, folder / files["schedule_file"], INSTANCE)
    upper = measure(INSTANCE, schedule).cost
    constant = {"constant_cost": str(INSTANCE.constant_cost)}
    return make_record(entry, upper=upper, **(files | constant | changes))


def bound(entry: str = "split_bound", **changes: Any) -> Record:
    """Return a record of a bound whose shares are known."""
    fields = {"shares": SHARES, "constant_cost": str(INSTANCE.constant_cost)}
    lower = CONSTANT + sum(SHARES)
    return make_record(entry, **({"lower": lower, "claims": "bound"} | fields | changes))


def report_of(folder: Path, *records: Record) -> tuple[str, str]:
    """Write a report of records and return page and Markdown."""
    writer = RecordWriter(folder / "records.jsonl")
    for record in records:
        writer.append(record)
    writer.close()
    written = write_report(load(folder), folder, folder)
    return written.html.read_text(), written.markdown.read_text()


def test_the_best_plan_is_split_and_others_beside_it(tmp_path: Path) -> None:
    """Costs 1.3370 and 1.4481, shares 1.3 and 1.4: gaps 0.0370 and 0.0481, 43.48 and 56.52 % of 0.0852.

    80/60 + 2/540 = 1.337037, 260/180 + 2/540 = 1.448148. The other schedule pays for 17 s of lateness and 6 s of
    three slices in the first period, 34/540 + 1 = 1.062963, and for 2 s of three, 3 s and 3.5 s of four slices in
    the second: 320/180 = 1.777778.
    """
    records = (stored(tmp_path, "plan", PLAN), stored(tmp_path, "worse", WORSE), bound())
    page, markdown = report_of(tmp_path, *records)
    rows = [
        "| 1 | 00:00:20–00:00:27 | 2 | 1.44815 | 1.44444 | 0.00370 | 1.40000 | 0.04815 | 56.52 % |",
        "| 2 | 00:00:00–00:00:06 | 1 | 1.33704 | 1.33333 | 0.00370 | 1.30000 | 0.03704 | 43.48 % |",
        "|  | all | 3 | 2.78519 | 2.77778 | 0.00741 | 2.70000 | 0.08519 | 100.00 % |",
        "| 1 | 00:00:20–00:00:27 | 1.44815 | 1.77778 | 1.40000 |",
        "| 2 | 00:00:00–00:00:06 | 1.33704 | 1.06296 | 1.30000 |",
        "|  | all | 2.78519 | 2.84074 | 2.70000 |",
    ]
    assert [row for row in rows if row not in markdown] == []
    assert "| rank | period | plan | worse | lower share |" in markdown
    summary = (
        "day, seed 1: active gap 3.06 % in 2 busy periods, 56.52 % of it from 00:00:20–00:00:27"
    )
    assert summary in markdown
    assert summary in page
    assert "00:00:20–00:00:27, 2 jobs, rank 1\ncost 1.4481 (energy 1.4444" in page
    assert "lower share 1.4000, gap 0.04815, 56.52 % of the gap" in page
    ElementTree.fromstring(page.replace("<!DOCTYPE html>", "", 1).strip())


def test_a_day_needs_a_stored_schedule_and_shares(tmp_path: Path) -> None:
    """Without one of the two there is no section, and nothing is read."""
    plain = make_record("plan", upper=CONSTANT + 3, constant_cost=str(INSTANCE.constant_cost))
    page, markdown = report_of(tmp_path, plain, bound())
    assert "busy period" not in markdown
    assert "Gap by busy period" not in page
    for records in ([plain, bound()], [stored(tmp_path, "plan", PLAN), bound(shares=())]):
        assert split_days(collect(records).groups[0], tmp_path).days == ()
    published = bound("published", claims="published")
    found = split_days(collect([stored(tmp_path, "plan", PLAN), published]).groups[0], tmp_path)
    assert found.days == ()


def test_a_schedule_that_is_not_kept_may_tell_its_periods(tmp_path: Path) -> None:
    """Rows of a record are split like a stored schedule, with no file to read."""
    rows = ((0, 6_000, 1, 80 / 60, 2 / 540), (20_000, 27_500, 2, 260 / 180, 2 / 540))
    constant = {"constant_cost": str(INSTANCE.constant_cost)}
    plan = make_record("plan", upper=measure(INSTANCE, PLAN).cost, periods=rows, **constant)
    told, _ = report_of(tmp_path, plan, bound())
    (day,) = split_days(load(tmp_path).groups[0], tmp_path).days
    kept = split_days(collect([stored(tmp_path, "plan", PLAN), bound()]).groups[0], tmp_path).days[
        0
    ]
    for mine, its in zip(day.periods, kept.periods, strict=True):
        assert (mine.start_ms, mine.end_ms, mine.jobs) == (its.start_ms, its.end_ms, its.jobs)
        assert mine.upper == pytest.approx(its.upper, rel=1e-12)
        assert mine.lower == pytest.approx(its.lower, rel=1e-12)
    assert "56.52 %" in told


def test_better_sides_that_cannot_be_split_are_told(tmp_path: Path) -> None:
    """A cheaper run without schedule and a greater bound without shares are named below the picture."""
    records = [
        stored(tmp_path, "plan", PLAN),
        make_record("figures", upper=CONSTANT + 2.75, constant_cost=str(INSTANCE.constant_cost)),
        bound(),
        bound("exact", lower=CONSTANT + 2.72, shares=(), claims="exact"),
    ]
    (day,) = split_days(collect(records).groups[0], tmp_path).days
    cost, lower = f"{CONSTANT + 2.75:.2f}", f"{CONSTANT + 2.72:.2f}"
    assert f"figures has a lower cost, {cost}, which is not known by period." in day.note
    assert f"exact proves more, {lower}, but not job by job." in day.note
    assert day.active_gap == pytest.approx((80 / 60 + 260 / 180 + 4 / 540 - 2.7) / 2.785185, 1e-6)


def test_only_the_worst_days_are_split(tmp_path: Path) -> None:
    """Of 15 days the ones with the largest active gap are split, and the note counts the rest."""
    records = []
    for seed in range(1, 16):
        records.append(stored(tmp_path, "plan", PLAN, seed=seed, digest=f"d{seed}"))
        lower = CONSTANT + sum(SHARES) - seed / 100
        records.append(bound(seed=seed, digest=f"d{seed}", lower=lower))
    keyed = [make_key(record) for record in records]
    days = split_days(collect(keyed).groups[0], tmp_path)
    assert [day.row.record.seed for day in days.days] == list(range(15, 15 - MOST_DAYS, -1))
    assert days.left_out == 15 - MOST_DAYS
    assert "The 12 days with the largest active gap are split; 3 more are not." in days.note


def make_key(record: Record) -> Record:
    """Return the record with the key of its seed."""
    from dataclasses import replace

    return replace(record, key=f"{record.instance}/{record.seed}/{record.entry}/10s")


def periods(count: int) -> list[Period]:
    """Return periods of an hour each, the n-th of n jobs, whose gaps are 1, 2, ... thousandths."""
    hour = 3_600_000
    return [
        Period(n * hour, n * hour + hour // 2, n, 0.1, 0.01, 0.11 - n / 1000)
        for n in range(1, count + 1)
    ]


def test_tables_list_the_worst_and_add_up() -> None:
    """Of 20 periods the 3 worst, the other 17 and all: gaps 0.020, 0.019, 0.018, 0.153 of 0.210."""
    rows = period_table(periods(20), 3).rows
    assert [row[-2:] for row in rows] == [
        ("0.0200", "9.52 %"),
        ("0.0190", "9.05 %"),
        ("0.0180", "8.57 %"),
        ("0.1530", "72.86 %"),
        ("0.2100", "100.00 %"),
    ]
    assert [row[1] for row in rows][2:] == ["18:00–18:30", "17 other periods", "all"]
    sizes = size_table(periods(20)).rows
    assert [row[:3] for row in sizes] == [
        ("1", "1", "1"),
        ("2 to 3", "2", "5"),
        ("4 to 8", "5", "30"),
        ("9 to 15", "7", "84"),
        ("16 to 20", "5", "90"),
    ]
    # A single period more than fits is listed rather than called the rest.
    assert [row[1] for row in period_table(periods(4), 3).rows] == [
        *("04:00–04:30", "03:00–03:30", "02:00–02:30", "01:00–01:30", "all")
    ]


def test_a_picture_has_one_column_per_period() -> None:
    """Every period can be pointed at; the worst are numbered; times beyond a day go on counting."""
    picture = period_picture(periods(30), "p", "A day & more")
    root = ElementTree.fromstring(picture.svg)
    namespace = "{http://www.w3.org/2000/svg}"
    titles = [element.text or "" for element in root.iter(f"{namespace}title")]
    assert len(titles) == 30
    assert "30:00–30:30, 30 jobs, rank 1" in " ".join(titles)
    texts = [element.text for element in root.iter(f"{namespace}text")]
    assert {str(rank) for rank in range(1, 9)} <= set(texts)
    assert root.get("aria-label") == "A day & more"
    assert "var(--ink)" in picture.svg
    file = period_svg(periods(30))
    assert "var(" not in file
    assert 'fill="#ffffff"' in file
    assert ElementTree.fromstring(file).get("width") == "900"


def test_a_share_above_its_cost_is_a_dashed_frame() -> None:
    """A negative gap is drawn below the line and framed above the cost; without any gap it is said."""
    odd = [Period(0, 60_000, 1, 0.1, 0.0, 0.15), Period(90_000, 99_000, 2, 0.5, 0.0, 0.3)]
    assert "stroke-dasharray" in period_svg(odd)
    assert "stroke-dasharray" not in period_svg(periods(3))
    assert "no gap" in period_svg([Period(0, 60_000, 1, 0.1, 0.0, 0.1)])
    assert "no gap" in period_svg([])


def test_clock() -> None:
    """Hours and minutes; seconds where all is over within half an hour."""
    assert clock(90_061_000) == "25:01"
    assert clock(61_000, seconds=True) == "00:01:01"
    assert span_text(Period(0, 60_000, 1, 0.0, 0.0)) == "00:00–00:01"


def test_bound_that_is_split_is_named_when_it_is_not_the_best() -> None:
    """Only where an engine or a formula claims more than the prices that are split."""
    prices = ("split_bound", "multipliers", 1.25)
    assert split_bound_text([prices, ("closed_form", "closed_form", 1.0)]) == ""
    assert split_bound_text([("closed_form", "closed_form", 1.0)]) == ""
    told = split_bound_text([prices, ("interval_milp", "engine", 1.5)])
    assert told == (
        "The bound that is split is 1.2500 by split_bound; the best one, 1.5000 by interval_milp, is "
        "not known job by job."
    )


# ---------------------------------------------------------------- a certificate


def certificate(**changes: Any) -> dict[str, Any]:
    """Return the content of a certificate file of the plan."""
    metrics = measure(INSTANCE, PLAN)
    empty: dict[str, Any] = dict.fromkeys(
        ("gap", "active_gap", "checkable_lower", "checkable_gap", "checkable_active_gap")
    )
    lower = CONSTANT + sum(SHARES)
    bounds = [{"by": "split_bound", "proof": "multipliers", "lower": lower}]
    rows = [
        Period(0, 6_000, 1, 80 / 60, 2 / 540, 1.3).as_dict(),
        Period(20_000, 27_500, 2, 260 / 180, 2 / 540, 1.4).as_dict(),
    ]
    content = {
        "format": "migopt-certificate",
        "version": 1,
        "instance_digest": io.instance_digest(INSTANCE),
        "upper": metrics.cost,
        "upper_by": "day_plan",
        "lower": lower,
        "lower_by": "split_bound",
        "proof": "multipliers",
        "constant": str(INSTANCE.constant_cost),
        "upper_parts": {"energy": metrics.energy_cost, "tardiness": metrics.tardiness_cost},
        "lower_parts": None,
        "infeasible": "",
        "stop": "finished",
        "time_limit_s": 5.0,
        "prepare_s": 0.0,
        "wall_s": 4.5,
        "created_at": "2030-01-01T00:00:00+00:00",
        "versions": {"migopt": "0.1.0"},
        "stages": [
            {"name": "day_plan", "outcome": "feasible", "wall_s": 2.5, "upper": metrics.cost}
            | {"lower": None, "class_lower": 0.5, "class_name": "no preemption", "message": "<b>"}
        ],
        "periods": rows,
        "bounds": bounds,
        "schedule": io.schedule_to_dict(PLAN, INSTANCE),
        "instance": None,
    }
    return empty | content | changes


def page_of(folder: Path, content: dict[str, Any]) -> str:
    """Write a certificate file, have its page written, and return it."""
    path = folder / "plan.cert.json"
    path.write_text(json.dumps(content))
    done = CliRunner().invoke(cli, ["report", str(path), "-o", str(folder / "pages"), "--json"])
    assert done.exit_code == 0, done.stderr
    made = json.loads(done.stdout)["files"]["html"]
    assert made == str(folder / "pages" / "plan.cert.html")
    return Path(made).read_text()


def test_certificate_page_without_instance(tmp_path: Path) -> None:
    """A certificate of a GPU of one's own holds no instance: figures and periods, but no schedule."""
    page = page_of(tmp_path, certificate())
    text = re.sub(r"<[^>]*>", "\n", page)
    needed = ["by day_plan", "by split_bound (multipliers)", "1.44815", "56.52 %", "100.00 %"]
    needed += ["0.5000 (no preemption)", "&lt;b&gt;", "migopt certify --verify plan.cert.json"]
    assert [item for item in needed if item not in text] == []
    assert "memory unit" not in page
    ElementTree.fromstring(page.replace("<!DOCTYPE html>", "", 1).strip())


def test_certificate_page_with_instance(tmp_path: Path) -> None:
    """With the instance the page has its settings, the schedule over time, and its slices."""
    page = page_of(tmp_path, certificate(instance=io.instance_to_dict(INSTANCE)))
    assert "Certificate: by hand" in page
    assert "<dt>tau</dt><dd>4 s</dd>" in page
    assert page.count("<figcaption>") == 3
    assert "3 jobs, 2 late, 0 repartitions." in page
    assert ">4g.20gb<" in page


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"periods": []}, "that takes prices of the splitting bound"),
        ({"periods": [], "upper": None}, "There is no schedule, so no gap to split."),
        ({"infeasible": "job 3 fits nowhere"}, "No schedule exists: job 3 fits nowhere"),
    ],
)
def test_certificate_page_says_what_is_missing(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    """Without periods the page says why; where no schedule exists, that is the first thing it says."""
    assert told in page_of(tmp_path, certificate(**change))


def test_certificate_page_is_a_page_for_certificates_only(tmp_path: Path) -> None:
    """Another file, a broken row, run keys for a certificate: exit code 2 and one line."""
    path = tmp_path / "c.json"
    faults = [
        ({"format": "x"}, [], "migopt-certificate"),
        (certificate(periods=[{"start_ms": 1}]), [], "a busy period lacks 'end_ms'"),
        (certificate(), ["--gantt", "a/1/b/1s"], "not for a certificate"),
    ]
    for content, options, told in faults:
        path.write_text(json.dumps(content))
        done = CliRunner().invoke(cli, ["report", str(path), *options])
        assert done.exit_code == 2
        assert told in done.stderr
        assert done.stderr.count("\n") == 1
