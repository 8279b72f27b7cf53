"""Whether a wish (places, counts, or both) can be met on one empty GPU, and why not."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from migopt.errors import InputError
from migopt.model import GpuModel, Partition, Placement
from migopt.placement.index import PlacementIndex, placement_index

_COUNT_AFTER = re.compile(r"^(?P<profile>[^@:\s]+)(?::(?P<count>\d{1,9}))?$")
_COUNT_BEFORE = re.compile(r"^(?P<count>\d{1,9})\s*[x*×]\s*(?P<profile>[^@:\s]+)$")


@dataclass(frozen=True, slots=True)
class Wish:
    """Slices somebody wants on one GPU.

    Attributes
    ----------
    fixed : tuple of Placement
        Slices whose place is given.
    free : tuple of str
        Profiles that may go anywhere, one entry per slice.
    """

    fixed: tuple[Placement, ...]
    free: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a wish cannot be met.

    Attributes
    ----------
    rule : str
        A rule of ``Conflict``, or ``places``: every slice exists, but no starts suit all of them.
    conflict : tuple of str
        The slices that clash, as placements or profiles; leaving out any one of them helps.
    message : str
        The reason in one sentence.
    """

    rule: str
    conflict: tuple[str, ...]
    message: str


def parse_wish(text: str, model: GpuModel) -> Wish:
    """Read ``4g.20gb@0,3g.20gb@4``, ``4g.20gb,3g.20gb``, ``1g.5gb:3``, ``3x1g.5gb`` or a mixture.

    Raises InputError for another form and UnknownNameError for a profile the GPU does not have.
    """
    fixed: list[Placement] = []
    free: list[str] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        if "@" in item:
            place = Placement.parse(item)
            model.profile(place.profile)
            fixed.append(place)
            continue
        name, count = split_count(item)
        free += [model.profile(name).name] * count
    if not fixed and not free:
        raise InputError("no slice is named; write for example 4g.20gb@0,3g.20gb@4")
    return Wish(tuple(fixed), tuple(free))


def split_count(item: str, *, where: str = "") -> tuple[str, int]:
    """Read ``profile``, ``profile:count`` or ``count x profile``; raises InputError otherwise."""
    match = _COUNT_BEFORE.match(item) or _COUNT_AFTER.match(item)
    if match is None:
        forms = "profile@start, profile, profile:count or count x profile"
        raise InputError(f"{item!r} is not a slice; write {forms}", where=where)
    count = int(match["count"] or 1)
    if not 1 <= count <= 1000:
        raise InputError(f"{item!r}: the count must be from 1 to 1000", where=where)
    return match["profile"], count


def find_partition(model: GpuModel, wish: Wish) -> Partition | None:
    """Return a partition with exactly the wished slices, or None when there is none.

    Free slices are placed largest first, each at its lowest start that leaves room for the rest.
    """
    index = placement_index(model)
    if not index.is_valid(wish.fixed):
        return None
    room = index.mask()
    for place in wish.fixed:
        room &= index.beside[index.number[place]]
    # Placements are numbered largest first, so the profiles come in that order too.
    order = {place.profile: i for i, place in reversed(list(enumerate(index.placements)))}
    wanted = sorted(Counter(wish.free).items(), key=lambda item: order[item[0]])
    if any(count > model.profile(name).max_count for name, count in wanted):
        return None
    slots = [(name, index.mask([name])) for name, count in wanted for _ in range(count)]
    found = _place(index, slots, 0, room, 0)
    if found is None:
        return None
    return Partition((*wish.fixed, *(index.placements[i] for i in found)))


def _place(
    index: PlacementIndex, slots: list[tuple[str, int]], k: int, room: int, above: int
) -> tuple[int, ...] | None:
    """Place slots k, k+1, …; equal slots go in rising order, at or after bit ``above``."""
    if k == len(slots):
        return ()
    name, mask = slots[k]
    candidates = room & mask & ~((1 << above) - 1)
    while candidates:
        i = (candidates & -candidates).bit_length() - 1
        candidates &= candidates - 1
        same_next = k + 1 < len(slots) and slots[k + 1][0] == name
        rest = _place(index, slots, k + 1, room & index.beside[i], i + 1 if same_next else 0)
        if rest is not None:
            return (i, *rest)
    return None


def explain_misfit(model: GpuModel, wish: Wish) -> Misfit | None:
    """Return why a wish cannot be met, with a smallest set of slices that clash, or None if it can."""
    found = model.first_conflict(wish.fixed)
    if found is not None:
        return Misfit(found.rule, tuple(map(str, found.placements)), found.message)
    if find_partition(model, wish) is not None:
        return None
    for name, count in Counter(wish.free).items():
        most = model.profile(name).max_count
        if count > most:
            message = f"{count} x {name}: {model.key} has room for at most {most}"
            return Misfit("count", (name,) * (most + 1), message)
    core = _smallest_core(model, wish)
    conflict = (*map(str, core.fixed), *core.free)
    engine_or_driver = _pair_reason(model, core)
    if engine_or_driver is not None:
        return Misfit(*engine_or_driver[:1], conflict, engine_or_driver[1])
    need = sum(
        model.profile(name).memory_units for name in (*core.free, *(p.profile for p in core.fixed))
    )
    if need > model.memory_units:
        message = (
            f"{_list(conflict)} need {need} memory units, {model.key} has {model.memory_units}"
        )
        return Misfit("memory", conflict, message)
    return Misfit("places", conflict, f"no starts on {model.key} let {_list(conflict)} be together")


def _smallest_core(model: GpuModel, wish: Wish) -> Wish:
    """Return a part of an impossible wish that is possible without any one of its slices."""
    fixed, free = list(wish.fixed), list(wish.free)
    for items in (fixed, free):
        for item in list(items):
            items.remove(item)  # type: ignore[arg-type]
            if find_partition(model, Wish(tuple(fixed), tuple(free))) is not None:
                items.append(item)  # type: ignore[arg-type]
    return Wish(tuple(fixed), tuple(free))


def _pair_reason(model: GpuModel, core: Wish) -> tuple[str, str] | None:
    """Return (rule, message) when two slices clash for engines or driver, not for their places."""
    if len(core.fixed) + len(core.free) != 2:
        return None
    options = [[place] for place in core.fixed]
    options += [[Placement(s, name) for s in model.profile(name).starts] for name in core.free]
    for first in options[0]:
        for second in options[1]:
            found = model.pair_conflict(first, second)
            if found is not None and found.rule not in ("memory", "duplicate"):
                return found.rule, found.message
    return None


def _list(items: tuple[str, ...]) -> str:
    counted = [name if n == 1 else f"{n} x {name}" for name, n in Counter(items).items()]
    return counted[0] if len(counted) == 1 else ", ".join(counted[:-1]) + " and " + counted[-1]
