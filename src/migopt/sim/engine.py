"""The reference simulator: pure Python on integers, written to be read; the compiled one is tested against it.

At one millisecond things happen in this order: completions, ends of repartition, arrivals (by job
id), one partition decision per GPU, one dispatch.
"""

from __future__ import annotations

from migopt.errors import InfeasiblePartitionError, PolicyError
from migopt.model import Instance, Partition, Reconfiguration, Schedule, Segment
from migopt.sim.protocols import DispatchDecision, Dispatcher, PartitionDecision, Partitioner
from migopt.sim.state import Cause, SimState
from migopt.units import ceil_div

#: Event instants in a row without arrival, completion or any work done, before a run counts as stuck.
STUCK_INSTANTS = 10_000


def simulate(
    instance: Instance, dispatcher: Dispatcher, partitioner: Partitioner, *, seed: int = 0
) -> Schedule:
    """Play two rules on an instance until every job is done.

    Parameters
    ----------
    instance : Instance
    dispatcher, partitioner : Dispatcher, Partitioner
        Fresh objects: a rule may keep state during one run.
    seed : int
        Seed of rules that draw random numbers (``state.seed``).

    Returns
    -------
    Schedule

    Raises
    ------
    PolicyError
        A rule decided something illegal.
    InfeasiblePartitionError
        Jobs wait that no slice of the partitions kept can ever run.
    """
    simulator = Simulator(instance, seed=seed)
    simulator.start(partitioner)
    while simulator.advance():
        simulator.decide_partitions(partitioner)
        simulator.decide_dispatch(dispatcher)
    return simulator.schedule()


