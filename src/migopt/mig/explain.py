"""Why wanted slices do not fit: the rule, a smallest set of slices that clash, and what would fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from migopt.mig.names import nearest_profiles
from migopt.mig.room import free_mask, room, room_keys
from migopt.mig.state import GpuState, HeldSlice, Request
from migopt.model import Conflict, GpuModel, Placement
from migopt.placement import Wish, find_partition, placement_index

#: With more wanted slices than this the clashing set is made small, not proved smallest.
MOST_SUBSETS = 20_000


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is impossible.

    Attributes
    ----------
    rule : str
        ``memory`` (more memory units than the GPU has, or two slices on one unit), ``start`` (units
        are free, but no allowed starts suit), ``stranded_compute`` (compute slices are left, memory
        units are not), ``count``, ``engines``, ``driver``, ``duplicate``, ``unknown_profile``,
        ``busy`` (only a busy slice is in the way of a target), ``capacity`` (several GPUs together
        have too little room) or ``memory_bytes`` (no profile holds so many bytes).
    conflict : tuple of str
        A smallest set of slices that clash: leaving out any one of them helps.
    message : str
        The reason in one sentence.
    instead : tuple of str
        What would fit: profiles by name, or slices with their starts.
    moves : tuple of (str, str, str)
        Moves (GPU, from, to) of existing slices that would help, as alternatives.
    smallest : bool
        Whether no smaller set clashes; otherwise leaving out any one slice helps, and no more is proved.
    """

    rule: str
    conflict: tuple[str, ...]
    message: str
    instead: tuple[str, ...] = ()
    moves: tuple[tuple[str, str, str], ...] = ()
    smallest: bool = True


def why_unknown(states: Sequence[GpuState], request: Request) -> Reason | None:
    """Return the reason when a wanted profile exists on none of the GPUs, or None."""
    for name in request.names:
        if any(state.model.has_profile(state.name_here(name)) for state in states):
            continue
        models = list({state.model.key: state.model for state in states}.values())
        for model in models:
            for rule in model.driver_rules:
                if rule.profiles == (name,):
                    message = f"{name} of {model.key} needs driver R{rule.before} or later"
                    others = [p for p in nearest_profiles(model, name) if p != name]
                    return Reason("driver", (name,), message, tuple(others))
        nearest = list(dict.fromkeys(p for model in models for p in nearest_profiles(model, name)))
        keys = ", ".join(model.key for model in models)
        exist = ", ".join(p.name for model in models for p in model.profiles)
        message = f"no profile {name} on {keys}; nearest: {nearest[0] if nearest else '-'}; there are {exist}"
        return Reason("unknown_profile", (name,), message, tuple(nearest))
    return None


def why_not_on(state: GpuState, request: Request, held: Sequence[HeldSlice]) -> Reason | None:
    """Return why ``request`` does not fit beside the ``held`` slices of one GPU; None if it does."""
    local = request.on(state)
    for name in local.names:
        if not state.model.has_profile(name):
            return why_unknown([state], Request(free=(name,)))
    existing = tuple(slice_.placement for slice_ in held)
    found = _clash(state.model, existing, local)
    if found is None:
        return None
    core_held, core, smallest = found
    rule, message = _rule(state.model, core_held, core)
    labels = {slice_.placement: str(slice_) for slice_ in held}
    conflict = (*(labels[p] for p in core_held), *map(str, core.fixed), *core.free)
    instead = _instead(state.model, existing, local)
    return Reason(rule, conflict, message, instead, smallest=smallest)


def _fits(model: GpuModel, existing: Sequence[Placement], request: Request) -> bool:
    wish = Wish((*existing, *request.fixed), request.free)
    return find_partition(model, wish) is not None


def _clash(
    model: GpuModel, existing: tuple[Placement, ...], request: Request
) -> tuple[tuple[Placement, ...], Request, bool] | None:
    """Return a part of both that cannot be, and whether it is smallest; None when everything can."""
    if _fits(model, existing, request):
        return None
    for seen, (held, part) in enumerate(_parts(model, existing, request)):
        if seen > MOST_SUBSETS:
            break
        if not _fits(model, held, part):
            return held, part, True
    return (*_shrunk(model, existing, request), False)


def _parts(
    model: GpuModel, existing: tuple[Placement, ...], request: Request
) -> Iterator[tuple[tuple[Placement, ...], Request]]:
    """Yield parts by size, those with more of the wanted slices first."""
    counts = list(Counter(request.free).items())
    solid = [(False, p) for p in request.fixed] + [(True, p) for p in existing]
    total = len(solid) + len(request.free)
    # One GPU holds no more slices than memory units: a clash needs at most one more of a kind.
    piles = [min(count, model.memory_units + 1) for _, count in counts]
    for size in range(1, total + 1):
        choices = (
            (numbers, size - chosen)
            for chosen in range(max(0, size - len(solid)), size + 1)
            for numbers in numbers_of(piles, chosen)
        )
        for numbers, rest in choices:
            free = tuple(
                name for (name, _), n in zip(counts, numbers, strict=True) for _ in range(n)
            )
            for picked in combinations(solid, rest):
                held = tuple(p for is_held, p in picked if is_held)
                yield held, Request(tuple(p for is_held, p in picked if not is_held), free)


