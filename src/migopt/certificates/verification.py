"""Verify a certificate: check and score its schedule, evaluate its proofs anew, compare every number.

No solver, no search and nothing of the run that made the certificate is used: the independent
checker, ``measure``, the closed forms, and the evaluation of stored prices in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from migopt.bounds.base import float_below
from migopt.bounds.closed_form import ClosedForm
from migopt.bounds.split.exact import proven_lower
from migopt.bounds.split.multipliers import Multipliers
from migopt.certificates.files import BoundEntry, CertificateFile
from migopt.check import check
from migopt.errors import InputError
from migopt.io import instance_digest, instance_from_dict, schedule_from_dict
from migopt.metrics import measure
from migopt.model import Instance
from migopt.results import active_gap, gap

#: Relative room for a bound whose evaluation is guided by floats (which choose, and never decide).
ROOM = 1e-9


@dataclass(frozen=True)
class CheckedBound:
    """A lower bound of the certificate as verification sees it.

    Attributes
    ----------
    by, proof, engine : str
    stored : float
        The certificate's number.
    proven : float or None
        What its proof gives here, rounded down; None for the claim of an engine.
    """

    by: str
    proof: str
    engine: str
    stored: float
    proven: float | None

    @property
    def accepted(self) -> float:
        """The bound that counts: never above what its proof gives."""
        return self.stored if self.proven is None else min(self.stored, self.proven)

    def __str__(self) -> str:
        if self.proven is None:
            return f"{self.stored!r} by {self.by}: claim of {self.engine or 'an unnamed engine'}, not evaluated here"
        return f"{self.accepted!r} by {self.by}: {self.proof} evaluated, {self.proven!r}"


@dataclass
class Verification:
    """What verification found.

    Attributes
    ----------
    faults : list of str
        Where the certificate is wrong, with both numbers; empty when everything agrees.
    upper : float or None
        Cost of its schedule, checked and scored here.
    bounds : list of CheckedBound
    gap, active_gap : float or None
        From ``upper`` and the best accepted bound.
    proven_lower, proven_active_gap : float or None
        The best bound whose proof was evaluated here, and the active gap to it.
    """

    faults: list[str] = field(default_factory=list)
    upper: float | None = None
    bounds: list[CheckedBound] = field(default_factory=list)
    gap: float | None = None
    active_gap: float | None = None
    proven_lower: float | None = None
    proven_active_gap: float | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing disagrees."""
        return not self.faults

    @property
    def lower(self) -> float | None:
        """The best accepted bound."""
        return max((bound.accepted for bound in self.bounds), default=None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "ok": self.ok,
            "faults": self.faults,
            "upper": self.upper,
            "lower": self.lower,
            "gap": self.gap,
            "active_gap": self.active_gap,
            "proven_lower": self.proven_lower,
            "proven_active_gap": self.proven_active_gap,
            "bounds": [
                {
                    "by": bound.by,
                    "proof": bound.proof,
                    "engine": bound.engine,
                    "stored": bound.stored,
                    "proven": bound.proven,
                    "accepted": bound.accepted,
                }
                for bound in self.bounds
            ],
        }


def verify(file: CertificateFile, instance: Instance | None = None) -> Verification:
    """Verify a certificate, with the instance in it or, if given, against ``instance``.

    Faults are collected, not raised; where one makes the rest meaningless (another problem), it is
    the only one.
    """
    found = Verification()
    try:
        problem = _problem(file, instance)
    except InputError as error:
        found.faults.append(str(error))
        return found
    exact = _schedule(file, problem, found)
    for entry in file.bounds:
        _bound(entry, problem, found)
    _sides(found, problem, exact)
    if not found.faults:
        _summary(file, problem, found)
    return found


def _problem(file: CertificateFile, given: Instance | None) -> Instance:
    """Return the instance; raises InputError when the digests differ or there is none."""
    inside = None if file.instance is None else instance_from_dict(file.instance)
    for what, problem in (("the instance in the certificate", inside), ("the instance", given)):
        if problem is not None and instance_digest(problem) != file.instance_digest:
            raise InputError(
                f"the certificate is one of problem {file.instance_digest[:12]}…, "
                f"{what} is problem {instance_digest(problem)[:12]}…"
            )
    problem = given or inside
    if problem is None:
        raise InputError("the certificate holds no instance: give the instance file as well")
    return problem


def _schedule(file: CertificateFile, instance: Instance, found: Verification) -> Fraction | None:
    """Check and score the schedule; return its exact cost."""
    if file.schedule is None:
        if file.upper is not None:
            found.faults.append(f"upper is {file.upper!r}, but there is no schedule")
        return None
    try:
        schedule = schedule_from_dict(file.schedule, instance)
        violations = check(instance, schedule)
        if violations:
            more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
            found.faults.append(f"the schedule breaks a rule: {violations[0]}{more}")
            return None
        metrics = measure(instance, schedule)
    except InputError as error:
        found.faults.append(f"the schedule cannot be used: {error}")
        return None
    found.upper = metrics.cost
    if file.upper != metrics.cost:
        found.faults.append(
            f"the schedule costs {metrics.cost!r}, the certificate says {file.upper!r}"
        )
    parts = file.upper_parts
    for what, stored, value in (
        ("energy", parts and parts.energy, metrics.energy_cost),
        ("tardiness", parts and parts.tardiness, metrics.tardiness_cost),
    ):
        if stored != value:
            found.faults.append(
                f"the schedule's {what} costs {value!r}, the certificate says {stored!r}"
            )
    return metrics.cost_exact


