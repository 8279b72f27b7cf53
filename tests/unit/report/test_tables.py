"""Tables: numbers for people, and the same cells as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io

import pytest

from migopt.records import Status
from migopt.report.collect import collect
from migopt.report.tables import (
    Table,
    as_markdown,
    as_text,
    means_table,
    number,
    overview_table,
    percent,
    ranking_table,
    reasons_table,
    results_csv,
    run_table,
)
from record_factory import make_record


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0.0000"),
        (-1e-12, "0.0000"),
        (1.23456, "1.2346"),
        (0.2614159, "0.2614"),
        (0.000304159, "0.0003042"),
        (-2.5e-7, "-0.0000002500"),
        (999.96, "999.96"),
        (12.3456, "12.346"),
        (1995130.4, "1,995,130.4"),
        (-3.5, "-3.5000"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    """Digits that matter, also of small costs, no minus before zero, a dash for what is not there."""
    assert number(value) == text


def test_percent() -> None:
    """Two decimals; float dust below zero is zero."""
    assert percent(0.23456) == "23.46 %"
    assert percent(-1e-17) == "0.00 %"
    assert percent(None) == "–"


def test_text_is_aligned() -> None:
    """Text flush left, numbers flush right, no blanks at line ends."""
    table = Table("t", ("<name", "cost"), (("a", "10.0"), ("long", "9.0")))
    assert as_text(table).splitlines() == ["name  cost", "----  ----", "a     10.0", "long   9.0"]


def test_markdown_escapes_bars() -> None:
    """A bar in a cell does not make a column; the note follows the table."""
    table = Table("t", ("<name", "cost"), (("a|b", "1"),), note="a note")
    assert as_markdown(table).splitlines() == [
        "| name | cost |",
        "| :--- | ---: |",
        "| a\\|b | 1 |",
        "",
        "a note",
    ]


def test_run_table_columns_follow_the_data() -> None:
    """Seeds and bounds of a narrower class get a column only where there are any."""
    plain = collect([make_record("rule", upper=5.0)]).groups[0]
    assert "seed" not in run_table(plain).heads
    rich = collect(
        [
            make_record("rule", 1, upper=5.0),
            make_record("rule", 2, upper=5.0),
            make_record("cpsat", upper=4.0, class_lower=3.5, class_name="no preemption"),
        ]
    ).groups[0]
    table = run_table(rich)
    assert "seed" in table.heads
    assert table.rows[0][-1] == "3.5000 (no preemption)"
    met = make_record("cpsat", upper=3.5 + 1e-9, class_lower=3.5, class_name="no preemption")
    assert run_table(collect([met]).groups[0]).rows[0][-1] == "3.5000, reached (no preemption)"
    short = run_table(rich, limit=1)
    assert len(short.rows) == 1
    assert short.note == "The first 1 of 3 runs; all are in results.csv."


def test_ranking_says_what_is_shown_and_what_not() -> None:
    """A difference counts only when its paired interval excludes zero."""
    records = [make_record("best", seed, upper=5.0) for seed in (1, 2, 3)]
    records += [make_record("worse", seed, upper=6.0 + seed / 10) for seed in (1, 2, 3)]
    records += [make_record("same", seed, upper=up) for seed, up in ((1, 3.0), (2, 8.0), (3, 5.0))]
    records += [make_record("once", 1, upper=9.0)]
    table = ranking_table(collect(records).groups[0])
    verdicts = {row[1]: row[6] for row in table.rows}
    assert verdicts == {
        "best": "",
        "same": "no difference shown",
        "worse": "worse",
        "once": "one run: no statement",
    }
    assert "once" in table.note


def test_means_table_marks_bounds() -> None:
    """An entry that has only a bound is marked, and the note says what its gap means."""
    table = means_table(
        collect(
            [make_record("rule", upper=5.0), make_record("b", lower=3.0, claims="bound")]
        ).groups[0]
    )
    assert [row[0] for row in table.rows] == ["rule", "b (bound)"]
    assert "its own bound" in table.note


def test_overview_and_reasons() -> None:
    """The overview counts losses per class; equal reasons are one line with their keys."""
    records = [make_record("rule", upper=5.0), make_record("b", lower=3.0, claims="bound")]
    records += [
        make_record("bad", seed, status=Status.FAILED, reason="died") for seed in range(1, 6)
    ]
    found = collect(records)
    (row,) = overview_table(found).rows
    assert row == ("days", "1", "2", "rule", "5.0000", "3.0000", "40.00 %", "50.00 %", "5", "0")
    (line,) = reasons_table("Failed", found.failed).rows
    assert line[2] == "5"
    assert line[3].endswith("day/3/bad/10s and 2 more")
    assert line[4] == "died"


def test_csv_holds_every_run_at_full_precision() -> None:
    """CSV loses no digit and no run."""
    records = [
        make_record("rule", upper=0.1 + 0.2),
        make_record("bad", status=Status.FAILED, settings=None, reason='said "no", twice'),
    ]
    rows = list(csv.DictReader(io.StringIO(results_csv(collect(records)))))
    assert [row["status"] for row in rows] == ["ok", "failed"]
    assert float(rows[0]["cost"]) == 0.1 + 0.2
    assert rows[1]["reason"] == 'said "no", twice'


def test_one_run_has_no_interval_columns_and_ties_are_named() -> None:
    """With one run per entry nothing is averaged; the overview says how many share the place."""
    records = [
        make_record("b", upper=5.0),
        make_record("a", upper=5.0),
        make_record("c", upper=6.0),
    ]
    found = collect(records)
    table = ranking_table(found.groups[0])
    assert table.heads == ("place", "entry", "mean cost", "over the best")
    assert [row[:2] for row in table.rows] == [("1", "a"), ("1", "b"), ("3", "c")]
    assert overview_table(found).rows[0][3] == "a and 1 equal"
