"""A schedule's cost, and a bound's, split by busy period: which stretch of the day a gap comes from.

A busy period is a longest stretch with some job released and not done. All jobs of a period are
released in it, so periods are runs of jobs in order of release, and whatever is told per job can be
added up by period. Energy is split at the starts of the periods, lateness by job: the shares of a
schedule add up to its cost above the constant.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from migopt.errors import InputError
from migopt.metrics.gpu_time import Steps, power_profile
from migopt.model import Instance, Schedule
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN


@dataclass(frozen=True, slots=True)
class Period:
    """One busy period, or several together.

    Attributes
    ----------
    start_ms, end_ms : int
        From the release of its first job to the last completion before the system is empty again.
    jobs : int
    energy, tardiness : float
        Cost above idle of the schedule in this period, by kind.
    lower : float or None
        The bound's share, None when no bound was given. Only the sum over all periods is proven.
    """

    start_ms: int
    end_ms: int
    jobs: int
    energy: float
    tardiness: float
    lower: float | None = None

    @property
    def upper(self) -> float:
        """Cost of the schedule above idle."""
        return self.energy + self.tardiness

    @property
    def gap(self) -> float | None:
        """Upper minus lower share, in units of cost."""
        return None if self.lower is None else self.upper - self.lower

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self) | {"upper": self.upper, "gap": self.gap}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Period:
        """Read what ``as_dict`` wrote; KeyError where something is missing."""
        names = ("start_ms", "end_ms", "jobs", "energy", "tardiness", "lower")
        return cls(**{name: row[name] for name in names})


@dataclass(frozen=True, slots=True)
class Span:
    """Where a busy period lies, and the positions of its jobs in ``Instance.jobs``."""

    start_ms: int
    end_ms: int
    jobs: tuple[int, ...]


def busy_periods(instance: Instance, schedule: Schedule) -> list[Span]:
    """Return the busy periods of a schedule in order of time; a job that never runs ends at its release."""
    done = schedule.completions_ms()
    ends = sorted(
        (job.release_ms, done.get(job.id, job.release_ms), at)
        for at, job in enumerate(instance.jobs)
    )
    found: list[Span] = []
    for start, end, at in ends:
        if found and start < found[-1].end_ms:
            last = found[-1]
            found[-1] = Span(last.start_ms, max(last.end_ms, end), (*last.jobs, at))
        else:
            found.append(Span(start, end, (at,)))
    return found


def gap_by_period(
    instance: Instance,
    schedule: Schedule,
    shares: Sequence[float] | None = None,
    spans: Sequence[Span] | None = None,
) -> list[Period]:
    """Return the busy periods in order of time, with their costs and the bound's shares.

    Parameters
    ----------
    instance : Instance
    schedule : Schedule
        A legal one.
    shares : sequence of float, optional
        The bound above the constant by job, in order of release; see ``with_shares``.
    spans : sequence of Span, optional
        Split at these periods (say, those of a better schedule) instead of the schedule's own: a
        period then has the lateness of its jobs, and the energy from its start to that of the next.
    """
    spans = busy_periods(instance, schedule) if spans is None else spans
    done = schedule.completions_ms()
    cuts = [span.start_ms for span in spans]
    energy = [0] * len(spans)
    for model, steps in zip(instance.gpus, power_profile(instance, schedule), strict=True):
        if steps is not None:
            idle = instance.power[model.key].idle_mw
            energy = [a + b for a, b in zip(energy, _energy_uj(steps, idle, cuts), strict=True)]
    a = instance.weight_a
    per_uj = float(a / UJ_PER_WMIN / (a + 1))
    per_ms = float(1 / ((a + 1) * instance.total_weight * MS_PER_MINUTE)) if instance.jobs else 0.0
    found = []
    for span, joules in zip(spans, energy, strict=True):
        jobs = [instance.jobs[at] for at in span.jobs]
        late = sum(job.weight * max(0, done.get(job.id, 0) - job.due_ms) for job in jobs)
        found.append(Period(span.start_ms, span.end_ms, len(jobs), joules * per_uj, late * per_ms))
    return found if shares is None else with_shares(found, shares)


def with_shares(periods: Sequence[Period], shares: Sequence[float]) -> list[Period]:
    """Return periods with the shares of a bound.

    Parameters
    ----------
    periods : sequence of Period
        In order of time.
    shares : sequence of float
        What each job adds to a bound above the constant, in order of release; equal releases are of
        one period, so their order does not matter.

    Raises
    ------
    InputError
        There are not as many shares as jobs.
    """
    if len(shares) != sum(period.jobs for period in periods):
        jobs = sum(period.jobs for period in periods)
        raise InputError(f"{len(shares)} shares of a bound for {jobs} jobs")
    cuts = [0, *accumulate(period.jobs for period in periods)]
    return [
        replace(period, lower=math.fsum(shares[begin:end]))
        for period, (begin, end) in zip(periods, pairwise(cuts), strict=True)
    ]


def together(periods: Sequence[Period]) -> Period:
    """Return several periods (at least one) as one: from the first start to the last end."""
    shares = [p.lower for p in periods if p.lower is not None]
    return Period(
        min(p.start_ms for p in periods),
        max(p.end_ms for p in periods),
        sum(p.jobs for p in periods),
        sum(p.energy for p in periods),
        sum(p.tardiness for p in periods),
        sum(shares) if len(shares) == len(periods) else None,
    )


def _energy_uj(steps: Steps, idle_mw: int, cuts: Sequence[int]) -> list[int]:
    """Return mW x ms (microjoules) above idle from each cut to the next; the first takes what is before."""
    times = [time for time, _ in steps]
    upto = [0]
    for (time, power), (after, _) in pairwise(steps):
        upto.append(upto[-1] + (after - time) * (power - idle_mw))

    def at(moment: int) -> int:
        last = bisect_right(times, moment) - 1
        if last < 0:
            return 0
        # From the last step on the GPU is idle.
        return upto[last] + (moment - times[last]) * (steps[last][1] - idle_mw)

    levels = [0, *(at(cut) for cut in cuts[1:]), upto[-1]]
    return [after - before for before, after in pairwise(levels)] if cuts else []