def numbers_of(piles: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to take ``total`` things from piles of these sizes, in dictionary order."""
    if not piles:
        if total == 0:
            yield ()
        return
    for first in range(max(0, total - sum(piles[1:])), min(piles[0], total) + 1):
        for rest in numbers_of(piles[1:], total - first):
            yield (first, *rest)


def _shrunk(
    model: GpuModel, existing: tuple[Placement, ...], request: Request
) -> tuple[tuple[Placement, ...], Request]:
    held, fixed, free = list(existing), list(request.fixed), list(request.free)
    for items in (held, fixed, free):
        for item in list(items):
            items.remove(item)  # type: ignore[arg-type]
            if _fits(model, held, Request(tuple(fixed), tuple(free))):
                items.append(item)  # type: ignore[arg-type]
    return tuple(held), Request(tuple(fixed), tuple(free))


def _rule(model: GpuModel, held: tuple[Placement, ...], core: Request) -> tuple[str, str]:
    """Return the rule that a smallest clashing set breaks, and a sentence."""
    solid = (*held, *core.fixed)
    found = model.first_conflict(solid)
    if found is not None:
        return found.rule, found.message
    pair = _pair_conflict(model, solid, core.free)
    if pair is not None:
        return pair.rule, pair.message
    profiles = [model.profile(name) for name in (*(p.profile for p in solid), *core.free)]
    units = sum(profile.memory_units for profile in profiles)
    compute = sum(profile.compute_slices for profile in profiles)
    together = listed((*map(str, solid), *core.free))
    if units > model.memory_units:
        need = f"{together} need {units} memory units, {model.key} has {model.memory_units}"
        if compute <= model.compute_slices:
            left = f"; their {compute} of {model.compute_slices} compute slices would be there"
            return "stranded_compute", need + left
        return "memory", need
    if not solid and len(set(core.free)) == 1:
        most = len(core.free) - 1
        return "count", f"{together}: {model.key} has room for at most {most}"
    names = list(dict.fromkeys(core.free))
    starts = "; ".join(
        f"{name} may start at {', '.join(map(str, model.profile(name).starts))}" for name in names
    )
    covered = {unit for place in solid for unit in model.units(place)}
    free = [str(unit) for unit in range(model.memory_units) if unit not in covered]
    return "start", f"{together} cannot be together: {starts}; free memory units: {', '.join(free)}"


def _pair_conflict(
    model: GpuModel, solid: tuple[Placement, ...], free: tuple[str, ...]
) -> Conflict | None:
    """Return the conflict of two slices that does not come from their places, or None."""
    if len(solid) + len(free) != 2:
        return None
    options = [[place] for place in solid]
    options += [[Placement(s, name) for s in model.profile(name).starts] for name in free]
    for first in options[0]:
        for second in options[1]:
            found = model.pair_conflict(first, second)
            if found is not None and found.rule in ("engines", "driver"):
                return found
    return None


def _instead(model: GpuModel, existing: tuple[Placement, ...], request: Request) -> tuple[str, ...]:
    """Return the largest part of several wanted slices that fits, or the largest single slices."""
    if len(request.fixed) + len(request.free) > 1:
        part = _largest_part(model, existing, request)
        if part:
            return part
    fitting = could_be_added(model, existing)
    wanted = [model.profile(name) for name in request.names]
    size = max((p.memory_units for p in wanted), default=model.memory_units)
    compute = max((p.compute_slices for p in wanted), default=model.compute_slices)
    same = [p for p in fitting if p.profile in request.names]
    smaller = [
        p
        for p in fitting
        if p not in same
        and model.profile(p.profile).memory_units <= size
        and model.profile(p.profile).compute_slices <= compute
    ]
    return tuple(map(str, [*same, *smaller][:4]))


def _largest_part(
    model: GpuModel, existing: tuple[Placement, ...], request: Request
) -> tuple[str, ...]:
    counts = list(Counter(request.free).items())
    # No GPU holds more slices than memory units: larger counts need no look.
    ranges = [range(min(count, model.memory_units), -1, -1) for _, count in counts]
    kept = [p for p in request.fixed if _fits(model, existing, Request((p,)))]
    fixed: list[Placement] = []
    for place in kept:
        if _fits(model, existing, Request((*fixed, place))):
            fixed.append(place)
    best: tuple[int, int, tuple[Placement, ...]] = (0, 0, ())
    for numbers in product(*ranges):
        size = sum(numbers)
        free = tuple(name for (name, _), n in zip(counts, numbers, strict=True) for _ in range(n))
        units = sum(model.profile(name).memory_units for name in free)
        if (units, size) <= best[:2]:
            continue
        partition = find_partition(model, Wish((*existing, *fixed), free))
        if partition is not None:
            best = (units, size, tuple(p for p in partition if p not in existing))
    return tuple(map(str, best[2] or fixed))


def could_be_added(model: GpuModel, existing: Sequence[Placement]) -> list[Placement]:
    """Return one placement per ordinary profile that fits, largest first, where it leaves most room."""
    index = placement_index(model)
    numbers = [index.number[place] for place in existing]
    free, keys = free_mask(model, numbers), room_keys([model])
    best: dict[str, tuple[tuple[int, ...], Placement]] = {}
    for i, place in enumerate(index.placements):
        if free >> i & 1 and model.profile(place.profile).kind in ("plain", "double_memory"):
            left = room(model, free & index.beside[i], keys)
            if place.profile not in best or left > best[place.profile][0]:
                best[place.profile] = (left, place)
    return [place for _, place in best.values()]


def listed(items: Sequence[str]) -> str:
    """Return items as a phrase, equal ones counted."""
    counted = [name if n == 1 else f"{n} x {name}" for name, n in Counter(items).items()]
    return counted[0] if len(counted) == 1 else ", ".join(counted[:-1]) + " and " + counted[-1]
