"""Enumeration by bits against small cases done by hand."""

from __future__ import annotations

import pytest

from factories import A30, A100
from migopt.errors import UnknownNameError
from migopt.placement import (
    exact_covers,
    inclusion_maximal_multisets,
    maximal_partitions,
    multiset,
    multisets,
    profiles_of_kinds,
    valid_partitions,
)


def test_a30_by_hand() -> None:
    """Two halves of five states each (empty, left, right, both, whole), and 4g: 25 partitions."""
    valid = valid_partitions(A30)
    assert len(valid) == 5 * 5 - 1 + 1
    assert [str(p) for p in maximal_partitions(A30)] == [
        "4g.24gb@0",
        "2g.12gb@0,2g.12gb@2",
        "2g.12gb@0,1g.6gb@2,1g.6gb@3",
        "1g.6gb@0,1g.6gb@1,2g.12gb@2",
        "1g.6gb@0,1g.6gb@1,1g.6gb@2,1g.6gb@3",
    ]
    assert exact_covers(A30) == maximal_partitions(A30)
    assert multisets(A30, valid)[0] == ("4g.24gb",)
    assert len(multisets(A30, valid)) == 9


def test_a_longer_partition_comes_before_its_beginning() -> None:
    """Larger first all the way: 2g+2g before 2g+1g+1g before 2g+1g before 2g alone."""
    sets = multisets(A30, valid_partitions(A30))
    big, half, one = "4g.24gb", "2g.12gb", "1g.6gb"
    assert sets == [
        (big,),
        (half, half),
        (half, one, one),
        (half, one),
        (half,),
        (one,) * 4,
        (one,) * 3,
        (one,) * 2,
        (one,),
    ]


def test_subset_of_profiles() -> None:
    """Maximal is meant within the given profiles; an unknown one is an error."""
    assert [str(p) for p in maximal_partitions(A30, ["2g.12gb"])] == ["2g.12gb@0,2g.12gb@2"]
    assert [str(p) for p in exact_covers(A30, iter(["4g.24gb"]))] == ["4g.24gb@0"]
    assert valid_partitions(A30, []) == []
    with pytest.raises(UnknownNameError, match="unknown profile of A30-24GB '3g.18gb'"):
        valid_partitions(A30, ["3g.18gb"])


def test_inclusion_maximal_drops_what_other_places_allow() -> None:
    """3g+2g+1g is maximal with the 3g at 0, but 3g+2g+1g+1g contains it."""
    plain = ["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]
    maximal = multisets(A100, maximal_partitions(A100, plain))
    kept = inclusion_maximal_multisets(A100, plain)
    assert sorted(set(maximal) - set(kept)) == [
        ("3g.20gb", "1g.5gb", "1g.5gb", "1g.5gb"),
        ("3g.20gb", "2g.10gb", "1g.5gb"),
    ]
    assert kept == [candidate for candidate in maximal if candidate in kept]


def test_multiset_forgets_places_only() -> None:
    """Equal slices at other places are the same multiset, largest first."""
    forms = [p for p in maximal_partitions(A30) if len(p) == 3]
    assert {multiset(A30, p) for p in forms} == {("2g.12gb", "1g.6gb", "1g.6gb")}


def test_profiles_of_kinds() -> None:
    """Kinds select profiles in table order; a kind the GPU lacks is an error."""
    assert profiles_of_kinds(A30, ["plain"]) == ["1g.6gb", "2g.12gb", "4g.24gb"]
    with pytest.raises(UnknownNameError, match="kind of profile of A30-24GB 'double_memory'"):
        profiles_of_kinds(A30, ["plain", "double_memory"])
