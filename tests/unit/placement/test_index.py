"""The bitmask fast path agrees with the predicate it is made from."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from factories import A30, A100
from migopt.gpus import gpu_keys, load_gpu
from migopt.model import Placement
from migopt.placement import is_valid, placement_index

MODELS = [load_gpu(key) for key in gpu_keys()]


@given(st.data())
def test_agrees_with_the_predicate_on_random_sets(data: st.DataObject) -> None:
    """For any list of up to nine placements of any GPU both ways give the same verdict."""
    model = data.draw(st.sampled_from(MODELS))
    chosen = data.draw(st.lists(st.sampled_from(model.placements), max_size=9))
    assert is_valid(model, chosen) == (model.why_invalid(chosen) is None)


def test_places_that_do_not_exist_are_invalid() -> None:
    """A start that is not listed and a profile of another card are invalid, not an error."""
    assert not is_valid(A30, [Placement(1, "2g.12gb")])
    assert not is_valid(A30, [Placement(0, "1g.5gb")])
    assert is_valid(A30, [])


def test_order_does_not_matter() -> None:
    """The verdict is about the set."""
    for chosen in combinations(A30.placements, 3):
        assert is_valid(A30, chosen) == is_valid(A30, reversed(chosen))


def test_index_is_per_model_not_per_key() -> None:
    """A narrowed model of the same key has its own index."""
    narrow = replace(A100, profiles=A100.profiles[:1])
    assert narrow.key == A100.key
    assert len(placement_index(narrow).placements) == 7
    assert placement_index(A100) is placement_index(replace(A100))


def test_masks_name_placements_and_units() -> None:
    """Masks select by profile, and cover exactly the units of each placement."""
    index = placement_index(A30)
    chosen = index.mask(["2g.12gb"])
    assert [str(p) for i, p in enumerate(index.placements) if chosen >> i & 1] == [
        "2g.12gb@0",
        "2g.12gb@2",
    ]
    assert index.mask() == 2 ** len(A30.placements) - 1
    units = {str(p): index.units[i] for p, i in index.number.items()}
    assert (units["2g.12gb@2"], units["1g.6gb@3"], index.full) == (0b1100, 0b1000, 0b1111)
