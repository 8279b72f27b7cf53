"""How much room a GPU has left: the measure by which starts are chosen."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from migopt.model import GpuModel, Profile
from migopt.placement import PlacementIndex, placement_index

#: (GPU key, profile name): a profile name means something only together with its GPU.
Key = tuple[str, str]


def free_mask(model: GpuModel, numbers: Iterable[int]) -> int:
    """Return which placements could be added beside some, as bits of ``PlacementIndex``."""
    index = placement_index(model)
    free = index.mask()
    for number in numbers:
        free &= index.beside[number]
    return free


@lru_cache(maxsize=65536)
def most_of_each(model: GpuModel, free: int) -> tuple[int, ...]:
    """Return, per profile of the table, how many slices of it alone could be added at most."""
    index = placement_index(model)
    masks = _profile_masks(model)
    return tuple(_most(index, free & masks[profile.name]) for profile in model.profiles)


@lru_cache(maxsize=256)
def _profile_masks(model: GpuModel) -> dict[str, int]:
    index = placement_index(model)
    return {profile.name: index.mask([profile.name]) for profile in model.profiles}


def profile_mask(model: GpuModel, name: str) -> int:
    """Return the placements of one profile as bits; 0 for a profile the GPU does not have."""
    return _profile_masks(model).get(name, 0)


def _most(index: PlacementIndex, mask: int) -> int:
    """Return the size of the largest set of placements in ``mask`` that may be together."""
    if not mask:
        return 0
    i = (mask & -mask).bit_length() - 1
    rest = mask & (mask - 1)
    # Either placement i is in the set, or (only then another set can be larger) it is not.
    with_it = 1 + _most(index, rest & index.beside[i])
    conflicting = rest & ~index.beside[i]
    return max(with_it, _most(index, rest)) if conflicting else with_it


def room_keys(models: Iterable[GpuModel]) -> tuple[Key, ...]:
    """Return the profiles of some GPUs in the order in which room for them counts.

    A slice that takes a larger part of its GPU comes first (memory units, then compute slices, then
    bytes): room for it is the first to get lost. Ordinary slices come before those with extra
    engines.
    """
    distinct = {model.key: model for model in models}
    rows = [(model, profile) for model in distinct.values() for profile in model.profiles]

    def importance(row: tuple[GpuModel, Profile]) -> tuple[float, float, int, bool, str, str]:
        model, profile = row
        units = profile.memory_units / model.memory_units
        compute = profile.compute_slices / model.compute_slices
        ordinary = profile.kind in ("plain", "double_memory")
        return (
            -units,
            -compute,
            -(profile.memory_bytes or 0),
            not ordinary,
            model.key,
            profile.name,
        )

    return tuple((model.key, profile.name) for model, profile in sorted(rows, key=importance))


def room(model: GpuModel, free: int, keys: tuple[Key, ...]) -> tuple[int, ...]:
    """Return the room of one GPU as a vector over ``keys``; larger in dictionary order is better."""
    counts = dict(zip((p.name for p in model.profiles), most_of_each(model, free), strict=True))
    return tuple(counts[name] if key == model.key else 0 for key, name in keys)
