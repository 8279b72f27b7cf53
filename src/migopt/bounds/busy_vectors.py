"""Busy vectors: every multiset of slices of one GPU that can run jobs at the same moment.

A busy vector is a sub-multiset of a partition of the catalogue. Its power depends only on the sum of
its compute slices, so bounds and exact models speak of vectors, not of placements. Profiles that no
job of the instance can tell apart (same compute slices, same rate for every job, memory looked at)
are one *group*: counts are per group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

from migopt.model import GpuModel, Instance, Job
from migopt.model.gpu import OFF_PROFILE

Case = Literal["mig", "off", "both"]


@dataclass(frozen=True)
class BusyVectors:
    """The busy vectors of one GPU model in one instance; vector 0 is the empty one.

    Attributes
    ----------
    model : GpuModel
    groups : tuple of tuple of str
        Profile names that jobs cannot tell apart, most compute slices first; ``("off",)`` last if
        MIG off is among the cases.
    compute : tuple of int
        Compute slices per group (all of the GPU for ``off``).
    counts : tuple of tuple of int
        ``counts[b][k]``: slices of group k that are busy in vector b.
    levels : tuple of int
        Busy compute slices per vector.
    extra_mw : tuple of int
        Power above idle per vector, in milliwatts; all 0 without a power curve.
    partitions : tuple of int
        Bit c - 1 of ``partitions[b]`` is set when partition c of the catalogue contains vector b.
        The off vector is in no partition; the empty vector is in all.
    off_vector : int or None
        Which vector is the GPU with MIG off, None if that case is left out.
    """

    model: GpuModel
    groups: tuple[tuple[str, ...], ...]
    compute: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]
    levels: tuple[int, ...]
    extra_mw: tuple[int, ...]
    partitions: tuple[int, ...]
    off_vector: int | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def group_of(self) -> dict[str, int]:
        """Profile name to its group."""
        return {name: k for k, names in enumerate(self.groups) for name in names}

    @cached_property
    def number(self) -> dict[tuple[int, ...], int]:
        """Counts to the number of the vector."""
        return {counts: b for b, counts in enumerate(self.counts)}

    def of_partition(self, number: int) -> tuple[int, ...]:
        """Return the vectors inside partition ``number`` (1-based) of the catalogue."""
        return tuple(b for b, mask in enumerate(self.partitions) if mask >> (number - 1) & 1)

    def rates(self, instance: Instance, job: Job) -> tuple[int, ...]:
        """Return the job's work per millisecond on each group, 0 where it does not fit."""
        return tuple(instance.rate(job, self.model, names[0]) for names in self.groups)

    def grow(self) -> Iterator[tuple[int, int, int]]:
        """Yield (b, k, smaller): vector ``b`` is vector ``smaller`` with one more slice of group k.

        Vectors come by falling number of slices, so that values may be updated in place, one job
        after the other (every sub-multiset of a busy vector is one too).
        """
        order = sorted(range(len(self)), key=lambda b: -sum(self.counts[b]))
        for b in order:
            for k, n in enumerate(self.counts[b]):
                if n:
                    less = tuple(m - (i == k) for i, m in enumerate(self.counts[b]))
                    yield b, k, self.number[less]


def busy_vectors(instance: Instance, model: GpuModel, case: Case = "mig") -> BusyVectors:
    """Return the busy vectors of ``model`` under the instance's catalogue.

    Parameters
    ----------
    instance : Instance
    model : GpuModel
        One of the instance's GPU models.
    case : str
        ``mig``: MIG is on. ``off``: only the GPU with MIG off. ``both``: one more vector for MIG
        off, a relaxation where each GPU would have to choose once.
    """
    groups = _groups(instance, model) if case != "off" else []
    compute = [model.profile(names[0]).compute_slices for names in groups]
    counts = _counts(instance, model, groups)
    masks = [counts[key] for key in sorted(counts, key=lambda key: (sum(key), key))]
    vectors = sorted(counts, key=lambda key: (sum(key), key))
    levels = [
        min(model.compute_slices, sum(c * n for c, n in zip(compute, key, strict=True)))
        for key in vectors
    ]
    curve = instance.power.get(model.key)
    extra = [0 if curve is None else curve.busy_mw[u] - curve.idle_mw for u in levels]
    off = None
    if case != "mig":
        off = len(vectors)
        vectors = [(*key, 0) for key in vectors] + [(0,) * len(groups) + (1,)]
        groups.append((OFF_PROFILE,))
        compute.append(model.compute_slices)
        levels.append(model.compute_slices)
        masks.append(0)
        has_off = curve is not None and curve.off_busy_mw is not None
        extra.append(curve.off_busy_mw - curve.idle_mw if curve is not None and has_off else 0)
    return BusyVectors(
        model,
        tuple(groups),
        tuple(compute),
        tuple(vectors),
        tuple(levels),
        tuple(extra),
        tuple(masks),
        off,
    )


def _groups(instance: Instance, model: GpuModel) -> list[tuple[str, ...]]:
    """Merge profiles that have the same compute slices and the same rate for every job."""
    kinds = {(id(job.rates), job.memory_bytes): job for job in instance.jobs}.values()
    found: dict[tuple[int, ...], list[str]] = {}
    for name in instance.profiles_in_use[model.key]:
        slices = model.profile(name).compute_slices
        key = (-slices, *(-instance.rate(job, model, name) for job in kinds))
        found.setdefault(key, []).append(name)
    return [tuple(found[key]) for key in sorted(found)]


def _counts(
    instance: Instance, model: GpuModel, groups: list[tuple[str, ...]]
) -> dict[tuple[int, ...], int]:
    """Return every count vector inside some partition, with the partitions that hold it as bits."""
    masks: dict[tuple[int, ...], int] = {(0,) * len(groups): 0}
    if not groups:
        return masks
    where = {name: k for k, names in enumerate(groups) for name in names}
    whole: dict[tuple[int, ...], int] = {}
    for bit, partition in enumerate(instance.catalogues[model.key]):
        full = [0] * len(groups)
        for name in partition.profiles:
            full[where[name]] += 1
        whole[tuple(full)] = whole.get(tuple(full), 0) | 1 << bit
    for most, mask in whole.items():
        for key in product(*(range(n + 1) for n in most)):
            masks[key] = masks.get(key, 0) | mask
    return masks
