"""What a GPU is cut into at this moment: slices with a job, idle ones, and orphans.

The notation is that of every ``migopt mig`` command: ``4g.20gb@0:busy,2g.10gb@4``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from migopt.errors import InputError, UnknownNameError
from migopt.model import GpuModel, Partition, Placement
from migopt.placement import Wish

IDLE, BUSY, ORPHAN = "idle", "busy", "orphan"
STATES = (IDLE, BUSY, ORPHAN)


@dataclass(frozen=True, slots=True)
class HeldSlice:
    """A slice that exists.

    Attributes
    ----------
    placement : Placement
        Which and where.
    state : str
        ``busy`` (a job runs), ``idle``, or ``orphan``: a GPU instance without compute instance,
        which no job can use and which occupies its memory units all the same.
    instance_id : int or None
        The driver's id of the GPU instance, where a listing told it.
    """

    placement: Placement
    state: str = IDLE
    instance_id: int | None = None

    def __str__(self) -> str:
        return str(self.placement) + ("" if self.state == IDLE else f":{self.state}")


@dataclass(frozen=True)
class GpuState:
    """One GPU of a node and its slices.

    Attributes
    ----------
    model : GpuModel
        The geometry.
    slices : tuple of HeldSlice
        In order of start.
    label : str
        How answers call it: ``0``, ``1``, … in the order of the command line.
    mig : bool
        Whether MIG mode is on.
    synonyms : mapping
        Other names of its profiles, for example those of a table that a listing replaces.
    blocked : str
        Why nothing can be planned here although MIG is on; empty when something can.
    """

    model: GpuModel
    slices: tuple[HeldSlice, ...] = ()
    label: str = "0"
    mig: bool = True
    synonyms: Mapping[str, str] = field(default_factory=dict, compare=False)
    blocked: str = ""

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.slices, key=lambda held: held.placement))
        object.__setattr__(self, "slices", ordered)

    def __hash__(self) -> int:
        return hash((self.model.key, self.slices, self.label))

    @property
    def why_unusable(self) -> str:
        """Why no slice can be planned on this GPU, or an empty text."""
        return self.blocked if self.mig else f"MIG mode is off on GPU {self.label}"

    @property
    def partition(self) -> Partition:
        """The slices, whatever their state."""
        return Partition(tuple(held.placement for held in self.slices))

    def of_state(self, state: str) -> tuple[Placement, ...]:
        """Return the placements of the slices in a state."""
        return tuple(held.placement for held in self.slices if held.state == state)

    def name_here(self, name: str) -> str:
        """Return what this GPU calls a profile: its own name for a synonym, else ``name``."""
        return self.synonyms.get(name, name)


def told_apart(states: Sequence[GpuState]) -> list[GpuState]:
    """Return the GPUs with a key of its own for each geometry.

    Two cards of one key differ where a listing, a table of the user or an older driver says so. What
    one of them calls a profile, another understands: the same id is the same slice.
    """
    models: dict[str, GpuModel] = {}
    out = []
    for state in states:
        key = state.model.key
        names = dict(state.synonyms)
        for other in states:
            if other.model.key == key and other.model != state.model:
                by_id = {
                    p.driver_id: p.name for p in state.model.profiles if p.driver_id is not None
                }
                for profile in other.model.profiles:
                    if profile.driver_id in by_id and not state.model.has_profile(profile.name):
                        names.setdefault(profile.name, by_id[profile.driver_id])
        if models.setdefault(key, state.model) != state.model:
            key = f"{key} (GPU {state.label})"
            models[key] = replace(state.model, key=key)
        out.append(replace(state, model=models[key], synonyms=names))
    return out


def gpu_numbers(states: Sequence[GpuState]) -> list[int]:
    """Return the number of each GPU in commands and files: its label, else (all of them) its position."""
    labels = [state.label for state in states]
    good = all(label.isdecimal() and len(label) < 10 for label in labels)
    numbers = [int(label) for label in labels] if good else []
    return numbers if len(set(numbers)) == len(labels) else list(range(len(labels)))


@dataclass(frozen=True, slots=True)
class Request:
    """Slices that are wanted, before anybody asked whether a GPU has such profiles.

    Attributes
    ----------
    fixed : tuple of Placement
        Slices whose start is given.
    free : tuple of str
        Profile names, one entry per slice.
    """

    fixed: tuple[Placement, ...] = ()
    free: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Every profile named, in order, once."""
        return list(dict.fromkeys((*(p.profile for p in self.fixed), *self.free)))

    def on(self, state: GpuState) -> Request:
        """Return the request in the names of one GPU."""
        fixed = tuple(Placement(p.start, state.name_here(p.profile)) for p in self.fixed)
        return Request(fixed, tuple(map(state.name_here, self.free)))

    def wish(self) -> Wish:
        """Return the same as a wish of ``migopt.placement``."""
        return Wish(self.fixed, self.free)


def parse_have(
    text: str, model: GpuModel, *, where: str = "", synonyms: Mapping[str, str] | None = None
) -> tuple[HeldSlice, ...]:
    """Read the slices that exist, for example ``4g.20gb@0:busy,2g.10gb@4``; empty text is none.

    Raises InputError for another form, an unknown state, or slices that cannot be together on this
    GPU, and UnknownNameError for a profile that it does not have.
    """
    found: list[HeldSlice] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, state = item.partition(":")
        state = state.strip() or IDLE
        if "@" not in name:
            raise InputError(
                f"{item!r} has no start; write profile@start, for example 3g.20gb@4", where=where
            )
        if state not in STATES:
            raise UnknownNameError("state of a slice", state, STATES, where=where)
        place = Placement.parse(name)
        place = Placement(place.start, (synonyms or {}).get(place.profile, place.profile))
        model.profile(place.profile, where=where)
        found.append(HeldSlice(place, state))
    refuse_impossible(model, (held.placement for held in found), where=where)
    return tuple(found)


def refuse_impossible(
    model: GpuModel, placements: Iterable[Placement], *, where: str = "", source: str = ""
) -> None:
    """Raise InputError where slices that are said to exist cannot be together."""
    reason = model.why_invalid(placements)
    if reason is not None:
        message = f"this state cannot exist: {reason}"
        raise InputError(message, where=where, source=source)


def parse_request(text: str, *, where: str = "") -> Request:
    """Read wanted slices: ``3g.20gb@4``, ``1g.5gb``, ``1g.5gb:3``, ``3x1g.5gb``, or several of them.

    Whether a GPU has such profiles is not asked here. Raises InputError for another form.
    """
    from migopt.placement.fit import split_count

    fixed: list[Placement] = []
    free: list[str] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        if "@" in item:
            fixed.append(Placement.parse(item))
        else:
            name, count = split_count(item, where=where)
            free += [name] * count
    return Request(tuple(fixed), tuple(free))
