"""Integer rates of a job from its relative speeds, one shared object per distinct set of speeds."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from migopt.model import OFF_PROFILE, FrozenMap, GpuModel
from migopt.units import rate_from_speed


def half_up(value: float | Fraction, times: int | Fraction = 1) -> int:
    """Round ``value * times`` half up, exactly, without a Fraction per call when both are plain."""
    if type(value) is int and type(times) is int:
        return value * times
    a, b = value.as_integer_ratio()
    c, d = times.as_integer_ratio()
    return (2 * a * c + b * d) // (2 * b * d)


@lru_cache(maxsize=4096)
def rates_of(model: GpuModel, speeds: FrozenMap) -> FrozenMap:
    """Return ``rates[gpu_key][profile]`` for speeds relative to the whole GPU under MIG.

    Parameters
    ----------
    model : GpuModel
        The GPU the profiles belong to.
    speeds : FrozenMap
        Profile name (and ``off``) to Fraction; 0 means that the job may not run there.
    """
    rates = {name: rate_from_speed(speed) for name, speed in speeds.items()}
    return FrozenMap(
        {model.key: FrozenMap({name: rate for name, rate in rates.items() if rate > 0})}
    )


def spread(model: GpuModel, by_slices: Mapping[int, Fraction], off: Fraction) -> FrozenMap:
    """Return speeds per profile of ``model`` from speeds per number of compute slices.

    Profiles with the same number of slices run a job equally fast (they differ in memory); one whose
    number is not listed gets no speed. ``off`` is the speed with MIG off, 0 for none.
    """
    speeds = {
        profile.name: by_slices[profile.compute_slices]
        for profile in model.profiles
        if profile.compute_slices in by_slices
    }
    if off > 0:
        speeds[OFF_PROFILE] = off
    return FrozenMap(speeds)