class Simulator:
    """The transition function, step by step.

    ``start`` fixes the first partitions; then ``advance`` goes to the next instant at which
    something happens and returns whether decisions are due there; ``decide_partitions`` and
    ``decide_dispatch`` (or ``apply_partition`` and ``apply_dispatch``) take them, in this order.
    """

    def __init__(self, instance: Instance, *, seed: int = 0) -> None:
        self.instance = instance
        self.state = SimState(instance, seed)
        self._arrivals = sorted(
            range(len(instance.jobs)), key=lambda j: (instance.jobs[j].release_ms, j)
        )
        self._next_arrival = 0
        self._partition_wake: list[int | None] = [None] * len(instance.gpus)
        self._dispatch_wake: int | None = None
        self._initial: list[Partition] = []
        self._segments: list[Segment] = []
        self._reconfigurations: list[Reconfiguration] = []
        self._quiet_instants = 0
        self._instants_now = 0

    # --- time -------------------------------------------------------------------------------

    def start(self, partitioner: Partitioner) -> None:
        """Ask for the first partition of every GPU; it is free."""
        for gpu in range(len(self.instance.gpus)):
            decision = partitioner.partition(self.state, gpu)
            if decision.target is None:
                raise PolicyError(f"the partition rule names no first partition for GPU {gpu}")
            self._initial.append(decision.target)
            self.apply_partition(gpu, decision)

    def advance(self) -> bool:
        """Go to the next event instant; return False once every job is done."""
        state = self.state
        if state.unfinished == 0:
            return False
        now = self._next_instant()
        if now is None:
            raise self._stuck()
        self._instants_now = self._instants_now + 1 if now == state.now_ms else 0
        state.now_ms, state.cause = now, Cause.NOTHING
        self._complete(now)
        self._end_repartitions(now)
        self._arrive(now)
        self._clear_wakes(now)
        self._watch_for_standstill()
        return state.unfinished > 0

    def _next_instant(self) -> int | None:
        state = self.state
        times = [state.completion_ms(job) for job in state.running]
        times += [end for end in state.changing_until_ms if end is not None]
        if self._next_arrival < len(self._arrivals):
            times.append(self.instance.jobs[self._arrivals[self._next_arrival]].release_ms)
        times += [wake for wake in (*self._partition_wake, self._dispatch_wake) if wake is not None]
        return min(times, default=None)

    def _complete(self, now: int) -> None:
        state = self.state
        for job in [job for job in state.running if state.completion_ms(job) == now]:
            self._close_segment(job)
            state.left[job] = 0
            state.running.pop(job).job = None
            state.unfinished -= 1
            state.cause |= Cause.COMPLETION

    def _end_repartitions(self, now: int) -> None:
        state = self.state
        for gpu, end in enumerate(state.changing_until_ms):
            if end == now:
                state.changing_until_ms[gpu] = None
                standing = {item.placement for item in state.slices if item.gpu == gpu}
                target = state.partitions[gpu]
                assert target is not None
                state.add_slices(
                    gpu, [placement for placement in target if placement not in standing]
                )
                state.cause |= Cause.REPARTITION_END

    def _arrive(self, now: int) -> None:
        jobs, arrivals = self.instance.jobs, self._arrivals
        while (
            self._next_arrival < len(arrivals)
            and jobs[arrivals[self._next_arrival]].release_ms == now
        ):
            self.state.waiting.add(arrivals[self._next_arrival])
            self._next_arrival += 1
            self.state.cause |= Cause.ARRIVAL

    def _clear_wakes(self, now: int) -> None:
        for gpu, wake in enumerate(self._partition_wake):
            if wake == now:
                self._partition_wake[gpu] = None
                self.state.cause |= Cause.PARTITION_WAKE
        if self._dispatch_wake == now:
            self._dispatch_wake = None
            self.state.cause |= Cause.DISPATCH_WAKE

    # --- partition decisions ----------------------------------------------------------------

    def decide_partitions(self, partitioner: Partitioner) -> None:
        """Ask the rule once per GPU that is not changing, in order of GPU index.

        With tau = 0 a millisecond is visited again after a change; the GPU that changed has had
        its decision there.
        """
        state = self.state
        for gpu in range(len(self.instance.gpus)):
            if state.changing_until_ms[gpu] is None and state.changed_at_ms[gpu] != state.now_ms:
                self.apply_partition(gpu, partitioner.partition(self.state, gpu))

    def apply_partition(self, gpu: int, decision: PartitionDecision) -> None:
        """Take one partition decision; raises PolicyError where it is illegal."""
        state, target = self.state, decision.target
        self._partition_wake[gpu] = self._checked_wake(decision.wake_ms)
        current = state.partitions[gpu]
        if target is None or target == current:
            return
        reason = state.why_not_repartition(gpu, target)
        if reason is not None:
            raise PolicyError(f"at {state.now_ms} ms GPU {gpu} cannot change to {target}: {reason}")
        state.partitions[gpu] = target
        if current is None:
            state.add_slices(gpu, list(target))
            return
        whole_gpu = self.instance.repartition.scope == "gpu"
        for place in [item for item in state.slices if item.gpu == gpu]:
            if whole_gpu or place.placement not in target:
                if place.job is not None:
                    self._stop(place.job)
                state.slices.remove(place)
        end = state.now_ms + self.instance.repartition.tau_ms
        state.changing_until_ms[gpu] = end
        state.changed_at_ms[gpu] = state.now_ms
        state.cause |= Cause.REPARTITION_START
        self._reconfigurations.append(Reconfiguration(state.now_ms, end, gpu, current, target))

    # --- dispatch decisions -----------------------------------------------------------------

    def decide_dispatch(self, dispatcher: Dispatcher) -> None:
        """Ask the rule once who runs where."""
        self.apply_dispatch(dispatcher.dispatch(self.state))

    def apply_dispatch(self, decision: DispatchDecision) -> None:
        """Take one dispatch decision; raises PolicyError where it is illegal."""
        state = self.state
        self._dispatch_wake = self._checked_wake(decision.wake_ms)
        self._refuse_illegal(decision)
        only_woken = state.cause == Cause.DISPATCH_WAKE
        for position, place in enumerate(state.slices):
            if place.job is not None and decision.runs.get(position) != place.job:
                state.threshold_stops[place.job] += only_woken
                self._stop(place.job)
        for position, job in decision.runs.items():
            if job not in state.running:
                self._begin(job, position)

    def _refuse_illegal(self, decision: DispatchDecision) -> None:
        state, runs = self.state, decision.runs
        jobs = list(runs.values())
        if len(set(jobs)) != len(jobs):
            raise PolicyError(f"at {state.now_ms} ms the dispatch rule puts one job on two slices")
        for position, job in runs.items():
            if not 0 <= position < len(state.slices):
                raise PolicyError(
                    f"at {state.now_ms} ms the dispatch rule names slice {position}, which is not there"
                )
            place = state.slices[position]
            if job not in state.waiting and job not in state.running:
                raise PolicyError(f"at {state.now_ms} ms job index {job} is not active")
            if state.rate(job, place) == 0:
                raise PolicyError(
                    f"job {self.instance.jobs[job].id} does not fit on {place.placement}"
                )
        for position, place in enumerate(state.slices):
            if (
                place.job is not None
                and runs.get(position) != place.job
                and not state.may_stop(place.job)
            ):
                raise PolicyError(
                    f"job {self.instance.jobs[place.job].id} may not be stopped at {state.now_ms} ms"
                )

    def _begin(self, job: int, position: int) -> None:
        state = self.state
        place = state.slices[position]
        state.overhead_left_ms[job] = state.overhead_ms(job, place)
        state.run_since_ms[job] = state.now_ms
        duration = ceil_div(state.left[job], state.rate(job, place))
        state.end_ms[job] = state.now_ms + state.overhead_left_ms[job] + duration
        state.waiting.discard(job)
        state.running[job] = place
        place.job = job

    def _stop(self, job: int) -> None:
        state = self.state
        place = state.running[job]
        self._close_segment(job)
        state.left[job] = state.work_left(job)
        del state.running[job]
        place.job = None
        state.waiting.add(job)

    def _close_segment(self, job: int) -> None:
        state = self.state
        place, since = state.running[job], state.run_since_ms[job]
        if state.now_ms > since:
            state.started[job] = True
            state.stopped_at[job] = (state.now_ms, place.gpu, place.placement)
            state.stopped_overhead_ms[job] = state.overhead_ms(job, place)
            self._segments.append(
                Segment(since, state.now_ms, place.gpu, place.placement, self.instance.jobs[job].id)
            )

    # --- ends -------------------------------------------------------------------------------

    def schedule(self) -> Schedule:
        """Return what has been played so far."""
        return Schedule(tuple(self._initial), tuple(self._segments), tuple(self._reconfigurations))

    def _checked_wake(self, wake_ms: int | None) -> int | None:
        if wake_ms is not None and wake_ms <= self.state.now_ms:
            raise PolicyError(
                f"a rule asks at {self.state.now_ms} ms to be woken at {wake_ms} ms, which is not later"
            )
        return wake_ms

    def _watch_for_standstill(self) -> None:
        state = self.state
        happened = state.cause & (Cause.COMPLETION | Cause.ARRIVAL)
        waits_for_more = self._next_arrival < len(self._arrivals)
        # A job that only ever serves its resume overhead gets nowhere.
        works = any(
            state.now_ms - state.run_since_ms[job] > state.overhead_left_ms[job]
            for job in state.running
        )
        quiet = not (happened or waits_for_more or works)
        self._quiet_instants = self._quiet_instants + 1 if quiet else 0
        if self._quiet_instants > STUCK_INSTANTS:
            raise self._stuck()
        if self._instants_now > STUCK_INSTANTS:
            raise PolicyError(
                f"the partition rule changes partitions at {state.now_ms} ms without end (tau is 0)"
            )

    def _stuck(self) -> InfeasiblePartitionError:
        job = self.instance.jobs[min(self.state.waiting or self.state.running)]
        kept = "; ".join(
            f"GPU {gpu}: {partition}" for gpu, partition in enumerate(self.state.partitions)
        )
        return InfeasiblePartitionError(
            f"job {job.id} waits and can never run to its end under the partitions kept ({kept})",
            job.id,
        )
