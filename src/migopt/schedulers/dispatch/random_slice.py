"""Random: waiting jobs in order of due date, each on a random free slice (SMART-MIG)."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim import DispatchDecision, SimState
from migopt.sim.random import SplitMix64
from migopt.sim.rules import KEEP_RUNNING, ORDER_DUE, RANDOM, CompiledRule


class RandomSlice:
    """Running jobs stay; each waiting job takes any of the free slices on which it fits.

    The numbers come from SplitMix64 started with the seed of the run.
    """

    compiled = CompiledRule(KEEP_RUNNING, ORDER_DUE, RANDOM)

    def __init__(self) -> None:
        self.draws: SplitMix64 | None = None

    def dispatch(self, state: SimState) -> DispatchDecision:
        """Return who runs where from now on."""
        if self.draws is None:
            self.draws = SplitMix64(state.seed)
        plan = Plan(state, keep_running=True)
        for job in sorted(state.waiting, key=state.due_key):
            timed = plan.timed(job, plan.free())
            if timed:
                plan.put(job, timed[self.draws.below(len(timed))][1])
        return plan.decision()


def make(argument: str = "") -> RandomSlice:
    """Return the rule; it takes no argument."""
    no_argument("random_slice", argument)
    return RandomSlice()
