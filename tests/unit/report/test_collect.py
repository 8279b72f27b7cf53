"""Judging: which bounds a run is held against, and which runs may be compared at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migopt.records import Status
from migopt.report.collect import collect
from migopt.report.summary import as_json, entry_means, seeds_text
from record_factory import ENVIRONMENT, SETTINGS, make_record


def test_gap_and_active_gap_by_hand() -> None:
    """Cost 5 against the best bound 3, constant 1: gap 2/5, active gap (4 - 2)/4 = 1/2."""
    found = collect(
        [
            make_record("rule", upper=5.0),
            make_record("weak", lower=2.0, claims="bound"),
            make_record("strong", lower=3.0, claims="bound"),
        ]
    )
    rows = {row.entry: row for row in found.groups[0].rows}
    rule = rows["rule"]
    assert (rule.upper, rule.lower, rule.lower_by) == (5.0, 3.0, "strong")
    assert (rule.gap, rule.active_gap) == (0.4, 0.5)
    # A bound is held against the best cost: (5 - 2)/5 and (4 - 1)/4.
    weak = rows["weak"]
    assert (weak.upper, weak.upper_by, weak.lower) == (5.0, "rule", 2.0)
    assert (weak.gap, weak.active_gap) == (0.6, 0.75)


def test_a_published_figure_closes_no_gap() -> None:
    """A published formula above the optimum changes no other entry's gap."""
    found = collect(
        [make_record("rule", upper=5.0), make_record("p", lower=4.9, claims="published")]
    )
    rows = {row.entry: row for row in found.groups[0].rows}
    assert rows["rule"].lower is None
    assert rows["rule"].gap is None
    assert rows["p"].lower == 4.9


def test_bounds_do_not_cross_instances() -> None:
    """The bound of one seed's instance says nothing about another's."""
    found = collect(
        [make_record("rule", 1, upper=5.0), make_record("b", 2, lower=4.0, claims="bound")]
    )
    assert found.groups[0].of("rule")[0].lower is None


def test_different_weights_never_meet() -> None:
    """One class under two values of a makes two groups, each named by its a."""
    other = replace(SETTINGS, weight_a="1/40")
    found = collect(
        [make_record("rule", 1, upper=5.0), make_record("rule", 2, upper=50.0, settings=other)]
    )
    assert [group.name for group in found.groups] == ["days (a 1/3)", "days (a 1/40)"]
    assert [entry_means(group)[0].cost for group in found.groups] == [5.0, 50.0]
    rows = as_json(found)["rows"]
    assert [(row["class"], row["weight_a"], row["cost"]) for row in rows] == [
        ("days", "1/3", 5.0),
        ("days", "1/40", 50.0),
    ]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"catalogue": "all"}, "days (catalogue all)"),
        ({"tau_ms": 0}, "days (tau 0 s)"),
        ({"preemption": "none"}, "days (preemption none)"),
        ({"gpus": {"A30-24GB": 2}}, "days (GPUs 2 x A30-24GB)"),
        ({"mig_off": False}, "days (MIG off not allowed)"),
    ],
)
def test_every_setting_splits_a_class(changes: dict[str, object], name: str) -> None:
    """Runs under another rule of the problem are never in one mean."""
    other = replace(SETTINGS, **changes)
    found = collect([make_record("r", upper=1.0), make_record("r", 2, upper=1.0, settings=other)])
    assert len(found.groups) == 2
    assert found.groups[1].name == name


def test_several_budgets_are_several_competitors() -> None:
    """An entry that ran under two budgets shows as two rows, one that ran under one keeps its name."""
    found = collect(
        [
            make_record("cpsat", upper=4.0),
            make_record("cpsat", upper=3.0, key="day/1/cpsat/60s"),
            make_record("rule", upper=5.0),
        ]
    )
    assert found.groups[0].entries == ["cpsat (10s)", "cpsat (60s)", "rule"]


