"""Integer units inside, people's units at the border, and the one rounding rule between them.

Inside: milliseconds, milliwatts, microjoules (1 mW x 1 ms = 1 uJ), work in units of which a job
does ``FULL_RATE`` per millisecond at its own full-GPU speed.
"""

from __future__ import annotations

import math
from fractions import Fraction

MS_PER_MINUTE = 60_000
MS_PER_HOUR = 3_600_000
MS_PER_DAY = 86_400_000
#: Work that a job does per millisecond on the full-GPU profile of its reference GPU.
FULL_RATE = 1_000_000
#: 1 W·min = 60 J = 60,000,000 uJ.
UJ_PER_WMIN = 60_000_000
MAX_TIME_MS = 10**12
MAX_WORK = 2**62
MAX_RATE = 2**40
MAX_POWER_MW = 10**9


def round_half_up(value: float | Fraction) -> int:
    """Round to the nearest integer, halves up; the rule for releases, work and rates."""
    return math.floor(Fraction(value) + Fraction(1, 2))


def ms_from_minutes(minutes: float | Fraction) -> int:
    """Convert minutes to milliseconds, half up."""
    return round_half_up(Fraction(minutes) * MS_PER_MINUTE)


def due_ms_from_minutes(minutes: float | Fraction) -> int:
    """Convert a due date in minutes to milliseconds, up, so that rounding never tightens it."""
    return math.ceil(Fraction(minutes) * MS_PER_MINUTE)


def rate_from_speed(relative_speed: float | Fraction) -> int:
    """Convert a speed relative to the full GPU to an integer rate, half up, at least 1 when positive."""
    if relative_speed <= 0:
        return 0
    return max(1, round_half_up(Fraction(relative_speed) * FULL_RATE))


def ceil_div(numerator: int, denominator: int) -> int:
    """Return the smallest integer not below ``numerator / denominator`` (positive denominator)."""
    return -(-numerator // denominator)


def minutes(ms: int | Fraction) -> float:
    """Convert milliseconds to minutes, for people."""
    return float(Fraction(ms, MS_PER_MINUTE))


def wmin(energy_uj: int) -> float:
    """Convert microjoules to W·min, for people."""
    return float(Fraction(energy_uj, UJ_PER_WMIN))
