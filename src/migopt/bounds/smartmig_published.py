"""SMART-MIG's published bounds, kept under their own name for comparison only: they are no bounds.

Energy: H sum_g P_g(0) + sum_j p_j1 (P(C) - P(0)) / C, with p_j1 the duration on one slice; tardiness:
(r_j + p_j1 / C - d_j)^+. Both assume that no slice is more than linearly faster than 1g. Measured
profiles break that (3g up to 8.7 % faster than three times 1g), and then schedules cost less.
"""

from __future__ import annotations

from fractions import Fraction

from migopt.bounds.base import BoundValue, parts_to_value
from migopt.bounds.closed_form import chord_fault
from migopt.model import GpuModel, Instance, Job


class SmartMigPublished:
    """The published form of this file."""

    name = "smartmig_published"

    def bound(self, instance: Instance) -> BoundValue:
        """Return the published value; not applicable where some job has no speed on a one-slice profile."""
        if len(instance.gpu_models) > 1:
            return BoundValue(None, not_applicable="the published form knows one GPU model")
        reason = chord_fault(instance) if instance.weight_a else ""
        if reason:
            return BoundValue(None, not_applicable=reason)
        model = instance.gpu_models[0]
        energy = Fraction(instance.idle_energy_uj)
        tardiness = Fraction(0)
        for job in instance.jobs:
            on_one_slice = one_slice_ms(instance, model, job)
            if on_one_slice is None:
                return BoundValue(None, not_applicable=f"job {job.id} does not run on one slice")
            if instance.weight_a:
                curve = instance.power[model.key]
                rise = curve.busy_mw[model.compute_slices] - curve.idle_mw
                energy += on_one_slice * rise / model.compute_slices
            late = job.release_ms + on_one_slice / model.compute_slices - job.due_ms
            tardiness += job.weight * max(Fraction(0), late)
        return parts_to_value(instance, energy if instance.weight_a else None, tardiness)


def one_slice_ms(instance: Instance, model: GpuModel, job: Job) -> Fraction | None:
    """Return p_j1, the unrounded duration on the smallest one-slice profile that runs the job, or None."""
    rates = [
        (profile.memory_units, instance.rate(job, model, profile.name))
        for profile in model.profiles
        if profile.compute_slices == 1
    ]
    fitting = [(units, rate) for units, rate in rates if rate > 0]
    return Fraction(job.work, min(fitting)[1]) if fitting else None
