"""Plans: fewest destroys, busy slices, legal order; minimality against a search over all states."""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import load_gpu
from migopt.mig.plan import PlanAnswer, make_room, reach, reach_counts
from migopt.mig.state import GpuState, Request, parse_have, parse_request
from migopt.model import Partition, Placement
from migopt.placement import is_valid, placement_index, valid_partitions

RTX = "RTX-PRO-6000-BW-96GB"


def gpu(key: str, have: str = "", label: str = "0") -> GpuState:
    """Return a GPU of the tables with some slices."""
    model = load_gpu(key)
    return GpuState(model, parse_have(have, model), label)


def steps(answer: PlanAnswer) -> list[str]:
    """Return the steps in short form."""
    return [f"{step.op} {step.gpu}:{step.placement}" for step in answer.steps]


def replay(states: list[GpuState], answer: PlanAnswer) -> None:
    """Carry a plan out and check that every step is legal and the end is what was announced."""
    now = [set(state.partition) for state in states]
    for step in answer.steps:
        if step.op == "destroy":
            now[step.gpu].remove(step.placement)
        else:
            assert step.placement not in now[step.gpu]
            now[step.gpu].add(step.placement)
        assert is_valid(states[step.gpu].model, now[step.gpu])
    assert now == [set(final) for final in answer.finals]
    assert answer.destroys == sum(step.op == "destroy" for step in answer.steps)


def test_create_only() -> None:
    """A30 with a busy 1g and one more 1g wanted: create, no destroy."""
    answer = make_room([gpu("A30-24GB", "1g.6gb@0:busy")], parse_request("1g.6gb"))
    assert (answer.destroys, answer.creates, answer.moves) == (0, 1, 0)
    assert answer.proved_minimal


def test_only_the_gpu_that_must_change() -> None:
    """Two A100, the first busy with 2 x 3g: 2 x 3g wanted touch the second only."""
    states = [gpu("A100-40GB", "3g.20gb@0:busy,3g.20gb@4:busy"), gpu("A100-40GB", "", "1")]
    for answer in (
        make_room(states, parse_request("3g.20gb:2")),
        reach(states, {1: parse_request("3g.20gb:2")}),
        reach_counts(states, parse_request("3g.20gb:4")),
    ):
        assert steps(answer) == ["create 1:3g.20gb@0", "create 1:3g.20gb@4"]


def test_nothing_to_do() -> None:
    """The same profile at the same start wanted again takes no operation."""
    state = gpu("A100-40GB", "3g.20gb@0:busy,2g.10gb@4")
    assert reach([state], {0: parse_request("3g.20gb@0,2g.10gb@4")}).steps == ()
    assert make_room([state], parse_request("2g.10gb@4")).steps == ()
    assert make_room([state], parse_request("2g.10gb")).steps == ()
    assert reach([state], {0: parse_request("2g.10gb,3g.20gb")}).steps == ()


def test_target_with_places() -> None:
    """The example of the notation: one destroy, one create."""
    state = gpu("A100-40GB", "4g.20gb@0:busy,2g.10gb@4")
    answer = reach([state], {0: parse_request("4g.20gb@0,3g.20gb@4")})
    assert steps(answer) == ["destroy 0:2g.10gb@4", "create 0:3g.20gb@4"]
    blocked = reach([state], {0: parse_request("3g.20gb@0,3g.20gb@4")})
    assert not blocked.possible
    assert blocked.reason is not None
    assert (blocked.reason.rule, blocked.reason.conflict) == ("busy", ("4g.20gb@0:busy",))
    assert blocked.steps == ()


def test_impossible_target() -> None:
    """A target that no GPU holds is told with its rule; an unknown profile too."""
    state = gpu("A100-40GB")
    for target, rule in (("3g.20gb@0,4g.20gb@0", "memory"), ("3g.21gb", "unknown_profile")):
        answer = reach([state], {0: parse_request(target)})
        assert answer.reason is not None
        assert answer.reason.rule == rule


def test_one_move_and_only_if_allowed() -> None:
    """Two busy 1g in both halves of an RTX PRO 6000: a 2g needs one move, made only when allowed."""
    state = gpu(RTX, "1g.24gb@3:busy,1g.24gb@6:busy")
    kept = make_room([state], parse_request("2g.48gb"))
    assert not kept.possible
    assert kept.reason is not None
    assert len(kept.reason.moves) == 2
    moved = make_room([state], parse_request("2g.48gb"), busy="move")
    assert (moved.moves, moved.destroys, moved.creates, moved.evictions) == (1, 1, 2, 0)
    # The new slice of the moved job is there before the old one goes.
    assert moved.steps[0].op == "create"
    replay([state], moved)


def test_no_move_where_none_is_needed() -> None:
    """With moves allowed a busy slice still stays where an idle one can go."""
    state = gpu("A100-40GB", "1g.5gb@0,1g.5gb@4:busy")
    answer = make_room([state], parse_request("4g.20gb"), busy="move")
    assert (answer.moves, steps(answer)[0]) == (0, "destroy 0:1g.5gb@0")


