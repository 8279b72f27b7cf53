"""A problem instance: GPUs, jobs, and every rule under which a schedule is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from migopt.model.gpu import OFF_PARTITION, OFF_PROFILE, Catalogue, GpuModel, Partition
from migopt.model.job import FrozenMap, Job
from migopt.units import UJ_PER_WMIN

PreemptionMode = Literal["free", "cost", "none"]
RepartitionScope = Literal["gpu", "slices", "never"]


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whether running jobs may be stopped: ``free``, ``cost`` (an overhead per resume) or ``none``."""

    mode: PreemptionMode = "free"
    resume_overhead_ms: int = 0


@dataclass(frozen=True, slots=True)
class Repartition:
    """How a partition may change: ``gpu`` stands still for tau, only touched ``slices`` do, or ``never``."""

    scope: RepartitionScope = "gpu"
    tau_ms: int = 4000


@dataclass(frozen=True)
class Instance:
    """One scheduling problem, complete: nothing outside it changes what a schedule costs.

    Attributes
    ----------
    name : str
        For people.
    gpus : tuple of GpuModel
        One entry per GPU; a GPU is named by its index here.
    jobs : tuple of Job
        In order of id.
    catalogues : FrozenMap
        GPU key to Catalogue: the partitions that may be in force.
    power : FrozenMap
        GPU key to PowerCurve; empty only when energy has no weight.
    preemption, repartition : Preemption, Repartition
        Rules 2 and 3 of a legal schedule.
    weight_a : Fraction
        Weight of energy: cost = (a E + mean tardiness) / (a + 1), E in W·min, tardiness in minutes.
    horizon_ms : int
        H, over which idle energy is charged.
    mig_off : bool
        Whether a GPU may run with MIG off.
    kind : str
        Problem kind; this class is ``schedule``.
    origin : Mapping
        Where it came from: generator, parameters, seed. Not part of the problem.
    """

    name: str
    gpus: tuple[GpuModel, ...]
    jobs: tuple[Job, ...]
    catalogues: FrozenMap
    power: FrozenMap = field(default_factory=lambda: FrozenMap({}))
    preemption: Preemption = Preemption()
    repartition: Repartition = Repartition()
    weight_a: Fraction = Fraction(0)
    horizon_ms: int = 86_400_000
    mig_off: bool = False
    kind: str = "schedule"
    origin: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", tuple(sorted(self.jobs, key=lambda job: job.id)))

    @cached_property
    def job_by_id(self) -> dict[int, Job]:
        """Jobs by id."""
        return {job.id: job for job in self.jobs}

    @cached_property
    def gpu_models(self) -> tuple[GpuModel, ...]:
        """The distinct GPU models, in order of first appearance."""
        return tuple({model.key: model for model in self.gpus}.values())

    @cached_property
    def total_weight(self) -> int:
        """Sum of the job weights (1 for an instance without jobs)."""
        return sum(job.weight for job in self.jobs) or 1

    @cached_property
    def idle_energy_uj(self) -> int:
        """H · sum_g P_g(0) in microjoules; 0 when no power curve is given."""
        idle_mw: int = sum(self.power[m.key].idle_mw for m in self.gpus if m.key in self.power)
        return self.horizon_ms * idle_mw

    @property
    def constant_cost(self) -> Fraction:
        """The part of every cost that no schedule changes: a H sum_g P_g(0) / (a + 1)."""
        return self.weight_a * Fraction(self.idle_energy_uj, UJ_PER_WMIN) / (self.weight_a + 1)

    def catalogue(self, gpu: int) -> Catalogue:
        """Return the catalogue of GPU number ``gpu``."""
        catalogue: Catalogue = self.catalogues[self.gpus[gpu].key]
        return catalogue

    def allows(self, gpu: int, partition: Partition) -> bool:
        """Return whether ``partition`` may be in force on GPU ``gpu``."""
        if partition == OFF_PARTITION:
            return self.mig_off
        return self.catalogue(gpu).number(partition) is not None

    def rate(self, job: Job, gpu: GpuModel, profile: str) -> int:
        """Return work per millisecond of ``job`` on a profile, 0 where it does not fit.

        It does not fit where no rate is listed, where the profile is known to have less memory
        than the job needs, or (``off``) where the instance does not allow MIG off. With MIG off
        the card counts as having the memory of its full profile.
        """
        off = profile == OFF_PROFILE
        if off and not self.mig_off:
            return 0
        memory = (gpu.full_profile if off else gpu.profile(profile)).memory_bytes
        if memory is not None and job.memory_bytes > memory:
            return 0
        return job.rate(gpu.key, profile)

    @cached_property
    def profiles_in_use(self) -> dict[str, tuple[str, ...]]:
        """GPU key to the profiles that occur in its catalogue, in the order of the GPU's table."""
        used = {
            key: {name for part in cat for name in part.profiles}
            for key, cat in self.catalogues.items()
        }
        return {
            model.key: tuple(p.name for p in model.profiles if p.name in used[model.key])
            for model in self.gpu_models
        }

    @cached_property
    def unlike_jobs(self) -> tuple[Job, ...]:
        """The first job of each rate table and memory need: what fits where depends on nothing else."""
        found: dict[tuple[int, int], Job] = {}
        for job in self.jobs:
            # Jobs share rate tables, so the table's identity stands for its content here.
            found.setdefault((id(job.rates), job.memory_bytes), job)
        return tuple(found.values())

    def options(self, job: Job) -> list[tuple[GpuModel, str, int]]:
        """Return every (GPU model, profile, rate > 0) on which ``job`` can run, ``off`` last per model."""
        found = []
        for model in self.gpu_models:
            for profile in (*self.profiles_in_use[model.key], OFF_PROFILE):
                rate = self.rate(job, model, profile)
                if rate > 0:
                    found.append((model, profile, rate))
        return found

    def is_preemptible(self, job: Job) -> bool:
        """Return whether ``job`` may be stopped once started."""
        return job.preemptible and self.preemption.mode != "none"

    def replace(self, **changes: Any) -> Instance:
        """Return a copy with some attributes changed."""
        return replace(self, **changes)
