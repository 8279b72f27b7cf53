"""Least laxity first, shared by the rules that measure laxity differently."""

from __future__ import annotations

from collections.abc import Callable

from migopt.errors import InputError
from migopt.schedulers._arguments import whole_number
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim import DispatchDecision, SimState
from migopt.sim.rules import ALL_ACTIVE, FASTEST, CompiledRule

#: A waiting job whose laxity falls to this asks for an extra decision (1 min).
THRESHOLD_MS = 60_000
#: How often one job may be stopped at such extra decisions.
MAX_STOPS = 3


class LeastLaxityFirst:
    """All active jobs in order of laxity (due - now - remaining duration); each takes the fastest free slice.

    When a waiting job's laxity falls to the threshold, one more decision is taken; at those, a job
    that they have stopped ``max_stops`` times keeps its slice.
    """

    def __init__(
        self,
        remaining_ms: Callable[[SimState, int], int | None],
        order: int,
        threshold_ms: int,
        max_stops: int,
    ) -> None:
        self.compiled = CompiledRule(ALL_ACTIVE, order, FASTEST, threshold_ms, max_stops)
        self.remaining_ms = remaining_ms
        self.threshold_ms = threshold_ms
        self.max_stops = max_stops

    def dispatch(self, state: SimState) -> DispatchDecision:
        """Return who runs where from now on, and when a waiting job becomes urgent."""
        pinned: tuple[int, ...] = ()
        if state.cause == state.cause.DISPATCH_WAKE:
            pinned = tuple(
                job for job in state.running if state.threshold_stops[job] >= self.max_stops
            )
        plan = Plan(state, pinned=pinned)
        remaining = {job: self.remaining_ms(state, job) for job in plan.to_place()}
        laxity = {
            job: state.instance.jobs[job].due_ms - state.now_ms - left
            for job, left in remaining.items()
            if left is not None
        }
        for job in sorted(laxity, key=lambda j: (laxity[j], state.due_key(j))):
            plan.put_fastest(job)
        planned = set(plan.runs.values())
        urgent = [
            state.now_ms + lax - self.threshold_ms
            for job, lax in laxity.items()
            if job not in planned
        ]
        return plan.decision(min((wake for wake in urgent if wake > state.now_ms), default=None))


def settings(rule: str, argument: str) -> tuple[int, int]:
    """Read ``threshold_ms=…,max_stops=…`` (either may be missing)."""
    values = {"threshold_ms": THRESHOLD_MS, "max_stops": MAX_STOPS}
    for item in filter(None, argument.split(",")):
        name, _, text = item.partition("=")
        if name not in values:
            raise InputError(f"{rule} takes threshold_ms=… and max_stops=…, not {item!r}")
        values[name] = whole_number(rule, name, text, 0)
    return values["threshold_ms"], values["max_stops"]
