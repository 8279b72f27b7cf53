"""Which stretches of a day are searched: busy periods in proportion to what they cost above the LP's share."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from migopt.exact.day_plan.exact_window import exact_window, suits
from migopt.exact.day_plan.lp_start import LpStart
from migopt.exact.day_plan.order import improve
from migopt.exact.day_plan.program import DayOrder
from migopt.exact.day_plan.stretch import Stretch, put, take
from migopt.exact.day_plan.stretch_search import search_stretch
from migopt.exact.event_order import Event, OrderPlan
from migopt.exact.one_gpu import OneGpu
from migopt.model import Schedule

#: A busy period of more jobs is searched in pieces of so many events.
WHOLE_JOBS, PIECE_EVENTS = 12, (14, 40)
#: Seconds of search per job and visit, the more visits in vain the longer; least and most per visit.
PER_JOB, LEAST, MOST = 0.03, 0.1, 6.0
#: Factor on a period's weight after a visit in vain, and share of visits that take in the next period.
FADE, WITH_NEXT = 0.7, 0.25
#: A period visited in vain so often goes to the interval MILP, for at most so long, a share of the time
#: that is left, if that is long enough; one that is proven best counts as visited in vain so often.
EXACT_AFTER, EXACT_SECONDS, EXACT_SHARE, LEAST_EXACT, PROVEN = 2, 10.0, 0.08, 0.5, 60
#: Shares of the time after which the LP of the whole day is solved again.
DAY_AGAIN = 0.2


@dataclass
class Found:
    """Best plan of one case so far.

    Attributes
    ----------
    problem, solver : OneGpu, DayOrder
    plan : OrderPlan or None
    shares : LpStart or None
        The day LP's shares of the cost.
    schedule, decoded : Schedule or None, float
        In ticks, and its cost with the constant.
    tried, improved, exact : int
        Stretches searched, and those that became cheaper; jobs in busy periods proven best.
    exact_gain : float
        What the interval MILP saved beyond the search.
    solve_s, decode_s : float
        Seconds that the last event-order LP of the day took, and the last decoding.
    vain, windows : dict, set
        Visits in vain by first job of the period; jobs of the periods handed to the interval MILP.
    """

    problem: OneGpu
    solver: DayOrder
    plan: OrderPlan | None = None
    shares: LpStart | None = None
    schedule: Schedule | None = None
    decoded: float = np.inf
    tried: int = 0
    improved: int = 0
    exact: int = 0
    exact_gain: float = 0.0
    solve_s: float = 0.0
    decode_s: float = 0.0
    vain: dict[int, int] = field(default_factory=dict)
    windows: set[tuple[int, ...]] = field(default_factory=set)

    @property
    def cost(self) -> float:
        """Cost above the constant; infinite without a plan."""
        return np.inf if self.plan is None else self.plan.cost

    def offer(self, plan: OrderPlan) -> None:
        """Keep the plan if it is the best."""
        if plan.cost < self.cost:
            self.plan = plan

    def solve_day(
        self, events: Sequence[Event], first: int | None, *, deadline: float = np.inf
    ) -> OrderPlan | None:
        """Return the best plan of an order of the whole day, None where there is none or time is over."""
        began = time.perf_counter()
        plan = self.solver.solve(events, first, deadline=deadline)
        self.solve_s = time.perf_counter() - began
        return plan

    def tardiness(self) -> float:
        """Return the tardiness part of the plan's cost."""
        assert self.plan is not None
        p = self.problem
        done = self.plan.completion()
        return float(sum(p.late_cost[j] * max(0.0, t - p.due[j]) for j, t in done.items()))


def busy_spans(plan: OrderPlan) -> list[tuple[int, int]]:
    """Return per busy period the stretch (begin, end) from the end of the last one to the next one's start."""
    firsts, lasts = [], []
    present = 0
    for e, event in enumerate(plan.events):
        if event.kind == "release":
            if present == 0:
                firsts.append(e)
            present += 1
        elif event.kind == "done":
            present -= 1
            if present == 0:
                lasts.append(e)
    spans = []
    for n in range(len(firsts)):
        begin = -1 if n == 0 else lasts[n - 1]
        end = len(plan.events) if n + 1 == len(firsts) else firsts[n + 1]
        # A change that goes on while the next period begins stays whole, outside.
        while end < len(plan.events) and plan.first is not None and plan.in_force[end - 1] is None:
            end -= 1
        if end > lasts[n]:
            spans.append((begin, end))
    return spans


def improve_stretches(
    found: Found, deadline: float, seed: int, tell: Callable[[float], None]
) -> None:
    """Search busy periods and pieces of them until ``deadline``; the plan never gets dearer."""
    draw = random.Random(seed)
    began = time.perf_counter()
    again = began + DAY_AGAIN * (deadline - began)
    while (now := time.perf_counter()) < deadline and found.plan is not None:
        if now > again:
            _solve_day(found, deadline, seed)
            again = now + DAY_AGAIN * (deadline - began)
            tell(found.cost + found.problem.constant)
        chosen = _choose(found, draw)
        if chosen is None:
            return
        key, stretch = chosen
        vain = found.vain.get(key, 0)
        if (
            vain >= EXACT_AFTER
            and stretch.jobs not in found.windows
            and suits(found.problem, stretch)
        ):
            seconds = min(EXACT_SECONDS, EXACT_SHARE * (deadline - now))
            if seconds >= LEAST_EXACT:
                _solve_exactly(found, key, stretch, seconds, seed)
                continue
        seconds = min(max(LEAST, PER_JOB * len(stretch.jobs) * (1 + vain)), MOST)
        better = search_stretch(found.problem, stretch, min(seconds, deadline - now), draw)
        found.tried += 1
        if better is None:
            found.vain[key] = vain + 1
        else:
            found.improved += 1
            found.vain[key] = 0
            found.plan = put(found.plan, stretch, better)


