"""GPUs in Slurm's list of trackable resources, and the MIG slices among them."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from migopt.errors import InputError
from migopt.model import GpuModel

_SLICE = re.compile(r"(?:.*_)?(\d+g\.\d+gb(?:[.+]?[a-z]+)*)")


@lru_cache(maxsize=65_536)
def gpus_of(tres: str) -> tuple[int, str]:
    """Return the number of GPUs or slices in e.g. ``cpu=9,gres/gpu:a100_3g.20gb=1,gres/gpu=1``.

    The typed entries stand beside the plain total and are not added to it. The second value is the
    MIG profile when it is a single slice, else empty. Raises ValueError for text of another form.
    """
    total, typed, profile = None, 0, ""
    for part in filter(None, tres.strip().split(",")):
        name, mark, value = part.partition("=")
        if not mark:
            raise ValueError(tres)
        if name == "gres/gpu":
            total = int(value)
        elif name.startswith("gres/gpu:"):
            typed += int(value)
            match = _SLICE.fullmatch(name.removeprefix("gres/gpu:").lower())
            profile = match[1] if match and int(value) > 0 else profile
    count = typed if total is None else total
    if count < 0:
        raise ValueError(tres)
    return count, profile if count == 1 else ""


class Slices:
    """Profiles of the cluster's cards as profiles of the instance's GPU model."""

    def __init__(self, model: GpuModel) -> None:
        self.model = model
        self.known: dict[str, tuple[str, float]] = {}
        self.read_as: Counter[tuple[str, str]] = Counter()

    def of(self, profile: str) -> tuple[str, float]:
        """Return profile and share of the whole GPU; the whole GPU has no profile.

        A profile that the model lacks counts as its plain one with as many compute slices. Raises
        InputError when there is none.
        """
        if profile not in self.known:
            self.known[profile] = self._find(profile)
        found = self.known[profile]
        if not self.model.has_profile(profile):
            self.read_as[profile, found[0] or self.model.full_profile.name] += 1
        return found

    def _find(self, name: str) -> tuple[str, float]:
        model = self.model
        plain = [profile for profile in model.profiles if profile.kind == "plain"]
        slices = int(name.partition("g.")[0])
        if model.has_profile(name):
            profile = model.profile(name)
        else:
            alike = [p for p in plain if p.compute_slices == slices]
            if not alike:
                raise InputError(
                    f"jobs ran on {name}, and {model.key} has no profile of {slices} compute "
                    f"slices; known: {', '.join(p.name for p in plain)}",
                    where="gpu",
                )
            profile = min(alike, key=lambda p: p.memory_units)
        if profile.name == model.full_profile.name:
            return "", 1.0
        compute = profile.compute_slices / model.compute_slices
        return profile.name, min(compute, profile.memory_units / model.memory_units)

    def notes(self) -> list[str]:
        """Return which profiles were read as which."""
        return [
            f"{name} is no profile of {self.model.key}: {count} jobs read as on {found}"
            for (name, found), count in sorted(self.read_as.items())
        ]
