"""Kubernetes resource names of MIG slices and the limits of a pod."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from migopt.errors import InputError
from migopt.mig.formats.yaml_file import read_yaml, whole
from migopt.mig.state import GpuState

PREFIX, WHOLE = "nvidia.com/mig-", "nvidia.com/gpu"
_RESOURCE = re.compile(r"^(?P<base>\d+g\.\d+gb)(?P<minus>-[a-z.]+)?(?P<plus>\.[a-z.]+)?$")


def resource_name(profile: str) -> str:
    """Return the resource of a profile (mixed strategy): ``+`` becomes ``.``, a dash stays."""
    return PREFIX + profile.replace("+", ".")


def profile_name(resource: str, *, where: str = "", source: str = "") -> str:
    """Return the profile that a resource stands for; raises InputError for another name."""
    match = _RESOURCE.match(resource.removeprefix(PREFIX)) if resource.startswith(PREFIX) else None
    if match is None:
        raise InputError(
            f"{resource!r} is no MIG resource such as nvidia.com/mig-1g.5gb",
            where=where,
            source=source,
        )
    plus = f"+{match['plus'][1:]}" if match["plus"] else ""
    return match["base"] + (match["minus"] or "") + plus


def write_limits(profiles: Iterable[str], *, single: bool = False) -> str:
    """Return the ``resources`` of a container that asks for slices.

    With the single strategy every slice is ``nvidia.com/gpu``; then all must be of one profile.
    """
    counts = Counter(profiles)
    if not counts:
        raise InputError("no slice, so no limits")
    if single:
        if len(counts) > 1:
            raise InputError(
                f"the single strategy knows one profile per node, not {', '.join(sorted(counts))}"
            )
        rows = [f"    {WHOLE}: {sum(counts.values())}"]
    else:
        rows = [f"    {resource_name(name)}: {count}" for name, count in sorted(counts.items())]
    return "\n".join(["resources:", "  limits:", *rows]) + "\n"


def read_limits(text: str, states: Sequence[GpuState] = (), *, source: str = "") -> Counter[str]:
    """Return the slices that a pod, a node or a bare list of resources names, by profile.

    Limits decide; requests are read only where a container has none, because for these resources
    both must be equal. ``nvidia.com/gpu`` (single strategy) needs GPUs with slices of one profile.

    Raises InputError for text without such a resource, and as ``read_yaml`` does.
    """
    found: Counter[str] = Counter()
    _collect(read_yaml(text, source=source), "", found, states, source)
    if not found:
        raise InputError("names no MIG resource (nvidia.com/mig-…)", source=source)
    return found


def _collect(
    value: Any, where: str, found: Counter[str], states: Sequence[GpuState], source: str
) -> None:
    if isinstance(value, list):
        for i, item in enumerate(value):
            _collect(item, f"{where}[{i}]", found, states, source)
        return
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        place = f"{where}.{key}" if where else str(key)
        if isinstance(key, str) and key.startswith(PREFIX):
            name = profile_name(key, where=place, source=source)
            found[name] += whole(item, place, source)
        elif key == WHOLE:
            found[_one_profile(states, place, source)] += whole(item, place, source)
        elif not (key == "requests" and "limits" in value):
            _collect(item, place, found, states, source)


def _one_profile(states: Sequence[GpuState], where: str, source: str) -> str:
    names = {held.placement.profile for state in states for held in state.slices}
    if len(names) != 1:
        raise InputError(
            f"{WHOLE} stands for a slice only on a node whose slices are all of one profile",
            where=where, source=source,
        )  # fmt: skip
    return names.pop()
