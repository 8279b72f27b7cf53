"""Partitions that matter: one per set of slices, and none whose slices another one offers too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from migopt.bounds.busy_vectors import BusyVectors
from migopt.model import Catalogue, Partition


@dataclass(frozen=True, slots=True)
class PartitionClass:
    """Partitions that offer the same slices, by their first: its number (1-based), slices per group."""

    number: int
    partition: Partition
    slices: tuple[int, ...]

    @property
    def label(self) -> str:
        """For messages."""
        return f"partition {self.number}"


def partition_classes(
    vectors: BusyVectors, catalogue: Catalogue, number: int | None = None
) -> list[PartitionClass]:
    """Return the classes of a catalogue, in its order; with ``number`` only that partition.

    A partition that has no more slices of any group than another is left out: whatever runs on it runs
    on the other, at the same power, and fewer partitions need fewer changes.

    Raises
    ------
    InputError
        The catalogue has no such partition.
    """
    numbers = range(1, len(catalogue) + 1) if number is None else [number]
    found: dict[tuple[int, ...], int] = {}
    for candidate in numbers:
        found.setdefault(slices_of(vectors, catalogue[candidate]), candidate)
    return [
        PartitionClass(candidate, catalogue[candidate], slices)
        for slices, candidate in found.items()
        if not any(other != slices and covers(other, slices) for other in found)
    ]


def slices_of(vectors: BusyVectors, partition: Partition) -> tuple[int, ...]:
    """Return how many slices of each group a partition has."""
    counts = [0] * len(vectors.groups)
    for profile in partition.profiles:
        counts[vectors.group_of[profile]] += 1
    return tuple(counts)


def covers(large: Sequence[int], small: Sequence[int]) -> bool:
    """Return whether ``large`` has at least as many of everything."""
    return all(a >= b for a, b in zip(large, small, strict=True))
