"""The record of all numbers of one schedule, and the parts of its cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from migopt.model import FrozenMap
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN, minutes, wmin


@dataclass(frozen=True)
class Metrics:
    """Every number that is reported about one schedule of one instance.

    Attributes
    ----------
    weight_a, total_weight, constant_cost, horizon_ms : Fraction, int, Fraction, int
        Copied from the instance, so that the cost can be formed from the parts below.
    window_ms : int
        max(H, makespan): the span [0, window] over which shares, utilisation and STP are averaged.
    jobs, jobs_without_run : int
        Jobs of the instance, and those that no segment runs (0 in a legal schedule). Such a job
        counts as completed at the end of the window, or at its release if that is later.
    energy_uj : int or None
        E = H sum_g P_g(0) + sum_g integral of (P(u(t)) - P(0)) dt over all time, in microjoules;
        None when energy has no weight and some power figure is missing.
    idle_energy_uj : int or None
        P(0) while u = 0, over [0, H], summed over GPUs, in microjoules; None like ``energy_uj``.
    weighted_tardiness_ms, total_tardiness_ms, max_tardiness_ms : int
        Sum of w_j T_j, sum of T_j, largest T_j, with T_j = max(C_j - d_j, 0).
    jobs_late : int
        Jobs with T_j > 0.
    makespan_ms : int
        End of the last segment.
    total_jct_ms, p95_jct_ms : int
        Sum, and 95th percentile by nearest rank, of completion minus release.
    mean_relative_jct : float
        Mean of JCT_j v_j / W_j, v_j the rate on the full MIG profile (7g on A100; the fastest of
        several GPU models; the job's fastest option where it fits no full profile). Dimensionless.
    stp : float
        System throughput: sum over running jobs of q_j / p_j = v / max v, time-averaged. A resume
        overhead counts as running.
    preemptions : int
        Times a job stopped before its completion and did not go on at that very tick on the same
        placement of the same GPU.
    repartitions : int
        Reconfigurations, of all GPUs.
    busy_level_ms : FrozenMap
        GPU key to a tuple: milliseconds at busy level 0 .. C in [0, window], summed over the GPUs
        of that model. A busy GPU with MIG off is at level C.
    busy_slice_ms, capacity_slice_ms : int
        Integral of u, and C x window, summed over GPUs.
    """

    weight_a: Fraction
    total_weight: int
    constant_cost: Fraction
    horizon_ms: int
    window_ms: int
    jobs: int
    jobs_without_run: int
    energy_uj: int | None
    idle_energy_uj: int | None
    weighted_tardiness_ms: int
    total_tardiness_ms: int
    max_tardiness_ms: int
    jobs_late: int
    makespan_ms: int
    total_jct_ms: int
    p95_jct_ms: int
    mean_relative_jct: float
    stp: float
    preemptions: int
    repartitions: int
    busy_level_ms: FrozenMap
    busy_slice_ms: int
    capacity_slice_ms: int

    @property
    def mean_tardiness_exact_min(self) -> Fraction:
        """Weighted mean tardiness in minutes, exact."""
        return Fraction(self.weighted_tardiness_ms, self.total_weight * MS_PER_MINUTE)

    @property
    def energy_cost_exact(self) -> Fraction:
        """The energy part of the cost, a E / (a + 1), E in W·min; 0 when energy has no weight."""
        if not self.weight_a or self.energy_uj is None:
            return Fraction(0)
        return self.weight_a * Fraction(self.energy_uj, UJ_PER_WMIN) / (self.weight_a + 1)

    @property
    def tardiness_cost_exact(self) -> Fraction:
        """The tardiness part of the cost, meanT / (a + 1), in minutes."""
        return self.mean_tardiness_exact_min / (self.weight_a + 1)

    @property
    def cost_exact(self) -> Fraction:
        """ET = (a E + meanT) / (a + 1), E in W·min, mean tardiness in minutes, exact."""
        return self.energy_cost_exact + self.tardiness_cost_exact

    @property
    def cost(self) -> float:
        """``cost_exact``, rounded once to a float."""
        return float(self.cost_exact)

    @property
    def energy_cost(self) -> float:
        """``energy_cost_exact`` as a float."""
        return float(self.energy_cost_exact)

    @property
    def tardiness_cost(self) -> float:
        """``tardiness_cost_exact`` as a float."""
        return float(self.tardiness_cost_exact)

    @property
    def active_cost(self) -> float:
        """The cost less the constant a H sum_g P_g(0) / (a + 1) that no schedule changes."""
        return float(self.cost_exact - self.constant_cost)

    @property
    def energy_wmin(self) -> float | None:
        """Energy in W·min."""
        return None if self.energy_uj is None else wmin(self.energy_uj)

    @property
    def energy_kwh(self) -> float | None:
        """Energy in kWh (60,000 W·min)."""
        if self.energy_uj is None:
            return None
        return float(Fraction(self.energy_uj, 60_000 * UJ_PER_WMIN))

    @property
    def idle_energy_wmin(self) -> float | None:
        """Energy of idle GPUs in [0, H], in W·min."""
        return None if self.idle_energy_uj is None else wmin(self.idle_energy_uj)

    @property
    def mean_tardiness_min(self) -> float:
        """Weighted mean tardiness in minutes."""
        return float(self.mean_tardiness_exact_min)

    @property
    def max_tardiness_min(self) -> float:
        """Largest tardiness in minutes."""
        return minutes(self.max_tardiness_ms)

    @property
    def makespan_min(self) -> float:
        """Makespan in minutes."""
        return minutes(self.makespan_ms)

    @property
    def mean_jct_min(self) -> float:
        """Mean of completion minus release, in minutes; 0 without jobs."""
        return minutes(Fraction(self.total_jct_ms, self.jobs or 1))

    @property
    def p95_jct_min(self) -> float:
        """95th percentile (nearest rank) of completion minus release, in minutes."""
        return minutes(self.p95_jct_ms)

    @property
    def utilisation(self) -> float:
        """Share of compute slices that run a job, over [0, window]."""
        return self.busy_slice_ms / self.capacity_slice_ms if self.capacity_slice_ms else 0.0

    @property
    def busy_level_share(self) -> dict[str, tuple[float, ...]]:
        """GPU key to the share of GPU time at busy level 0 .. C, over [0, window]."""
        return {
            key: tuple(ms / sum(levels) if sum(levels) else 0.0 for ms in levels)
            for key, levels in self.busy_level_ms.items()
        }

    def as_dict(self) -> dict[str, Any]:
        """Return every number under a name that says its unit, ready for JSON."""
        return {
            "cost": self.cost,
            "energy_cost": self.energy_cost,
            "tardiness_cost": self.tardiness_cost,
            "active_cost": self.active_cost,
            "constant_cost": float(self.constant_cost),
            "weight_a": str(self.weight_a),
            "energy_wmin": self.energy_wmin,
            "energy_kwh": self.energy_kwh,
            "energy_uj": self.energy_uj,
            "idle_energy_wmin": self.idle_energy_wmin,
            "mean_tardiness_min": self.mean_tardiness_min,
            "max_tardiness_min": self.max_tardiness_min,
            "weighted_tardiness_ms": self.weighted_tardiness_ms,
            "total_tardiness_ms": self.total_tardiness_ms,
            "jobs": self.jobs,
            "jobs_without_run": self.jobs_without_run,
            "jobs_late": self.jobs_late,
            "makespan_min": self.makespan_min,
            "makespan_ms": self.makespan_ms,
            "mean_jct_min": self.mean_jct_min,
            "p95_jct_min": self.p95_jct_min,
            "mean_relative_jct_ratio": self.mean_relative_jct,
            "stp_ratio": self.stp,
            "preemptions": self.preemptions,
            "repartitions": self.repartitions,
            "utilisation_share": self.utilisation,
            "busy_level_share": {key: list(row) for key, row in self.busy_level_share.items()},
            "busy_level_ms": {key: list(row) for key, row in self.busy_level_ms.items()},
            "horizon_ms": self.horizon_ms,
            "window_ms": self.window_ms,
        }