def _bound(entry: BoundEntry, instance: Instance, found: Verification) -> None:
    """Evaluate one proof and compare."""
    try:
        proven = _proven(entry, instance)
    except InputError as error:
        found.faults.append(f"the bound {entry.lower!r} by {entry.by} has no proof: {error}")
        return
    value = None if proven is None else float_below(proven)
    found.bounds.append(CheckedBound(entry.by, entry.proof, entry.engine, entry.lower, value))
    if value is not None and abs(entry.lower - value) > ROOM * max(abs(value), 1e-12):
        found.faults.append(
            f"the {entry.proof} of {entry.by} prove {value!r}, the certificate says {entry.lower!r}"
        )
    parts = (entry.energy, entry.tardiness)
    known = [part for part in parts if part is not None]
    if len(known) == 2 and not math.isclose(sum(known), entry.lower, rel_tol=1e-6, abs_tol=1e-12):
        found.faults.append(
            f"the parts of the bound by {entry.by} add up to {sum(known)!r}, not {entry.lower!r}"
        )


def _proven(entry: BoundEntry, instance: Instance) -> Fraction | None:
    if entry.proof == "engine":
        return None
    if entry.proof == "closed_form":
        value = ClosedForm().bound(instance)
        if value.cost is None:
            raise InputError(f"the closed form does not apply: {value.not_applicable}")
        return value.cost
    if not instance.jobs:
        return instance.constant_cost
    return proven_lower(instance, [Multipliers.from_dict(item) for item in entry.multipliers])


def _sides(found: Verification, instance: Instance, exact: Fraction | None) -> None:
    """Compare both sides: no bound may be above the schedule's cost."""
    lower, upper = found.lower, found.upper
    if upper is not None and exact is not None:
        for bound in found.bounds:
            # An engine's tolerance is relative; what is proven here is exact.
            room = Fraction(0) if bound.proven is not None else Fraction(ROOM) * abs(exact)
            if Fraction(bound.accepted) > exact + room:
                found.faults.append(
                    f"the bound {bound.accepted!r} by {bound.by} is above the cost {upper!r} of the schedule"
                )
    found.gap = gap(upper, lower)
    found.active_gap = active_gap(instance, upper, lower)
    found.proven_lower = max(
        (bound.accepted for bound in found.bounds if bound.proven is not None), default=None
    )
    found.proven_active_gap = active_gap(instance, upper, found.proven_lower)


def _texts(file: CertificateFile, found: Verification) -> None:
    """Compare the bound's parts at the top with those below, and what is said to be infeasible."""
    parts = file.lower_parts
    top = None if parts is None else (parts.energy, parts.tardiness)
    own = [b for b in file.bounds if (b.by, b.proof) == (file.lower_by, file.proof)]
    below = [
        None if b.energy is None or b.tardiness is None else (b.energy, b.tardiness) for b in own
    ]
    if own and top not in below:
        found.faults.append(
            f"the parts of the best bound are {below[0]}, the certificate's lower_parts are {top}"
        )
    if file.infeasible and file.schedule is not None:
        found.faults.append(
            f"it says that no schedule exists ({file.infeasible}), and holds a legal one"
        )


def _summary(file: CertificateFile, instance: Instance, found: Verification) -> None:
    """Compare the numbers at the top of the file with what its bounds and schedule give."""
    best = max(file.bounds, key=lambda bound: bound.lower, default=None)
    lower = None if best is None else best.lower
    names = [(bound.by, bound.proof) for bound in file.bounds if bound.lower == lower]
    if lower != file.lower:
        found.faults.append(
            f"the best bound is {lower!r}, the certificate's lower is {file.lower!r}"
        )
    elif lower is not None and (file.lower_by, file.proof) not in names:
        found.faults.append(
            f"the best bound is {names[0][1]} of {names[0][0]}, the certificate says "
            f"{file.proof} of {file.lower_by}"
        )
    _texts(file, found)
    sure = max((b.lower for b in file.bounds if b.proof != "engine"), default=None)
    if str(instance.constant_cost) != file.constant:
        found.faults.append(
            f"the constant is {instance.constant_cost}, the certificate says {file.constant}"
        )
    numbers: Sequence[tuple[str, float | None, float | None]] = (
        ("gap", gap(found.upper, lower), file.gap),
        ("active_gap", active_gap(instance, found.upper, lower), file.active_gap),
        ("checkable_lower", sure, file.checkable_lower),
        ("checkable_gap", gap(found.upper, sure), file.checkable_gap),
        (
            "checkable_active_gap",
            active_gap(instance, found.upper, sure),
            file.checkable_active_gap,
        ),
    )
    for name, value, stored in numbers:
        same = value == stored
        if value is not None and stored is not None:
            same = math.isclose(value, stored, rel_tol=ROOM, abs_tol=1e-12)
        if not same:
            found.faults.append(f"{name} is {value!r}, the certificate says {stored!r}")
