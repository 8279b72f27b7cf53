"""What a solution of the relaxation or of the integer model says: orders to try, points to add, windows to close."""

from __future__ import annotations

import numpy as np

from migopt.exact.event_order import OrderPlan
from migopt.exact.interval_milp.grid import Windows
from migopt.exact.interval_milp.orders import Order, order_of
from migopt.exact.interval_milp.variables import Layout
from migopt.exact.one_gpu import Floats

#: Minutes below which an interval is not split further.
SHORTEST = 1e-4


def claimed_completions(layout: Layout, x: Floats) -> Floats:
    """Return per job the completion that a solution claims (its likeliest way, where that is split)."""
    p = layout.problem
    completion, weight = np.zeros(p.jobs), np.full(p.jobs, -1.0)
    for o, option in enumerate(layout.options):
        share = x[layout.lam[o]]
        if share <= weight[option.job]:
            continue
        weight[option.job] = share
        minutes = x[layout.u[o]].sum(axis=1)
        active = np.flatnonzero(minutes > 1e-7)
        last = int(active[-1]) if active.size and not option.late else len(minutes) - 1
        i = layout.begin[o] + last
        own = minutes[last] / max(share, 1e-9)
        completion[option.job] = layout.points[i] + min(own, layout.length[i])
    return completion


def order_from(layout: Layout, x: Floats) -> Order:
    """Return the order of events that a solution suggests, changes of partition included."""
    completion = claimed_completions(layout, x)
    if layout.mode == "one":
        return order_of(layout.problem, completion.tolist(), (), int(x[layout.z].argmax()))
    if layout.mode == "ignore":
        return order_of(layout.problem, completion.tolist())
    changes: list[tuple[float, int]] = []
    first = current = int(x[layout.f[0]].argmax())
    room = {int(i): r for r, i in enumerate(layout.roomy)}
    for i in range(layout.intervals):
        begin = int(x[layout.f[i]].argmax())
        minutes = np.array([x[y[i]].sum() for y in layout.y])
        at = float(layout.points[i])
        if begin != current:
            changes.append((at, begin))
            current = begin
        if i not in room:
            continue
        arrivals = x[layout.a[room[i]]]
        last = int((x[layout.f[i]] + arrivals - x[layout.d[room[i]]]).argmax())
        reached = [int(c) for c in np.flatnonzero(arrivals > 0.5)]
        inside = [c for c in reached if c not in (begin, last)]
        at += minutes[begin] if begin != last else minutes[begin] / 2
        for c in [*inside, *([last] if last in reached else [])]:
            if c != current:
                changes.append((at, c))
                current = c
                at += minutes[c] + layout.problem.tau
    return order_of(layout.problem, completion.tolist(), _useful(changes), first)


def _useful(changes: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Of changes at one moment keep the last."""
    return [
        change
        for n, change in enumerate(changes)
        if n + 1 == len(changes) or changes[n + 1][0] > change[0] + 1e-12
    ]


def close_windows(
    layout: Layout, windows: Windows, value: float, reduced: Floats, upper: float
) -> int:
    """Exclude ways to complete whose reduced cost lifts the relaxation's value to ``upper``."""
    closed = 0
    for o, option in enumerate(layout.options):
        if value + reduced[layout.lam[o]] >= upper:
            closed += 1
            if option.late:
                span = layout.points[option.last], layout.points[option.last + 1]
                windows.close(option.job, float(span[0]), float(span[1]))
            else:
                windows.on_time[option.job] = False
    return closed


def split_points(layout: Layout, x: Floats, share: float) -> list[float]:
    """Return the middle of every interval in which a late completion of at least ``share`` is placed."""
    found = []
    for o, option in enumerate(layout.options):
        if option.late and x[layout.lam[o]] > share and layout.length[option.last] > SHORTEST:
            found.append(float(layout.points[option.last : option.last + 2].mean()))
    return sorted(set(found))


def solution_points(layout: Layout, x: Floats, plan: OrderPlan | None) -> list[float]:
    """Return new points from an integer solution: its claimed late completions, and the plan's real ones."""
    p = layout.problem
    claimed = claimed_completions(layout, x)
    found = [float(claimed[j]) for j in range(p.jobs) if claimed[j] > p.due[j]]
    if plan is not None:
        real = plan.completion()
        for j in range(p.jobs):
            if real[j] > p.due[j]:
                found.append(real[j])
                if real[j] > claimed[j] > p.due[j] - 1e-9 and real[j] - claimed[j] > SHORTEST:
                    found.append((real[j] + float(claimed[j])) / 2)
    return found


def changing_times(plan: OrderPlan) -> list[float]:
    """Return the moments at which changes before the last completion begin and end."""
    last = max(plan.completion().values(), default=0.0)
    return [
        float(t)
        for event, t in zip(plan.events, plan.times, strict=True)
        if event.kind in ("off", "on") and t < last
    ]
