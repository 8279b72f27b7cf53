"""What a GPU model can be cut into: profiles, placements, partitions, and when two placements exclude each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from migopt.errors import InputError, UnknownNameError

#: Pseudo-profile of a GPU with MIG switched off: one slice, the whole card, in no catalogue.
OFF_PROFILE = "off"

_NOTATION = re.compile(r"^(?P<profile>[^@:\s]+)@(?P<start>\d{1,9})$")


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
            raise InputError(
                f"{text.strip()!r} is not a placement; write profile@start, for example 3g.20gb@4"
            )
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


#: The fixed-function engines, in the order in which a shortage is reported, and what to call them.
ENGINE_NAMES = {
    "decoders": "decoders",
    "encoders": "encoders",
    "jpeg": "JPEG engines",
    "ofa": "OFA engines",
}


@dataclass(frozen=True, slots=True)
class Engines:
    """Counts of the fixed-function engines that slices take from the board's budget.

    None is a count nobody has published; it refuses nothing.
    """

    decoders: int | None = 0
    encoders: int | None = 0
    jpeg: int | None = 0
    ofa: int | None = 0

    def exceeds(self, budget: Engines) -> str | None:
        """Return the first engine of which this is known to take more than ``budget``, or None."""
        for name in ENGINE_NAMES:
            need, have = getattr(self, name), getattr(budget, name)
            if need is not None and have is not None and need > have:
                return name
        return None

    def __add__(self, other: Engines) -> Engines:
        return Engines(
            _sum(self.decoders, other.decoders),
            _sum(self.encoders, other.encoders),
            _sum(self.jpeg, other.jpeg),
            _sum(self.ofa, other.ofa),
        )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


@dataclass(frozen=True, slots=True)
class DriverRule:
    """What drivers before a release branch do not offer.

    Attributes
    ----------
    profiles : tuple of str
        One profile that is absent before that branch, or two that are refused together.
    before : int
        The first branch that offers it (510 for R510).
    source : str
        Where this is published.
    """

    profiles: tuple[str, ...]
    before: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why placements cannot be, or cannot be together.

    Attributes
    ----------
    rule : str
        ``start``, ``memory``, ``engines``, ``count``, ``driver`` or ``duplicate``.
    placements : tuple of Placement
        The one or two placements concerned.
    message : str
        The reason in one sentence.
    """

    rule: str
    placements: tuple[Placement, ...]
    message: str


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

    ``pair_conflict`` is the pairwise predicate that graph, checker, catalogues and planner share.
    ``driver_rules`` lists what older drivers lack; it decides nothing until a model is made for one
    driver, whose refused pairs are then in ``refused``.
    """

    key: str
    memory_units: int
    compute_slices: int
    profiles: tuple[Profile, ...]
    engine_budget: Engines | None = None
    aliases: tuple[str, ...] = ()
    architecture: str = ""
    notes: tuple[str, ...] = ()
    min_driver: str = ""
    driver_rules: tuple[DriverRule, ...] = ()
    refused: tuple[DriverRule, ...] = ()

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
            raise UnknownNameError(
                f"profile of {self.key}", name, self._by_name, where=where
            ) from None

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
        return max(
            plain or self.profiles,
            key=lambda profile: (profile.compute_slices, profile.memory_units),
        )

    def units(self, placement: Placement) -> range:
        """Return the memory units that ``placement`` covers."""
        return range(
            placement.start, placement.start + self.profile(placement.profile).memory_units
        )

    def placement_conflict(self, placement: Placement) -> Conflict | None:
        """Return why ``placement`` cannot exist on this GPU at all, or None."""
        profile = self.profile(placement.profile)
        if placement.start in profile.starts:
            return None
        starts = ", ".join(map(str, profile.starts))
        message = f"{placement}: {profile.name} of {self.key} may start at {starts}"
        return Conflict("start", (placement,), message)

    def pair_conflict(self, first: Placement, second: Placement) -> Conflict | None:
        """Return why two placements cannot be together on one GPU, or None.

        Two placements conflict when their memory units meet, when together they take more of some
        engine than the board has (the rule behind "at most one +me"), when the GPU allows one
        slice of their profile, or when the driver refuses the pair.
        """
        pair = (first, second)
        if first == second:
            return Conflict("duplicate", pair, f"{first} is listed twice")
        one, other = self.profile(first.profile), self.profile(second.profile)
        shared = max(first.start, second.start)
        if shared < min(first.start + one.memory_units, second.start + other.memory_units):
            return Conflict("memory", pair, f"{first} and {second} both cover memory unit {shared}")
        if self.engine_budget is not None:
            engine = (one.engines + other.engines).exceeds(self.engine_budget)
            if engine is not None:
                have = f"{self.key} has ({getattr(self.engine_budget, engine)})"
                message = f"{first} and {second} together need more {ENGINE_NAMES[engine]} than {have}"
                return Conflict("engines", pair, message)
        if one is other and one.max_count < 2:
            return Conflict(
                "count", pair, f"{first} and {second}: at most one {one.name} on {self.key}"
            )
        for rule in self.refused:
            if sorted((one.name, other.name)) == sorted(rule.profiles):
                message = (
                    f"{first} and {second} together are refused by drivers before R{rule.before}"
                )
                return Conflict("driver", pair, message)
        return None

    def first_conflict(self, partition: Iterable[Placement]) -> Conflict | None:
        """Return the first reason why these placements are no partition of this GPU, or None.

        Raises UnknownNameError for a profile the GPU does not have.
        """
        placements = list(partition)
        for placement in placements:
            found = self.placement_conflict(placement)
            if found is not None:
                return found
        for i, first in enumerate(placements):
            for second in placements[i + 1 :]:
                found = self.pair_conflict(first, second)
                if found is not None:
                    return found
        return None

    def why_no_placement(self, placement: Placement) -> str | None:
        """Return the message of ``placement_conflict``, or None."""
        found = self.placement_conflict(placement)
        return None if found is None else found.message

    def why_conflict(self, first: Placement, second: Placement) -> str | None:
        """Return the message of ``pair_conflict``, or None."""
        found = self.pair_conflict(first, second)
        return None if found is None else found.message

    def conflict(self, first: Placement, second: Placement) -> bool:
        """Return whether two placements exclude each other."""
        return self.pair_conflict(first, second) is not None

    def why_invalid(self, partition: Iterable[Placement]) -> str | None:
        """Return the message of ``first_conflict``, or None for a partition this GPU accepts."""
        found = self.first_conflict(partition)
        return None if found is None else found.message


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
