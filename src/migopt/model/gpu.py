"""What a GPU model can be cut into: profiles, placements, partitions, and when two placements exclude each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from migopt.errors import InputError, UnknownNameError

#: Pseudo-profile of a GPU with MIG switched off: one slice, the whole card, in no catalogue.
OFF_PROFILE = "off"

_NOTATION = re.compile(r"^(?P<profile>[^@:\s]+)@(?P<start>\d+)$")


@dataclass(frozen=True, order=True, slots=True)
class Placement:
    """One slice at a place: a profile name of its GPU model and its first memory unit.

    The notation is ``profile@start``, for example ``3g.20gb@4``.
    """

    start: int
    profile: str

    def __str__(self) -> str:
        return self.profile if self.profile == OFF_PROFILE else f"{self.profile}@{self.start}"

    @classmethod
    def parse(cls, text: str) -> Placement:
        """Read ``profile@start``; raises InputError on any other form."""
        match = _NOTATION.match(text.strip())
        if match is None:
            raise InputError(f"{text.strip()!r} is not a placement; write profile@start, for example 3g.20gb@4")
        return cls(int(match["start"]), match["profile"])


#: The one placement of a GPU whose MIG mode is off.
OFF_PLACEMENT = Placement(0, OFF_PROFILE)


@dataclass(frozen=True, slots=True)
class Partition:
    """A set of placements on one GPU, kept in order of start.

    A Partition is only data: whether a GPU accepts it is ``GpuModel.why_invalid``.
    """

    placements: tuple[Placement, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "placements", tuple(sorted(self.placements)))

    def __iter__(self) -> Iterator[Placement]:
        return iter(self.placements)

    def __len__(self) -> int:
        return len(self.placements)

    def __contains__(self, placement: object) -> bool:
        return placement in self.placements

    def __str__(self) -> str:
        return ",".join(str(placement) for placement in self.placements) or "empty"

    @property
    def is_off(self) -> bool:
        """True for the pseudo-partition of a GPU with MIG off."""
        return self.placements == (OFF_PLACEMENT,)

    @property
    def profiles(self) -> tuple[str, ...]:
        """Profile names in order of start."""
        return tuple(placement.profile for placement in self.placements)

    @classmethod
    def parse(cls, text: str) -> Partition:
        """Read ``4g.20gb@0,3g.20gb@4`` (or ``off``); raises InputError naming the bad item."""
        if text.strip() == OFF_PROFILE:
            return OFF_PARTITION
        return cls(tuple(Placement.parse(item) for item in text.split(",") if item.strip()))


#: The GPU runs as a whole with MIG off; chosen at time 0 and kept to the end.
OFF_PARTITION = Partition((OFF_PLACEMENT,))


@dataclass(frozen=True, slots=True)
class Engines:
    """Counts of the fixed-function engines that slices take from the board's budget."""

    decoders: int = 0
    encoders: int = 0
    jpeg: int = 0
    ofa: int = 0

    def exceeds(self, budget: Engines) -> str | None:
        """Return the name of the first engine of which this takes more than ``budget`` has, or None."""
        for name in ("decoders", "encoders", "jpeg", "ofa"):
            if getattr(self, name) > getattr(budget, name):
                return name
        return None

    def __add__(self, other: Engines) -> Engines:
        return Engines(
            self.decoders + other.decoders,
            self.encoders + other.encoders,
            self.jpeg + other.jpeg,
            self.ofa + other.ofa,
        )


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of slice of one GPU model; a profile name means something only together with its GPU.

    Attributes
    ----------
    name : str
        The driver's name, unique within the GPU model.
    compute_slices, memory_units : int
        Compute slices and units of the placement axis that one such slice takes.
    starts : tuple of int
        Memory units at which such a slice may begin.
    max_count : int
        Most slices of this profile on one GPU.
    driver_id : int or None
        The id that ``nvidia-smi`` prints and accepts; None where no listing was seen.
    kind : str
        ``plain``, ``double_memory``, ``me``, ``gfx``, ``me.all`` or ``no_me``.
    memory_bytes : int or None
        Usable memory, None where no figure was found (then no job is refused for memory).
    sm : int or None
        Streaming multiprocessors.
    engines : Engines
        Engines taken.
    confidence, source : str
        How well the row is known, and from where.
    """

    name: str
    compute_slices: int
    memory_units: int
    starts: tuple[int, ...]
    max_count: int
    driver_id: int | None = None
    kind: str = "plain"
    memory_bytes: int | None = None
    sm: int | None = None
    engines: Engines = field(default_factory=Engines)
    confidence: str = ""
    source: str = ""


@dataclass(frozen=True)
class GpuModel:
    """A GPU model: its memory axis, compute slices, profiles and engine budget.

    ``conflict`` is the pairwise predicate that graph, checker, catalogues and planner share.
    """

    key: str
    memory_units: int
    compute_slices: int
    profiles: tuple[Profile, ...]
    engine_budget: Engines | None = None
    aliases: tuple[str, ...] = ()
    architecture: str = ""
    notes: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def _by_name(self) -> dict[str, Profile]:
        return {profile.name: profile for profile in self.profiles}

    def profile(self, name: str, *, where: str = "") -> Profile:
        """Return the profile called ``name``; raises UnknownNameError with the nearest names."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownNameError(f"profile of {self.key}", name, self._by_name, where=where) from None

    def has_profile(self, name: str) -> bool:
        """Return whether this model has a profile called ``name``."""
        return name in self._by_name

    @cached_property
    def placements(self) -> tuple[Placement, ...]:
        """Every placement the table allows, in order of start, then profile."""
        return tuple(sorted(Placement(s, p.name) for p in self.profiles for s in p.starts))

    @property
    def full_profile(self) -> Profile:
        """The plain profile with the most compute slices: the whole GPU under MIG."""
        plain = [profile for profile in self.profiles if profile.kind == "plain"]
        return max(plain or self.profiles, key=lambda profile: (profile.compute_slices, profile.memory_units))

    def units(self, placement: Placement) -> range:
        """Return the memory units that ``placement`` covers."""
        return range(placement.start, placement.start + self.profile(placement.profile).memory_units)

    def why_no_placement(self, placement: Placement) -> str | None:
        """Return why ``placement`` cannot exist on this GPU at all, or None."""
        profile = self.profile(placement.profile)
        if placement.start not in profile.starts:
            starts = ", ".join(map(str, profile.starts))
            return f"{placement}: {profile.name} of {self.key} may start at {starts}"
        return None

    def why_conflict(self, first: Placement, second: Placement) -> str | None:
        """Return why two placements cannot be together on one GPU, or None.

        Two placements conflict when their memory units meet, or when together they take more of
        some engine than the board has (the rule behind "at most one +me").
        """
        shared = set(self.units(first)) & set(self.units(second))
        if shared:
            return f"{first} and {second} both cover memory unit {min(shared)}"
        if self.engine_budget is not None:
            both = self.profile(first.profile).engines + self.profile(second.profile).engines
            engine = both.exceeds(self.engine_budget)
            if engine is not None:
                have = getattr(self.engine_budget, engine)
                return f"{first} and {second} together need more {engine} engines than the {have} of {self.key}"
        if first.profile == second.profile and self.profile(first.profile).max_count < 2:
            return f"{first} and {second}: at most one {first.profile} on {self.key}"
        return None

    def conflict(self, first: Placement, second: Placement) -> bool:
        """Return whether two placements exclude each other."""
        return self.why_conflict(first, second) is not None

    def why_invalid(self, partition: Iterable[Placement]) -> str | None:
        """Return the first reason why these placements are no partition of this GPU, or None.

        Raises UnknownNameError for a profile the GPU does not have.
        """
        placements = list(partition)
        for placement in placements:
            reason = self.why_no_placement(placement)
            if reason is not None:
                return reason
        for i, first in enumerate(placements):
            for second in placements[i + 1 :]:
                if first == second:
                    return f"{first} is listed twice"
                reason = self.why_conflict(first, second)
                if reason is not None:
                    return reason
        return None


@dataclass(frozen=True)
class Catalogue:
    """The partitions an instance allows on one GPU model, numbered from 1 in this order."""

    name: str
    gpu_key: str
    partitions: tuple[Partition, ...]

    def __len__(self) -> int:
        return len(self.partitions)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self.partitions)

    @cached_property
    def _numbers(self) -> dict[Partition, int]:
        return {partition: number for number, partition in enumerate(self.partitions, 1)}

    def number(self, partition: Partition) -> int | None:
        """Return the partition's number (1-based), or None when the catalogue does not hold it."""
        return self._numbers.get(partition)

    def __getitem__(self, number: int) -> Partition:
        """Return partition ``number`` (1-based); raises InputError outside the catalogue."""
        if not 1 <= number <= len(self.partitions):
            raise InputError(
                f"catalogue {self.name} of {self.gpu_key} has partitions 1 to {len(self.partitions)}, not {number}"
            )
        return self.partitions[number - 1]
