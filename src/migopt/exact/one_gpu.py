"""One GPU and its jobs in the numbers that continuous-time models use: minutes, speeds, cost rates.

Models of this folder are linear programs in floats; ``OneGpu`` is the one place where an instance
is turned into them. Costs are *above* the instance's constant (idle energy over the horizon).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from migopt.bounds.busy_vectors import BusyVectors, Case, busy_vectors
from migopt.bounds.split.covers import only_partition
from migopt.errors import InfeasiblePartitionError, InputError
from migopt.model import Instance
from migopt.units import MS_PER_MINUTE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OneGpu:
    """The float view of an instance with one GPU, in one of the two cases MIG on and MIG off.

    Attributes
    ----------
    instance : Instance
    vectors : BusyVectors
        What can be busy together; vector 0 is the empty one.
    release, due : array (jobs,)
        Minutes; jobs in the order of the instance.
    speed : array (jobs, groups)
        Fraction of the job per minute on a slice of that group, 0 where it does not fit.
    late_cost : array (jobs,)
        Cost per minute of tardiness: w_j / ((a + 1) sum w).
    vector_cost : array (vectors,)
        Cost per minute that the vector is busy: a / (a + 1) times its power above idle.
    classes : tuple of tuple of int
        Vectors of each partition class: partitions that offer the same slices are one class, and a
        partition all of whose slices another one offers too is in no class.
    class_numbers : tuple of int
        One partition of the catalogue (1-based) per class.
    tau : float
        Minutes that a change of partition takes; 0 where changes are free.
    """

    instance: Instance
    vectors: BusyVectors
    release: Floats
    due: Floats
    speed: Floats
    late_cost: Floats
    vector_cost: Floats
    classes: tuple[tuple[int, ...], ...]
    class_numbers: tuple[int, ...]
    tau: float

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.release)

    @property
    def groups(self) -> int:
        """Number of groups of profiles."""
        return int(self.speed.shape[1])

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Slices per vector and group."""
        return np.array(self.vectors.counts, dtype=np.int64).reshape(len(self.vectors), self.groups)

    @cached_property
    def quickest(self) -> Floats:
        """q_j: minutes on the fastest group."""
        return np.asarray(1.0 / self.speed.max(axis=1))

    @cached_property
    def slowest(self) -> Floats:
        """Minutes on the slowest group on which the job fits."""
        return np.asarray(1.0 / np.where(self.speed > 0, self.speed, np.inf).min(axis=1))

    @cached_property
    def steps(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Per (vector, group) the vector with one slice of that group less, and whether there is one."""
        smaller = np.zeros((len(self.vectors), self.groups), dtype=np.int64)
        valid = np.zeros(smaller.shape, dtype=bool)
        for b, k, less in self.vectors.grow():
            smaller[b, k], valid[b, k] = less, True
        return smaller, valid

    @cached_property
    def end(self) -> float:
        """A moment by which some optimal schedule has ended: r_max + sum of slowest runs + tau n."""
        if not self.jobs:
            return 0.0
        return float(self.release.max() + self.slowest.sum() + self.tau * self.jobs)

    @cached_property
    def holds_all(self) -> bool:
        """Whether some class, kept for the whole run, has a slice for every job."""
        offers = [self.counts[list(members)].sum(axis=0) > 0 for members in self.classes]
        return any(bool((self.speed[:, own] > 0).any(axis=1).all()) for own in offers)

    @cached_property
    def constant(self) -> float:
        """The instance's cost of idle energy, to be added to every cost of a model."""
        return float(self.instance.constant_cost)


def one_gpu(
    instance: Instance, case: Case = "mig", *, partition: int | None = None, tau: bool = True
) -> OneGpu:
    """Return the float view of an instance with one GPU.

    Parameters
    ----------
    instance : Instance
    case : str
        ``mig`` or ``off``.
    partition : int, optional
        Keep only this partition of the catalogue (1-based).
    tau : bool
        False ignores the time that changes take (a relaxation).

    Raises
    ------
    InputError
        The instance has more than one GPU, or energy has weight and the power it needs is not given.
    InfeasiblePartitionError
        Some job fits on no slice that is left.
    """
    if len(instance.gpus) != 1:
        raise InputError(f"this model covers one GPU, the instance has {len(instance.gpus)}")
    model = instance.gpus[0]
    curve = instance.power.get(model.key)
    if instance.weight_a > 0 and (curve is None or (case == "off" and curve.off_busy_mw is None)):
        what = "off_busy_mw" if curve is not None else "busy_mw"
        raise InputError("energy has weight, but its power is not given", where=f"power.{what}")
    view = instance if partition is None else only_partition(instance, partition)
    vectors = busy_vectors(view, model, case)
    classes, numbers = _classes(vectors, len(view.catalogue(0)), case)
    if partition is not None and case == "mig":
        numbers = (partition,)
    speed = np.array(
        [[rate / job.work for rate in vectors.rates(instance, job)] for job in instance.jobs]
    ).reshape(len(instance.jobs), len(vectors.groups))
    speed *= MS_PER_MINUTE
    for row, job in zip(speed, instance.jobs, strict=True):
        if not row.max(initial=0.0) > 0:
            where = "MIG off" if case == "off" else f"partition {partition or 'of any number'}"
            raise InfeasiblePartitionError(f"job {job.id} does not fit {where}", job.id)
    a = instance.weight_a
    late = [float(job.weight / ((a + 1) * instance.total_weight)) for job in instance.jobs]
    power = np.array(vectors.extra_mw, dtype=float) / 1000.0
    return OneGpu(
        instance,
        vectors,
        np.array([job.release_ms for job in instance.jobs]) / MS_PER_MINUTE,
        np.array([job.due_ms for job in instance.jobs]) / MS_PER_MINUTE,
        speed,
        np.array(late),
        power * float(a / (a + 1)),
        classes,
        numbers,
        instance.repartition.tau_ms / MS_PER_MINUTE if tau and len(classes) > 1 else 0.0,
    )


def _classes(
    vectors: BusyVectors, partitions: int, case: Case
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return the vectors of each class and one partition number per class; the empty vector is in all."""
    if case == "off":
        return (tuple(range(len(vectors))),), (0,)
    found: dict[frozenset[int], int] = {}
    for number in range(1, partitions + 1):
        found.setdefault(frozenset((0, *vectors.of_partition(number))), number)
    kept = [key for key in found if not any(key < other for other in found)]
    return tuple(tuple(sorted(key)) for key in kept), tuple(found[key] for key in kept)