def _solve_exactly(found: Found, key: int, stretch: Stretch, seconds: float, seed: int) -> None:
    """Hand a busy period to the interval MILP; one that is proven best is not searched again."""
    assert found.plan is not None
    found.windows.add(stretch.jobs)
    exact = exact_window(found.problem, stretch, seconds, seed)
    cost = stretch.cost
    if exact.plan is not None and exact.plan.cost < cost * (1 - 1e-9):
        found.plan = put(found.plan, stretch, exact.plan)
        cost = exact.plan.cost
        found.exact_gain += stretch.cost - cost
    if exact.closes(cost):
        found.exact += len(stretch.jobs)
        found.vain[key] = PROVEN


def _solve_day(found: Found, deadline: float, seed: int) -> None:
    """Solve the LP of the whole day, whose exchanges reach across stretches."""
    assert found.plan is not None
    plan = found.solve_day(found.plan.events, found.plan.first, deadline=deadline)
    if plan is not None:
        found.offer(improve(found.solver, plan, deadline, seed, rounds=8))


def _choose(found: Found, draw: random.Random) -> tuple[int, Stretch] | None:
    """Return a stretch, and the first job of the busy period that it belongs to."""
    plan, problem = found.plan, found.problem
    assert plan is not None
    spans = busy_spans(plan)
    if not spans:
        return None
    weights = _excess(found, plan, spans)
    keys = [
        next(event.who for event in plan.events[max(b, 0) : e] if event.kind == "release")
        for b, e in spans
    ]
    weights *= np.array([FADE ** found.vain.get(key, 0) for key in keys])
    for _ in range(20):
        at = draw.choices(range(len(spans)), weights=weights.tolist())[0]
        begin, end = spans[at]
        if at + 1 < len(spans) and draw.random() < WITH_NEXT:
            end = spans[at + 1][1]
        if sum(event.kind == "done" for event in plan.events[begin + 1 : end]) > WHOLE_JOBS:
            length = draw.randint(*PIECE_EVENTS)
            begin = draw.randint(begin, max(begin, end - length // 2))
            end = min(end, begin + length)
        stretch = take(problem, plan, begin, end)
        if stretch is not None and any(event.kind == "done" for event in stretch.events):
            return keys[at], stretch
    return None


def _excess(found: Found, plan: OrderPlan, spans: list[tuple[int, int]]) -> np.ndarray:
    """Return what each span costs above the day LP's share of it, and a little more."""
    problem, shares = found.problem, found.shares
    out = []
    for begin, end in spans:
        cost = 0.0
        for gap in range(max(begin, 0), min(end, len(plan.pieces))):
            cost += sum(problem.vector_cost[item[0]] * m for item, m in plan.pieces[gap])
        jobs = []
        for e in range(begin + 1, end):
            event = plan.events[e]
            if event.kind == "done":
                jobs.append(event.who)
                late = max(0.0, float(plan.times[e]) - float(problem.due[event.who]))
                cost += float(problem.late_cost[event.who]) * late
        if shares is not None:
            t0 = 0.0 if begin < 0 else float(plan.times[begin])
            t1 = np.inf if end >= len(plan.events) else float(plan.times[end])
            earned = np.interp([t0, min(t1, shares.times[-1])], shares.times, shares.earned)
            cost -= float(shares.job_share[jobs].sum()) - float(earned[1] - earned[0])
        out.append(max(cost, 0.0))
    floor = 1e-3 * max(plan.cost, 1e-12) / max(len(spans), 1)
    return np.array(out) + floor


def transplanted(
    problem: OneGpu, plan: OrderPlan, other: OrderPlan, deadline: float = np.inf
) -> OrderPlan:
    """Return the plan with the busy periods of ``other`` that are cheaper for the same jobs, while time is left."""
    theirs = {}
    for begin, end in busy_spans(other):
        own = other.events[begin + 1 : end]
        theirs[frozenset(event.who for event in own if event.kind == "done")] = (begin, end)
    jobs_of = [
        frozenset(event.who for event in plan.events[b + 1 : e] if event.kind == "done")
        for b, e in busy_spans(plan)
    ]
    for jobs in jobs_of:
        if time.perf_counter() > deadline:
            break
        if jobs not in theirs:
            continue
        # Positions move as periods are replaced.
        span = next(
            (
                (b, e)
                for b, e in busy_spans(plan)
                if jobs
                == frozenset(event.who for event in plan.events[b + 1 : e] if event.kind == "done")
            ),
            None,
        )
        stretch = None if span is None else take(problem, plan, *span)
        if stretch is None:
            continue
        found = _with_events(problem, stretch, other, *theirs[jobs])
        if found is not None and found.cost < stretch.cost:
            plan = put(plan, stretch, found)
    return plan


def _with_events(
    problem: OneGpu, stretch: Stretch, other: OrderPlan, begin: int, end: int
) -> OrderPlan | None:
    """Return the best plan of the stretch with the events of another plan's span."""
    place = {j: q for q, j in enumerate(stretch.jobs)}
    events = [
        event._replace(who=place[event.who]) if event.kind in ("release", "done") else event
        for event in other.events[begin + 1 : end]
    ]
    while events and events[-1].kind in ("off", "on"):
        events.pop()
    if stretch.first is not None:
        enters = other.first if begin < 0 else other.in_force[begin]
        assert enters is not None
        if enters != stretch.first:
            events[:0] = [Event("off", -1), Event("on", enters)]
    return stretch.solver(problem).solve(*stretch.order(tuple(events)), latest=stretch.latest)
