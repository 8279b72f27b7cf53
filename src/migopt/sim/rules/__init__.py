"""Compiled bodies of the built-in dispatch rules, and the numbers by which the kernel knows them.

Importing this loads no compiler; ``migopt.compiled`` notices when the numbers change. A readable
rule in ``schedulers/dispatch`` names its numbers in a ``CompiledRule``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from migopt.model import Instance, Job, Partition

# How a pass orders the jobs (all ties by due date, release, id).
ORDER_DUE = 0
ORDER_RELEASE = 1
ORDER_SHORTEST = 2
ORDER_LAXITY = 3
ORDER_MEAN_LAXITY = 4
ORDER_CLASS = 5

# Which slice a job takes.
FASTEST = 0
SLOWEST_ON_TIME = 1
EDF_MP = 2
CEDF = 3
MET = 4
RANDOM = 5

# Who takes part in a pass.
KEEP_RUNNING = 0
ALL_ACTIVE = 1
RESTRICTED = 2


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A dispatch rule as the kernel knows it: who takes part, in which order, on which slice.

    Attributes
    ----------
    scope, order, choice : int
        Numbers of this module.
    threshold_ms, max_stops : int
        Of the laxity orders.
    """

    scope: int
    order: int
    choice: int
    threshold_ms: int = 0
    max_stops: int = 0


@dataclass(frozen=True, slots=True)
class Ahead:
    """Change partitions by forecasts, at every arrival and completion.

    Attributes
    ----------
    energy, tardiness : float
        Cost per microjoule and per millisecond of weighted tardiness, in any one unit.
    margin : float
        Share of the cost of staying that a change must save.
    keep : bool
        Only changes whose partition has every slice that runs a job.
    """

    energy: float
    tardiness: float
    margin: float = 0.0
    keep: bool = False


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What a built-in partition rule does, as the kernel plays it.

    Attributes
    ----------
    first : list of Partition
        Per GPU the partition at time 0.
    timetable : tuple of (ms of the day, catalogue number)
        Changes at these times of every day; empty for partitions that stay.
    ahead : Ahead, optional
        Changes by forecasts.
    steer : callable, optional
        Called at every instant with the kernel's data, state and scratch state, before the dispatch;
        may start repartitions.
    """

    first: list[Partition]
    timetable: tuple[tuple[int, int], ...] = ()
    ahead: Ahead | None = None
    steer: Callable[..., None] | None = None


#: MET rounds the energy weight to the nearest fraction with at most this denominator.
WEIGHT_DENOMINATOR = 10**12


def met_weight(weight_a: Fraction) -> Fraction:
    """Return the energy weight a as MET compares with it, so that costs are integers."""
    return weight_a.limit_denominator(WEIGHT_DENOMINATOR)


def elasticity_class(instance: Instance, job: Job) -> int:
    """Return CEDF's class of a job, by integer comparison of its speeds.

    1 if thr(4g) < 0.8 thr(full), else 2 if thr(2g) < 0.8 thr(full), else 3 if thr(1g) < 0.8
    thr(full), else 4. thr(c) is the rate on the largest plain profile of at most c compute slices,
    the best over the GPU models; full is the whole GPU under MIG (SMART-MIG's classes).
    """
    full = max((instance.rate(job, m, m.full_profile.name) for m in instance.gpu_models), default=0)
    for number, size in enumerate((4, 2, 1), 1):
        if 10 * _rate_within(instance, job, size) < 8 * full:
            return number
    return 4


def _rate_within(instance: Instance, job: Job, size: int) -> int:
    best = 0
    for model in instance.gpu_models:
        fitting = [p for p in model.profiles if p.kind == "plain" and p.compute_slices <= size]
        if fitting:
            profile = max(fitting, key=lambda p: (p.compute_slices, p.memory_units))
            best = max(best, instance.rate(job, model, profile.name))
    return best