def test_eviction_is_the_last_resort() -> None:
    """Only the third rule destroys a busy slice whose job has no other place, and counts it."""
    state = gpu("A100-40GB", "4g.20gb@0:busy")
    assert not make_room([state], parse_request("7g.40gb"), busy="move").possible
    answer = make_room([state], parse_request("7g.40gb"), busy="destroy")
    assert (answer.evictions, answer.moves, answer.destroys) == (1, 0, 1)
    two = [state, gpu("A100-40GB", "", "1")]
    assert make_room(two, parse_request("7g.40gb"), busy="destroy").evictions == 0
    target = reach([state], {0: parse_request("7g.40gb")}, busy="destroy")
    assert target.evictions == 1


def test_a_job_moves_to_another_gpu() -> None:
    """A busy slice may move to another GPU of the same model, never to another model."""
    busy = gpu("A100-40GB", "4g.20gb@0:busy")
    same = [busy, gpu("A100-40GB", "3g.20gb@4:busy", "1")]
    answer = make_room(same, parse_request("7g.40gb"), busy="move")
    assert (answer.moves, answer.possible) == (1, True)
    replay(same, answer)
    other = [busy, gpu("A100-80GB", "", "1")]
    assert not make_room(other, parse_request("7g.40gb"), busy="move").possible


def test_orphans_take_room_and_are_listed() -> None:
    """An orphan counts as occupied, is no slice for a job, and may go before anything busy does."""
    state = gpu("A100-40GB", "3g.20gb@0:busy,3g.20gb@4:orphan")
    answer = make_room([state], parse_request("3g.20gb"))
    assert answer.orphans == ((0, Placement(4, "3g.20gb")),)
    assert steps(answer) == ["destroy 0:3g.20gb@4", "create 0:3g.20gb@4"]
    assert (
        make_room([gpu("A100-40GB", "3g.20gb@0:busy,3g.20gb@4")], parse_request("3g.20gb")).steps
        == ()
    )


def test_empty_target() -> None:
    """An empty target destroys what is idle."""
    answer = reach([gpu("A30-24GB", "1g.6gb@0,2g.12gb@2")], {0: Request()})
    assert steps(answer) == ["destroy 0:1g.6gb@0", "destroy 0:2g.12gb@2"]


def test_refused_input() -> None:
    """An unknown rule, no GPU and no slice are errors."""
    with pytest.raises(UnknownNameError, match="keep"):
        make_room([gpu("A30-24GB")], parse_request("1g.6gb"), busy="kept")
    with pytest.raises(InputError, match="no GPU"):
        make_room([], parse_request("1g.6gb"))
    with pytest.raises(InputError, match="no slice"):
        make_room([gpu("A30-24GB")], Request())


def test_gpu_without_mig_is_not_used() -> None:
    """A GPU with MIG off takes no part; when all are off that is the reason."""
    off = GpuState(load_gpu("A30-24GB"), mig=False)
    assert make_room([off, gpu("A30-24GB", "", "1")], parse_request("1g.6gb")).steps[0].gpu == 1
    answer = make_room([off], parse_request("1g.6gb"))
    assert answer.reason is not None
    assert answer.reason.rule == "mig_off"


@st.composite
def situations(draw: st.DrawFn) -> tuple[GpuState, Request]:
    """Draw a GPU with busy and idle slices, and wanted slices."""
    key = draw(st.sampled_from(["A30-24GB", RTX, "A100-40GB"]))
    model = load_gpu(key)
    plain = [p.name for p in model.profiles if p.kind in ("plain", "double_memory")]
    whole = draw(st.sampled_from(valid_partitions(model, plain)))
    held = [
        f"{place}{draw(st.sampled_from(['', ':busy', ':orphan']))}"
        for place in whole
        if draw(st.booleans())
    ]
    names = draw(st.lists(st.sampled_from(plain), min_size=1, max_size=3))
    state = GpuState(model, parse_have(",".join(held), model))
    return state, Request((), tuple(names))


def cheapest(state: GpuState, wanted: Request, exact: bool) -> tuple[int, int] | None:
    """Return (destroys, creates) of the best sequence of single operations, by search over states.

    Knows nothing of the planner: states are partitions, an operation destroys a slice that is not
    busy or creates one that fits, and the goal is asked of each state.
    """
    model = state.model
    index = placement_index(model)
    busy = frozenset(state.of_state("busy"))
    idle = frozenset(state.of_state("idle"))
    goal = Counter(wanted.free)
    start = frozenset(state.partition)
    names = set(wanted.free)
    useful = [p for p in index.placements if p.profile in names]
    queue: list[tuple[tuple[int, int], int, frozenset, frozenset]] = [
        ((0, 0), 0, start, frozenset())
    ]
    seen: set[tuple[frozenset, frozenset]] = set()
    tick = 0
    while queue:
        cost, _, now, made = heappop(queue)
        if (now, made) in seen:
            continue
        seen.add((now, made))
        usable = now if exact else made | (idle & now)
        have = Counter(place.profile for place in usable)
        if (have == goal) if exact else not goal - have:
            return cost
        following = [((cost[0] + 1, cost[1]), now - {p}, made - {p}) for p in now - busy]
        following += [
            ((cost[0], cost[1] + 1), now | {p}, made | {p})
            for p in useful
            if p not in now and index.is_valid((*now, p))
        ]
        for price, after, new in following:
            # Nobody gains from destroying what was just created.
            if len(made - new) == 0:
                tick += 1
                heappush(queue, (price, tick, after, new))
    return None


