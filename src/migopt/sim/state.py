"""The state of a simulation, as rules see it: read it, never write it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, auto

from migopt.model import OFF_PROFILE, Instance, Partition, Placement
from migopt.units import ceil_div


class Cause(IntFlag):
    """What happened at the present instant."""

    NOTHING = 0
    COMPLETION = auto()
    REPARTITION_END = auto()
    ARRIVAL = auto()
    PARTITION_WAKE = auto()
    DISPATCH_WAKE = auto()
    REPARTITION_START = auto()


@dataclass(slots=True)
class Slice:
    """A slice that can run a job now.

    Attributes
    ----------
    gpu, placement : int, Placement
        Where it is.
    compute_slices, memory_units : int
        Its size; a whole GPU with MIG off counts all of both.
    job : int or None
        Index of the job running on it.
    """

    gpu: int
    placement: Placement
    compute_slices: int
    memory_units: int
    job: int | None = None

    @property
    def size_key(self) -> tuple[int, int, int, int]:
        """Order between slices of equal duration: smaller, then lower GPU, then lower start."""
        return (self.compute_slices, self.memory_units, self.gpu, self.placement.start)


class SimState:
    """Everything a rule may look at.

    Jobs are named by their index in ``instance.jobs``, which is the order of their ids.

    Attributes
    ----------
    instance : Instance
    now_ms : int
    cause : Cause
        What happened at this instant.
    waiting : set of int
        Released jobs that neither run nor are done.
    slices : list of Slice
        Slices that can run a job now, in order of ``size_key``; those that stand still are not here.
    partitions : list of Partition or None
        Per GPU the partition in force; while it changes, the new one. None before the first decision.
    changing_until_ms : list of int or None
        Per GPU the end of the repartition in progress.
    changed_at_ms : list of int or None
        Per GPU the start of its last repartition.
    threshold_stops : list of int
        Per job, how often it was stopped at an instant at which nothing happened but a dispatcher's wake.
    """

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance = instance
        self.seed = seed
        self.now_ms = 0
        self.cause = Cause.NOTHING
        count = len(instance.jobs)
        self.waiting: set[int] = set()
        self.running: dict[int, Slice] = {}
        self.slices: list[Slice] = []
        self.partitions: list[Partition | None] = [None] * len(instance.gpus)
        self.changing_until_ms: list[int | None] = [None] * len(instance.gpus)
        self.changed_at_ms: list[int | None] = [None] * len(instance.gpus)
        self.threshold_stops = [0] * count
        self.unfinished = count
        # Progress of each job as of the start of its present run (or of its last stop).
        self.left = [job.work for job in instance.jobs]
        self.overhead_left_ms = [0] * count
        self.run_since_ms = [0] * count
        self.end_ms = [0] * count
        self.started = [False] * count
        # Where and when its last segment ended, and what of the overhead was then still to be served.
        self.stopped_at: list[tuple[int, int, Placement] | None] = [None] * count
        self.stopped_overhead_ms = [0] * count
        self._rates: dict[tuple[int, str, str], int] = {}

    # --- what rules ask ---------------------------------------------------------------------

    def rate(self, job: int, place: Slice) -> int:
        """Return work per millisecond of a job on a slice, 0 where it does not fit."""
        model = self.instance.gpus[place.gpu]
        key = (job, model.key, place.placement.profile)
        found = self._rates.get(key)
        if found is None:
            found = self.instance.rate(self.instance.jobs[job], model, place.placement.profile)
            self._rates[key] = found
        return found

    def overhead_ms(self, job: int, place: Slice) -> int:
        """Return the resume overhead still to be served if the job runs on ``place`` from now on."""
        current = self.running.get(job)
        served = 0 if current is None else self.now_ms - self.run_since_ms[job]
        if current is place:
            return max(0, self.overhead_left_ms[job] - served)
        preemption = self.instance.preemption
        full = preemption.resume_overhead_ms if preemption.mode == "cost" else 0
        if served > 0:
            return full
        # A job that began at this very tick is as if it had not begun.
        if not self.started[job]:
            return 0
        if self.stopped_at[job] == (self.now_ms, place.gpu, place.placement):
            return self.stopped_overhead_ms[job]
        return full

    def work_left(self, job: int) -> int:
        """Return the work the job has left now."""
        place = self.running.get(job)
        if place is None:
            return self.left[job]
        worked = max(0, self.now_ms - self.run_since_ms[job] - self.overhead_left_ms[job])
        return self.left[job] - worked * self.rate(job, place)

    def remaining_ms(self, job: int, place: Slice) -> int | None:
        """Return how long the job would take to its end on ``place`` from now on; None if it does not fit."""
        rate = self.rate(job, place)
        if rate == 0:
            return None
        return self.overhead_ms(job, place) + ceil_div(self.work_left(job), rate)

    def due_key(self, job: int) -> tuple[int, int, int]:
        """Return the order of due dates, with its ties: due, release, id."""
        data = self.instance.jobs[job]
        return (data.due_ms, data.release_ms, data.id)

    def may_stop(self, job: int) -> bool:
        """Return whether a running job may be stopped."""
        return self.instance.is_preemptible(self.instance.jobs[job])

    def why_not_repartition(self, gpu: int, target: Partition) -> str | None:
        """Return why GPU ``gpu`` may not start to change to ``target`` now, or None."""
        current = self.partitions[gpu]
        scope = self.instance.repartition.scope
        if not self.instance.allows(gpu, target):
            return f"partition {target} is not in the catalogue of GPU {gpu}"
        if current is None:
            return None
        if scope == "never":
            return "the instance allows no repartition"
        if current.is_off or target.is_off:
            return "a GPU is off from time 0 to the end or never"
        if self.changing_until_ms[gpu] is not None:
            return f"GPU {gpu} is changing its partition already"
        if self.changed_at_ms[gpu] == self.now_ms:
            return f"GPU {gpu} has changed its partition at this very millisecond"
        for job, place in self.running.items():
            stands_still = scope == "gpu" or place.placement not in target
            if place.gpu == gpu and stands_still and not self.may_stop(job):
                return f"job {self.instance.jobs[job].id} runs on {place.placement} and may not be stopped"
        return None

    # --- what the engine does ---------------------------------------------------------------

    def completion_ms(self, job: int) -> int:
        """Return when a running job ends if nothing changes."""
        return self.end_ms[job]

    def add_slices(self, gpu: int, placements: list[Placement]) -> None:
        """Make slices available and keep the order of sizes."""
        model = self.instance.gpus[gpu]
        for placement in placements:
            if placement.profile == OFF_PROFILE:
                size = (model.compute_slices, model.memory_units)
            else:
                profile = model.profile(placement.profile)
                size = (profile.compute_slices, profile.memory_units)
            self.slices.append(Slice(gpu, placement, *size))
        self.slices.sort(key=lambda item: item.size_key)
