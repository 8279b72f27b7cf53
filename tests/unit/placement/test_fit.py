"""Whether wished slices fit, and the smallest reason when they do not."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import load_gpu, model_for_driver
from migopt.model import GpuModel, Placement
from migopt.placement import (
    Wish,
    explain_misfit,
    find_partition,
    multisets,
    parse_wish,
    valid_partitions,
)

A100 = load_gpu("A100-40GB")
A30 = load_gpu("A30-24GB")
PRO = load_gpu("RTX-PRO-6000-BW-96GB")
PARTITIONS = valid_partitions(A100)
VALID = {tuple(sorted(names)) for names in multisets(A100, PARTITIONS)}


@pytest.mark.parametrize(
    ("text", "fixed", "free"),
    [
        ("4g.20gb@0,3g.20gb@4", ["4g.20gb@0", "3g.20gb@4"], []),
        (" 4g.20gb , 3g.20gb ,", [], ["4g.20gb", "3g.20gb"]),
        ("1g.5gb:3", [], ["1g.5gb"] * 3),
        ("3x1g.5gb", [], ["1g.5gb"] * 3),
        ("2 x 1g.5gb+me, 1g.5gb@6", ["1g.5gb@6"], ["1g.5gb+me"] * 2),
    ],
)
def test_notation(text: str, fixed: list[str], free: list[str]) -> None:
    """Places, counts before and after, and mixtures are read."""
    wish = parse_wish(text, A100)
    assert ([str(p) for p in wish.fixed], list(wish.free)) == (fixed, free)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no slice is named"),
        (" , ", "no slice is named"),
        ("4g.20gb@x", "is not a placement"),
        ("4g.20gb@-1", "is not a placement"),
        ("4g.20gb@", "is not a placement"),
        ("1g.5gb:x", "is not a slice"),
        ("1g.5gb:0", "from 1 to 1000"),
        ("9999999x1g.5gb", "from 1 to 1000"),
        ("4g 20gb", "is not a slice"),
    ],
)
def test_other_notation_is_one_error(text: str, message: str) -> None:
    """What is not understood is named, with the forms that are."""
    with pytest.raises(InputError, match=message):
        parse_wish(text, A100)


@pytest.mark.parametrize("text", ["7g.79gb", "7g.79gb@0", "2x7g.79gb"])
def test_unknown_profile_names_the_nearest(text: str) -> None:
    """7g.79gb on the 80 GB card is unknown, the nearest is 7g.80gb."""
    with pytest.raises(UnknownNameError, match=r"'7g.79gb'; nearest: 7g.80gb"):
        parse_wish(text, load_gpu("A100-80GB"))


@pytest.mark.parametrize(
    ("model", "text", "partition"),
    [
        (A100, "3g.20gb,4g.20gb", "4g.20gb@0,3g.20gb@4"),
        (A100, "1g.5gb,2g.10gb,4g.20gb", "4g.20gb@0,2g.10gb@4,1g.5gb@6"),
        (A100, "1g.5gb,1g.5gb,2g.10gb,3g.20gb", "2g.10gb@0,1g.5gb@2,1g.5gb@3,3g.20gb@4"),
        (A100, "1g.5gb@3,3g.20gb", "1g.5gb@3,3g.20gb@4"),
        (A100, "1g.5gb:7", ",".join(f"1g.5gb@{i}" for i in range(7))),
        (PRO, "1g.24gb@3,2g.48gb", "1g.24gb@3,2g.48gb@6"),
    ],
)  # fmt: skip
def test_places_are_found(model: GpuModel, text: str, partition: str) -> None:
    """Free slices get starts that leave room for all, also where the largest cannot go first."""
    wish = parse_wish(text, model)
    assert str(find_partition(model, wish)) == partition
    assert explain_misfit(model, wish) is None


@pytest.mark.parametrize(
    ("model", "text", "rule", "conflict", "message"),
    [
        (A100, "4g.20gb@1", "start", ["4g.20gb@1"], "4g.20gb of A100-40GB may start at 0"),
        (A100, "4g.20gb@0,1g.5gb@6,3g.20gb@4", "memory", ["1g.5gb@6", "3g.20gb@4"], "memory unit 6"),
        (A100, "1g.5gb@1,1g.5gb@1", "duplicate", ["1g.5gb@1", "1g.5gb@1"], "listed twice"),
        (A100, "3x3g.20gb", "count", ["3g.20gb"] * 3, "room for at most 2"),
        (A100, "2x1g.5gb+me", "count", ["1g.5gb+me"] * 2, "room for at most 1"),
        (A100, "3g.20gb:2,1g.5gb,2g.10gb", "memory", ["3g.20gb", "3g.20gb", "2g.10gb"], "need 10 memory"),
        (A100, "1g.5gb@3,4g.20gb,1g.10gb", "places", ["1g.5gb@3", "4g.20gb"], "no starts on A100-40GB"),
        (A30, "1g.6gb+me,1g.6gb,2g.12gb+me", "engines", ["1g.6gb+me", "2g.12gb+me"], "more JPEG engines"),
        (PRO, "1g.24gb@3,1g.24gb@6,2g.48gb", "places", ["1g.24gb@3", "1g.24gb@6", "2g.48gb"], "no starts"),
        (PRO, "1g.24gb+me.all,1g.24gb", "engines", ["1g.24gb+me.all", "1g.24gb"], "more decoders"),
        (model_for_driver(A100, 470), "4g.20gb,1g.5gb,3g.20gb", "driver", ["4g.20gb", "3g.20gb"], "R510"),
        (model_for_driver(A100, 470), "4g.20gb,3g.20gb", "driver", ["4g.20gb", "3g.20gb"], "before R510"),
    ],
)  # fmt: skip
def test_reasons(model: GpuModel, text: str, rule: str, conflict: list[str], message: str) -> None:
    """Each kind of impossibility is told by its rule, with slices that really clash."""
    found = explain_misfit(model, parse_wish(text, model))
    assert found is not None
    assert found.rule == rule
    assert Counter(found.conflict) == Counter(conflict)
    assert message in found.message


@given(st.lists(st.sampled_from([p.name for p in A100.profiles]), min_size=1, max_size=7))
def test_counts_fit_exactly_when_the_multiset_is_valid(free: list[str]) -> None:
    """The search finds places for a multiset exactly when enumeration lists it."""
    wish = Wish((), tuple(free))
    found = find_partition(A100, wish)
    assert (found is not None) == (tuple(sorted(free)) in VALID)
    if found is not None:
        assert sorted(found.profiles) == sorted(free)
        assert A100.why_invalid(found) is None
        return
    misfit = explain_misfit(A100, wish)
    assert misfit is not None
    core = Counter(misfit.conflict)
    assert core <= Counter(free)
    assert tuple(sorted(core.elements())) not in VALID
    for name in core:
        smaller = tuple(sorted((core - Counter([name])).elements()))
        assert not smaller or smaller in VALID


@given(st.data())
def test_fixed_places_are_kept(data: st.DataObject) -> None:
    """A wish cut out of a valid partition, some places kept and some forgotten, is met."""
    whole = data.draw(st.sampled_from(PARTITIONS))
    kept: list[Placement] = data.draw(st.lists(st.sampled_from(list(whole)), unique=True))
    free = [place.profile for place in whole if place not in kept]
    found = find_partition(A100, Wish(tuple(kept), tuple(free)))
    assert found is not None
    assert set(kept) <= set(found)
    assert sorted(found.profiles) == sorted(whole.profiles)
