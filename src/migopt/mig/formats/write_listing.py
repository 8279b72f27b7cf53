"""Writes listings in the shapes that ``nvidia-smi`` prints."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from decimal import Decimal

from migopt.errors import InputError
from migopt.mig.room import free_mask, most_of_each
from migopt.mig.state import GpuState, gpu_numbers
from migopt.model import GpuModel, Profile
from migopt.placement import placement_index

_GIB = 2**30


def write_lgip(states: Sequence[GpuState]) -> str:
    """Return the text of ``nvidia-smi mig -lgip``; a figure that nobody published is printed as 0."""
    width = 77
    border = "+" + "-" * width + "+"
    lines = [
        border,
        "|" + " GPU instance profiles:".ljust(width) + "|",
        "|" + " GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC".ljust(width) + "|",
        "|" + "                              Free/Total   GiB              CE    JPEG  OFA".ljust(width) + "|",
        "|" + "=" * width + "|",
    ]  # fmt: skip
    for number, state in zip(gpu_numbers(states), states, strict=True):
        index = placement_index(state.model)
        free = free_mask(state.model, (index.number[p] for p in state.partition))
        counts = most_of_each(state.model, free)
        for profile, left in zip(state.model.profiles, counts, strict=True):
            engines = profile.engines
            memory = Decimal(profile.memory_bytes or 0) / _GIB
            first = (
                f" {number:>3}  MIG {profile.name:<14} {driver_id(state.model, profile):>2}"
                f"     {left}/{profile.max_count}      {memory:>6.2f}       No    {profile.sm or 0:>3}"
                f"   {engines.decoders or 0:>3}   {engines.encoders or 0:>3}"
            )
            # Copy engines follow compute slices on every board whose listing was seen.
            second = (
                f"{profile.compute_slices:>62}   {engines.jpeg or 0:>3}   {engines.ofa or 0:>3}"
            )
            lines += [f"|{first:<{width}}|", f"|{second:<{width}}|", border]
    return "\n".join(lines) + "\n"


def write_lgipp(states: Sequence[GpuState]) -> str:
    """Return the text of ``nvidia-smi mig -lgipp``."""
    lines = []
    for number, state in zip(gpu_numbers(states), states, strict=True):
        for profile in state.model.profiles:
            word = "Placements:" if len(profile.starts) != 1 else "Placement :"
            starts = ",".join(map(str, profile.starts))
            lines.append(
                f"GPU {number:>2} Profile ID {driver_id(state.model, profile):>2} "
                f"{word} {{{starts}}}:{profile.memory_units}"
            )
    return "\n".join(lines) + "\n"


def write_lgi(states: Sequence[GpuState]) -> str:
    """Return the text of ``nvidia-smi mig -lgi``; unknown instance ids are numbered by tree place."""
    rows = [(i, held) for i, state in enumerate(states) for held in state.slices]
    if not rows:
        return "No GPU instances found: Not Found\n"
    width = 55
    border = "+" + "-" * width + "+"
    lines = [
        border,
        "|" + " GPU instances:".ljust(width) + "|",
        "|" + " GPU   Name             Profile  Instance   Placement".ljust(width) + "|",
        "|" + "                          ID       ID       Start:Size".ljust(width) + "|",
        "|" + "=" * width + "|",
    ]
    numbers = gpu_numbers(states)
    for i, held in rows:
        number, model = numbers[i], states[i].model
        profile = model.profile(held.placement.profile)
        ids = _instance_ids(states[i])
        row = (
            f" {number:>3}  MIG {profile.name:<13} {driver_id(model, profile):>4}"
            f"    {ids[held.placement.start, profile.name]:>5}     "
            f"{held.placement.start:>5}:{profile.memory_units}"
        )
        lines += [f"|{row:<{width}}|", border]
    return "\n".join(lines) + "\n"


def _instance_ids(state: GpuState) -> dict[tuple[int, str], int]:
    """Return an id per slice: that of the listing, else the place in the halving tree of the GPU."""
    found: dict[tuple[int, str], int] = {}
    used = {held.instance_id for held in state.slices if held.instance_id is not None}
    units = state.model.memory_units
    for held in state.slices:
        size = state.model.profile(held.placement.profile).memory_units
        number = held.instance_id
        if number is None:
            parts = max(1, units // size)
            number = (0 if parts == 1 else parts - 1) + held.placement.start // size
            while number in used:
                number += 1
            used.add(number)
        found[held.placement.start, held.placement.profile] = number
    return found


def write_devices(states: Sequence[GpuState], *, old: bool = False) -> str:
    """Return the text of ``nvidia-smi -L``.

    UUIDs belong to real devices: those printed are derived from labels and places, as stand-ins.
    """
    lines = []
    for number, state in zip(gpu_numbers(states), states, strict=True):
        gpu_id = uuid.uuid5(uuid.NAMESPACE_OID, f"migopt {state.model.key} {state.label}")
        lines.append(f"GPU {number}: {state.model.key} (UUID: GPU-{gpu_id})")
        ids = _instance_ids(state)
        for device, held in enumerate(h for h in state.slices if h.state != "orphan"):
            place = held.placement
            if old:
                name = f"MIG-GPU-{gpu_id}/{ids[place.start, place.profile]}/0"
                lines.append(f"  MIG {place.profile} Device {device}: (UUID: {name})")
            else:
                mig = uuid.uuid5(gpu_id, str(place))
                lines.append(f"  MIG {place.profile:<11} Device {device:>2}: (UUID: MIG-{mig})")
    return "\n".join(lines) + "\n"


def driver_id(model: GpuModel, profile: Profile) -> int:
    """Return the id that ``nvidia-smi`` uses; raises InputError where no listing was ever seen."""
    if profile.driver_id is None:
        raise InputError(
            f"the id of {profile.name} on {model.key} is not known; give its listing (-lgip, -lgipp)"
        )
    return profile.driver_id
