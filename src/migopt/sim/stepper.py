"""Step by step on the compiled simulator: one run to decide in and look ahead from, or many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from migopt.compiled import Ints
from migopt.errors import NotApplicableError, PolicyError
from migopt.metrics import Metrics
from migopt.model import Instance, Partition, Placement, Schedule
from migopt.sim import kernel, vector
from migopt.sim import layout as at
from migopt.sim.arrays import arrays_of, build_arrays
from migopt.sim.compiled import CompiledRun, rule_array, seed_word
from migopt.sim.job_tables import MOST_TIME
from migopt.sim.rules import CompiledRule, PartitionPlan
from migopt.sim.state import Cause

#: An observation looks at 2^jobs_seen places of a heap, a number that must fit in a word.
MOST_SEEN = 60
#: When a partition decision is asked for unless told otherwise.
ARRIVALS_AND_COMPLETIONS = Cause.ARRIVAL | Cause.COMPLETION


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment; ``Stepper.restore`` goes back to it any number of times."""

    state: Ints
    log: tuple[Ints, ...]


@dataclass(frozen=True)
class Forecast:
    """What becomes of the jobs that are there now, nothing else coming, under one partition.

    Attributes
    ----------
    partition : Partition
    energy_uj : int
        Energy above idle from now on.
    weighted_tardiness_ms : int
        Of these jobs.
    end_ms : int
        When the last of them ends.
    """

    partition: Partition
    energy_uj: int
    weighted_tardiness_ms: int
    end_ms: int


