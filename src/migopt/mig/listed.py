"""GPUs as their own listings describe them; the tables only fill in what a listing does not say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import gpu_keys, load_gpu
from migopt.mig.formats.listing import (
    ListedGpu,
    ListedInstance,
    ListedPlacements,
    ListedProfile,
    Listing,
)
from migopt.mig.room import free_mask, most_of_each
from migopt.mig.state import BUSY, IDLE, ORPHAN, GpuState, HeldSlice, refuse_impossible
from migopt.model import Engines, GpuModel, Placement, Profile
from migopt.placement import Wish, find_partition, placement_index

_GIB = 2**30
_NAME = re.compile(r"^(?P<g>\d+)g\.\d+gb(?P<rest>.*)$")
_COMPUTE_NAME = re.compile(r"^(?P<c>\d+)c\.(?P<profile>.+)$")


@dataclass(frozen=True)
class ListedNode:
    """What the listings of a node say, and what a person should know about it."""

    states: tuple[GpuState, ...]
    warnings: tuple[str, ...] = ()


def states_from_listing(
    listing: Listing, *, gpu: GpuModel | None = None, jobs_unknown: str = BUSY
) -> ListedNode:
    """Return the GPUs of a listing with their slices.

    Parameters
    ----------
    gpu : GpuModel, optional
        The table of every GPU in it, where the listing itself does not name the product.
    jobs_unknown : str
        State of a slice of which no listing says whether a job runs: ``busy`` (safe) or ``idle``.

    Raises
    ------
    InputError
        Where geometry is missing or contradicts itself, or the slices cannot exist.
    """
    numbers = listing.numbers
    if not numbers:
        if gpu is None or (listing.instances is None and not listing.mig_off):
            raise InputError("names no GPU", source=listing.source)
        state = GpuState(gpu, mig=not listing.mig_off)
        return ListedNode((state,))
    states: list[GpuState] = []
    warnings: list[str] = []
    for number in numbers:
        model, synonyms, notes = model_from_listing(listing, number, gpu)
        warnings += notes
        slices, more = _slices(listing, number, model, synonyms, jobs_unknown)
        warnings += more
        state = GpuState(model, slices, str(number), synonyms=synonyms, mig=not listing.mig_off)
        states.append(replace(state, blocked=_why_blocked(listing, number, state)))
    return ListedNode(tuple(states), tuple(dict.fromkeys(warnings)))


def model_from_listing(
    listing: Listing, number: int, gpu: GpuModel | None = None
) -> tuple[GpuModel, dict[str, str], list[str]]:
    """Return the geometry of one GPU, synonyms of its profile names, and warnings.

    With ``-lgip`` and ``-lgipp`` the listing alone decides. With one of them, the table of the GPU
    fills in the rest by id. A name that differs from the table's at the same id is the same slice.

    Raises InputError where neither the listing nor a table tells the geometry.
    """
    rows = [row for row in listing.profiles if row.gpu == number]
    places = {row.driver_id: row for row in listing.placements if row.gpu == number}
    listed = next((g for g in listing.gpus if g.number == number), None)
    table, notes = gpu or _table_of(listed, rows), []
    if not rows and not places:
        if table is None:
            product = f" {listed.product!r}" if listed else ""
            raise InputError(
                f"GPU {number}{product} is in no table; add its -lgip and -lgipp listings",
                source=listing.source,
            )
        return table, {}, []
    if table is None and not (rows and places):
        what = "-lgip" if places else "-lgipp"
        raise InputError(
            f"GPU {number} is in no table; add its {what} listing, which tells the rest",
            source=listing.source,
        )
    if rows and places:
        profiles = _listed_profiles(rows, places, number, listing.source)
        model = _own_model(profiles, table, listed, number)
    elif rows:
        assert table is not None
        model = _renamed(table, rows, number, listing.source)
    else:
        assert table is not None
        model = _with_places(table, places, number, listing.source)
    if table is not None:
        notes += _differences(table, model, number)
    return model, _synonyms(table, model), notes


def _table_of(listed: ListedGpu | None, rows: Sequence[ListedProfile]) -> GpuModel | None:
    """Return the table of the product named, or the one whose profiles are those listed."""
    if listed is not None:
        try:
            return load_gpu(listed.product)
        except UnknownNameError:
            if not rows:
                return None
    best: tuple[int, int, GpuModel] | None = None
    for key in gpu_keys() if rows else []:
        model = load_gpu(key)
        by_id = {profile.driver_id: profile for profile in model.profiles}
        if any(row.driver_id not in by_id for row in rows):
            continue
        names = sum(by_id[row.driver_id].name == row.name for row in rows)
        counts = all(by_id[row.driver_id].max_count == row.total for row in rows)
        sm = sum(by_id[row.driver_id].sm == row.sm for row in rows)
        # One name may differ (a driver that rounds otherwise); more is another GPU.
        if counts and names >= max(1, len(rows) - 1) and (best is None or (names, sm) > best[:2]):
            best = (names, sm, model)
    return None if best is None else best[2]


def _listed_profiles(
    rows: Sequence[ListedProfile], places: Mapping[int, ListedPlacements], number: int, source: str
) -> list[Profile]:
    profiles = []
    for row in rows:
        place = places.get(row.driver_id)
        if place is None:
            message = f"GPU {number}: -lgipp does not list id {row.driver_id} ({row.name})"
            raise InputError(message, source=source)
        match = _NAME.match(row.name)
        if match is None:
            raise InputError(
                f"GPU {number}: {row.name!r} is no profile name such as 3g.20gb", source=source
            )
        profiles.append(
            Profile(
                name=row.name,
                compute_slices=int(match["g"]),
                memory_units=place.size,
                starts=place.starts,
                max_count=row.total,
                driver_id=row.driver_id,
                kind=_kind(match["rest"], row, rows),
                memory_bytes=int(row.memory_gib * _GIB),
                sm=row.sm,
                engines=Engines(row.decoders, row.encoders, row.jpeg, row.ofa),
                confidence="listed",
                source="the card's own listing",
            )
        )
    return profiles


def _kind(rest: str, row: ListedProfile, rows: Sequence[ListedProfile]) -> str:
    kinds = {"": "plain", "+me": "me", "+gfx": "gfx", "+me.all": "me.all", "-me": "no_me"}
    same = [r for r in rows if r.name.split(".")[0] == row.name.split(".")[0] and r is not row]
    smaller = any("+" not in r.name and r.memory_gib * 3 < row.memory_gib * 2 for r in same)
    return "double_memory" if not rest and smaller else kinds.get(rest, rest.strip("+-") or "plain")


def _own_model(
    profiles: list[Profile], table: GpuModel | None, listed: ListedGpu | None, number: int
) -> GpuModel:
    """Return a model made of listed profiles; the profile of the whole GPU shows what it has."""
    units = max((s + p.memory_units for p in profiles for s in p.starts), default=0)
    if table is not None:
        # Smaller starts of an old table are no news; the axis is that of the listing.
        rules = tuple(r for r in table.driver_rules if all(_has(profiles, n) for n in r.profiles))
        return replace(
            table,
            profiles=tuple(profiles),
            memory_units=max(units, 1),
            compute_slices=max(p.compute_slices for p in profiles),
            driver_rules=rules,
        )

    def most(engine: str) -> int:
        return max(int(getattr(p.engines, engine)) for p in profiles)

    model = GpuModel(
        key=listed.product if listed else f"GPU {number} (listed)",
        memory_units=max(units, 1),
        compute_slices=max(p.compute_slices for p in profiles),
        profiles=tuple(profiles),
        engine_budget=Engines(most("decoders"), most("encoders"), most("jpeg"), most("ofa")),
    )
    from migopt.gpus.limits import refuse_limits_that_are_not_pairwise

    refuse_limits_that_are_not_pairwise(model)
    return model


def _has(profiles: Sequence[Profile], name: str) -> bool:
    return any(profile.name == name for profile in profiles)


def _renamed(table: GpuModel, rows: Sequence[ListedProfile], number: int, source: str) -> GpuModel:
    by_id = {profile.driver_id: profile for profile in table.profiles}
    profiles = []
    for row in rows:
        known = by_id.get(row.driver_id)
        if known is None:
            exist = ", ".join(f"{p.driver_id} ({p.name})" for p in table.profiles)
            raise InputError(
                f"GPU {number} lists id {row.driver_id} ({row.name}), which {table.key} does not have; "
                f"there are {exist}; add the -lgipp listing to go by the listings alone",
                source=source,
            )
        profiles.append(
            replace(
                known,
                name=row.name,
                max_count=row.total,
                memory_bytes=int(row.memory_gib * _GIB),
                sm=row.sm,
            )
        )
    renamed = {known.name: row.name for row in rows for known in [by_id[row.driver_id]]}
    rules = tuple(
        replace(r, profiles=tuple(renamed[n] for n in r.profiles))
        for r in table.driver_rules
        if all(n in renamed for n in r.profiles)
    )
    refused = tuple(
        replace(r, profiles=tuple(renamed.get(n, n) for n in r.profiles)) for r in table.refused
    )
    return replace(table, profiles=tuple(profiles), driver_rules=rules, refused=refused)


def _with_places(
    table: GpuModel, places: Mapping[int, ListedPlacements], number: int, source: str
) -> GpuModel:
    by_id = {profile.driver_id: profile for profile in table.profiles}
    unknown = [i for i in places if i not in by_id]
    if unknown:
        exist = ", ".join(f"{p.driver_id} ({p.name})" for p in table.profiles)
        raise InputError(
            f"GPU {number} lists id {unknown[0]}, which {table.key} does not have; there are {exist}; "
            "add the -lgip listing to go by the listings alone",
            source=source,
        )
    profiles = tuple(
        replace(by_id[i], starts=row.starts, memory_units=row.size) for i, row in places.items()
    )
    units = max((s + p.memory_units for p in profiles for s in p.starts), default=1)
    return replace(table, profiles=profiles, memory_units=max(units, table.memory_units))


def _differences(table: GpuModel, model: GpuModel, number: int) -> list[str]:
    """Return what a listing says otherwise than the table of its GPU."""
    by_id = {profile.driver_id: profile for profile in table.profiles}
    notes = []
    for profile in model.profiles:
        known = by_id.get(profile.driver_id)
        head = f"GPU {number}: id {profile.driver_id}"
        if known is None:
            notes.append(f"{head} ({profile.name}) is not in the table of {table.key}")
        elif known.name != profile.name:
            notes.append(
                f"{head} is {profile.name} in the listing and {known.name} in the table of "
                f"{table.key}: the same slice, taken by id"
            )
        if known is not None and (known.starts, known.memory_units) != (
            profile.starts,
            profile.memory_units,
        ):
            notes.append(
                f"{head}: the listing's placements {_places(profile)} differ from the table's "
                f"{_places(known)}; the listing is used"
            )
    return notes


def _places(profile: Profile) -> str:
    return f"{{{','.join(map(str, profile.starts))}}}:{profile.memory_units}"


def _synonyms(table: GpuModel | None, model: GpuModel) -> dict[str, str]:
    if table is None:
        return {}
    by_id = {profile.driver_id: profile.name for profile in model.profiles}
    own = set(by_id.values())
    return {
        profile.name: by_id[profile.driver_id]
        for profile in table.profiles
        if profile.driver_id in by_id and profile.name not in own
    }


def _slices(
    listing: Listing, number: int, model: GpuModel, synonyms: dict[str, str], unknown: str
) -> tuple[tuple[HeldSlice, ...], list[str]]:
    listed = next((g for g in listing.gpus if g.number == number), None)
    if listing.instances is None:
        return _from_devices(listed, model, synonyms, unknown) if listed else ((), [])
    rows = [row for row in listing.instances if row.gpu == number]
    with_compute = listing.compute
    # Old drivers print the ids of instances that have a compute instance in the UUIDs.
    if (
        with_compute is None
        and listed is not None
        and all(device.instance_id is not None for device in listed.devices)
    ):
        with_compute = {
            (number, d.instance_id) for d in listed.devices if d.instance_id is not None
        }
    found, notes = [], []
    for row in rows:
        profile = _profile_of(row, model, listing.source)
        if profile.name != row.name and synonyms.get(row.name) != profile.name:
            notes.append(
                f"GPU {number}: id {row.driver_id} is {row.name} in -lgi and {profile.name} on "
                f"{model.key}: the same slice, taken by id"
            )
        if (number, row.instance_id) in (listing.processes or ()):
            state = BUSY
        elif with_compute is not None and (number, row.instance_id) not in with_compute:
            state = ORPHAN
        else:
            state = unknown if listing.processes is None else IDLE
        found.append(HeldSlice(Placement(row.start, profile.name), state, row.instance_id))
    refuse_impossible(
        model, (h.placement for h in found), where=f"GPU {number}", source=listing.source
    )
    return tuple(found), notes


def _profile_of(row: ListedInstance, model: GpuModel, source: str) -> Profile:
    where = f"line {row.line}"
    profile = next((p for p in model.profiles if p.driver_id == row.driver_id), None)
    if profile is None and model.has_profile(row.name):
        profile = model.profile(row.name)
        if profile.driver_id is not None:
            raise InputError(
                f"{row.name} has id {row.driver_id} here and {profile.driver_id} on {model.key}",
                where=where,
                source=source,
            )
    if profile is None:
        exist = ", ".join(f"{p.driver_id} ({p.name})" for p in model.profiles)
        raise InputError(
            f"id {row.driver_id} ({row.name}) is no profile of {model.key}; there are {exist}",
            where=where,
            source=source,
        )
    if row.size != profile.memory_units:
        raise InputError(
            f"{row.name} covers {row.size} memory units here and {profile.memory_units} on {model.key}",
            where=where,
            source=source,
        )
    return profile


def _from_devices(
    listed: ListedGpu, model: GpuModel, synonyms: dict[str, str], unknown: str
) -> tuple[tuple[HeldSlice, ...], list[str]]:
    """Return slices for the MIG devices of ``-L``, which does not tell where they are."""
    names: list[str] = []
    left: dict[tuple[str, int | None], int] = {}
    for device in listed.devices:
        match = _COMPUTE_NAME.match(device.profile)
        name = match["profile"] if match else device.profile
        name = synonyms.get(name, name)
        profile = model.profile(name, where=f"GPU {listed.number}")
        # Compute instances that share a slice come one after the other.
        shared = (name, device.instance_id)
        if match and left.get(shared, 0) >= int(match["c"]):
            left[shared] -= int(match["c"])
            continue
        if match:
            left[shared] = profile.compute_slices - int(match["c"])
        names.append(name)
    if not names:
        return (), []
    partition = find_partition(model, Wish((), tuple(names)))
    if partition is None:
        raise InputError(
            f"GPU {listed.number}: {', '.join(names)} cannot be together on {model.key}"
        )
    note = (
        f"GPU {listed.number}: -L does not tell where slices are; {partition} is one way. "
        "Add the -lgi listing"
    )
    return tuple(HeldSlice(place, unknown) for place in partition), [note]


def _why_blocked(listing: Listing, number: int, state: GpuState) -> str:
    """Return why free counts are lower than the slices that are known explain, or an empty text."""
    rows = {row.driver_id: row for row in listing.profiles if row.gpu == number}
    if not rows:
        return ""
    index = placement_index(state.model)
    free = free_mask(state.model, (index.number[place] for place in state.partition))
    counts = most_of_each(state.model, free)
    short = [
        profile.name
        for profile, count in zip(state.model.profiles, counts, strict=True)
        if profile.driver_id in rows and rows[profile.driver_id].free < count
    ]
    if not short:
        return ""
    if all(row.free == 0 for row in rows.values()):
        what = "every Free count is 0"
    else:
        what = f"there is less free room for {', '.join(short)}"
    known = "no slice is listed" if not state.slices else "the listed slices do not explain it"
    return f"GPU {number} is full or blocked: {what}, and {known}; add the -lgi listing"
