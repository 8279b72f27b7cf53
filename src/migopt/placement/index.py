"""Placements of a GPU as bits, so that a partition is checked in microseconds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from migopt.model import GpuModel, Placement


class PlacementIndex:
    """Numbers the placements of a GPU and keeps, per placement, what may be beside it.

    Everything comes from ``GpuModel.pair_conflict``, once per pair.

    Attributes
    ----------
    placements : tuple of Placement
        Largest first: by compute slices, then memory units (both descending), start, profile.
    number : dict
        Placement to its position in ``placements``.
    beside : list of int
        Bit j of ``beside[i]`` is set when placements i and j may be together.
    units : list of int
        Bit u of ``units[i]`` is set when placement i covers memory unit u.
    full : int
        All memory units.
    """

    def __init__(self, model: GpuModel) -> None:
        def largest_first(placement: Placement) -> tuple[int, int, int, str]:
            profile = model.profile(placement.profile)
            size = (-profile.compute_slices, -profile.memory_units)
            return (*size, placement.start, placement.profile)

        self.placements = tuple(sorted(model.placements, key=largest_first))
        self.number = {placement: i for i, placement in enumerate(self.placements)}
        self.beside = [0] * len(self.placements)
        for i, first in enumerate(self.placements):
            for j in range(i):
                if not model.conflict(first, self.placements[j]):
                    self.beside[i] |= 1 << j
                    self.beside[j] |= 1 << i
        self.units = [sum(1 << unit for unit in model.units(place)) for place in self.placements]
        self.full = (1 << model.memory_units) - 1

    def mask(self, profiles: Iterable[str] | None = None) -> int:
        """Return the placements of these profiles (all when None) as bits."""
        if profiles is None:
            return (1 << len(self.placements)) - 1
        wanted = set(profiles)
        return sum(1 << i for i, place in enumerate(self.placements) if place.profile in wanted)

    def is_valid(self, partition: Iterable[Placement]) -> bool:
        """Return whether the placements are a partition; False also for a placement not listed."""
        free, number, beside = -1, self.number, self.beside
        for placement in partition:
            i = number.get(placement)
            if i is None or not free >> i & 1:
                return False
            free &= beside[i]
        return True


@lru_cache(maxsize=64)
def placement_index(model: GpuModel) -> PlacementIndex:
    """Return the index of a GPU model, built once per model."""
    return PlacementIndex(model)


def is_valid(model: GpuModel, partition: Iterable[Placement]) -> bool:
    """Return whether a GPU accepts the placements together; the reason is ``GpuModel.why_invalid``."""
    return placement_index(model).is_valid(partition)
