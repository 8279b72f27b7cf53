"""The plan a dispatch rule fills in: which slice runs which job from now on."""

from __future__ import annotations

from collections.abc import Iterable

from migopt.sim import DispatchDecision, SimState


class Plan:
    """Slices and the jobs planned for them; starts empty but for jobs that may not be stopped.

    Parameters
    ----------
    state : SimState
    keep_running : bool
        Start with every running job in its place instead.
    pinned : iterable of int
        More jobs that keep their place if they run.
    """

    def __init__(
        self, state: SimState, *, keep_running: bool = False, pinned: Iterable[int] = ()
    ) -> None:
        self.state = state
        keep = set(pinned)
        self.runs = {
            position: place.job
            for position, place in enumerate(state.slices)
            if place.job is not None
            and (keep_running or place.job in keep or not state.may_stop(place.job))
        }

    def to_place(self) -> list[int]:
        """Return the active jobs that have no slice in the plan."""
        planned = set(self.runs.values())
        return [job for job in (*self.state.waiting, *self.state.running) if job not in planned]

    def free(self) -> list[int]:
        """Return the positions of slices without a planned job, smaller slices first."""
        return [position for position in range(len(self.state.slices)) if position not in self.runs]

    def jobs_on(self, gpu: int) -> list[int]:
        """Return the positions of a GPU's slices with a planned job."""
        return [position for position in self.runs if self.state.slices[position].gpu == gpu]

    def timed(self, job: int, positions: Iterable[int]) -> list[tuple[int, int]]:
        """Return (remaining_ms, position) for the slices on which the job fits, in the given order."""
        timed = ((self.state.remaining_ms(job, self.state.slices[p]), p) for p in positions)
        return [(remaining, position) for remaining, position in timed if remaining is not None]

    def on_time(self, job: int, timed: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Keep the slices on which the job, put there now, meets its due date."""
        latest = self.state.instance.jobs[job].due_ms - self.state.now_ms
        return [(remaining, position) for remaining, position in timed if remaining <= latest]

    def put(self, job: int, position: int) -> None:
        """Plan a job on a slice."""
        self.runs[position] = job

    def put_fastest(self, job: int) -> bool:
        """Plan the job on the fastest free slice (of equal ones the smaller); False if none fits."""
        timed = self.timed(job, self.free())
        if timed:
            self.put(job, min(timed, key=lambda item: item[0])[1])
        return bool(timed)

    def put_slowest_on_time(self, job: int) -> bool:
        """Plan the job on the slowest free slice on which it is on time (of equal ones the smaller)."""
        timed = self.on_time(job, self.timed(job, self.free()))
        if timed:
            self.put(job, max(timed, key=lambda item: item[0])[1])
        return bool(timed)

    def decision(self, wake_ms: int | None = None) -> DispatchDecision:
        """Return the plan as a decision."""
        return DispatchDecision(self.runs, wake_ms)
