"""Stretches of a day plan: cut out, searched and pasted back, they agree with the LP of the whole day."""

from __future__ import annotations

import random

import numpy as np
import pytest

from migopt.exact.day_plan.exact_window import exact_window, suits
from migopt.exact.day_plan.lp_start import lp_order
from migopt.exact.day_plan.order import improve
from migopt.exact.day_plan.program import DayOrder
from migopt.exact.day_plan.stretch import put, take
from migopt.exact.day_plan.stretch_search import search_stretch
from migopt.exact.day_plan.stretches import busy_spans, transplanted
from migopt.exact.interval_milp.orders import is_valid
from migopt.exact.one_gpu import one_gpu
from migopt.io.generators import generate


@pytest.fixture(scope="module", params=["s0-slack", "s0-tight"])
def day(request):
    """A day of 40 jobs with its LP order's plan."""
    return _planned(request.param)


def _planned(scenario):
    instance = generate(scenario, seed=3, jobs=40)
    problem = one_gpu(instance)
    start = lp_order(problem, 20.0)
    assert start is not None
    assert is_valid(start.events)
    solver = DayOrder(problem)
    plan = solver.solve(start.events, start.first)
    assert plan is not None
    return problem, solver, plan


def _stretches(problem, plan, seed, count=60):
    draw = random.Random(seed)
    for _ in range(count):
        begin = draw.randrange(-1, len(plan.events) - 4)
        stretch = take(problem, plan, begin, min(len(plan.events), begin + draw.randrange(6, 40)))
        if stretch is not None:
            yield stretch


def test_a_stretch_costs_what_it_cost(day):
    """The LP of a stretch with its own events reaches at most the plan's cost there, and fits back in."""
    problem, _, plan = day
    count = 0
    for stretch in _stretches(problem, plan, 1):
        found = stretch.solver(problem).solve(*stretch.order(stretch.events), latest=stretch.latest)
        assert found is not None
        assert found.cost <= stretch.cost + 1e-7
        back = put(plan, stretch, found)
        assert len(back.pieces) == len(back.in_force) == len(back.events) - 1
        assert set(back.events) == set(plan.events)
        assert (back.times[1:] >= back.times[:-1] - 1e-7).all()
        count += 1
    assert count >= 5


def test_pasted_cost_is_the_cost_of_the_day(day):
    """Searching stretches lowers the cost, and the LP of the whole day confirms the sum (to 1e-6)."""
    problem, solver, plan = day
    draw = random.Random(5)
    now = plan
    for seconds in (0.1, 0.3, 1.0, 3.0, 10.0):
        for begin, end in busy_spans(now)[:4]:
            stretch = take(problem, now, begin, end)
            better = None if stretch is None else search_stretch(problem, stretch, seconds, draw)
            if better is not None:
                assert better.cost < stretch.cost
                now = put(now, stretch, better)
        if now.cost < plan.cost:
            break
    assert now.cost < plan.cost
    again = solver.solve(now.events, now.first)
    assert again is not None
    assert again.cost <= now.cost + 1e-6


def test_busy_spans_cover_every_completion_once(day):
    """Every job completes in exactly one busy period."""
    _, _, plan = day
    done = [
        event.who
        for begin, end in busy_spans(plan)
        for event in plan.events[begin + 1 : end]
        if event.kind == "done"
    ]
    assert sorted(done) == sorted(set(done))
    assert len(done) >= 0.9 * sum(event.kind == "done" for event in plan.events)


def test_transplanting_takes_the_cheaper_periods(day):
    """A dear plan given the periods of a cheap one costs no more than before; of itself, the same."""
    problem, solver, plan = day
    better = improve(solver, plan, float("inf"), 1, rounds=12)
    mixed = transplanted(problem, plan, better)
    assert mixed.cost <= plan.cost + 1e-12
    assert transplanted(problem, better, better).cost == pytest.approx(better.cost, rel=1e-6)


def test_exact_window_proves_what_the_search_finds():
    """The interval MILP's bound of a busy period is below every plan of it, and closes one to 0.01 %."""
    problem, _, plan = _planned("s0-tight")
    closed = 0
    for begin, end in busy_spans(plan):
        stretch = take(problem, plan, begin, end)
        if stretch is None or not suits(problem, stretch) or len(stretch.jobs) > 5:
            continue
        exact = exact_window(problem, stretch, 60.0, 1)
        searched = search_stretch(problem, stretch, 0.2, random.Random(1))
        cost = min(stretch.cost, np.inf if searched is None else searched.cost)
        assert exact.lower <= cost * (1 + 1e-6)
        if exact.plan is not None:
            assert exact.lower <= exact.plan.cost * (1 + 1e-6)
            closed += exact.closes(min(cost, exact.plan.cost))
        if closed:
            break
    assert closed
