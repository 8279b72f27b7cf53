"""From the slices that exist to those that are wanted: the fewest destroys, in a legal order.

What "fewest" means, in dictionary order: busy slices destroyed without another place, busy slices
moved, slices destroyed, GPUs touched, slices created; then the most room left (``migopt.mig.room``).
The search looks at every final partition, so the answer is proved unless it had to be cut short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from migopt.errors import InputError, UnknownNameError
from migopt.mig.explain import Reason, listed, why_not_on, why_unknown
from migopt.mig.place import explain, unusable
from migopt.mig.search import BUSY_RULES, DESTROY, KEEP, MOVE, Choice, Fleet, Terms
from migopt.mig.state import BUSY, ORPHAN, GpuState, Request, told_apart
from migopt.model import Partition, Placement

CREATE_STEP, DESTROY_STEP = "create", "destroy"
#: GPUs times wanted slices above which an impossible plan is not searched again with moves allowed.
MOST_HINTED = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """One operation on one GPU (its position in the list of states)."""

    op: str
    gpu: int
    placement: Placement
    was: str = ""


@dataclass(frozen=True)
class PlanAnswer:
    """The answer of ``plan``.

    Attributes
    ----------
    possible : bool
        Whether the goal can be reached under the rule for busy slices.
    steps : tuple of Step
        In an order in which each is legal; empty when nothing has to be done.
    finals : tuple of Partition
        The slices of every GPU afterwards.
    moves : int
        Busy slices that are destroyed and whose job gets another slice of the same profile.
    evictions : int
        Busy slices that are destroyed and whose job gets none.
    proved_minimal : bool
        Whether the search was complete; without it "impossible" means that nothing was found.
    orphans : tuple of (int, Placement)
        GPU instances without compute instance: no job can use them, they take room.
    reason : Reason or None
        Why it is impossible.
    """

    possible: bool
    steps: tuple[Step, ...] = ()
    finals: tuple[Partition, ...] = ()
    moves: int = 0
    evictions: int = 0
    proved_minimal: bool = True
    orphans: tuple[tuple[int, Placement], ...] = ()
    reason: Reason | None = None

    @property
    def destroys(self) -> int:
        """How many slices are destroyed."""
        return sum(step.op == DESTROY_STEP for step in self.steps)

    @property
    def creates(self) -> int:
        """How many slices are created."""
        return sum(step.op == CREATE_STEP for step in self.steps)


def make_room(states: Sequence[GpuState], request: Request, *, busy: str = KEEP) -> PlanAnswer:
    """Plan so that the wanted slices are there for new jobs, idle ones that exist included.

    Parameters
    ----------
    states : sequence of GpuState
        The GPUs; those that need not change are not touched.
    request : Request
        The slices that must be free for use in the end.
    busy : str
        ``keep`` busy slices; ``move`` them where unavoidable (the job gets another slice of the
        same profile on the same GPU model); ``destroy`` them where even that is not enough.

    Raises
    ------
    InputError
        Without a GPU or a wanted slice, and UnknownNameError for another rule.
    """
    states = _checked(states, busy)
    if not request.names:
        raise InputError("no slice is wanted; write for example 4g.20gb,1g.5gb")
    reason = why_unknown(states, request)
    if reason is not None:
        return _impossible(states, reason)
    on = _with_mig(states)
    fleet = Fleet([states[i] for i in on], Terms(request, busy))
    choice = fleet.best() if on else None
    if choice is None:
        return _impossible(states, _why_no_room(states, request, busy), fleet.proved)
    finals = _finals(states, on, choice)
    moves = choice.cost[1]
    remade = [(i, p) for i, places in zip(on, choice.remade, strict=True) for p in places]
    return _answer(states, finals, moves, choice.cost[0], choice.proved, remade)


def reach(
    states: Sequence[GpuState], targets: Mapping[int, Request], *, busy: str = KEEP
) -> PlanAnswer:
    """Plan so that some GPUs hold exactly the given slices: with starts, without, or mixed.

    Parameters
    ----------
    targets : mapping
        Position of a GPU to its target; GPUs without one are not touched. An empty request means
        no slice at all.
    busy : str
        As for ``make_room``; a moved job must find a slice of its profile in the targets.

    Raises
    ------
    InputError
        As ``make_room``.
    """
    states = _checked(states, busy)
    finals = [state.partition for state in states]
    proved = True
    for i, request in targets.items():
        state = states[i]
        reason = _why_no_target(state, request)
        if reason is not None:
            return _impossible(states, reason)
        choice = Fleet([state], Terms(request, busy, exact=True)).best()
        if choice is None:
            return _impossible(states, _busy_in_the_way([state], request))
        finals[i] = Partition(choice.finals[0])
        proved = proved and choice.proved
    return _moved(states, finals, busy, proved)


def reach_counts(states: Sequence[GpuState], request: Request, *, busy: str = KEEP) -> PlanAnswer:
    """Plan so that all GPUs together hold exactly the given slices, wherever that is cheapest.

    Raises InputError as ``make_room`` does.
    """
    states = _checked(states, busy)
    reason = why_unknown(states, request)
    if reason is not None:
        return _impossible(states, reason)
    on = _with_mig(states)
    chosen = [states[i] for i in on]
    fleet = Fleet(chosen, Terms(request, busy, exact=True))
    choice = fleet.best() if on else None
    if choice is not None:
        return _moved(states, _finals(states, on, choice), busy, choice.proved)
    empty = [replace(state, slices=()) for state in states]
    if not on or Fleet(chosen and [empty[i] for i in on], Terms(request)).best() is None:
        return _impossible(states, explain(empty, request), fleet.proved)
    return _impossible(states, _busy_in_the_way(chosen, request), fleet.proved)


def _checked(states: Sequence[GpuState], busy: str) -> list[GpuState]:
    if not states:
        raise InputError("no GPU is given")
    if busy not in BUSY_RULES:
        raise UnknownNameError("rule for busy slices", busy, BUSY_RULES)
    return told_apart(states)


def _with_mig(states: Sequence[GpuState]) -> list[int]:
    return [i for i, state in enumerate(states) if not state.why_unusable]


def _finals(states: Sequence[GpuState], on: Sequence[int], choice: Choice) -> list[Partition]:
    finals = [state.partition for state in states]
    for i, final in zip(on, choice.finals, strict=True):
        finals[i] = Partition(final)
    return finals


def _moved(
    states: Sequence[GpuState], finals: list[Partition], busy: str, proved: bool
) -> PlanAnswer:
    """Count how many busy slices that go find a place in the final partitions."""
    gone: Counter[tuple[str, str]] = Counter()
    places: Counter[tuple[str, str]] = Counter()
    for state, final in zip(states, finals, strict=True):
        kept = set(state.of_state(BUSY)) & set(final)
        key = state.model.key
        gone.update((key, p.profile) for p in state.of_state(BUSY) if p not in kept)
        places.update((key, p.profile) for p in final if p not in kept)
    evicted = gone - places
    if evicted and busy != DESTROY:
        names = tuple(name for (_, name), n in sorted(evicted.items()) for _ in range(n))
        message = f"the target has no slice for the job of {listed(names)}, which is busy"
        return _impossible(states, Reason("busy", names, message))
    out = sum(evicted.values())
    return _answer(states, finals, sum(gone.values()) - out, out, proved)


def _answer(
    states: Sequence[GpuState],
    finals: list[Partition],
    moves: int,
    evicted: int,
    proved: bool,
    remade: Sequence[tuple[int, Placement]] = (),
) -> PlanAnswer:
    return PlanAnswer(
        True,
        steps=_ordered(states, finals, remade),
        finals=tuple(finals),
        moves=moves,
        evictions=evicted,
        proved_minimal=proved,
        orphans=_orphans(states),
    )


def _impossible(states: Sequence[GpuState], reason: Reason, proved: bool = True) -> PlanAnswer:
    finals = tuple(state.partition for state in states)
    if not proved:
        message = f"no way was found, and not all were looked at; {reason.message}"
        reason = replace(reason, message=message, smallest=False)
    return PlanAnswer(
        False, finals=finals, orphans=_orphans(states), reason=reason, proved_minimal=proved
    )


def _orphans(states: Sequence[GpuState]) -> tuple[tuple[int, Placement], ...]:
    return tuple((i, p) for i, state in enumerate(states) for p in state.of_state(ORPHAN))


def _ordered(
    states: Sequence[GpuState],
    finals: Sequence[Partition],
    remade: Sequence[tuple[int, Placement]] = (),
) -> tuple[Step, ...]:
    """Return the steps: idle slices go first, then each slice is created as soon as it can be.

    A busy slice is destroyed only when nothing more can be created before, so that a moved job
    finds its new slice ready where that is possible. Every state in between is a part of a valid
    partition, because a slice is created only beside slices with which it agrees.
    """
    present = [set(state.partition) for state in states]
    what = [{h.placement: h.state for h in state.slices} for state in states]
    destroy = [(i, p) for i, final in enumerate(finals) for p in sorted(present[i] - set(final))]
    destroy += remade
    destroy.sort(key=lambda item: what[item[0]][item[1]] == BUSY)
    create = [(i, p) for i, final in enumerate(finals) for p in final if p not in present[i]]
    create += remade
    steps: list[Step] = []

    def do(op: str, gpu: int, place: Placement) -> None:
        (present[gpu].add if op == CREATE_STEP else present[gpu].remove)(place)
        steps.append(Step(op, gpu, place, what[gpu].get(place, "") if op != CREATE_STEP else ""))

    while destroy and what[destroy[0][0]][destroy[0][1]] != BUSY:
        do(DESTROY_STEP, *destroy.pop(0))
    while destroy or create:
        for gpu, place in list(create):
            conflict = states[gpu].model.conflict
            # A slice in its own place is a conflict too: it has to be destroyed first.
            if not any(conflict(place, other) for other in present[gpu]):
                create.remove((gpu, place))
                do(CREATE_STEP, gpu, place)
        if destroy:
            do(DESTROY_STEP, *destroy.pop(0))
    return tuple(steps)


def _why_no_target(state: GpuState, request: Request) -> Reason | None:
    """Return why a target cannot exist even on an empty GPU, or None."""
    if state.why_unusable:
        return unusable([state])
    if not request.names:
        return None
    return why_unknown([state], request) or why_not_on(state, request, ())


def _why_no_room(states: Sequence[GpuState], request: Request, busy: str) -> Reason:
    if busy != KEEP:
        bare = [replace(state, slices=()) for state in states]
        on = [state for state in bare if not state.why_unusable]
        if not on or Fleet(on, Terms(request)).best() is None:
            return explain(bare, request)
    reason = explain(states, request, destroy=True)
    if busy == KEEP:
        on = [state for state in states if not state.why_unusable]
        if len(on) * (len(request.fixed) + len(request.free)) > MOST_HINTED:
            message = f"{reason.message}; whether moving busy slices makes room was not looked at"
            return replace(reason, message=message)
        choice = Fleet(on, Terms(request, MOVE)).best() if on else None
        if choice is not None:
            message = f"{reason.message}; moving {choice.cost[1]} busy slices makes room"
            return replace(reason, message=message.replace(" 1 busy slices", " 1 busy slice"))
    return reason


def _busy_in_the_way(states: Sequence[GpuState], request: Request) -> Reason:
    """Return the reason with a smallest set of busy slices that the target does not allow."""
    busy = [(i, p) for i, state in enumerate(states) for p in state.of_state(BUSY)]
    for size in range(1, len(busy) + 1):
        for part in combinations(busy, size):
            bare = [
                replace(
                    state,
                    slices=tuple(h for h in state.slices if (i, h.placement) in part),
                )
                for i, state in enumerate(states)
            ]
            if Fleet(bare, Terms(request, exact=True)).best() is None:
                names = tuple(f"{p}:{BUSY}" for _, p in part)
                where = ", ".join(f"{p} on GPU {states[i].label}" for i, p in part)
                message = f"the target has no place for busy {where}, and busy slices are kept"
                return Reason("busy", names, message)
    message = "the slices fit the GPUs only together with others that the target does not name"
    return Reason("capacity", tuple(request.names), message)
