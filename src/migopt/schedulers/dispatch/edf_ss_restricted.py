"""EDF-SS restricted: running jobs stay, unless a waiting job with an earlier due date needs their slice."""

from __future__ import annotations

import heapq

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim import DispatchDecision, SimState
from migopt.sim.rules import ORDER_DUE, RESTRICTED, SLOWEST_ON_TIME, CompiledRule


class EdfSsRestricted:
    """Waiting jobs in order of due date, each in turn.

    (i) the slowest idle slice on which it is on time; (ii) else the slowest slice on which it is
    on time and whose job has a later due date: that job is stopped and re-enters the pass;
    (iii) else the fastest idle slice; (iv) else it waits.
    """

    compiled = CompiledRule(RESTRICTED, ORDER_DUE, SLOWEST_ON_TIME)

    def dispatch(self, state: SimState) -> DispatchDecision:
        """Return who runs where from now on."""
        plan = Plan(state, keep_running=True)
        queue = [(state.due_key(job), job) for job in state.waiting]
        heapq.heapify(queue)
        while queue:
            job = heapq.heappop(queue)[1]
            if plan.put_slowest_on_time(job):
                continue
            position = _slice_to_take(plan, job)
            if position is None:
                plan.put_fastest(job)
                continue
            victim = plan.runs[position]
            plan.put(job, position)
            heapq.heappush(queue, (state.due_key(victim), victim))
        return plan.decision()


def _slice_to_take(plan: Plan, job: int) -> int | None:
    state = plan.state
    due = state.instance.jobs[job].due_ms
    later = [
        position
        for position, running in sorted(plan.runs.items())
        if state.instance.jobs[running].due_ms > due and state.may_stop(running)
    ]
    on_time = plan.on_time(job, plan.timed(job, later))
    if not on_time:
        return None
    # Of equally slow slices the one whose job is due latest, then the smaller one.
    return max(on_time, key=lambda item: (item[0], state.instance.jobs[plan.runs[item[1]]].due_ms))[
        1
    ]


def make(argument: str = "") -> EdfSsRestricted:
    """Return the rule; it takes no argument."""
    no_argument("edf_ss_restricted", argument)
    return EdfSsRestricted()
