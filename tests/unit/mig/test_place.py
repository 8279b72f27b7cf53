"""Starts for new slices: cases from practice, room that is left, and reasons that are minimal."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import gpu_keys, load_gpu, model_for_driver
from migopt.mig.explain import Reason
from migopt.mig.names import nearest_profiles, parse_bytes, smallest_for_memory
from migopt.mig.place import PlaceAnswer, place
from migopt.mig.room import free_mask, room, room_keys
from migopt.mig.state import GpuState, Request, parse_have, parse_request
from migopt.placement import is_valid, placement_index, valid_partitions

RTX = "RTX-PRO-6000-BW-96GB"


def gpu(key: str, have: str = "", label: str = "0") -> GpuState:
    """Return a GPU of the tables with some slices."""
    model = load_gpu(key)
    return GpuState(model, parse_have(have, model), label)


def ask(states: list[GpuState], want: str) -> PlaceAnswer:
    """Place slices written in the notation."""
    return place(states, parse_request(want))


def where(answer: PlaceAnswer) -> list[str]:
    """Return ``gpu:placement`` of every new slice."""
    return [f"{placed.gpu}:{placed.placement}" for placed in answer.placements]


def why(states: list[GpuState], want: str) -> Reason:
    """Return the reason of an impossible request."""
    answer = ask(states, want)
    assert not answer.possible
    assert answer.placements == ()
    assert answer.reason is not None
    return answer.reason


@pytest.mark.parametrize(
    ("want", "start"), [("1g.5gb", 6), ("2g.10gb", 4), ("1g.10gb", 6), ("3g.20gb", 4)]
)
def test_a_lone_small_slice_keeps_most_room(want: str, start: int) -> None:
    """On an empty A100 small slices go to the right, where 4g, 3g and 2g still fit beside them."""
    assert where(ask([gpu("A100-40GB")], want)) == [f"0:{want}@{start}"]


@pytest.mark.parametrize("starts", [(0, 2), (0, 4), (2, 4)])
def test_two_busy_2g_leave_three_places_for_1g(starts: tuple[int, int]) -> None:
    """A100-80GB with 2g.20gb at any two starts: one more 1g.10gb fits, at three places."""
    have = ",".join(f"2g.20gb@{start}:busy" for start in starts)
    state = gpu("A100-80GB", have)
    assert ask([state], "1g.10gb").possible
    places = [s for s in range(7) if ask([state], f"1g.10gb@{s}").possible]
    assert len(places) == 3


@pytest.mark.parametrize("order", list(permutations(["4g.40gb", "2g.20gb", "1g.10gb"])))
def test_gang_in_any_order(order: tuple[str, ...]) -> None:
    """The gang 4g, 2g, 1g on one H100 has one arrangement, whatever the order of the request."""
    for key in ("H100-80GB-SXM", "H100-80GB-PCIe"):
        found = where(ask([gpu(key)], ",".join(order)))
        assert sorted(found) == ["0:1g.10gb@6", "0:2g.20gb@4", "0:4g.40gb@0"]


def test_fragments_and_the_moves_that_help() -> None:
    """1g at 3 and 6 of an RTX PRO 6000 stop a 2g with half the card free; either of two moves helps."""
    reason = why([gpu(RTX, "1g.24gb@3,1g.24gb@6:busy")], "2g.48gb")
    assert reason.rule == "start"
    assert set(reason.conflict) == {"1g.24gb@3", "1g.24gb@6:busy", "2g.48gb"}
    assert {(old, new) for _, old, new in reason.moves} == {
        ("1g.24gb@3", "1g.24gb@9"),
        ("1g.24gb@6:busy", "1g.24gb@0"),
    }


def test_unknown_profile_and_the_nearest() -> None:
    """A profile the card does not have is named, with the nearest that exists."""
    reason = why([gpu("A100-80GB")], "7g.79gb")
    assert (reason.rule, reason.conflict, reason.instead[0]) == (
        "unknown_profile",
        ("7g.79gb",),
        "7g.80gb",
    )
    assert nearest_profiles(load_gpu("A100-80GB"), "3g.39gb")[0] == "3g.40gb"
    assert nearest_profiles(load_gpu("GB200-186GB"), "1g.24gb")[0] == "1g.23gb"


def test_one_name_two_geometries() -> None:
    """1g.10gb covers two units on an A100-40GB and one on an A100-80GB, on one node."""
    states = [gpu("A100-40GB"), gpu("A100-80GB", label="1")]
    answer = ask(states, "1g.10gb:11")
    per_gpu = [sum(p.gpu == i for p in answer.placements) for i in (0, 1)]
    assert per_gpu == [4, 7]
    shapes = [(p.driver_id, p.memory_units) for p in (s.model.profile("1g.10gb") for s in states)]
    assert shapes == [(15, 2), (19, 1)]
    assert why(states, "1g.10gb:12").rule == "capacity"


def test_a_name_is_never_a_prefix() -> None:
    """1g.24gb is not 1g.24gb-me nor 1g.24gb+me.all, although they share its beginning."""
    state = gpu(RTX, "1g.24gb-me@0")
    assert [p.placement.profile for p in ask([state], "1g.24gb").placements] == ["1g.24gb"]
    full = gpu(RTX, "1g.24gb+me.all@0,1g.24gb-me@3,1g.24gb-me@6")
    assert why([full], "1g.24gb").rule == "engines"
    assert ask([full], "1g.24gb-me").possible


def test_packs_on_the_gpu_that_is_in_use() -> None:
    """Of two A100, one with 3g@4, a 4g goes beside the 3g and leaves the other empty."""
    states = [gpu("A100-40GB", "3g.20gb@4"), gpu("A100-40GB", label="1")]
    assert where(ask(states, "4g.20gb")) == ["0:4g.20gb@0"]
    assert where(ask(states[::-1], "4g.20gb")) == ["1:4g.20gb@0"]


def test_driver_shows_both() -> None:
    """4g beside 3g is possible since R510 and refused before."""
    model = load_gpu("A100-40GB")
    assert ask([GpuState(model)], "4g.20gb,3g.20gb").possible
    old = GpuState(model_for_driver(model, 470))
    assert why([old], "4g.20gb,3g.20gb").rule == "driver"
    hidden = why([old], "1g.10gb")
    assert (hidden.rule, "R525" in hidden.message) == ("driver", True)


def test_memory_chooses_the_profile() -> None:
    """22,649,242,112 bytes need the whole A100-40GB: 3g and 4g hold 19.5 GiB."""
    fits, small = smallest_for_memory([gpu("A100-40GB")], 22_649_242_112)
    assert fits == ["7g.40gb"]
    assert {"3g.20gb", "4g.20gb"} <= set(small)
    assert smallest_for_memory([gpu("A100-40GB")], 9 * 2**30)[0][0] == "1g.10gb"
    assert smallest_for_memory([gpu("A100-40GB")], 2**40)[0] == []


@pytest.mark.parametrize(
    ("text", "size"),
    [("22649242112", 22649242112), ("1 GiB", 2**30), ("1.5kB", 1500), ("0.1B", 1), ("1,000", 1000)],
)
def test_sizes(text: str, size: int) -> None:
    """Sizes are read exactly and rounded up to whole bytes."""
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "1 GiB 2", "1e9", "nan"])
def test_sizes_that_are_none(text: str) -> None:
    """Text that is no size is one clear error."""
    with pytest.raises(InputError, match="is no size"):
        parse_bytes(text)


def test_unknown_unit() -> None:
    """A unit nobody knows is named with those that exist."""
    with pytest.raises(UnknownNameError, match="GiX"):
        parse_bytes("3 GiX")


@pytest.mark.parametrize(
    ("have", "want", "rule"),
    [
        ("", "3g.20gb:3", "memory"),
        ("", "4g.20gb@4", "start"),
        ("1g.5gb@0", "4g.20gb", "start"),
        ("", "1g.5gb+me:2", "engines"),
        ("3g.20gb@0,3g.20gb@4", "1g.5gb", "stranded_compute"),
        ("", "1g.10gb:4,1g.5gb", "stranded_compute"),
        ("", "4g.20gb:2", "count"),
        ("7g.40gb@0", "1g.5gb", "memory"),
        ("", "1g.5gb@3,2g.10gb@2", "memory"),
        ("", "9g.99gb", "unknown_profile"),
        ("1g.5gb@2", "1g.5gb@2", "duplicate"),
    ],
)
def test_rules(have: str, want: str, rule: str) -> None:
    """Each kind of impossibility is told by its rule."""
    assert why([gpu("A100-40GB", have)], want).rule == rule


def test_gpu_without_mig() -> None:
    """On a GPU with MIG off nothing can be placed, and that is the reason."""
    state = GpuState(load_gpu("A30-24GB"), mig=False)
    assert why([state], "1g.6gb").rule == "mig_off"


def test_refused_input() -> None:
    """No GPU, no slice, and a state that cannot exist are errors, not answers."""
    with pytest.raises(InputError, match="no GPU"):
        place([], Request(free=("1g.5gb",)))
    with pytest.raises(InputError, match="no slice"):
        ask([gpu("A100-40GB")], "")
    with pytest.raises(InputError, match="cannot exist"):
        gpu("A100-40GB", "4g.20gb@0,1g.5gb@0")
    with pytest.raises(UnknownNameError, match="nearest: busy"):
        gpu("A100-40GB", "4g.20gb@0:bussy")
    with pytest.raises(InputError, match="has no start"):
        gpu("A100-40GB", "4g.20gb")


@st.composite
def situations(draw: st.DrawFn) -> tuple[GpuState, Request]:
    """Draw a GPU with some slices and a few wanted ones."""
    key = draw(st.sampled_from(["A100-40GB", "A30-24GB", RTX]))
    model = load_gpu(key)
    whole = draw(st.sampled_from(valid_partitions(model)))
    kept = [place for place in whole if draw(st.booleans())]
    names = draw(
        st.lists(st.sampled_from([p.name for p in model.profiles]), min_size=1, max_size=4)
    )
    fixed = draw(st.lists(st.sampled_from(model.placements), max_size=1))
    state = GpuState(model, parse_have(",".join(map(str, kept)), model))
    return state, Request(tuple(fixed), tuple(names))


@given(situations())
@settings(max_examples=40, deadline=None)
def test_against_enumeration(situation: tuple[GpuState, Request]) -> None:
    """Possible exactly when some partition holds all; then none leaves more room, else why is minimal."""
    state, request = situation
    model, have = state.model, set(state.partition)
    wanted = sorted((*request.free, *(p.profile for p in request.fixed)))
    goals = [
        partition
        for partition in valid_partitions(model)
        if have <= set(partition)
        and set(request.fixed) <= set(partition) - have
        and sorted(p.profile for p in set(partition) - have) == wanted
    ]
    answer = place([state], request)
    assert answer.possible == bool(goals)
    index, keys = placement_index(model), room_keys([model])

    def left(places: set) -> tuple[int, ...]:
        return room(model, free_mask(model, (index.number[p] for p in places)), keys)

    if answer.possible:
        new = {placed.placement for placed in answer.placements}
        assert not new & have
        assert is_valid(model, have | new)
        assert left(have | new) == max(left(set(goal)) for goal in goals)
        return
    assert answer.reason is not None
    conflict = list(answer.reason.conflict)
    assert not _possible(state, conflict)
    for i in range(len(conflict)):
        assert _possible(state, conflict[:i] + conflict[i + 1 :])


def _possible(state: GpuState, items: list[str]) -> bool:
    text = ",".join(item.partition(":")[0] for item in items)
    empty = GpuState(state.model)
    return not text or ask([empty], text).possible


@pytest.mark.parametrize("key", gpu_keys())
def test_every_profile_fits_an_empty_gpu(key: str) -> None:
    """On every GPU of the tables each profile can be placed alone, and never one too many."""
    state = GpuState(load_gpu(key))
    for profile in state.model.profiles:
        assert ask([state], profile.name).possible
        assert not ask([state], f"{profile.name}:{profile.max_count + 1}").possible
