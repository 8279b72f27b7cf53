"""The rule that all three contestants play: EDF-FS on one GPU cut into [4g, 3g], as a plain Python loop.

At every event all active jobs in order of due date, release, id; each takes the fastest free slice
for it (of equal ones the smaller), which may stop another. The answer is weighted tardiness, energy
above idle and makespan, in integers, as the kernel's figures have them.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

Answer = tuple[int, int, int]


@dataclass
class Slice:
    """A slice and the job on it."""

    size: int
    job: Work | None = None


@dataclass(order=True)
class Work:
    """A job: its place in the order, then what it needs; ``rates`` by size of slice."""

    due: int
    release: int
    number: int
    left: int = field(compare=False)
    rates: dict[int, int] = field(compare=False)
    weight: int = field(default=1, compare=False)
    slice: Slice | None = field(default=None, compare=False)

    def remaining(self, place: Slice) -> int:
        """Return its duration on a slice from now on."""
        return -(-self.left // self.rates[place.size])


def place_all(active: list[Work], slices: list[Slice]) -> None:
    """Give the slices anew: in order of due date, each job the fastest one free."""
    free = list(slices)
    for place in slices:
        place.job = None
    for job in active:
        job.slice = None
        if free:
            best = min(free, key=job.remaining)
            free.remove(best)
            best.job, job.slice = job, best


def simulate(jobs: list[Work], power: list[int]) -> Answer:
    """Play the jobs; ``power`` by busy compute slices, in mW."""
    arrivals = sorted(jobs, key=lambda job: (job.release, job.number))
    slices = [Slice(3), Slice(4)]
    active: list[Work] = []
    coming = now = tardiness = energy = 0
    while coming < len(arrivals) or active:
        ends = [now + place.job.remaining(place) for place in slices if place.job]
        if coming < len(arrivals):
            ends.append(arrivals[coming].release)
        then = min(ends)
        busy = sum(place.size for place in slices if place.job)
        energy += (power[busy] - power[0]) * (then - now)
        for place in slices:
            job = place.job
            if job:
                job.left -= (then - now) * job.rates[place.size]
                if job.left <= 0:
                    active.remove(job)
                    place.job = None
                    tardiness += job.weight * max(0, then - job.due)
        now = then
        while coming < len(arrivals) and arrivals[coming].release == now:
            insort(active, arrivals[coming])
            coming += 1
        place_all(active, slices)
    return tardiness, energy, now
