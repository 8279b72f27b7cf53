"""Smallest and largest value of every number in an instance, for files and built instances alike."""

from __future__ import annotations

from typing import NamedTuple

from migopt.units import MAX_POWER_MW, MAX_RATE, MAX_TIME_MS, MAX_WORK


class Limit(NamedTuple):
    """Smallest and largest value allowed."""

    low: int
    high: int


#: What engines that compute in 64 bits can hold; totals must stay within it.
MAX_TOTAL = 2**63 - 1

TIME_MS = Limit(0, MAX_TIME_MS)
HORIZON_MS = Limit(1, MAX_TIME_MS)
WORK = Limit(1, MAX_WORK)
RATE = Limit(0, MAX_RATE)
POWER_MW = Limit(0, MAX_POWER_MW)
JOB_ID = Limit(0, 2**53 - 1)
WEIGHT = Limit(0, 10**9)
MEMORY_BYTES = Limit(0, 2**50)
GPU_COUNT = Limit(1, 100_000)
#: Numerator and denominator of the energy weight.
FRACTION_PART = Limit(0, 10**18)
#: Most characters of a label, and of the source of a power curve.
LABEL_LENGTH = 200
SOURCE_LENGTH = 4000
#: Any integer of 64 bits: times, GPUs and jobs of a schedule are judged by the checker.
ANY = Limit(-(2**63), MAX_TOTAL)


def why_not_whole(value: object, limit: Limit) -> str | None:
    """Return why ``value`` is no whole number within ``limit``, or None; True and 1.0 are none."""
    if type(value) is not int:
        return f"must be a whole number, not {shown(value)}"
    if value < limit.low:
        return f"must be at least {limit.low}, not {shown(value)}"
    if value > limit.high:
        return f"must be at most {limit.high}, not {shown(value)}"
    return None


def shown(value: object) -> str:
    """Return a value as it would stand in a file, shortened for an error message."""
    names = {True: "true", False: "false", None: "null"}
    if value is None or isinstance(value, bool):
        return names[value]
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a number of more than 30 digits"
    if isinstance(value, float):
        value = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), value)
        return str(value)
    text = f'"{value}"' if isinstance(value, str) else str(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= 60 else text[:57] + "…"
