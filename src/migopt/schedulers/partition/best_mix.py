"""Best static mix in hindsight: how many GPUs get which partition, by local search over counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from migopt.errors import InfeasiblePartitionError, MigoptError
from migopt.model import Instance
from migopt.schedulers._arguments import whole_number
from migopt.schedulers.partition.best_fixed import BestFixed
from migopt.schedulers.partition.static import Static
from migopt.schedulers.play import score
from migopt.sim import Dispatcher, PartitionDecision, Partitioner, SimState

#: Most simulations of one search.
SIMULATIONS = 2000

#: Partition number of each GPU; of the GPUs of one model, lower indices have lower numbers.
Mix = tuple[int, ...]


class BestMix:
    """Resolves to the static mix of partitions of least simulated cost that a local search finds.

    GPUs of one model are interchangeable, so a mix is a count per model and partition. The search
    starts with the best partition for all GPUs alike (``best_fixed``) and moves a number of GPUs of
    one model from one partition to another: half of them at first, taking the best such move while
    one lowers the cost, then half as many, down to one GPU. It ends when no move of one GPU gains, a
    local optimum, or after ``simulations``. Mixes on which some job cannot run are skipped; ties go
    to the mix tried first.
    """

    def __init__(self, simulations: int = SIMULATIONS) -> None:
        self.simulations = simulations

    def resolve(
        self, instance: Instance, dispatcher: Callable[[], Dispatcher], seed: int
    ) -> Partitioner:
        """Return the Static rule of the best mix found; raises as ``best_fixed`` does."""
        search = _Search(instance, dispatcher, seed, self.simulations)
        start = BestFixed().resolve(instance, dispatcher, seed)
        assert isinstance(start, Static)
        return Static(search.descend(start.numbers * len(instance.gpus)), everywhere=False)

    def partition(self, state: SimState, gpu: int) -> PartitionDecision:
        """Refuse: this rule only resolves to another."""
        raise MigoptError("best_mix must be resolved on the whole instance before it runs")


class _Search:
    """Descent over mixes, each simulated once."""

    def __init__(
        self, instance: Instance, dispatcher: Callable[[], Dispatcher], seed: int, simulations: int
    ) -> None:
        self.instance, self.dispatcher, self.seed = instance, dispatcher, seed
        self.left = simulations
        self.costs: dict[Mix, Fraction | None] = {}

    def cost(self, mix: Mix) -> Fraction | None:
        """Return the cost of a mix, None where a job cannot run on it or no simulation is left."""
        if mix not in self.costs:
            if self.left == 0:
                return None
            self.left -= 1
            rule = Static(mix, everywhere=False)
            try:
                figures = score(self.instance, self.dispatcher(), rule, seed=self.seed, jobs=False)
                self.costs[mix] = figures.cost_exact
            except InfeasiblePartitionError:
                self.costs[mix] = None
        return self.costs[mix]

    def descend(self, mix: Mix) -> Mix:
        """Return the mix at which no move gains any more."""
        best = self.cost(mix)
        step = max(1, len(mix) // 2)
        while best is not None:
            found = None
            for other in self._moves(mix, step):
                cost = self.cost(other)
                if cost is not None and cost < best:
                    best, found = cost, other
            if found is not None:
                mix = found
            elif step == 1:
                break
            else:
                step //= 2
        return mix

    def _moves(self, mix: Mix, step: int) -> Iterator[Mix]:
        for model in self.instance.gpu_models:
            mine = [gpu for gpu, other in enumerate(self.instance.gpus) if other.key == model.key]
            numbers = [mix[gpu] for gpu in mine]
            for old in sorted(set(numbers)):
                moved = min(step, numbers.count(old))
                for new in range(1, 1 + len(self.instance.catalogues[model.key])):
                    if new != old:
                        changed = sorted([*_without(numbers, old, moved), *[new] * moved])
                        yield _placed(mix, mine, changed)


def _without(numbers: list[int], number: int, count: int) -> list[int]:
    rest = list(numbers)
    for _ in range(count):
        rest.remove(number)
    return rest


def _placed(mix: Mix, gpus: list[int], numbers: list[int]) -> Mix:
    changed = list(mix)
    for gpu, number in zip(gpus, numbers, strict=True):
        changed[gpu] = number
    return tuple(changed)


def make(argument: str = "") -> BestMix:
    """Return the rule; the argument is the most simulations (2000 by default)."""
    if not argument:
        return BestMix()
    return BestMix(whole_number("best_mix", "the number of simulations", argument, 1))
