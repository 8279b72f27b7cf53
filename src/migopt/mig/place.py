"""Where wanted slices go on GPUs as they are, or why they cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from migopt.errors import InputError
from migopt.mig.explain import Reason, listed, numbers_of, why_not_on, why_unknown
from migopt.mig.search import Choice, Fleet, Terms
from migopt.mig.state import BUSY, ORPHAN, GpuState, HeldSlice, Request, told_apart
from migopt.model import Placement

#: Parts of a request, times GPUs, that are tried for the smallest that has no room.
MOST_PARTS = 1_000
#: Wanted slices times GPUs above which the whole request is told: each part takes a search.
MOST_LOOKED_AT = 60


@dataclass(frozen=True, slots=True)
class Placed:
    """A new slice: on which GPU (position in the list of states) and where."""

    gpu: int
    placement: Placement


@dataclass(frozen=True)
class PlaceAnswer:
    """The answer of ``place``.

    Attributes
    ----------
    possible : bool
        Whether all wanted slices fit beside those that exist.
    placements : tuple of Placed
        The new slices; empty when impossible.
    reason : Reason or None
        Why not.
    proved : bool
        Whether no other choice leaves more room (or, when impossible, that there is none).
    """

    possible: bool
    placements: tuple[Placed, ...] = ()
    reason: Reason | None = None
    proved: bool = True


def place(states: Sequence[GpuState], request: Request) -> PlaceAnswer:
    """Return starts for wanted slices that leave the most room for later, or the reason why not.

    Nothing that exists is touched, and existing idle slices are not given away. Room is compared
    in dictionary order: how many slices of the largest profile still fit on all GPUs together,
    then of the next one, and so on; so lone small slices go where they block least, and GPUs are
    filled before empty ones are opened.

    Raises InputError without a GPU or without a wanted slice.
    """
    if not states:
        raise InputError("no GPU is given")
    if not request.names:
        raise InputError("no slice is wanted; write for example 4g.20gb,1g.5gb")
    states = told_apart(states)
    reason = why_unknown(states, request)
    if reason is not None:
        return PlaceAnswer(False, reason=reason)
    on = [state for state in states if not state.why_unusable]
    fleet = Fleet(on, _terms(request))
    choice = fleet.best() if on else None
    if choice is None:
        return PlaceAnswer(False, reason=explain(states, request), proved=fleet.proved)
    numbers = [i for i, state in enumerate(states) if not state.why_unusable]
    placed = [
        Placed(numbers[i], place)
        for i, (state, final) in enumerate(zip(on, choice.finals, strict=True))
        for place in final
        if place not in state.partition
    ]
    return PlaceAnswer(True, tuple(placed), proved=choice.proved)


def _terms(request: Request) -> Terms:
    return Terms(request, destroy=False, reuse=False)


def explain(states: Sequence[GpuState], request: Request, *, destroy: bool = False) -> Reason:
    """Return why wanted slices do not fit on some GPUs.

    Parameters
    ----------
    destroy : bool
        Whether idle slices and orphans could be destroyed; then only busy ones are in the way.
    """
    on = [state for state in told_apart(states) if not state.why_unusable]
    if not on:
        return unusable(states)
    held = [tuple(s for s in state.slices if not destroy or s.state == BUSY) for state in on]
    if len(on) == 1:
        reason = why_not_on(on[0], request, held[0])
        assert reason is not None
    else:
        reason = _of_several(on, held, request)
    return _with_help(reason, on, request, destroy)


def unusable(states: Sequence[GpuState]) -> Reason:
    """Return the reason when nothing can be planned on some GPUs."""
    rule = "blocked" if any(state.mig for state in states) else "mig_off"
    labels = tuple(state.label for state in states)
    return Reason(rule, labels, "; ".join(state.why_unusable for state in states))


def _of_several(
    on: Sequence[GpuState], held: Sequence[tuple[HeldSlice, ...]], request: Request
) -> Reason:
    core, smallest = _smallest_wanted(on, held, request)
    # Equal GPUs have equal reasons, and one takes a search of its own.
    known: dict[Any, Reason | None] = {}
    singles = []
    for state, slices in zip(on, held, strict=True):
        like = (state.model, tuple(sorted(state.synonyms.items())), slices)
        if like not in known:
            known[like] = why_not_on(state, core, slices)
        singles.append(known[like])
    reasons = [reason for reason in singles if reason is not None]
    wanted = (*map(str, core.fixed), *core.free)
    gpus: dict[str, list[str]] = {}
    for state, reason in zip(on, singles, strict=True):
        if reason is not None:
            gpus.setdefault(reason.message, []).append(state.label)
    each = "; ".join(f"GPU {', '.join(labels)}: {text}" for text, labels in gpus.items())
    message = f"{listed(wanted)} do not fit on these {len(on)} GPUs together; {each}"
    rules = {reason.rule for reason in reasons if reason.rule != "unknown_profile"}
    rule = rules.pop() if len(rules) == 1 and len(wanted) == 1 else "capacity"
    instead = tuple(
        f"{state.label}={item}"
        for state, reason in zip(on, singles, strict=True)
        for item in (reason.instead if reason and reason.rule != "unknown_profile" else ())
    )
    conflict = reasons[0].conflict if len(on) == 1 else wanted
    if not smallest:
        message += "; no smaller set was searched for"
    return Reason(rule, conflict, message, instead, smallest=smallest)


def _smallest_wanted(
    on: Sequence[GpuState], held: Sequence[tuple[HeldSlice, ...]], request: Request
) -> tuple[Request, bool]:
    """Return a smallest part of the wanted slices that has no room, and whether that is proved."""
    bare = [
        GpuState(s.model, slices, s.label, synonyms=s.synonyms)
        for s, slices in zip(on, held, strict=True)
    ]

    def has_room(part: Request) -> bool:
        return not part.names or Fleet(bare, _terms(part)).best() is not None

    if (len(request.fixed) + len(request.free)) * len(on) > MOST_LOOKED_AT:
        return request, False
    for seen, part in enumerate(_parts_by_size(request)):
        if seen * len(on) >= MOST_PARTS:
            break
        if not has_room(part):
            return part, True
    fixed, free = list(request.fixed), list(request.free)
    for items in (fixed, free):
        for item in list(items):
            items.remove(item)  # type: ignore[arg-type]
            if has_room(Request(tuple(fixed), tuple(free))):
                items.append(item)  # type: ignore[arg-type]
    return Request(tuple(fixed), tuple(free)), False


def _parts_by_size(request: Request) -> Iterator[Request]:
    """Yield the parts of a request, fewer slices first; equal slices are not told apart."""
    items = [*Counter(request.fixed).items(), *Counter(request.free).items()]
    first_free = len(set(request.fixed))
    counts = [count for _, count in items]
    for size in range(1, sum(counts) + 1):
        for numbers in numbers_of(counts, size):
            chosen = [item for (item, _), n in zip(items, numbers, strict=True) for _ in range(n)]
            at = sum(numbers[:first_free])
            yield Request(tuple(chosen[:at]), tuple(chosen[at:]))  # type: ignore[arg-type]


def _with_help(reason: Reason, on: Sequence[GpuState], request: Request, destroy: bool) -> Reason:
    """Add what an idle slice, an orphan, or a move of an existing slice would do."""
    message = reason.message
    orphans = [f"{s.label}={p}" for s in on for p in s.of_state(ORPHAN)]
    if orphans and not destroy:
        message += f"; orphans that take room: {', '.join(orphans)}"
    moves = tuple(_single_moves(on, request, destroy))
    if moves:
        ways = " or ".join(
            f"{old} to {new.rpartition('@')[2]} (GPU {gpu})" for gpu, old, new in moves
        )
        message += f"; one move would help: {ways}"
    return replace(reason, message=message, moves=moves)


def _single_moves(
    on: Sequence[GpuState], request: Request, destroy: bool
) -> list[tuple[str, str, str]]:
    """Return the moves of one existing slice, within its GPU, after which everything fits."""
    found = []
    for number, state in enumerate(on):
        for held in state.slices:
            if destroy and held.state != BUSY:
                continue
            rest = tuple(s for s in state.slices if s is not held)
            others = list(on)
            others[number] = GpuState(state.model, rest, state.label, synonyms=state.synonyms)
            name = held.placement.profile
            choice: Choice | None = Fleet(
                others,
                Terms(Request(request.fixed, (*request.free, name)), reuse=False, destroy=destroy),
            ).best()
            if choice is None:
                continue
            starts = [
                p
                for p in choice.finals[number]
                if p.profile == name and p not in others[number].partition
            ]
            if starts and held.placement not in starts:
                found.append((state.label, str(held), str(max(starts))))
    return found
