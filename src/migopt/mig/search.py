"""The exact search behind ``place`` and ``plan``: what each GPU could become, and the best choice over all.

For one GPU every final partition is looked at that keeps a part of its slices and adds wanted ones.
Over several GPUs a dynamic programme goes through them one by one; its state is what has been
supplied so far, and per state only the cheapest choice is kept. Costs are compared in dictionary
order, so that nothing is traded against anything more important.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from operator import add, gt, mul
from typing import Any

from migopt.errors import InputError
from migopt.mig.room import Key, free_mask, profile_mask, room, room_keys
from migopt.mig.state import BUSY, IDLE, GpuState, Request
from migopt.model import Placement
from migopt.placement import placement_index

#: Busy slices are never touched, may be moved (their job gets another slice), may also be destroyed.
KEEP, MOVE, DESTROY = "keep", "move", "destroy"
BUSY_RULES = (KEEP, MOVE, DESTROY)
#: More states of the dynamic programme than this are not kept; then nothing is proved.
MOST_STATES = 60_000

#: (evictions, moves, destroys, GPUs touched, creates, room lost …, GPUs touched, order)
Cost = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """What is asked of a set of GPUs.

    Attributes
    ----------
    request : Request
        The wanted slices, in anybody's names.
    busy : str
        What may happen to busy slices.
    destroy : bool
        Whether other slices may be destroyed.
    reuse : bool
        Whether idle slices that exist count as wanted slices.
    exact : bool
        Whether nothing but the wanted slices may be there in the end.
    """

    request: Request
    busy: str = KEEP
    destroy: bool = True
    reuse: bool = True
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """One thing a GPU could become: what it then supplies per need, and its cost."""

    supply: tuple[int, ...]
    cost: Cost
    final: tuple[Placement, ...]
    remade: tuple[Placement, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """The best final placements per GPU, and whether that is proved.

    ``remade`` are those that are destroyed and created again at the same place: an orphan, or a
    busy slice that is taken from its job.
    """

    finals: tuple[tuple[Placement, ...], ...]
    remade: tuple[tuple[Placement, ...], ...]
    cost: Cost
    proved: bool


class Fleet:
    """Several GPUs under one request.

    Needs are numbered: first wanted slices with a given start, then (GPU key, profile) for every
    profile that is wanted or of which a busy slice might move.
    """

    def __init__(self, states: Sequence[GpuState], terms: Terms) -> None:
        self.states, self.terms = tuple(states), terms
        #: Whether the last search was complete.
        self.proved = True
        self.room_keys = room_keys(state.model for state in states)
        local = [terms.request.on(state) for state in states]
        self.fixed = list(Counter(terms.request.fixed).items())
        names = _one_name_each(states, terms.request.free)
        self.wanted = Counter(names)
        self.busy: Counter[Key] = Counter()
        keys: dict[Key, str] = {}
        for state, request in zip(self.states, local, strict=True):
            for name, here in zip(names, request.free, strict=True):
                if state.model.has_profile(here):
                    keys.setdefault((state.model.key, here), name)
            if terms.busy != KEEP and not terms.exact:
                for place in state.of_state(BUSY):
                    keys.setdefault((state.model.key, place.profile), "")
                    self.busy[state.model.key, place.profile] += 1
        self.keys = list(keys)
        self.names = list(keys.values())
        self.cap = [count for _, count in self.fixed] + [
            self.wanted[name] + self.busy[key] for key, name in keys.items()
        ]

    def best(self) -> Choice | None:
        """Return the cheapest choice that meets every need, or None when none was found.

        ``proved`` then says whether all were looked at; without it None is no proof that there is none.
        """
        start = (0,) * len(self.cap)
        self.proved = True
        needs = self._needs()
        all_options = [self._options(state) for state in self.states]
        if not all(all_options):
            return None
        reach = _reach(needs, all_options)
        costs = [
            [(*option.cost, number * _operations(option.cost)) for option in options]
            for number, options in enumerate(all_options)
        ]
        table: dict[tuple[int, ...], tuple[int, Any]] = {start: (0, None)}
        for number, prices in enumerate(_prices(costs)):
            missing = [
                (weights, required - most)
                for (weights, required), most in zip(needs, reach[number + 1], strict=True)
            ]
            rows = [
                (option.supply, price, i)
                for i, (option, price) in enumerate(zip(all_options[number], prices, strict=True))
            ]
            table = self._one_more(table, rows, missing)
            if len(table) > MOST_STATES:
                self.proved = False
                kept = sorted(table.items(), key=lambda item: (-sum(item[0]), item[1][0]))
                table = dict(kept[:MOST_STATES])
        good = [found for supplied, found in table.items() if self._met(supplied)]
        if not good:
            return None
        picks: list[int] = []
        link = min(good, key=lambda item: item[0])[1]
        while link is not None:
            link, pick = link
            picks.append(pick)
        picks.reverse()
        chosen = [options[i] for options, i in zip(all_options, picks, strict=True)]
        total = map(sum, zip(*(rows[i] for rows, i in zip(costs, picks, strict=True)), strict=True))
        finals = tuple(option.final for option in chosen)
        return Choice(finals, tuple(option.remade for option in chosen), tuple(total), self.proved)

    def _one_more(
        self,
        table: dict[tuple[int, ...], tuple[int, Any]],
        rows: Sequence[tuple[tuple[int, ...], int, int]],
        missing: Sequence[tuple[tuple[int, ...], int]],
    ) -> dict[tuple[int, ...], tuple[int, Any]]:
        """Return the states after one more GPU: supply to (price, (what was before, its option))."""
        cap, exact = self.cap, self.terms.exact
        after: dict[tuple[int, ...], tuple[int, Any]] = {}
        # Whether a supply can still lead to the goal is asked once; the loop below is the hot one.
        dead: set[tuple[int, ...]] = set()
        for supplied, (price, link) in table.items():
            for supply, more, i in rows:
                total = tuple(map(add, supplied, supply))
                if not exact:
                    total = tuple(map(min, total, cap))
                known = after.get(total)
                if known is not None:
                    if price + more < known[0]:
                        after[total] = (price + more, (link, i))
                elif total not in dead:
                    if (exact and any(map(gt, total, cap))) or any(
                        sum(map(mul, weights, total)) < least for weights, least in missing
                    ):
                        dead.add(total)
                    else:
                        after[total] = (price + more, (link, i))
        return after

    def _needs(self) -> list[tuple[tuple[int, ...], int]]:
        """Return what the supply must come to: weighted sums, none negative, with their least values.

        One per given start, per name and per profile, and one over all memory units; what the GPUs
        still to come can add to each of them at most tells early that a choice leads nowhere.
        """
        number, size = len(self.fixed), len(self.cap)
        needs: list[tuple[tuple[int, ...], int]] = []

        def unit(at: Sequence[int]) -> tuple[int, ...]:
            return tuple(int(i in at) for i in range(size))

        needs += [(unit([i]), count) for i, (_, count) in enumerate(self.fixed)]
        models = {state.model.key: state.model for state in self.states}
        weights, total = [0] * size, 0
        for name, count in self.wanted.items():
            at = [number + i for i, owner in enumerate(self.names) if owner == name]
            needs.append((unit(at), count))
            for i in at:
                key, profile = self.keys[i - number]
                weights[i] = models[key].profile(profile).memory_units
            total += count * min((weights[i] for i in at), default=0)
        needs.append((tuple(weights), total))
        needs += [(unit([number + i]), 0) for i, key in enumerate(self.keys) if self.busy[key]]
        return needs

    def _met(self, supplied: tuple[int, ...]) -> bool:
        number = len(self.fixed)
        if any(s < count for s, (_, count) in zip(supplied, self.fixed, strict=False)):
            return False
        by_name: Counter[str] = Counter()
        for value, name in zip(supplied[number:], self.names, strict=True):
            if value < 0:
                return False
            by_name[name] += value
        if self.terms.exact:
            return all(by_name[name] == count for name, count in self.wanted.items())
        return all(by_name[name] >= count for name, count in self.wanted.items())

    def _options(self, state: GpuState) -> list[Option]:
        local = self.terms.request.on(state)
        fixed = tuple(p for p, _ in Counter(local.fixed).items())
        if len(fixed) < len(self.fixed):
            raise InputError(f"two of the wanted starts are the same slice on GPU {state.label}")
        key = state.model.key
        limits = tuple(
            (name, self.cap[len(self.fixed) + i])
            for i, (owner, name) in enumerate(self.keys)
            if owner == key
        )
        plain = GpuState(state.model, state.slices)
        rows = _gpu_options(plain, self.terms, fixed, limits, self.room_keys)
        places = [i for i, (owner, _) in enumerate(self.keys) if owner == key]
        found = []
        for row in rows:
            supply = [0] * len(self.cap)
            for place, value in zip(fixed, row.supply, strict=False):
                supply[fixed.index(place)] = value
            for i, value in zip(places, row.supply[len(fixed) :], strict=True):
                supply[len(self.fixed) + i] = value
            found.append(Option(tuple(supply), row.cost, row.final, row.remade))
        return found


def _reach(
    needs: Sequence[tuple[tuple[int, ...], int]], options: Sequence[Sequence[Option]]
) -> list[list[int]]:
    """Return, per GPU and once more at the end, the most that it and those after it add to each need."""
    rows = [[0] * len(needs)]
    for choices in reversed(options):
        most = [
            max(sum(map(mul, weights, option.supply)) for option in choices) for weights, _ in needs
        ]
        rows.append([a + b for a, b in zip(rows[-1], most, strict=True)])
    return rows[::-1]


def _one_name_each(states: Sequence[GpuState], names: Sequence[str]) -> list[str]:
    """Return the wanted names, two of which become one where some GPU takes both for one profile.

    They stay two where another GPU has a profile of each name.
    """
    first: dict[str, str] = {}
    for name in dict.fromkeys(names):
        for other in dict.fromkeys(first.values()):
            pairs = [(s.name_here(name), s.name_here(other)) for s in states]
            if any(a == b for a, b in pairs) and not any(
                a != b and s.model.has_profile(a) and s.model.has_profile(b)
                for s, (a, b) in zip(states, pairs, strict=True)
            ):
                first[name] = other
                break
        else:
            first[name] = name
    return [first[name] for name in names]


def _operations(cost: Cost) -> int:
    return cost[2] + cost[4]


def _prices(costs: Sequence[Sequence[Cost]]) -> list[list[int]]:
    """Return one integer per cost vector, such that sums over GPUs compare as the vectors do.

    A component's weight is above all that the less important ones can differ by together.
    """
    weights: list[int] = []
    weight = 1
    for j in reversed(range(len(costs[0][0]) if costs else 0)):
        weights.append(weight)
        weight *= 1 + sum(max(c[j] for c in rows) - min(c[j] for c in rows) for rows in costs)
    weights.reverse()
    return [[sum(map(mul, weights, cost)) for cost in rows] for rows in costs]


@lru_cache(maxsize=1024)
def _gpu_options(
    state: GpuState,
    terms: Terms,
    fixed: tuple[Placement, ...],
    limits: tuple[tuple[str, int], ...],
    keys: tuple[Key, ...],
) -> tuple[Option, ...]:
    """Return per supply the cheapest final partition of one GPU."""
    best: dict[tuple[int, ...], Option] = {}
    for kept, gone in _kept_parts(state, terms):
        for created in _additions(state, kept, fixed, limits):
            final = tuple(sorted((*kept, *created)))
            remade = tuple(place for place in gone if place in created)
            for supply, evicted in _supplies(state, terms, kept, gone, created, fixed, limits):
                cost = _cost(state, terms, kept, gone, created, evicted, keys)
                known = best.get(supply)
                if known is None or (cost, final) < (known.cost, known.final):
                    best[supply] = Option(supply, cost, final, remade)
    return tuple(best.values())


def _kept_parts(
    state: GpuState, terms: Terms
) -> Iterator[tuple[tuple[Placement, ...], tuple[Placement, ...]]]:
    """Yield what might stay and what would go, the whole first."""
    held = [(h.placement, h.state) for h in state.slices]
    choices = []
    for _, what in held:
        may_go = terms.busy != KEEP if what == BUSY else terms.destroy
        choices.append((True, False) if may_go else (True,))
    for stays in product(*choices):
        kept = tuple(place for (place, _), s in zip(held, stays, strict=True) if s)
        yield kept, tuple(place for (place, _), s in zip(held, stays, strict=True) if not s)


def _additions(
    state: GpuState,
    kept: tuple[Placement, ...],
    fixed: tuple[Placement, ...],
    limits: tuple[tuple[str, int], ...],
) -> Iterator[tuple[Placement, ...]]:
    """Yield every set of wanted slices that could be added beside ``kept``."""
    model = state.model
    index = placement_index(model)
    free = free_mask(model, (index.number[place] for place in kept))
    left = dict(limits)
    wanted = sum(1 << index.number[p] for p in fixed if p in index.number)
    for name, limit in limits:
        if limit > 0:
            wanted |= profile_mask(model, name)
    given = set(fixed)

    def extend(chosen: tuple[Placement, ...], mask: int) -> Iterator[tuple[Placement, ...]]:
        yield chosen
        while mask:
            i = (mask & -mask).bit_length() - 1
            mask &= mask - 1
            place = index.placements[i]
            # A slice at a given start may be made for that start, besides those without one.
            if place in given:
                yield from extend((*chosen, place), mask & index.beside[i])
            elif left.get(place.profile, 0) > 0:
                left[place.profile] -= 1
                yield from extend((*chosen, place), mask & index.beside[i])
                left[place.profile] += 1

    yield from extend((), free & wanted)


def _supplies(
    state: GpuState,
    terms: Terms,
    kept: tuple[Placement, ...],
    gone: tuple[Placement, ...],
    created: tuple[Placement, ...],
    fixed: tuple[Placement, ...],
    limits: tuple[tuple[str, int], ...],
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield (supply, evictions): a slice may count for its given start or for its profile."""
    what = {h.placement: h.state for h in state.slices}
    usable = list(created)
    if terms.exact:
        usable += kept
    elif terms.reuse:
        usable += [place for place in kept if what[place] == IDLE]
    position = {name: len(fixed) + i for i, (name, _) in enumerate(limits)}
    roles: list[tuple[int, ...]] = []
    for place in usable:
        options = [fixed.index(place)] if place in fixed else []
        if place.profile in position:
            options.append(position[place.profile])
        if options:
            roles.append(tuple(options))
        elif terms.exact:
            return
    moving = () if terms.exact else tuple(place for place in gone if what[place] == BUSY)
    fates = [(False, True) if terms.busy == DESTROY else (False,)] * len(moving)
    for chosen in product(*roles):
        for evicted in product(*fates):
            supply = [0] * (len(fixed) + len(limits))
            for role in chosen:
                supply[role] += 1
            for place, out in zip(moving, evicted, strict=True):
                if not out:
                    supply[position[place.profile]] -= 1
            if max(supply[: len(fixed)], default=0) <= 1:
                yield tuple(supply), sum(evicted)


def _cost(
    state: GpuState,
    terms: Terms,
    kept: tuple[Placement, ...],
    gone: tuple[Placement, ...],
    created: tuple[Placement, ...],
    evicted: int,
    keys: tuple[Key, ...],
) -> Cost:
    model = state.model
    index = placement_index(model)
    busy = sum(place in gone for place in state.of_state(BUSY))
    free = free_mask(model, (index.number[place] for place in (*kept, *created)))
    left = room(model, free, keys)
    touched = int(bool(gone or created))
    # New slices beside all that exist: room decides alone, and fewer GPUs only among equals.
    placing = not (terms.destroy or terms.reuse)
    return (
        evicted,
        busy - evicted,
        len(gone),
        0 if placing else touched,
        len(created),
        *(-count for count in left),
        -free.bit_count(),
        touched,
    )
