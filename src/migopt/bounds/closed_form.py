"""Closed-form bounds on energy and tardiness, added up to a bound on cost.

Energy: E >= H sum_g P_g(0) + sum_j e_j, where e_j is the least energy above idle that job j can take.
By the chord property P(u) - P(0) >= u (P(C) - P(0)) / C, a slice of c slots that is busy for t adds at
least c t (P(C) - P(0)) / C, whatever else runs; so a job that does its work on profiles k adds at least
a_j (P(C) - P(0)) / C with a_j = min_k c_k W_j / v_jk. With MIG off it adds (P_off - P(0)) W_j / v_j,off.

Tardiness: the larger of two. (1) Every job needs at least q_j = ceil(W_j / max_k v_jk), so
T_j >= (r_j + q_j - d_j)^+. (2) All GPUs together have C·G slots; a job takes at least a_j slot-time; on
one machine of speed C·G with preemption, SRPT minimises the i-th completion time for every i at once.
The i-th completion of any schedule is thus at least C_[i] = max(SRPT_[i], (r + q)_[i]) (the i-th smallest
of each), and pairing those with the due dates in order gives sum T >= sum_i (C_[i] - d_[i])^+, the least
over all pairings (Chu 1992, "A branch-and-bound algorithm to minimize total tardiness with different
release dates", for the one-machine problem). With weights, (2) is multiplied by the least weight.
"""

from __future__ import annotations

import heapq
from fractions import Fraction

from migopt.bounds.base import BoundValue, parts_to_value
from migopt.model import OFF_PROFILE, GpuModel, Instance, Job
from migopt.units import ceil_div


class ClosedForm:
    """The bound of this file."""

    name = "closed_form"

    def bound(self, instance: Instance) -> BoundValue:
        """Return the bound; not applicable where a weighted power curve lacks the chord property."""
        tardiness = tardiness_bound_ms(instance)
        if not instance.weight_a:
            return parts_to_value(instance, None, tardiness)
        reason = chord_fault(instance)
        if reason:
            return BoundValue(None, not_applicable=reason)
        return parts_to_value(instance, energy_bound_uj(instance), tardiness)


def chord_fault(instance: Instance) -> str:
    """Return which GPU's power curve breaks P(u) >= P(0) + u (P(C) - P(0)) / C or P(C) >= P(0), or ''."""
    for model in instance.gpu_models:
        curve = instance.power[model.key]
        if not curve.holds_chord():
            return f"the power curve of {model.key} lies below its chord, so the energy bound fails"
        if curve.busy_mw[model.compute_slices] < curve.idle_mw:
            # Then overheads and rounding up would lower the energy, and nothing bounds them.
            return f"{model.key} takes less power with every slice busy than idle"
        if instance.mig_off and curve.off_busy_mw is None:
            return f"the power of {model.key} with MIG off is not given"
        if instance.mig_off and curve.off_busy_mw < curve.idle_mw:
            return f"{model.key} takes less power busy with MIG off than idle"
    return ""


def energy_bound_uj(instance: Instance) -> Fraction:
    """Return H sum_g P_g(0) + sum_j min over profiles of the energy above idle, in microjoules.

    The chord property must hold (``chord_fault``).
    """
    above = sum((_least_energy_uj(instance, job) for job in instance.jobs), Fraction(0))
    return instance.idle_energy_uj + above


def _least_energy_uj(instance: Instance, job: Job) -> Fraction:
    found = []
    for model, profile, rate in instance.options(job):
        curve = instance.power[model.key]
        if profile == OFF_PROFILE:
            found.append(Fraction(job.work * (curve.off_busy_mw - curve.idle_mw), rate))
            continue
        top = model.compute_slices
        slots = model.profile(profile).compute_slices
        rise = curve.busy_mw[top] - curve.idle_mw
        found.append(Fraction(job.work * slots * rise, rate * top))
    return min(found)


def tardiness_bound_ms(instance: Instance) -> Fraction:
    """Return a lower bound on sum_j w_j T_j, in milliseconds."""
    if not instance.jobs:
        return Fraction(0)
    quickest = {
        job.id: min(ceil_div(job.work, rate) for _, _, rate in instance.options(job))
        for job in instance.jobs
    }
    alone = sum(
        job.weight * max(0, job.release_ms + quickest[job.id] - job.due_ms) for job in instance.jobs
    )
    crowd = min(job.weight for job in instance.jobs) * _crowd_tardiness(instance, quickest)
    return max(Fraction(alone), crowd)


def _crowd_tardiness(instance: Instance, quickest: dict[int, int]) -> Fraction:
    speed = sum(model.compute_slices for model in instance.gpus)
    sizes = [(job.release_ms, _least_slot_time(instance, job) / speed) for job in instance.jobs]
    by_crowd = srpt_completions(sizes)
    by_length = sorted(job.release_ms + quickest[job.id] for job in instance.jobs)
    dues = sorted(job.due_ms for job in instance.jobs)
    total = Fraction(0)
    for crowd, length, due in zip(by_crowd, by_length, dues, strict=True):
        total += max(Fraction(0), max(crowd, Fraction(length)) - due)
    return total


def _least_slot_time(instance: Instance, job: Job) -> Fraction:
    return min(
        Fraction(job.work * _slots(model, profile), rate)
        for model, profile, rate in instance.options(job)
    )


def _slots(model: GpuModel, profile: str) -> int:
    if profile == OFF_PROFILE:
        return model.compute_slices
    return model.profile(profile).compute_slices


def srpt_completions(jobs: list[tuple[int, Fraction]]) -> list[Fraction]:
    """Return the completion times of (release, length) jobs on one machine under SRPT, in order.

    Shortest remaining processing time first, with preemption, minimises the i-th completion time
    for every i (Schrage 1968).
    """
    arrivals = sorted(jobs)
    waiting: list[Fraction] = []
    completions = []
    now = Fraction(0)
    for (release, length), following in zip(arrivals, [*arrivals[1:], None], strict=False):
        now = max(now, Fraction(release))
        heapq.heappush(waiting, length)
        until = None if following is None else Fraction(following[0])
        while waiting and (until is None or now < until):
            shortest = heapq.heappop(waiting)
            if until is not None and now + shortest > until:
                heapq.heappush(waiting, shortest - (until - now))
                now = until
            else:
                now += shortest
                completions.append(now)
    return completions
