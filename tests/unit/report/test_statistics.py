"""Means, intervals and rankings against figures worked out by hand."""

from __future__ import annotations

import math

import pytest

from migopt.report.statistics import mean_interval, paired_difference, rank


def units(*values: float, first: int = 1) -> dict[tuple[str, int], float]:
    """Return values of one instance by seed."""
    return {("day", first + index): value for index, value in enumerate(values)}


def test_t_interval_by_hand() -> None:
    """1, 2, 3, 4: mean 2.5, variance 5/3, t(0.975; 3) = 3.182446 from the tables."""
    found = mean_interval([1.0, 2.0, 3.0, 4.0])
    half = 3.182446305 * math.sqrt(5 / 3 / 4)
    assert found.mean == 2.5
    assert found.low == pytest.approx(2.5 - half, rel=1e-8)
    assert found.high == pytest.approx(2.5 + half, rel=1e-8)
    assert found.n == 4


def test_two_values_use_one_degree_of_freedom() -> None:
    """0 and 2: standard error 1, t(0.975; 1) = 12.7062, so the interval is -11.7 to 13.7."""
    found = mean_interval([0.0, 2.0])
    assert found.low == pytest.approx(1 - 12.7062047, abs=1e-6)
    assert not found.excludes_zero


def test_one_value_has_no_interval() -> None:
    """With one run nothing is said about the spread, and nothing excludes zero."""
    found = mean_interval([3.0])
    assert (found.mean, found.low, found.high) == (3.0, None, None)
    assert not found.excludes_zero
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])


def test_equal_values_have_an_interval_of_no_width() -> None:
    """Runs that all agree give an interval of no width, also around zero."""
    assert mean_interval([5.0, 5.0, 5.0]).high == 5.0
    assert not mean_interval([0.0, 0.0]).excludes_zero


def test_pairing_cancels_what_the_days_share() -> None:
    """Days of cost 10, 20, 30 with a constant difference of 1: the paired interval is a point."""
    found = paired_difference(units(11, 21, 31), units(10, 20, 30))
    assert found is not None
    assert (found.mean, found.low, found.high) == (1.0, 1.0, 1.0)
    assert found.excludes_zero


def test_pairing_uses_common_units_only() -> None:
    """Seeds that one of the two lacks do not enter, and without a common seed nothing is said."""
    found = paired_difference(units(5, 6, 7, first=2), units(1, 2, 3))
    assert found is not None
    assert (found.mean, found.n) == (3.0, 2)
    assert paired_difference(units(1), units(1, first=9)) is None


def test_ranking_by_hand() -> None:
    """Means 2, 3 and 3: equal means share a place, wins are counted with ties."""
    ranking = rank({"b": units(3, 3), "a": units(1, 3), "c": units(1, 5)})
    assert [(row.place, row.entry, row.mean.mean) for row in ranking.rows] == [
        (1, "a", 2.0),
        (2, "b", 3.0),
        (2, "c", 3.0),
    ]
    assert [row.wins for row in ranking.rows] == [2, 1, 1]
    assert ranking.rows[0].to_best is None
    assert ranking.rows[1].to_best is not None
    assert ranking.rows[1].to_best.mean == 1.0
    assert ranking.units == 2


def test_an_entry_that_skips_hard_days_is_not_ranked_first() -> None:
    """A mean over easy days only gets no place, and is compared on the common days."""
    ranking = rank({"whole": units(1, 9, 9), "picky": units(2)})
    assert [(row.entry, row.place) for row in ranking.rows] == [("whole", 1), ("picky", None)]
    versus = ranking.rows[1].to_best
    assert versus is not None
    assert (versus.mean, versus.n) == (1.0, 1)


def test_nobody_complete() -> None:
    """When no entry answers every unit, all are listed and none has a place."""
    ranking = rank({"x": units(1), "y": units(2, first=2), "none": {}})
    assert [(row.entry, row.place, row.to_best) for row in ranking.rows] == [
        ("x", None, None),
        ("y", None, None),
    ]