class Stepper:
    """One run of the kernel, step by step.

    ``reset``; then while ``advance()``: optionally ``repartition``, then ``dispatch`` once. Jobs are
    named by their index in ``instance.jobs``.

    Parameters
    ----------
    instance : Instance
    rule : CompiledRule
        The built-in dispatch rule that ``dispatch()`` plays (``.compiled`` of a readable rule).
    seed : int
    """

    def __init__(self, instance: Instance, rule: CompiledRule, *, seed: int = 0) -> None:
        self.instance, self.rule, self.seed = instance, rule, seed
        self.arrays = arrays_of(instance)
        self._number = np.argsort(self.arrays.order)
        self._slots = {place: slot for slot, place in enumerate(self.arrays.places)}

    def reset(self, partitions: Sequence[Partition]) -> None:
        """Begin anew with one first partition per GPU; PolicyError where the instance allows none of it."""
        if len(partitions) != len(self.instance.gpus):
            raise PolicyError(
                f"{len(self.instance.gpus)} GPUs need as many first partitions, not {len(partitions)}"
            )
        for gpu, partition in enumerate(partitions):
            self._part(gpu, partition)
        plan = PartitionPlan(list(partitions))
        self.run = CompiledRun(self.arrays, self.rule, plan, seed=self.seed)

    # --- time and decisions -----------------------------------------------------------------

    def advance(self) -> bool:
        """Go to the next event instant; False once every job is done; raises as ``simulate`` does."""
        self.run.make_room()
        status = kernel.advance(self.arrays.data, self.run.state)
        if status not in (at.DECIDE, at.FINISHED_RUN):
            self.run.refuse(status)
        return bool(status == at.DECIDE)

    def may_repartition(self, gpu: int, target: Partition) -> bool:
        """Return whether a GPU may start to change to another partition now."""
        part = self._part(gpu, target)
        return bool(kernel.may_repartition(self.arrays.data, self.run.state, gpu, part))

    def repartition(self, gpu: int, target: Partition) -> None:
        """Start to change a GPU's partition; raises PolicyError where it is not allowed."""
        part = self._part(gpu, target)
        if target == self.partitions[gpu]:
            return
        if not self.may_repartition(gpu, target):
            raise PolicyError(f"at {self.now_ms} ms GPU {gpu} cannot change to {target}")
        kernel.repartition(self.arrays.data, self.run.state, gpu, part)

    def _part(self, gpu: int, target: Partition) -> int:
        """Return the kernel's number of a partition; PolicyError for a GPU or partition not there."""
        gpus = self.instance.gpus
        if not 0 <= gpu < len(gpus):
            raise PolicyError(f"there is no GPU {gpu}; GPUs are 0 to {len(gpus) - 1}")
        if not self.instance.allows(gpu, target):
            raise PolicyError(f"partition {target} is not in the catalogue of GPU {gpu}")
        return self.arrays.part_numbers[gpus[gpu].key, target]

    def dispatch(self, runs: Mapping[tuple[int, Placement], int] | None = None) -> None:
        """Let the built-in rule decide who runs where, or take a decision.

        Parameters
        ----------
        runs : Mapping, optional
            (GPU, placement) to job index; a slice not listed idles, a running job not listed stops.
            Raises PolicyError where that is illegal. A rule that restricts preemption must then
            decide alone from here on, so a stepper of scope RESTRICTED refuses.
        """
        if runs is None:
            kernel.dispatch(self.arrays.data, self.run.state)
            return
        slots = [self._slot(place) for place in runs]
        self._refuse_illegal(runs)
        table = [
            (slot, int(self._number[job])) for slot, job in zip(slots, runs.values(), strict=True)
        ]
        rows = np.array(table, np.int64).reshape(len(table), 2)
        vector.apply_runs(self.arrays.data, self.run.state, rows)

    def _slot(self, place: tuple[int, Placement]) -> int:
        slot = self._slots.get(place)
        if slot is None or self.run.slots[slot, at.JOB] == at.ABSENT:
            raise PolicyError(f"at {self.now_ms} ms there is no slice {place[1]} on GPU {place[0]}")
        return slot

    def _refuse_illegal(self, runs: Mapping[tuple[int, Placement], int]) -> None:
        now, jobs = self.now_ms, self.instance.jobs
        if self.rule.scope == kernel.RESTRICTED:
            raise PolicyError("a stepper of the restricted rule takes no other dispatch decisions")
        if len(set(runs.values())) != len(runs):
            raise PolicyError(f"at {now} ms one job is put on two slices")
        active = set(self.waiting) | set(self.running.values())
        for (gpu, placement), job in runs.items():
            if job not in active:
                raise PolicyError(f"at {now} ms job index {job} is not active")
            if self.instance.rate(jobs[job], self.instance.gpus[gpu], placement.profile) == 0:
                raise PolicyError(f"job {jobs[job].id} does not fit on {placement}")
        for place, job in self.running.items():
            if runs.get(place) != job and not self.instance.is_preemptible(jobs[job]):
                raise PolicyError(f"job {jobs[job].id} may not be stopped at {now} ms")

    # --- what there is ----------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        """The present instant."""
        return int(self.run.state[at.NOW])

    @property
    def cause(self) -> Cause:
        """What happened at this instant."""
        return Cause(int(self.run.state[at.CAUSE]))

    @property
    def waiting(self) -> list[int]:
        """Indices of released jobs that neither run nor are done."""
        waits = self.run.jobs[:, at.SLOT] == at.WAITING
        return sorted(int(job) for job in self.arrays.order[waits])

    @property
    def running(self) -> dict[tuple[int, Placement], int]:
        """(GPU, placement) to the index of the job that runs there."""
        jobs = self.run.slots[:, at.JOB]
        return {
            self.arrays.places[slot]: int(self.arrays.order[jobs[slot]])
            for slot in np.flatnonzero(jobs >= 0)
        }

    @property
    def slices(self) -> list[tuple[int, Placement]]:
        """Slices that can run a job now, smaller first."""
        present = self.run.slots[:, at.JOB] != at.ABSENT
        ranked = self.arrays.table(at.D_RANKED, len(present), 1)[:, 0]
        return [self.arrays.places[slot] for slot in ranked if present[slot]]

    @property
    def partitions(self) -> list[Partition]:
        """Per GPU the partition in force; while it changes, the new one."""
        return [self.arrays.parts[part][1] for part in self.run.gpus[:, at.PARTITION]]

    # --- going back, looking ahead ----------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the run as it stands."""
        return Snapshot(self.run.state.copy(), tuple(self.run.log))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this stepper's instance and rule."""
        self.run.state[:] = snapshot.state
        self.run.log = list(snapshot.log)

    def look_ahead(self, gpu: int, partitions: Sequence[Partition]) -> list[Forecast]:
        """Return a forecast per partition of GPU ``gpu`` that it has or may change to now.

        Each plays the active jobs to their end with the built-in rule, nothing else arriving, from
        the present instant, before its dispatch. Nothing of the run itself changes.
        """
        D = self.arrays.data
        parts = np.array([self._part(gpu, partition) for partition in partitions], np.int64)
        out = np.zeros((len(parts), 4), np.int64)
        scratch = np.empty(len(self.run.state) - at.LOG_S * self.run.capacity, np.int64)
        vector.look_ahead(D, self.run.state, scratch, gpu, parts, out)
        return [
            Forecast(partition, *row[1:])
            for partition, row in zip(partitions, out.tolist(), strict=True)
            if row[0] == at.FINISHED_RUN
        ]

    # --- ends -------------------------------------------------------------------------------

    def schedule(self) -> Schedule:
        """Return what has been played so far."""
        return self.run.schedule()

    def metrics(self) -> Metrics:
        """Return the figures of a finished run."""
        return self.run.metrics()


