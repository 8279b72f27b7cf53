"""EDF-FS: earliest due date first, each job on the fastest free slice."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim import DispatchDecision, SimState
from migopt.sim.rules import ALL_ACTIVE, FASTEST, ORDER_DUE, CompiledRule


class EdfFs:
    """At every event all active jobs in order of due date; each takes the fastest free slice for it."""

    compiled = CompiledRule(ALL_ACTIVE, ORDER_DUE, FASTEST)

    def dispatch(self, state: SimState) -> DispatchDecision:
        """Return who runs where from now on."""
        plan = Plan(state)
        for job in sorted(plan.to_place(), key=state.due_key):
            plan.put_fastest(job)
        return plan.decision()


def make(argument: str = "") -> EdfFs:
    """Return the rule; it takes no argument."""
    no_argument("edf_fs", argument)
    return EdfFs()
