"""EDF-SS: earliest due date first, each job on the slowest free slice that is in time."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim import DispatchDecision, SimState
from migopt.sim.rules import ALL_ACTIVE, ORDER_DUE, SLOWEST_ON_TIME, CompiledRule


class EdfSs:
    """As EDF-FS, but each job takes the slowest free slice on which it meets its due date, else the fastest."""

    compiled = CompiledRule(ALL_ACTIVE, ORDER_DUE, SLOWEST_ON_TIME)

    def dispatch(self, state: SimState) -> DispatchDecision:
        """Return who runs where from now on."""
        plan = Plan(state)
        for job in sorted(plan.to_place(), key=state.due_key):
            if not plan.put_slowest_on_time(job):
                plan.put_fastest(job)
        return plan.decision()


def make(argument: str = "") -> EdfSs:
    """Return the rule; it takes no argument."""
    no_argument("edf_ss", argument)
    return EdfSs()
