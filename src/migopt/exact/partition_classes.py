"""Partitions that matter: one per set of slices, and none whose slices another one offers too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from migopt.bounds.busy_vectors import BusyVectors, busy_vectors
from migopt.model import Catalogue, Instance, Partition
from migopt.model.gpu import OFF_PROFILE


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


#: Examples in a message.
EXAMPLES = 3


def why_no_partition(instance: Instance) -> str | None:
    """Return why no choice kept for a whole run runs every job of an instance with one GPU, or None.

    Choices are the partitions of the catalogue, and MIG off where that is allowed. Where partitions never
    change there is then no legal schedule at all.
    """
    model, catalogue = instance.gpus[0], instance.catalogue(0)
    vectors = busy_vectors(instance, model, "mig")
    rates = [vectors.rates(instance, job) for job in instance.jobs]
    found = []
    for kept in partition_classes(vectors, catalogue):
        groups = [k for k, n in enumerate(kept.slices) if n]
        misfits = [
            job.id
            for job, row in zip(instance.jobs, rates, strict=True)
            if not any(row[k] for k in groups)
        ]
        if not misfits:
            return None
        found.append(f"job {misfits[0]} fits no slice of {kept.label}")
    if instance.mig_off:
        unable = [job.id for job in instance.jobs if not instance.rate(job, model, OFF_PROFILE)]
        if not unable:
            return None
        found = [*found[: EXAMPLES - 1], f"job {unable[0]} does not run with MIG off"]
    more = len(found) - EXAMPLES
    told = ", ".join(found[:EXAMPLES]) + (f", and {more} more" if more > 0 else "")
    return f"no partition kept for the whole run runs every job: {told}"
