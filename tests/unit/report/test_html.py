"""The page: well-formed, self-contained, themed, accessible, and the same on every run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from factories import P_43, P_223, make_instance, make_job
from migopt.model import OFF_PARTITION, Placement, Reconfiguration, Schedule, Segment
from migopt.records import Record, RecordWriter, Status
from migopt.report.bars import bars_picture
from migopt.report.collect import Collection, collect
from migopt.report.figures import (
    MOST_ENTRIES,
    _thinned,
    busy_level_pictures,
    gap_picture,
    ranking_picture,
)
from migopt.report.gantt import gantt_picture
from migopt.report.html import as_html
from migopt.report.markdown import as_markdown_report
from migopt.report.svg import Picture
from migopt.report.write import load, write_report
from record_factory import SETTINGS, make_record

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert("x")</script> & "quotes"'


def some_records() -> list[Record]:
    """Return two classes, ranked and unranked entries, a bound, a failure and a skip."""
    records = []
    for cls in ("days", "weeks"):
        for seed in range(1, 7):
            common = {"instance": cls, "cls": cls}
            records += [
                make_record("good", seed, upper=5.0 + seed / 7, **common),
                make_record("other", seed, upper=5.5 + (seed * 3 % 7) / 5, **common),
                make_record("closed_form", seed, lower=4.0, claims="bound", **common),
            ]
    records.append(make_record("partly", 1, upper=5.2, instance="days", cls="days"))
    records.append(make_record("bad", status=Status.FAILED, settings=None, reason=NASTY))
    records.append(make_record("big", status=Status.SKIPPED, reason="too many jobs"))
    return records


@pytest.fixture(scope="module")
def found() -> Collection:
    """The records, judged."""
    return collect(some_records(), notice="a notice")


@pytest.fixture(scope="module")
def page(found: Collection) -> str:
    """The page with all pictures."""
    return as_html(found, all_pictures(found))


def all_pictures(found: Collection) -> dict[str, list[Picture]]:
    """Draw every picture of every group, and a schedule."""
    drawn: dict[str, list[Picture]] = {}
    for index, group in enumerate(found.groups):
        two = [ranking_picture(group, f"g{index}r"), gap_picture(group, f"g{index}g")]
        drawn[group.name] = [picture for picture in two if picture]
        drawn[group.name] += busy_level_pictures(group, f"g{index}b")
    drawn["days"] += [schedule_picture(), slices_picture()]
    return drawn


def schedule_picture() -> Picture:
    """Draw a schedule with a repartition and a late job."""
    instance = make_instance(make_job(0, ms=28_000, due=9_000), make_job(1, ms=12_000, due=90_000))
    schedule = Schedule(
        (P_43,),
        (
            Segment(0, 7_000, 0, Placement(0, "4g.20gb"), 0),
            Segment(11_000, 15_000, 0, Placement(4, "3g.20gb"), 1),
            Segment(11_000, 18_000, 0, Placement(0, "2g.10gb"), 0),
        ),
        (Reconfiguration(7_000, 11_000, 0, P_43, P_223),),
    )
    return gantt_picture(instance, schedule, "s0", "A schedule")


def slices_picture() -> Picture:
    """Draw the partitions of a schedule with one repartition as bars of slices."""
    instance = make_instance(make_job(0, ms=28_000, due=9_000))
    change = Reconfiguration(7_000, 11_000, 0, P_43, P_223)
    return bars_picture(instance, Schedule((P_43,), (), (change,)), "s1", "Slices")


def test_partitions_are_bars_of_slices() -> None:
    """One bar at first and one after the change, at 11 s; what is new has a strong frame, what stays none."""
    picture = slices_picture()
    names = re.findall(r">(\d+g\.\d+gb)<", picture.svg)
    assert names == ["4g.20gb", "3g.20gb", "2g.10gb", "2g.10gb", "3g.20gb"]
    assert ">at first<" in picture.svg
    assert ">0:00:11<" in picture.svg
    assert picture.svg.count('stroke-width="3"') == 2
    assert "#767676" not in re.sub(r"<rect[^>]*>", "", picture.svg)


def test_bars_of_many_changes_say_what_is_left_out() -> None:
    """Of 20 changes eleven are drawn below the first partition, and the caption counts the others."""
    instance = make_instance(make_job(0, ms=28_000, due=9_000))
    pairs = [(P_43, P_223), (P_223, P_43)] * 10
    changes = tuple(
        Reconfiguration(i * 10_000, i * 10_000 + 4_000, 0, *pair) for i, pair in enumerate(pairs)
    )
    picture = bars_picture(instance, Schedule((P_43,), (), changes), "m", "many")
    assert picture.svg.count(">0:0") == 11
    assert "9 later changes are not drawn" in picture.caption


def elements(page: str) -> Iterator[ElementTree.Element]:
    """Parse the page as XML, which fails on any tag that is not closed."""
    return ElementTree.fromstring(page.replace("<!DOCTYPE html>", "", 1)).iter()


def test_page_is_well_formed_and_ids_are_unique(page: str) -> None:
    """Every tag is closed, no id is used twice, and every inner link has its target."""
    ids = Counter(element.get("id") for element in elements(page) if element.get("id"))
    assert [name for name, count in ids.items() if count > 1] == []
    links = [element.get("href", "") for element in elements(page) if element.get("href")]
    links += [
        value
        for element in elements(page)
        for key, value in element.attrib.items()
        if key.endswith("}href")
    ]
    links += re.findall(r"url\((#[^)]*)\)", page)
    assert links
    assert [link for link in links if link.removeprefix("#") not in ids] == []


def test_page_loads_nothing(page: str) -> None:
    """No script, no style sheet, picture or font from elsewhere: the file is complete."""
    tags = {element.tag.rpartition("}")[2] for element in elements(page)}
    assert tags.isdisjoint({"script", "link", "iframe", "img", "image", "object", "embed"})
    assert not re.search(r"""(src|href)\s*=\s*["'](?!\#)""", page)
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", page)
    addresses = set(re.findall(r"https?://[^\"'\s<]*", page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_page_is_for_phones_dark_mode_and_screen_readers(page: str) -> None:
    """It scales to the screen, follows the colour scheme, and each picture says what it shows."""
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in page
    pictures = [element for element in elements(page) if element.tag == f"{SVG}svg"]
    assert len(pictures) == 8
    assert all(picture.get("role") == "img" and picture.get("aria-label") for picture in pictures)
    assert page.count("<figcaption>") == len(pictures)
    # Ink and paper are variables of the page; a fixed black would vanish in the dark.
    assert "var(--ink)" in page
    assert "#010203" not in page


def test_text_from_records_is_escaped(page: str) -> None:
    """What a solver said cannot become part of the page."""
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_page_says_what_it_must(page: str, found: Collection) -> None:
    """Settings per class, losses with reasons, command, commit, machine and seeds are printed."""
    text = " ".join(filter(None, (element.text for element in elements(page))))
    needed = ["paper-12", "free", "4 s", "1/3", "too many jobs", "a notice", "1-6"]
    needed += ["migopt bench made-up -o out", "0123456789ab", "2 cores, 8.0 GiB", "active gap"]
    assert [item for item in needed if item not in text] == []
    markdown = as_markdown_report(found)
    assert [item for item in needed if item not in markdown] == []


def test_contradictions_are_shown_first() -> None:
    """A bound above a cost is the first thing a reader sees, in both forms."""
    records = [make_record("rule", upper=5.0), make_record("b", lower=6.0, claims="bound")]
    found = collect(records)
    page = as_html(found, {})
    assert page.index("Contradictions") < page.index("The best entry of each class")
    assert "Contradictions" in as_markdown_report(found)


def test_report_is_the_same_on_every_run(tmp_path: Path) -> None:
    """Written twice from the same records, every file has the same bytes."""
    writer = RecordWriter(tmp_path / "records.jsonl")
    for record in some_records():
        writer.append(record)
    writer.close()
    first = write_report(load(tmp_path), tmp_path, tmp_path / "one")
    second = write_report(load(tmp_path), tmp_path, tmp_path / "two")
    for path in (first.html, first.markdown, first.csv):
        assert path.stat().st_size > 0
        assert path.read_bytes() == (second.html.parent / path.name).read_bytes()


def test_schedule_picture_shows_slices_repartition_and_labels() -> None:
    """Jobs carry their numbers, the caption counts late jobs and repartitions."""
    picture = schedule_picture()
    assert picture.caption.startswith("2 jobs, 1 late, 1 repartition.")
    root = ElementTree.fromstring(picture.svg)
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert texts.count("0") >= 2
    assert "GPU 0, A100-40GB" in texts
    assert "memory unit" in texts
    assert "<pattern" in picture.svg  # the hatch of the repartition


def test_schedules_at_the_edges_are_drawn() -> None:
    """No segment at all, MIG off, more GPUs than rows, and no power curve: each is drawn."""
    empty = make_instance(make_job(0, ms=1000))
    assert "<svg" in gantt_picture(empty, Schedule((P_43,), ()), "e", "empty").svg
    off = make_instance(make_job(0, ms=7000), mig_off=True)
    run = Segment(0, 1000, 0, Placement(0, "off"), 0)
    assert "<svg" in gantt_picture(off, Schedule((OFF_PARTITION,), (run,)), "o", "off").svg
    many = make_instance(make_job(0, ms=1000), gpus=empty.gpus * 6)
    picture = gantt_picture(many, Schedule((P_43,) * 6, ()), "m", "many")
    assert "GPUs 0 to 3 of 6 are drawn." in picture.caption


def test_long_rankings_are_cut_and_say_so() -> None:
    """Beyond what can be read, the figure names how many are in the table only."""
    records = [make_record(f"rule{index:02d}", upper=2.0 + index) for index in range(45)]
    group = collect(records).groups[0]
    picture = ranking_picture(group, "r")
    assert picture is not None
    assert "rule39" in picture.svg
    assert "rule40" not in picture.svg
    assert f"The {45 - MOST_ENTRIES} entries below are in the table only." in picture.caption


def test_many_runs_are_thinned_evenly() -> None:
    """Beyond a hundred points the picture keeps smallest, largest and an even sample between."""
    assert _thinned([3.0, 1.0, 2.0]) == [3.0, 1.0, 2.0]
    points = _thinned([float(value) for value in range(1000, 0, -1)])
    assert len(points) == 100
    assert (points[0], points[-1]) == (1.0, 1000.0)
    assert all(9 <= after - before <= 12 for before, after in pairwise(points))


def test_groups_without_numbers_have_no_picture() -> None:
    """A class with bounds only, or without any bound, draws what it can and no more."""
    bounds = collect([make_record("b", lower=1.0, claims="bound")]).groups[0]
    assert ranking_picture(bounds, "r") is None
    assert gap_picture(bounds, "g") is None
    assert busy_level_pictures(bounds, "b") == []
    costs = collect([make_record("rule", upper=2.0)]).groups[0]
    assert gap_picture(costs, "g") is None


def test_two_gpu_models_two_figures() -> None:
    """Busy levels of cards with different numbers of slices are not averaged together."""
    settings = replace(SETTINGS, gpus={"A100-40GB": 1, "A30-24GB": 1})
    record = make_record("rule", upper=2.0, settings=settings)
    shares = {"A100-40GB": [1.0] + [0.0] * 7, "A30-24GB": [0.5, 0.5, 0.0, 0.0, 0.0]}
    record = replace(record, metrics={**record.metrics, "busy_level_share": shares})
    pictures = busy_level_pictures(collect([record]).groups[0], "b")
    assert [("A100" in p.title, "A30" in p.title) for p in pictures] == [
        (True, False),
        (False, True),
    ]