def test_a_bound_above_a_cost_is_a_contradiction() -> None:
    """It is said with both numbers and both names; float dust is not."""
    above = [make_record("rule", upper=5.0), make_record("b", lower=5.1, claims="bound")]
    (text,) = collect(above).contradictions
    assert "b claims" in text
    assert "5.1" in text
    assert "rule has one of 5.0" in text
    dust = [make_record("rule", upper=5.0), make_record("b", lower=5.0 + 1e-10, claims="bound")]
    assert collect(dust).contradictions == ()
    tight = collect(dust).groups[0].of("rule")[0]
    assert tight.gap == pytest.approx(0, abs=1e-9)


def test_an_instance_that_changed_between_runs_is_a_contradiction() -> None:
    """One name and seed with two digests, say after an update of its generator, is not compared."""
    (text,) = collect(
        [make_record("rule", upper=5.0), make_record("other", upper=4.0, digest="changed")]
    ).contradictions
    assert "day (seed 1) was not the same instance in all runs" in text
    assert "changed" in text


def test_an_idle_day_above_a_weak_bound() -> None:
    """Cost equal to the constant and a bound below it: gap 1/2, and no active gap, not a crash."""
    found = collect([make_record("rule", upper=1.0), make_record("b", lower=0.5, claims="bound")])
    rule = found.groups[0].of("rule")[0]
    assert (rule.gap, rule.active_gap) == (0.5, None)


def test_failed_and_skipped_runs_are_kept_apart() -> None:
    """They enter no mean and are listed with their reasons."""
    found = collect(
        [
            make_record("rule", upper=5.0),
            make_record("bad", status=Status.FAILED, settings=None, reason="died"),
            make_record("big", status=Status.SKIPPED, reason="142 jobs"),
        ]
    )
    assert [record.reason for record in found.failed] == ["died"]
    assert [item["reason"] for item in as_json(found)["skipped"]] == ["142 jobs"]
    assert found.groups[0].entries == ["rule"]


def test_means_by_hand() -> None:
    """Means are over the runs that have the number, and say how many have a gap."""
    found = collect(
        [
            make_record("rule", 1, upper=4.0),
            make_record("rule", 2, upper=8.0),
            make_record("b", 1, lower=3.0, claims="bound"),
        ]
    )
    rule, bound = entry_means(found.groups[0])
    assert (rule.cost, rule.energy_wmin, rule.mean_tardiness_min) == (6.0, 600.0, 3.0)
    assert (rule.lower, rule.gap, rule.bounded_runs, rule.runs) == (3.0, 0.25, 1, 2)
    assert (bound.entry, bound.cost, bound.has_schedule) == ("b", None, False)


def test_provenance_lists_what_is_mixed() -> None:
    """Two commits in one folder are both shown; seeds are written in short."""
    other = ENVIRONMENT | {"commit": "fedcba"}
    records = [make_record("r", 1, upper=1.0), make_record("r", 2, upper=1.0, environment=other)]
    shown = as_json(collect(records))["provenance"]
    assert shown["commits"] == ["0123456789ab", "fedcba"]
    assert shown["commands"] == ["migopt bench made-up -o out"]
    assert shown["machines"] == ["2 cores, 8.0 GiB, a processor, Linux"]
    assert shown["seeds"] == ["1-2"]
    assert seeds_text({1, 2, 3, 7, 9, 10}) == "1-3, 7, 9-10"


def test_rows_are_in_an_order_that_means_something() -> None:
    """Whatever ended first: instances and entries by name, numbers as numbers, bounds last."""
    made = [
        make_record("static:10", 2, upper=1.0, instance="case-10"),
        make_record("a_bound", 2, lower=0.5, instance="case-10"),
        make_record("static:9", 2, upper=1.0, instance="case-10"),
        make_record("static:9", 10, upper=1.0, instance="case-9"),
        make_record("static:9", 9, upper=1.0, instance="case-9"),
    ]
    rows = collect(made).groups[0].rows
    assert [(row.unit, row.entry) for row in rows] == [
        (("case-9", 9), "static:9"),
        (("case-9", 10), "static:9"),
        (("case-10", 2), "static:9"),
        (("case-10", 2), "static:10"),
        (("case-10", 2), "a_bound"),
    ]
