"""Rules without preemption: running jobs stay, waiting jobs take idle slices in a fixed order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from migopt.schedulers.dispatch._plan import Plan
from migopt.sim import DispatchDecision, SimState
from migopt.sim.rules import KEEP_RUNNING, CompiledRule


class InOrder:
    """Waiting jobs in order of ``key``; each takes the slice that ``put`` chooses among the idle ones.

    ``order`` and ``choice`` say the same to the kernel.
    """

    def __init__(
        self,
        key: Callable[[SimState, int], Any],
        put: Callable[[Plan, int], object],
        order: int,
        choice: int,
    ) -> None:
        self.key = key
        self.put = put
        self.compiled = CompiledRule(KEEP_RUNNING, order, choice)

    def dispatch(self, state: SimState) -> DispatchDecision:
        """Return who runs where from now on."""
        plan = Plan(state, keep_running=True)
        for job in sorted(state.waiting, key=lambda j: self.key(state, j)):
            self.put(plan, job)
        return plan.decision()