@given(situations())
@settings(max_examples=40, deadline=None)
def test_room_is_made_at_the_least_cost(situation: tuple[GpuState, Request]) -> None:
    """Destroys, then creates, are those of a shortest path over states; the order is legal."""
    state, request = situation
    answer = make_room([state], request)
    best = cheapest(state, request, exact=False)
    assert answer.possible == (best is not None)
    if best is not None:
        assert (answer.destroys, answer.creates) == best
        assert answer.proved_minimal
        assert set(state.of_state("busy")) <= set(answer.finals[0])
        replay([state], answer)


@given(situations())
@settings(max_examples=40, deadline=None)
def test_counts_are_reached_at_the_least_cost(situation: tuple[GpuState, Request]) -> None:
    """The same where exactly the wanted slices must be there in the end."""
    state, request = situation
    answer = reach([state], {0: request})
    best = cheapest(state, request, exact=True)
    assert answer.possible == (best is not None)
    if best is not None:
        assert (answer.destroys, answer.creates) == best
        replay([state], answer)
        assert Counter(answer.finals[0].profiles) == Counter(request.free)


@given(situations())
@settings(max_examples=40, deadline=None)
def test_moves_are_the_fewest(situation: tuple[GpuState, Request]) -> None:
    """The number of moved busy slices is the least over all final partitions that keep every job."""
    state, request = situation
    answer = make_room([state], request, busy="move")
    busy = set(state.of_state("busy"))
    best = None
    for final in [Partition(()), *valid_partitions(state.model)]:
        places = set(final)
        gone = busy - places
        # An orphan can be made anew where it is, so every slice that no job keeps is usable.
        usable = Counter(p.profile for p in places - busy)
        need = Counter(request.free) + Counter(p.profile for p in gone)
        if not need - usable and (best is None or len(gone) < best):
            best = len(gone)
    assert answer.possible == (best is not None)
    if best is not None:
        assert answer.moves == best
        replay([state], answer)


@given(situations(), situations())
@settings(max_examples=30, deadline=None)
def test_two_gpus(one: tuple[GpuState, Request], other: tuple[GpuState, Request]) -> None:
    """Over two GPUs the cost is the least over all ways to split the wanted slices between them."""
    model = one[0].model
    second = GpuState(model, one[0].slices if other[0].model != model else other[0].slices, "1")
    states, request = [one[0], second], one[1]
    answer = make_room(states, request)
    best = None
    wanted = request.free
    for size in range(len(wanted) + 1):
        for picked in combinations(range(len(wanted)), size):
            left = tuple(wanted[i] for i in picked)
            right = tuple(wanted[i] for i in range(len(wanted)) if i not in picked)
            costs = [
                (0, 0) if not part else cheapest(state, Request((), part), exact=False)
                for state, part in zip(states, (left, right), strict=True)
            ]
            if None not in costs:
                total = tuple(map(sum, zip(*costs, strict=True)))  # type: ignore[arg-type]
                best = total if best is None else min(best, total)
    assert answer.possible == (best is not None)
    if best is not None:
        assert answer.destroys == best[0]
        replay(states, answer)


def test_no_proof_is_claimed_where_the_search_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for one state only, neither a plan nor an impossibility counts as proved."""
    monkeypatch.setattr("migopt.mig.search.MOST_STATES", 1)
    states = [gpu("A100-40GB", "", str(i)) for i in range(2)]
    possible = make_room(states, Request(free=("3g.20gb", "3g.20gb", "4g.20gb", "1g.5gb")))
    assert not possible.proved_minimal
    if possible.reason is not None:
        assert "not all were looked at" in possible.reason.message


def test_impossible_on_many_gpus_is_proved_at_once() -> None:
    """36 whole GPUs and six of each other kind on 40 GPUs: impossible by counting, and proved."""
    names = ("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb")
    states = [gpu("A100-40GB", "", str(i)) for i in range(40)]
    answer = make_room(states, Request(free=("7g.40gb",) * 36 + names * 6))
    assert not answer.possible
    assert answer.proved_minimal


def test_conflict_on_several_gpus_is_smallest() -> None:
    """Beside a 3g@4 on each of two A100-40GB two 4g fill all: any third slice clashes, not all five."""
    states = [gpu("A100-40GB", "3g.20gb@4:busy", str(i)) for i in range(2)]
    answer = make_room(states, Request(free=("1g.5gb", "4g.20gb", "1g.5gb", "4g.20gb", "4g.20gb")))
    assert answer.reason is not None
    assert len(answer.reason.conflict) == 3
    assert answer.reason.conflict.count("4g.20gb") >= 2
    assert answer.reason.smallest
