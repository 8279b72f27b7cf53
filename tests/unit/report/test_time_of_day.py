"""Report: repartitions by hour and partitions in force, from records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from migopt.bench.execute import InstanceCache, execute
from migopt.bench.expand import load_suite
from migopt.bench.runner import _asked
from migopt.records import Record
from migopt.report.collect import Group, collect
from migopt.report.time_of_day import (
    hours_picture,
    mean_by_hour,
    partitions_picture,
    shares_by_span,
)

SUITE = """
seeds = 2
check_schedules = "first_seed"
entries = ["edf_ss+static:3", "edf_ss+timetable:5:30=6,17:00=2"]
[budget]
time_limit_s = 5
[[instances]]
class = "day"
generator = "s0-slack"
parameters = { rate_multiplier = 0.5 }
"""


def _group(folder: Path) -> Group:
    path = folder / "day.toml"
    path.write_text(SUITE, encoding="utf-8")
    cache = InstanceCache()
    records = [
        Record(**_asked(run), **execute(run, folder, cache))
        for run in load_suite(path).runs
    ]
    return collect(records).groups[0]


def test_figures_of_a_timetable(tmp_path: Path) -> None:
    """Two changes a day at 5 and 17 o'clock; partition 6 has 2.5 of the hours 4 to 8, then all until 16."""
    group = _group(tmp_path)
    entry = "edf_ss+timetable:5:30=6,17:00=2"
    means = mean_by_hour(group)
    assert list(means) == [entry]
    assert [(hour, n) for hour, n in enumerate(means[entry]) if n] == [(5, 1), (17, 1)]
    assert shares_by_span(group)[entry]["6"] == [0, 2.5 / 4, 1, 1, 1 / 4, 0]
    for picture in (hours_picture(group, "h"), partitions_picture(group, "p")):
        assert picture is not None
        assert picture.svg.startswith("<svg")


def test_no_figure_without_changes(tmp_path: Path) -> None:
    """A group whose entries keep their partitions has neither figure."""
    group = _group(tmp_path)
    kept = replace(group, rows=tuple(row for row in group.rows if "static" in row.entry))
    assert hours_picture(kept, "h") is None
    assert partitions_picture(kept, "p") is None
