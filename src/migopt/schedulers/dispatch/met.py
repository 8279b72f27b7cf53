"""MET: each job on the free slice of least marginal energy and tardiness (SMART-MIG)."""

from __future__ import annotations

from migopt.schedulers._arguments import no_argument
from migopt.schedulers.dispatch._in_order import InOrder
from migopt.schedulers.dispatch._plan import Plan
from migopt.sim.rules import MET, ORDER_DUE, met_weight


def _put(plan: Plan, job: int) -> bool:
    timed = plan.timed(job, plan.free())
    if timed:
        # ``free`` lists smaller slices first, so of equal costs the smaller slice wins.
        plan.put(job, min(timed, key=lambda item: _cost(plan, job, *item))[1])
    return bool(timed)


def _cost(plan: Plan, job: int, remaining_ms: int, position: int) -> int:
    """(a E + T) / (a + 1) in units in which it is an integer.

    With a = p / q, E in mW·ms (60e6 a W·min) and T in ms (60e3 a minute), a E + T is
    (p E + 1000 q T) / (60e6 q); what is left out is the same for every slice.
    """
    state = plan.state
    place = state.slices[position]
    curve = state.instance.power.get(state.instance.gpus[place.gpu].key)
    rise_mw = 0
    if curve is not None:
        level = sum(state.slices[p].compute_slices for p in plan.jobs_on(place.gpu))
        after = min(level + place.compute_slices, len(curve.busy_mw) - 1)
        top_mw = curve.busy_mw[after]
        if place.placement.profile == "off" and curve.off_busy_mw is not None:
            top_mw = curve.off_busy_mw
        rise_mw = top_mw - curve.busy_mw[level]
    tardiness_ms = max(0, state.now_ms + remaining_ms - state.instance.jobs[job].due_ms)
    weight = met_weight(state.instance.weight_a)
    return weight.numerator * rise_mw * remaining_ms + 1000 * weight.denominator * tardiness_ms


def make(argument: str = "") -> InOrder:
    """Return the rule; it takes no argument.

    Running jobs stay; waiting jobs in order of due date, each on the free slice that minimises
    (a x marginal energy + tardiness) / (a + 1), where marginal energy is (P(u + c) - P(u)) x
    remaining duration at the present busy level u. The weight a is rounded to the nearest fraction
    of a denominator up to 10^12, so that costs are integers.
    """
    no_argument("met", argument)
    return InOrder(lambda state, job: state.due_key(job), _put, ORDER_DUE, MET)
