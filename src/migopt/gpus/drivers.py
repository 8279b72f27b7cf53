"""What a GPU model offers under an older driver."""

from __future__ import annotations

import re
from dataclasses import replace

from migopt.errors import InputError
from migopt.model import GpuModel

_VERSION = re.compile(r"^[rR]?(\d{3,4}(?:\.\d+)*)$")


def model_for_driver(model: GpuModel, driver: str | int) -> GpuModel:
    """Return ``model`` as a driver of this version sees it.

    Parameters
    ----------
    driver : str or int
        A branch (``470``, ``R470``) or a full version (``470.57.02``).

    Returns
    -------
    GpuModel
        Without the profiles that the driver does not have, and with the pairs that it refuses.

    Raises
    ------
    InputError
        For text that is no version, and for a driver older than the first that supports this GPU.
    """
    match = _VERSION.match(str(driver).strip())
    if match is None:
        raise InputError(f"{driver!r} is not a driver version; write for example 470 or 470.57.02")
    version = _numbers(match[1])
    if model.min_driver and version < _numbers(model.min_driver)[: len(version)]:
        raise InputError(f"{model.key} needs driver {model.min_driver} or later, not {match[1]}")
    old = [rule for rule in model.driver_rules if version[0] < rule.before]
    absent = {rule.profiles[0] for rule in old if len(rule.profiles) == 1}
    kept = tuple(profile for profile in model.profiles if profile.name not in absent)
    return replace(
        model, profiles=kept, refused=tuple(rule for rule in old if len(rule.profiles) == 2)
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
