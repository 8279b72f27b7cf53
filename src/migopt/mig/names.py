"""Profile names that people write: what a GPU calls the slice, or the nearest it has."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from fractions import Fraction

from migopt.errors import InputError, UnknownNameError
from migopt.mig.state import GpuState
from migopt.model import GpuModel, Profile

_NAME = re.compile(r"^(?P<g>\d{1,9})g\.(?P<gb>\d{1,9})gb(?P<rest>.*)$")


def nearest_profiles(model: GpuModel, name: str, limit: int = 3) -> list[str]:
    """Return the profiles of a GPU whose names mean most nearly the same, nearest first.

    Names of the usual form are compared by compute slices, then by gigabytes, then by suffix;
    others as text.
    """
    wanted = _NAME.match(name.strip().lower())
    if wanted is None:
        return difflib.get_close_matches(name, [p.name for p in model.profiles], limit, 0.4)

    def distance(profile: Profile) -> tuple[int, float, bool, str]:
        have = _NAME.match(profile.name)
        if have is None:
            return (99, 0.0, True, profile.name)
        # A gigabyte is little on a large slice and much on a small one.
        size = abs(int(have["gb"]) - int(wanted["gb"])) / max(int(have["gb"]), 1)
        slices = abs(int(have["g"]) - int(wanted["g"]))
        return (slices, size, have["rest"] != wanted["rest"], profile.name)

    return [profile.name for profile in sorted(model.profiles, key=distance)[:limit]]


def smallest_for_memory(states: Sequence[GpuState], need: int) -> tuple[list[str], list[str]]:
    """Return the ordinary profiles that hold ``need`` bytes, smallest first, and those too small.

    Only memory that was published or listed decides; a profile without a figure is in neither list.
    """
    rows: dict[str, tuple[float, int]] = {}
    small: list[str] = []
    for state in states:
        for profile in state.model.profiles:
            if profile.kind not in ("plain", "double_memory") or profile.memory_bytes is None:
                continue
            if profile.memory_bytes < need:
                small.append(profile.name)
            else:
                part = profile.memory_units / state.model.memory_units
                rows.setdefault(profile.name, (part, profile.compute_slices))
    fits = sorted(rows, key=lambda name: (*rows[name], name))
    return fits, [name for name in dict.fromkeys(small) if name not in rows]


_BYTES = re.compile(r"^\s*(?P<number>\d[\d,_]{0,30}(?:\.\d{1,30})?)\s*(?P<unit>[A-Za-z]*)\s*$")
_UNITS = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip


def parse_bytes(text: str, *, where: str = "") -> int:
    """Read a size such as ``22649242112``, ``21.1GiB`` or ``20 GB``, rounded up to whole bytes.

    Raises InputError for another form, and UnknownNameError for another unit.
    """
    match = _BYTES.match(text)
    if match is None:
        raise InputError(f"{text!r} is no size; write bytes, or for example 21.1GiB", where=where)
    unit = match["unit"].lower()
    if unit not in _UNITS:
        raise UnknownNameError(
            "unit of memory", match["unit"], ["B", "MB", "GB", "MiB", "GiB"], where=where
        )
    need = Fraction(match["number"].replace(",", "").replace("_", "")) * _UNITS[unit]
    return math.ceil(need)
