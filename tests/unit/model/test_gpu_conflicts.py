"""The pairwise predicate of GpuModel: what excludes what, and under which rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migopt.errors import UnknownNameError
from migopt.model import DriverRule, Engines, GpuModel, Partition, Placement, Profile

P = Placement.parse


@pytest.fixture
def card() -> GpuModel:
    """Four units; media slices need the one OFA, big ones many decoders."""
    media = Engines(decoders=1, jpeg=1, ofa=1)
    return GpuModel(
        key="CARD",
        memory_units=4,
        compute_slices=4,
        profiles=(
            Profile("1g", 1, 1, (0, 1, 2, 3), 4, engines=Engines(decoders=2)),
            Profile("1g+me", 1, 1, (0, 1, 2, 3), 1, engines=media),
            Profile("2g", 2, 2, (0, 2), 2, engines=Engines(decoders=None)),
            Profile("2g+me", 2, 2, (0, 2), 1, engines=media),
            Profile("1g.big", 1, 2, (0, 2), 1),
            Profile("4g", 4, 4, (0,), 1),
        ),
        engine_budget=Engines(decoders=4, encoders=0, jpeg=None, ofa=1),
    )


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        ("1g@0", "1g@1", None),
        ("1g@1", "2g@0", "memory"),
        ("4g@0", "1g@3", "memory"),
        ("1g+me@0", "2g+me@2", "engines"),
        ("1g.big@0", "1g.big@2", "count"),
        ("1g@0", "1g@0", "duplicate"),
    ],
)
def test_each_rule_of_a_pair(card: GpuModel, first: str, second: str, rule: str | None) -> None:
    """Units that meet, engines, counts and repetition each exclude a pair, in either order."""
    for one, other in ((first, second), (second, first)):
        found = card.pair_conflict(P(one), P(other))
        assert (found and found.rule) == rule
        assert card.conflict(P(one), P(other)) == (rule is not None)
        assert card.why_conflict(P(one), P(other)) == (found and found.message)


def test_unknown_engine_counts_refuse_nothing(card: GpuModel) -> None:
    """A slice with unknown decoders, and a board with unknown JPEG engines, exclude nobody."""
    assert not card.conflict(P("2g@0"), P("2g@2"))
    assert not card.conflict(P("2g@0"), P("1g+me@3"))
    many = replace(card.profile("1g.big"), name="jpegs", engines=Engines(jpeg=99), max_count=2)
    model = replace(card, profiles=(*card.profiles, many))
    assert not model.conflict(P("jpegs@0"), P("jpegs@2"))


def test_engine_shortage_is_named(card: GpuModel) -> None:
    """The message names both slices, the engine and how many the board has."""
    message = card.why_conflict(P("1g+me@0"), P("2g+me@2"))
    assert message == "1g+me@0 and 2g+me@2 together need more OFA engines than CARD has (1)"


def test_driver_pair_is_refused_only_in_a_model_for_that_driver(card: GpuModel) -> None:
    """A rule excludes nothing while it is only listed, and both orders once it is in force."""
    rule = DriverRule(("2g", "1g"), 510)
    assert not replace(card, driver_rules=(rule,)).conflict(P("1g@0"), P("2g@2"))
    strict = replace(card, refused=(rule,))
    found = strict.pair_conflict(P("1g@0"), P("2g@2"))
    assert found is not None
    assert found.rule == "driver"
    assert found.message.endswith("refused by drivers before R510")
    assert not strict.conflict(P("1g@0"), P("1g@1"))


def test_first_conflict_prefers_an_impossible_start(card: GpuModel) -> None:
    """A place that does not exist is told before any clash, and a legal partition has none."""
    found = card.first_conflict([P("1g@0"), P("1g@0"), P("2g@1")])
    assert found is not None
    assert (found.rule, found.placements) == ("start", (P("2g@1"),))
    assert "may start at 0, 2" in found.message
    assert card.first_conflict(Partition.parse("2g@0,1g@2,1g@3")) is None


def test_unknown_profile_raises(card: GpuModel) -> None:
    """A profile that the card does not have is an error with the nearest, not a conflict."""
    with pytest.raises(UnknownNameError, match=r"unknown profile of CARD '2gg'; nearest: .*2g"):
        card.first_conflict([P("2gg@0")])
