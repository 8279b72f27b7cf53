"""Sampled futures: days of a scenario, drawn from seeds that no study uses, beside the jobs of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np

from migopt.errors import InfeasiblePartitionError, NotApplicableError
from migopt.io.generators import generate
from migopt.model import Instance, Job
from migopt.schedulers.joint.view import View, view_of

#: Seeds of the sampled days begin here.
FIRST_SEED = 3_000_000


@dataclass(frozen=True)
class Futures:
    """A run's jobs and those of sampled days in one view.

    Attributes
    ----------
    view : View
        The run's jobs come first, in their own order.
    days : tuple of int arrays
        Per sampled day its jobs, in order of release.
    """

    view: View
    days: tuple[np.ndarray, ...]

    def after(self, minute: float, span: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the jobs of all days released within ``span`` after a minute, and where each day starts."""
        release = self.view.jobs.release
        parts = []
        for day in self.days:
            low, high = np.searchsorted(release[day], (minute, minute + span), side="right")
            parts.append(day[low:high])
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        return np.concatenate(parts), starts.astype(np.int64)


@cache
def _sampled(scenario: str, day: int) -> tuple[Job, ...]:
    return generate(scenario, seed=FIRST_SEED + day).jobs


def sample_futures(instance: Instance, scenario: str, days: int) -> Futures:
    """Return ``days`` days of a scenario beside an instance's jobs.

    Tardiness of sampled jobs weighs as much as that of the instance's own.

    Raises
    ------
    NotApplicableError
        Jobs of the scenario do not run on the instance's GPU, or fit no partition of its catalogue.
    """
    count = len(instance.jobs)
    jobs = list(instance.jobs)
    bounds = [count]
    number = max((job.id for job in jobs), default=0) + 1
    for day in range(days):
        for job in _sampled(scenario, day):
            jobs.append(replace(job, id=number))
            number += 1
        bounds.append(len(jobs))
    own = view_of(instance) if count else None
    try:
        view = view_of(instance.replace(jobs=tuple(jobs)))
    except InfeasiblePartitionError:
        raise NotApplicableError(
            f"rollout: jobs of its futures, days of {scenario}, do not all run on {instance.gpus[0].key}"
            f" with catalogue {instance.catalogue(0).name}"
        ) from None
    of_own = own.jobs.late[:count] if own is not None else np.zeros(0)
    weight = of_own[0] if count else 0.0
    late = np.concatenate([of_own, np.full(len(jobs) - count, weight)])
    release = view.jobs.release
    parts = [np.arange(a, b) for a, b in pairwise(bounds)]
    return Futures(
        replace(view, jobs=view.jobs._replace(late=late)),
        tuple(part[np.argsort(release[part], kind="stable")].astype(np.int64) for part in parts),
    )
