"""Checks that the limits of a GPU model show in pairs of placements.

migopt takes a partition for a clique of the placement graph. That is right only if no set of
placements that agree in pairs breaks a count or an engine budget as a whole; it holds for every
shipped table (a test checks it), and a user's table is checked when it is read.
"""

from __future__ import annotations

from migopt.errors import InputError
from migopt.model import GpuModel, Placement
from migopt.model.gpu import ENGINE_NAMES


def refuse_limits_that_are_not_pairwise(model: GpuModel, source: str = "") -> None:
    """Raise InputError for a set of placements that agree in pairs and break a limit together."""
    places = model.placements
    agree = [
        sum(1 << j for j, other in enumerate(places) if j != i and not model.conflict(one, other))
        for i, one in enumerate(places)
    ]

    def extend(chosen: list[Placement], candidates: int) -> None:
        reason = _broken(model, chosen)
        if reason is not None:
            together = ",".join(map(str, chosen))
            message = (
                f"{together} agree in pairs, but together {reason}; such a limit is not supported"
            )
            raise InputError(message, source=source)
        while candidates:
            i = (candidates & -candidates).bit_length() - 1
            candidates &= candidates - 1
            extend([*chosen, places[i]], candidates & agree[i])

    extend([], (1 << len(places)) - 1)


def _broken(model: GpuModel, chosen: list[Placement]) -> str | None:
    profiles = [model.profile(placement.profile) for placement in chosen]
    for profile in profiles:
        if profiles.count(profile) > profile.max_count:
            return f"they are more than {profile.max_count} {profile.name}"
    if sum(profile.compute_slices for profile in profiles) > model.compute_slices:
        return f"they take more than {model.compute_slices} compute slices"
    for name, label in ENGINE_NAMES.items():
        have = getattr(model.engine_budget, name, None)
        if have is not None and sum(getattr(p.engines, name) or 0 for p in profiles) > have:
            return f"they need more than {have} {label}"
    return None
