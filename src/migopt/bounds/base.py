"""What every bound is: a number that no schedule of the instance can beat, with its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from migopt.model import Instance
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN


@dataclass(frozen=True)
class BoundValue:
    """A lower bound and its parts, exact; or the reason why there is none.

    Attributes
    ----------
    cost : Fraction or None
        Lower bound on the cost (a E + mean tardiness) / (a + 1); None when not applicable.
    energy_uj : Fraction or None
        Its energy part, in microjoules, idle energy included.
    weighted_tardiness_ms : Fraction or None
        Its tardiness part: sum of w_j T_j.
    not_applicable : str
        Why the bound's assumption fails; empty otherwise.
    detail : Mapping
        Documented extras.
    """

    cost: Fraction | None
    energy_uj: Fraction | None = None
    weighted_tardiness_ms: Fraction | None = None
    not_applicable: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lower(self) -> float | None:
        """The cost as a float, rounded down."""
        return None if self.cost is None else float_below(self.cost)


class Bound(Protocol):
    """A proven lower bound."""

    name: str

    def bound(self, instance: Instance) -> BoundValue:
        """Return the bound's value for an instance."""
        ...


def float_below(value: Fraction) -> float:
    """Return the largest float that is not above ``value``."""
    near = float(value)
    return math.nextafter(near, -math.inf) if Fraction(near) > value else near


def cost_of_parts(
    instance: Instance, energy_uj: Fraction | int, weighted_tardiness_ms: Fraction | int
) -> Fraction:
    """Return (a E + mean tardiness) / (a + 1) of an energy and a sum of w_j T_j, exact."""
    energy = Fraction(energy_uj) / UJ_PER_WMIN
    tardiness = Fraction(weighted_tardiness_ms) / (instance.total_weight * MS_PER_MINUTE)
    return (instance.weight_a * energy + tardiness) / (instance.weight_a + 1)


def parts_to_value(
    instance: Instance, energy_uj: Fraction | None, weighted_tardiness_ms: Fraction
) -> BoundValue:
    """Return the bound on cost that follows from a bound on each part (energy may be unweighted)."""
    energy = Fraction(0) if energy_uj is None else energy_uj
    cost = cost_of_parts(instance, energy, weighted_tardiness_ms)
    return BoundValue(cost, energy_uj, weighted_tardiness_ms)
