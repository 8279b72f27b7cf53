"""An instance with one GPU in the numbers of the priced policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from migopt.bounds.kernel import make_tables
from migopt.bounds.kernel.tables import partition_types
from migopt.errors import NotApplicableError
from migopt.exact.one_gpu import OneGpu, one_gpu
from migopt.model import Instance
from migopt.schedulers.joint.decide import Gpu, Jobs, Scratch, new_scratch

#: Slices whose work costs up to this factor more count as equally efficient.
EQUAL = 1.001


@dataclass(frozen=True)
class View:
    """Jobs and GPU as arrays; type c of the tables is offered by the partitions ``numbers[c]``."""

    problem: OneGpu
    jobs: Jobs
    gpu: Gpu
    types: tuple[tuple[int, ...], ...]

    @cached_property
    def scratch(self) -> Scratch:
        """Buffers of a decision."""
        return new_scratch(self.problem.groups, len(self.problem.vectors))

    @cached_property
    def coming(self) -> np.ndarray:
        """Jobs in order of release."""
        return np.lexsort((np.arange(self.problem.jobs), self.problem.release)).astype(np.int64)


def view_of(instance: Instance) -> View:
    """Return the view; raises NotApplicableError where the policy does not cover the instance."""
    if len(instance.gpus) != 1:
        raise NotApplicableError(f"{len(instance.gpus)} GPUs: this policy covers one")
    if instance.preemption.mode != "free" or any(not job.preemptible for job in instance.jobs):
        raise NotApplicableError(
            "this policy stops and resumes jobs freely; preemption must be free"
        )
    problem = one_gpu(instance, "mig")
    tables = make_tables(problem.vectors)
    chord = float(problem.vector_cost[-1]) / max(problem.vectors.levels[-1], 1)
    compute = np.array(problem.vectors.compute, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        taken = np.where(problem.speed > 0, compute / problem.speed, np.inf)
        slices = taken.min(axis=1)
        # Of slices equally efficient, up to the rounding of rates, the fastest.
        calm = 1.0 / np.where(taken <= slices[:, None] * EQUAL, problem.speed, 0.0).max(axis=1)
    # Without energy the price of work is that of time alone.
    energy = chord * slices
    full = float(max(problem.vectors.levels[-1], 1))
    jobs = Jobs(
        problem.release,
        problem.due,
        problem.quickest,
        problem.late_cost,
        energy,
        slices / full,
        np.ascontiguousarray(problem.speed),
        calm,
    )
    sets = partition_types(problem.vectors)
    count = len(instance.catalogue(0))
    types = tuple(
        tuple(
            n for n in range(1, count + 1) if frozenset(problem.vectors.of_partition(n)) == chosen
        )
        for chosen in sets
    )
    tau = instance.repartition.tau_ms / 60_000
    return View(problem, jobs, Gpu(tables, problem.vector_cost, tau), types)
