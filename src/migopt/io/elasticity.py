"""How much faster a job gets on more compute slices: named elasticity classes.

=============== ====================================== =========================================
name            speed on c slices, relative to all C   reading
=============== ====================================== =========================================
``linear``      c / C                                  twice the slices, twice the speed
``capped-Ng``   min(c, N) / min(C, N)                  no faster than on N slices
``exp:K``       (1 - e^(-K c)) / (1 - e^(-K C))        saturates at a constant
``log:K``       ln(1 + K c) / ln(1 + K C)              each doubling helps by about the same
=============== ====================================== =========================================

The classes are those of arXiv 2606.25082 (linear, sublinear, capped at 2g, 3g or 4g). The paper
says that it uses two exponential and two logarithmic functions and prints none of them: the four
in ``SUBLINEAR`` are migopt's choice, from nearly linear to strongly saturating.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

from migopt.errors import InputError, UnknownNameError
from migopt.model import OFF_PROFILE, FrozenMap, GpuModel
from migopt.units import FULL_RATE, round_half_up

#: Numbers of slices at which capped jobs stop getting faster.
CAPS = (2, 3, 4)
#: The four sublinear functions; speed on 1 of 7 slices: 0.241, 0.351, 0.270 and 0.406.
SUBLINEAR = ("exp:0.2", "exp:0.4", "log:0.5", "log:2")
#: How much faster than on the whole GPU under MIG a linear job runs with MIG off. Published for
#: linear jobs only (arXiv 2606.25082); the other classes are taken to gain nothing.
OFF_GAIN = Fraction(6, 100)

_CAPPED = re.compile(r"capped-([1-9]\d?)g")
_CURVE = re.compile(r"(exp|log):(\d{1,6}(?:\.\d{1,6})?)")


def elasticity_names() -> list[str]:
    """Return the classes of the S0 scenarios; ``capped-Ng``, ``exp:K`` and ``log:K`` take others."""
    return ["linear", *(f"capped-{cap}g" for cap in CAPS), *SUBLINEAR]


@lru_cache(maxsize=4096)
def speeds(
    model: GpuModel, name: str, *, off_gain: Fraction | None = OFF_GAIN, where: str = "elasticity"
) -> FrozenMap:
    """Return the speed on every profile of a GPU, relative to its full profile, as exact fractions.

    Profiles with equally many compute slices are equally fast. The pseudo-profile ``off`` is
    1 + ``off_gain`` for ``linear`` and 1 for every other class.

    Parameters
    ----------
    model : GpuModel
        The GPU.
    name : str
        A class, as in the table above.
    off_gain : Fraction or None
        Gain of a linear job with MIG off; None leaves ``off`` out.
    where : str
        The place to name in an error.

    Raises
    ------
    UnknownNameError
        No such class.
    InputError
        A parameter out of range.
    """
    full = model.full_profile.compute_slices
    relative = {
        profile.name: relative_speed(name, profile.compute_slices, full, where=where)
        for profile in model.profiles
    }
    if off_gain is not None:
        relative[OFF_PROFILE] = 1 + off_gain if name == "linear" else Fraction(1)
    return FrozenMap(relative)


def relative_speed(
    name: str, slices: int, full_slices: int, *, where: str = "elasticity"
) -> Fraction:
    """Return the speed of a class on ``slices`` compute slices, relative to ``full_slices``.

    The transcendental ones are rounded half up to a millionth, the resolution of rates, so that
    every machine gives the same fraction. Raises as ``speeds`` does.
    """
    if name == "linear":
        return Fraction(slices, full_slices)
    capped = _CAPPED.fullmatch(name)
    if capped:
        cap = int(capped[1])
        return Fraction(min(slices, cap), min(full_slices, cap))
    curve = _CURVE.fullmatch(name)
    if not curve:
        raise UnknownNameError("elasticity class", name, elasticity_names(), where=where)
    k = float(curve[2])
    if not 0.001 <= k <= 1000:
        raise InputError(f"K of {name} must lie between 0.001 and 1000", where=where)
    shape = _saturating if curve[1] == "exp" else _logarithmic
    return Fraction(round_half_up(FULL_RATE * shape(k, slices) / shape(k, full_slices)), FULL_RATE)


def _saturating(k: float, slices: int) -> float:
    return -math.expm1(-k * slices)


def _logarithmic(k: float, slices: int) -> float:
    return math.log1p(k * slices)