class VectorStepper:
    """Many runs of one dispatch rule that stop for partition decisions, stepped in one compiled call.

    Parameters
    ----------
    instances : sequence of Instance
        One per run; all with equally many GPUs.
    rule : CompiledRule
    jobs_seen : int
        How many jobs, earliest due first, an observation lists.
    see_running : bool
        Whether running jobs are among them.
    causes : Cause
        At which instants a decision is asked for.
    threads : int
        Runs are shared among so many threads; results do not depend on it.

    Attributes
    ----------
    seen : array of int64, one row per run
        See ``vector``: status, time, cause, active, running, finished jobs, energy above idle (uJ)
        and weighted tardiness (ms) so far, of finished jobs and with that of active ones, counts of
        repartitions and preemptions; catalogue number per GPU (-1 while it changes); then per job
        seen its index, due date, mean remaining durations, whether it runs (-1: no such job).
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        rule: CompiledRule,
        *,
        jobs_seen: int = 3,
        see_running: bool = True,
        causes: Cause = ARRIVALS_AND_COMPLETIONS,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        if not instances:
            raise NotApplicableError("a vector needs at least one run")
        if not 0 <= jobs_seen <= MOST_SEEN:
            raise NotApplicableError(f"jobs_seen must be from 0 to {MOST_SEEN}, not {jobs_seen}")
        if len({len(instance.gpus) for instance in instances}) != 1:
            raise NotApplicableError("all runs of a vector must have equally many GPUs")
        self.instances = tuple(instances)
        self._program = rule_array(rule)
        known = {id(instance): build_arrays(instance) for instance in instances}
        for arrays in known.values():
            _refuse_energy_overflow(arrays.instance)
        # Runs of one instance share its data.
        ends = np.cumsum([len(arrays.data) for arrays in known.values()]).tolist()
        last = dict(zip(known, ends, strict=True))
        data = [(last[id(i)] - len(known[id(i)].data), last[id(i)]) for i in instances]
        sizes = [int(known[id(i)].data[at.S_SIZE]) + len(self._program) for i in instances]
        stops = np.cumsum(sizes)
        self._where = np.column_stack([data, stops - sizes, stops]).astype(np.int64)
        self._data = np.concatenate([arrays.data for arrays in known.values()])
        self._state = np.zeros(int(stops[-1]), np.int64)
        self._causes = int(causes)
        self._see = np.array([see_running, jobs_seen], np.int64)
        self._seeds = np.full(len(instances), seed_word(seed), np.int64)
        self.gpus = len(instances[0].gpus)
        self._sizes = np.array(
            [[len(c) for c in map(i.catalogue, range(self.gpus))] for i in instances]
        )
        self._fewest = int(self._sizes.min())
        self._off = np.array([[i.mig_off] for i in instances])
        width = vector.SEEN + self.gpus + vector.JOB_SEEN * jobs_seen
        self.seen = np.full((len(instances), width), -1, np.int64)
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def reset(self, numbers: Ints | int, chosen: Ints | None = None) -> Ints:
        """Begin runs anew and go to their first decision.

        Parameters
        ----------
        numbers : array (runs, gpus) or int
            Catalogue numbers of the first partitions, 0 for MIG off.
        chosen : array, optional
            Which runs; all by default.

        Raises
        ------
        PolicyError
            A partition or run that is not there.
        """
        parts = np.array(np.broadcast_to(numbers, (len(self.instances), self.gpus)), np.int64)
        picked = np.arange(len(parts)) if chosen is None else np.asarray(chosen, np.int64)
        if len(picked) and not 0 <= picked.min() <= picked.max() < len(parts):
            raise PolicyError(f"runs are 0 to {len(parts) - 1}, not {picked.tolist()}")
        self._refuse_numbers(parts, np.where(self._off, 0, 1), picked)
        args = (self._program, self._seeds, parts, self._causes, self._see, picked, self.seen)
        vector.reset_many(self._data, self._state, self._where, *args)
        return self.seen

    def step(self, actions: Ints) -> Ints:
        """Take one partition decision per run (or per run and GPU) and go to the next.

        A catalogue number; 0, the present one, or one that may not be changed to now changes
        nothing. Runs that are over stay as they are. A number beyond the catalogue is a PolicyError.
        """
        count = len(self.instances)
        table = np.ascontiguousarray(np.asarray(actions, np.int64).reshape(count, self.gpus))
        if table.max() > self._fewest:
            self._refuse_numbers(table, np.iinfo(np.int64).min, np.arange(count))
        shared: tuple[Any, ...] = (
            self._data,
            self._state,
            self._where,
            table,
            self._causes,
            self._see,
        )
        if self._pool is None:
            vector.step_many(*shared, 0, count, self.seen)
            return self.seen

        def part(cut: tuple[int, int]) -> None:
            vector.step_many(*shared, *cut, self.seen)

        cuts = np.linspace(0, count, self.threads + 1).astype(int).tolist()
        list(self._pool.map(part, pairwise(cuts)))
        return self.seen

    def _refuse_numbers(self, table: Ints, least: Ints | int, chosen: Ints) -> None:
        """Refuse numbers below ``least`` or beyond the catalogue: compiled code checks no bounds."""
        wrong = np.argwhere(((table < least) | (table > self._sizes))[chosen])
        if len(wrong):
            run, gpu = int(chosen[wrong[0, 0]]), int(wrong[0, 1])
            raise PolicyError(
                f"run {run}, GPU {gpu}: no partition number {table[run, gpu]}; "
                f"the catalogue has 1 to {self._sizes[run, gpu]}"
            )

    @property
    def waiting_for_decision(self) -> Ints:
        """Indices of the runs that have not ended."""
        return np.flatnonzero(self.seen[:, vector.SEE_STATUS] == at.DECIDE)

    def snapshot(self) -> tuple[Ints, Ints]:
        """Return all runs as they stand."""
        return self._state.copy(), self.seen.copy()

    def restore(self, snapshot: tuple[Ints, Ints]) -> None:
        """Go back to a snapshot."""
        self._state[:], self.seen[:] = snapshot


def _refuse_energy_overflow(instance: Instance) -> None:
    peak = max((max(*c.busy_mw, c.off_busy_mw or 0) for c in instance.power.values()), default=0)
    slowest = sum(
        job.work // min(rate for _, _, rate in instance.options(job)) + 1 for job in instance.jobs
    )
    if peak * len(instance.gpus) * (instance.horizon_ms + slowest) >= MOST_TIME:
        raise NotApplicableError("energy may exceed 64 bits")
