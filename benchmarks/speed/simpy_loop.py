"""The same rule on SimPy: a process that releases jobs, and one per run of a job that may be interrupted."""

from __future__ import annotations

from bisect import insort
from collections.abc import Generator
from typing import Any

import simpy
from plain_loop import Answer, Slice, Work, place_all


def simulate(jobs: list[Work], power: list[int]) -> Answer:
    """Play the jobs; ``power`` by busy compute slices, in mW."""
    env = simpy.Environment()
    gpu = _Gpu(env, power)
    env.process(_release(env, gpu, sorted(jobs, key=lambda job: (job.release, job.number))))
    env.run()
    return gpu.tardiness, gpu.energy, gpu.since


class _Gpu:
    def __init__(self, env: simpy.Environment, power: list[int]) -> None:
        self.env, self.power = env, power
        self.slices = [Slice(3), Slice(4)]
        self.active: list[Work] = []
        self.runs: dict[int, Any] = {}
        self.tardiness = self.energy = self.since = self.busy = 0

    def dispatch(self) -> None:
        """Stop runs whose slice goes to another job, start those that are new."""
        now = self.env.now
        self.energy += (self.power[self.busy] - self.power[0]) * (now - self.since)
        self.since = now
        before = {job.number: job.slice for job in self.active}
        for job in self.active:
            if job.slice is not None:
                self.runs[job.number].settle(now)
        place_all(self.active, self.slices)
        for job in self.active:
            if job.slice is not before[job.number]:
                if before[job.number] is not None:
                    self.runs.pop(job.number).process.interrupt()
                if job.slice is not None:
                    self.runs[job.number] = _Run(self, job, job.slice)
        self.busy = sum(place.size for place in self.slices if place.job)

    def done(self, job: Work) -> None:
        """Let a job leave."""
        self.runs.pop(job.number)
        job.slice.job = None
        self.active.remove(job)
        self.tardiness += job.weight * max(0, self.env.now - job.due)
        job.slice = None
        self.dispatch()


class _Run:
    def __init__(self, gpu: _Gpu, job: Work, place: Slice) -> None:
        self.gpu, self.job, self.place = gpu, job, place
        self.since = gpu.env.now
        self.process = gpu.env.process(self._serve())

    def settle(self, now: int) -> None:
        """Count the work done since the last time."""
        self.job.left -= (now - self.since) * self.job.rates[self.place.size]
        self.since = now

    def _serve(self) -> Generator[Any, Any, None]:
        try:
            yield self.gpu.env.timeout(self.job.remaining(self.place))
        except simpy.Interrupt:
            return
        self.gpu.done(self.job)


def _release(env: simpy.Environment, gpu: _Gpu, arrivals: list[Work]) -> Generator[Any, Any, None]:
    for job in arrivals:
        if job.release > env.now:
            yield env.timeout(job.release - env.now)
        insort(gpu.active, job)
        gpu.dispatch()
