"""MISO: at every arrival and completion, the partition of largest summed speed for the jobs present."""

from __future__ import annotations

from fractions import Fraction

from migopt.errors import InputError
from migopt.mig.recommend import MixJob, Recommendation, recommend
from migopt.model import Instance, Partition
from migopt.schedulers._arguments import named, real_number, whole_number
from migopt.schedulers._changes import OPTIONS, Changes, changes_of, stopped
from migopt.sim import PartitionDecision, SimState
from migopt.sim.state import Cause

DEFAULTS = {"first": "1", "margin": "0", "objective": "speed", **OPTIONS}


class Miso:
    """Asks ``migopt.mig.recommend`` for the best partition of the catalogue, one slice per job.

    The jobs of a GPU are those running on it, then of the waiting ones, in order of due date, as many
    as find a slice; several GPUs deal the waiting jobs out in turn. Li et al., MISO, SoCC 2022.

    Parameters
    ----------
    first : int
        Catalogue number of the first partition.
    margin : float
        Change only where the gain is more than this share of the present value.
    objective : str
        ``speed`` (largest sum), or ``slowdown`` (least mean of 1 / speed, as in its published code).
    changes : Changes
        Scope of repartitions; ``keep`` allows those that stop no running job only.
    """

    def __init__(self, first: int, margin: float, objective: str, changes: Changes) -> None:
        self.first, self.margin, self.objective, self.changes = first, margin, objective, changes

    def resolve(self, instance: Instance, dispatcher: object, seed: int) -> Miso:
        """Return itself; raises NotApplicableError where the instance allows no such changes."""
        self.changes.refuse_other(instance)
        return self

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Return the partition that suits the jobs present best; the one in force where it is as good."""
        catalogue = state.instance.catalogue(gpu)
        stay = state.partitions[gpu]
        if stay is None:
            return PartitionDecision(catalogue[self.first])
        if stay.is_off or not state.cause & (Cause.ARRIVAL | Cause.COMPLETION):
            return PartitionDecision()
        open_to = [
            target
            for target in catalogue
            if target == stay
            or not (
                state.why_not_repartition(gpu, target)
                or not self.changes.allows(state, gpu, target)
            )
        ]
        jobs = self._jobs(state, gpu)
        if len(open_to) == 1 or not jobs:
            return PartitionDecision()
        best = self._best(state, gpu, jobs, tuple(open_to))
        if best is None:
            return PartitionDecision()
        number, answer = best
        now = self._ask(state, gpu, jobs[:number], (stay,))
        if now.possible and not self._better(answer, now):
            return PartitionDecision()
        wanted = sorted(place.profile for place in answer.partitions[0])
        suiting = [target for target in open_to if _holds(target, wanted)]
        return PartitionDecision(min(suiting, key=lambda target: len(stopped(state, gpu, target))))

    def _best(
        self, state: SimState, gpu: int, jobs: list[MixJob], partitions: tuple[Partition, ...]
    ) -> tuple[int, Recommendation] | None:
        """Return for how many jobs, from the front, there are slices at all, and the best ones."""
        for number in range(len(jobs), 0, -1):
            answer = self._ask(state, gpu, jobs[:number], partitions)
            if answer.possible:
                return number, answer
        return None

    def _ask(
        self, state: SimState, gpu: int, jobs: list[MixJob], partitions: tuple[Partition, ...]
    ) -> Recommendation:
        model = state.instance.gpus[gpu]
        return recommend(model, jobs, self.objective, partitions=partitions)

    def _better(self, answer: Recommendation, now: Recommendation) -> bool:
        assert answer.value is not None
        assert now.value is not None
        gain = answer.value - now.value
        if self.objective != "speed":
            gain = -gain
        return gain > Fraction(self.margin) * now.value

    def _jobs(self, state: SimState, gpu: int) -> list[MixJob]:
        jobs, key = state.instance.jobs, state.instance.gpus[gpu].key

        def order(job: int) -> tuple[int, int, int]:
            return (jobs[job].due_ms, jobs[job].release_ms, jobs[job].id)

        here = sorted((j for j, place in state.running.items() if place.gpu == gpu), key=order)
        dealt = sorted(state.waiting, key=order)[gpu :: len(state.instance.gpus)]
        most = max(len(partition) for partition in state.instance.catalogue(gpu))
        return [
            MixJob(str(jobs[j].id), jobs[j].rates.get(key, {}), jobs[j].memory_bytes)
            for j in [*here, *dealt][:most]
        ]


def _holds(partition: Partition, wanted: list[str]) -> bool:
    left = [place.profile for place in partition]
    return all(left.count(name) >= wanted.count(name) for name in set(wanted))


def make(argument: str = "") -> Miso:
    """Return the rule.

    Parameters
    ----------
    argument : str
        ``first=N`` (1), ``margin=SHARE`` (0), ``objective=speed`` or ``slowdown``, ``scope=slices`` (as
        the instance), ``keep=yes`` (no), separated by commas.
    """
    values = named("miso", argument, DEFAULTS)
    if values["objective"] not in ("speed", "slowdown"):
        raise InputError(f"miso: objective is speed or slowdown, not {values['objective']!r}")
    return Miso(
        whole_number("miso", "first", values["first"], 1),
        real_number("miso", "margin", values["margin"], 0.0, 1.0),
        values["objective"],
        changes_of("miso", values),
    )
