"""A schedule: who ran where and when, and how the partitions changed. Pure data; it claims nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migopt.model.gpu import Partition, Placement


@dataclass(frozen=True, order=True, slots=True)
class Segment:
    """One uninterrupted run of a job on a placement, from ``start_ms`` to ``end_ms``."""

    start_ms: int
    end_ms: int
    gpu: int
    placement: Placement
    job: int


@dataclass(frozen=True, order=True, slots=True)
class Reconfiguration:
    """A change of a GPU's partition that takes from ``start_ms`` to ``end_ms``."""

    start_ms: int
    end_ms: int
    gpu: int
    old: Partition = field(compare=False)
    new: Partition = field(compare=False)


@dataclass(frozen=True)
class Schedule:
    """First partitions, segments and reconfigurations, in order of time.

    Attributes
    ----------
    initial : tuple of Partition
        Per GPU the partition in force at time 0 (``OFF_PARTITION`` for MIG off); it is free.
    segments : tuple of Segment
        Sorted by start, end, GPU, placement.
    reconfigurations : tuple of Reconfiguration
        Sorted likewise.
    origin : Mapping
        Who made it; not part of the schedule.
    """

    initial: tuple[Partition, ...]
    segments: tuple[Segment, ...]
    reconfigurations: tuple[Reconfiguration, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", tuple(sorted(self.segments)))
        object.__setattr__(self, "reconfigurations", tuple(sorted(self.reconfigurations)))

    def completions_ms(self) -> dict[int, int]:
        """Return each job's last segment end, by job id (no claim that its work is done)."""
        last: dict[int, int] = {}
        for segment in self.segments:
            last[segment.job] = max(segment.end_ms, last.get(segment.job, 0))
        return last
