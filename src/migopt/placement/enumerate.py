"""All partitions of a GPU by direct search on bits; every list is in the one order of ``order_key``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from migopt.errors import UnknownNameError
from migopt.model import GpuModel, Partition
from migopt.placement.index import PlacementIndex, placement_index

#: Profile names of a partition, largest slice first, positions forgotten.
Multiset = tuple[str, ...]


def valid_partitions(model: GpuModel, profiles: Iterable[str] | None = None) -> list[Partition]:
    """Return every partition with at least one slice.

    Parameters
    ----------
    profiles : iterable of str, optional
        Only slices of these profiles; raises UnknownNameError for one the GPU does not have.
    """
    index, allowed = _start(model, profiles)
    return _sorted(model, index, (chosen for chosen, _, _ in _cliques(index, allowed)))


def maximal_partitions(model: GpuModel, profiles: Iterable[str] | None = None) -> list[Partition]:
    """Return the partitions to which no slice (of ``profiles``) can be added."""
    index, allowed = _start(model, profiles)
    return _sorted(
        model, index, (chosen for chosen, free, _ in _cliques(index, allowed) if not free)
    )


def exact_covers(model: GpuModel, profiles: Iterable[str] | None = None) -> list[Partition]:
    """Return the partitions that leave no memory unit uncovered."""
    index, allowed = _start(model, profiles)
    found = (chosen for chosen, _, units in _cliques(index, allowed) if units == index.full)
    return _sorted(model, index, found)


def multiset(model: GpuModel, partition: Partition) -> Multiset:
    """Return the profiles of a partition, largest first, whatever their places."""
    return tuple(sorted(partition.profiles, key=lambda name: _size_key(model, name)))


def multisets(model: GpuModel, partitions: Iterable[Partition]) -> list[Multiset]:
    """Return the distinct multisets of some partitions, in the order of first appearance."""
    return list(dict.fromkeys(multiset(model, partition) for partition in partitions))


def inclusion_maximal_multisets(
    model: GpuModel, profiles: Iterable[str] | None = None
) -> list[Multiset]:
    """Return the maximal multisets that no other valid multiset contains.

    A multiset that is maximal at some positions may still be part of a larger one that uses
    others: {3g, 2g, 1g} fits into {3g, 2g, 1g, 1g}.
    """
    candidates = multisets(model, maximal_partitions(model, profiles))
    counted = [Counter(candidate) for candidate in candidates]
    return [
        candidate
        for candidate, mine in zip(candidates, counted, strict=True)
        if not any(mine < other for other in counted)
    ]


def profiles_of_kinds(model: GpuModel, kinds: Iterable[str]) -> list[str]:
    """Return the profiles of some kinds (``plain``, ``double_memory``, ``me``, …), in table order.

    Raises UnknownNameError for a kind of which the GPU has no profile.
    """
    wanted = list(kinds)
    present = {profile.kind for profile in model.profiles}
    for kind in wanted:
        if kind not in present:
            raise UnknownNameError(f"kind of profile of {model.key}", kind, present)
    return [profile.name for profile in model.profiles if profile.kind in wanted]


def order_key(model: GpuModel, partition: Partition) -> tuple[Any, ...]:
    """Return the sort key of partitions: larger slices first.

    Compared in turn, all descending: the compute slices of the slices sorted from large to small,
    their memory units, then (for equal multisets) the sizes in order of start. Names decide last.
    """
    # A sequence that goes on sorts before its own beginning: the end counts as a slice of size 0.
    end = 1
    ordered = multiset(model, partition)
    compute = tuple(-model.profile(name).compute_slices for name in ordered)
    memory = tuple(-model.profile(name).memory_units for name in ordered)
    in_place = tuple(_size_key(model, name) for name in partition.profiles)
    return ((*compute, end), (*memory, end), ordered, in_place, partition.placements)


def _size_key(model: GpuModel, name: str) -> tuple[int, int, str]:
    profile = model.profile(name)
    return (-profile.compute_slices, -profile.memory_units, name)


def _start(model: GpuModel, profiles: Iterable[str] | None) -> tuple[PlacementIndex, int]:
    index = placement_index(model)
    names = None if profiles is None else [model.profile(name).name for name in profiles]
    return index, index.mask(names)


def _cliques(index: PlacementIndex, allowed: int) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Yield every clique once as (placements, what could still be added, memory units covered)."""
    beside, units = index.beside, index.units
    # (chosen, all that may be added, the part of it that comes later in the order, units)
    stack: list[tuple[tuple[int, ...], int, int, int]] = [((), allowed, allowed, 0)]
    while stack:
        chosen, free, later, covered = stack.pop()
        if chosen:
            yield chosen, free, covered
        while later:
            i = (later & -later).bit_length() - 1
            later &= later - 1
            stack.append(((*chosen, i), free & beside[i], later & beside[i], covered | units[i]))


def _sorted(
    model: GpuModel, index: PlacementIndex, found: Iterable[tuple[int, ...]]
) -> list[Partition]:
    places = index.placements
    partitions = [Partition(tuple(places[i] for i in chosen)) for chosen in found]
    return sorted(partitions, key=lambda partition: order_key(model, partition))
