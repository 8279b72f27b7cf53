"""What a certificate says: a checked schedule, lower bounds with their proofs, and the gap between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from migopt.model import Instance, Schedule
from migopt.results import active_gap, gap

#: Kinds of proof that ``verify`` evaluates by itself, without the program that found them.
CHECKABLE = ("multipliers", "closed_form")
PROOFS = (*CHECKABLE, "engine")


@dataclass(frozen=True)
class Bound:
    """A lower bound on the cost of every schedule, and what proves it.

    Attributes
    ----------
    by : str
        Solver or bound that found it.
    proof : str
        ``multipliers`` (stored prices, evaluated by anyone), ``closed_form`` (a formula, evaluated by
        anyone) or ``engine`` (the claim of a solver engine).
    lower : float
        The bound, in units of cost, rounded down.
    engine : str
        Engine and version, for ``engine``.
    multipliers : sequence of Mapping
        Stored prices, one per case, for ``multipliers``.
    energy, tardiness : float or None
        Its parts, the constant within energy; None where they are not known.
    """

    by: str
    proof: str
    lower: float
    engine: str = ""
    multipliers: Sequence[Mapping[str, Any]] = ()
    energy: float | None = None
    tardiness: float | None = None

    @property
    def rank(self) -> tuple[float, int]:
        """Order by value; of equals, a proof that anyone can check counts more."""
        return self.lower, self.proof in CHECKABLE


@dataclass(frozen=True)
class Stage:
    """One step of the run: which solver, what came of it, and how long it took."""

    name: str
    outcome: str
    wall_s: float
    upper: float | None = None
    lower: float | None = None
    class_lower: float | None = None
    class_name: str = ""
    message: str = ""


@dataclass(frozen=True)
class Certificate:
    """The best schedule and the lower bounds of one instance.

    Attributes
    ----------
    instance : Instance
    digest : str
        SHA-256 of the problem.
    schedule : Schedule or None
        Legal, in whole milliseconds.
    upper : float or None
        Its cost.
    upper_by : str
        Who made it.
    upper_energy, upper_tardiness : float or None
        Parts of that cost, the constant within energy.
    bounds : tuple of Bound
        Every lower bound that was found, the best of each solver.
    stages : tuple of Stage
        What was run, in order.
    periods : tuple of Mapping
        Costs and gap by busy period (a diagnosis; ``migopt.metrics.periods.Period``).
    stop : str
        ``finished``, ``time_limit`` or ``interrupted``.
    infeasible : str
        Why no schedule can exist, if that is known.
    time_limit_s, prepare_s, wall_s : float
        Limit; time to compile before the clock started; time taken.
    versions : Mapping
        Program and engine versions.
    created_at : str
        UTC.
    """

    instance: Instance
    digest: str
    schedule: Schedule | None
    upper: float | None
    upper_by: str
    upper_energy: float | None
    upper_tardiness: float | None
    bounds: tuple[Bound, ...]
    stages: tuple[Stage, ...] = ()
    periods: tuple[Mapping[str, Any], ...] = ()
    stop: str = "finished"
    infeasible: str = ""
    time_limit_s: float | None = None
    prepare_s: float = 0.0
    wall_s: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    created_at: str = ""

    @property
    def best(self) -> Bound | None:
        """The greatest lower bound."""
        return max(self.bounds, key=lambda bound: bound.rank, default=None)

    @property
    def lower(self) -> float | None:
        """Its value."""
        return None if self.best is None else self.best.lower

    @property
    def lower_by(self) -> str:
        """Who found it."""
        return "" if self.best is None else self.best.by

    @property
    def proof(self) -> str:
        """Its kind of proof."""
        return "" if self.best is None else self.best.proof

    @property
    def checkable(self) -> Bound | None:
        """The greatest lower bound that ``verify`` evaluates by itself."""
        own = [bound for bound in self.bounds if bound.proof in CHECKABLE]
        return max(own, key=lambda bound: bound.rank, default=None)

    @property
    def constant(self) -> Fraction:
        """The part of every cost that no schedule changes."""
        return self.instance.constant_cost

    @property
    def gap(self) -> float | None:
        """(upper - lower) / upper."""
        return gap(self.upper, self.lower)

    @property
    def active_gap(self) -> float | None:
        """The gap without the constant."""
        return active_gap(self.instance, self.upper, self.lower)

    def summary(self) -> dict[str, Any]:
        """Return everything but instance, schedule and multipliers, as plain data for JSON."""
        best, sure = self.best, self.checkable
        return {
            "instance_digest": self.digest,
            "upper": self.upper,
            "lower": self.lower,
            "gap": self.gap,
            "active_gap": self.active_gap,
            "upper_by": self.upper_by,
            "lower_by": self.lower_by,
            "proof": self.proof,
            "checkable_lower": None if sure is None else sure.lower,
            "checkable_gap": None if sure is None else gap(self.upper, sure.lower),
            "checkable_active_gap": None
            if sure is None
            else active_gap(self.instance, self.upper, sure.lower),
            "constant": str(self.constant),
            "upper_parts": _parts(self.upper_energy, self.upper_tardiness),
            "lower_parts": None if best is None else _parts(best.energy, best.tardiness),
            "infeasible": self.infeasible,
            "stop": self.stop,
            "time_limit_s": self.time_limit_s,
            "prepare_s": self.prepare_s,
            "wall_s": self.wall_s,
            "created_at": self.created_at,
            "versions": dict(self.versions),
        }


def _parts(energy: float | None, tardiness: float | None) -> dict[str, float] | None:
    if energy is None or tardiness is None:
        return None
    return {"energy": energy, "tardiness": tardiness}
