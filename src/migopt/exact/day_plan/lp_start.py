"""An order of events from the day LP: the cheapest use of the GPU with free changes, made a plan with tau.

The LP (``migopt.exact.lp_bound``) ignores tau and lets jobs complete in fractions; where deadlines are
loose its solution is nearly a schedule. Its pieces are put in a row, with as few changes of partition as
a dynamic program over (interval, class) finds, and played with changes that take tau: what comes too
late for that moves back. The order of events is all that is kept; the event-order LP finds the times.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from migopt.bounds.split.evaluate import Evaluator
from migopt.bounds.split.problem import build_problem
from migopt.exact.event_order import Assignment, Event
from migopt.exact.lp_bound import DayLp
from migopt.exact.one_gpu import Floats, OneGpu

#: Cost of a change that fits into idle time, where one that does not costs 1.
IDLE_CHANGE = 0.02

#: An interval's pieces: (assignment, minutes).
Pieces = list[tuple[Assignment, float]]
#: Classes in force in an interval, in order, each with the pieces that run in it.
Row = list[tuple[int, Pieces]]


@dataclass(frozen=True)
class LpStart:
    """An order of events, and the LP's share of the cost over time.

    Attributes
    ----------
    events : tuple of Event
    first : int or None
        Class in force from the start; None where changes are free.
    job_share : array (jobs,)
        What each job costs at the LP's prices.
    times, earned : arrays
        Minutes, and what the GPU earns at these prices up to then: a stretch costs about the shares of
        its jobs minus what is earned in it.
    """

    events: tuple[Event, ...]
    first: int | None
    job_share: Floats
    times: Floats
    earned: Floats


def lp_order(problem: OneGpu, seconds: float) -> LpStart | None:
    """Return an order of events from the day LP, None if ``seconds`` are not enough for a solution."""
    case = "off" if problem.vectors.off_vector is not None else "mig"
    alone = problem.class_numbers[0] if case == "mig" and len(problem.classes) == 1 else 0
    split = build_problem(problem.instance, case, uniform=0, partition=alone)  # type: ignore[arg-type]
    lp = DayLp(split)
    prices = lp.solve(time.perf_counter() + seconds).prices
    by_interval: dict[int, Pieces] = {}
    pieces = lp.pieces()
    if pieces is None:
        return None
    for interval, item, minutes in pieces:
        by_interval.setdefault(interval, []).append((item, minutes))
    first: int | None = None
    if problem.tau == 0:
        rows = {i: [(-1, pieces)] for i, pieces in by_interval.items()}
        events = _play(problem, split.times, rows, -1)
    else:
        first, rows = _classes(problem, split.lengths, by_interval)
        events = _play(problem, split.times, rows, first)
    evaluator = Evaluator(split)
    evaluator(prices)
    earned = np.concatenate(([0.0], np.cumsum(evaluator.interval_value)))
    return LpStart(events, first, evaluator.job_value, split.times, earned)


def _classes(
    problem: OneGpu, lengths: Floats, pieces: dict[int, Pieces]
) -> tuple[int, dict[int, Row]]:
    """Return the first class and the rows of the path of classes with the least cost of changes."""
    members = [frozenset(vectors) for vectors in problem.classes]
    total = np.zeros(len(members))
    paths: list[dict[int, tuple[int, ...]]] = []
    for i, own in pieces.items():
        idle = float(lengths[i]) - sum(minutes for _, minutes in own)
        free = int(idle // problem.tau)
        found = _cover([item[0] for item, _ in own], members, total, free)
        total = np.array([found[c][0] if c in found else np.inf for c in range(len(members))])
        paths.append({c: path for c, (_, path) in found.items()})
    current = int(total.argmin())
    rows: dict[int, Row] = {}
    for (i, own), path_to in zip(reversed(pieces.items()), reversed(paths), strict=True):
        path = path_to[current]
        left, row = list(own), []
        for c in path:
            row.append((c, [piece for piece in left if piece[0][0] in members[c]]))
            left = [piece for piece in left if piece[0][0] not in members[c]]
        rows[i] = row
        current = path[0]
    return current, dict(sorted(rows.items()))


def _cover(
    vectors: list[int], members: list[frozenset[int]], total: Floats, free: int
) -> dict[int, tuple[float, tuple[int, ...]]]:
    """Return per last class the cheapest path of classes in which all ``vectors`` can run.

    ``total[c]`` is the cost of coming in with class c; the first ``free`` changes fit in idle time.
    """
    masks = [sum(1 << q for q, b in enumerate(vectors) if b in inside) for inside in members]
    full = (1 << len(vectors)) - 1
    now: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {
        (masks[c], c): (float(total[c]), (c,)) for c in range(len(members))
    }
    best = dict(now)
    number = 0
    while now:
        toll = IDLE_CHANGE if number < free else 1.0
        after: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {}
        for (mask, c), (cost, path) in now.items():
            for d, more in enumerate(masks):
                state = (mask | more, d)
                # A change serves a piece, or comes last to be ready for the next interval.
                if d == c or (state[0] == mask and mask != full):
                    continue
                if state not in best or cost + toll < best[state][0] - 1e-12:
                    best[state] = after[state] = (cost + toll, (*path, d))
        now = after
        number += 1
    return {c: best[full, c] for c in range(len(members)) if (full, c) in best}


def _play(problem: OneGpu, times: Floats, rows: dict[int, Row], first: int) -> tuple[Event, ...]:
    """Play the rows one after the other, none before its interval; return the events in order of time."""
    final: dict[int, tuple[int, int, int]] = {}
    for i, row in rows.items():
        for n, (_, pieces) in enumerate(row):
            for q, ((_, pairs), _) in enumerate(pieces):
                final.update({j: (i, n, q) for j, _ in pairs})
    timed = [(float(t), 0, j, Event("release", j)) for j, t in enumerate(problem.release)]
    now, current, number = 0.0, first, 0
    for i, row in rows.items():
        for n, (c, pieces) in enumerate(row):
            if c != current:
                timed.append((now, 1, number, Event("off", -1)))
                now += problem.tau
                timed.append((now, 1, number + 1, Event("on", c)))
                current, number = c, number + 2
            now = max(now, float(times[i]))
            for q, ((_, pairs), minutes) in enumerate(pieces):
                now += minutes
                for j, _ in pairs:
                    if final[j] == (i, n, q):
                        timed.append((now, 1, number, Event("done", j)))
                        number += 1
    for j in set(range(problem.jobs)) - set(final):
        timed.append((max(now, float(problem.release[j])), 1, number, Event("done", j)))
        number += 1
    timed.sort(key=lambda item: item[:3])
    return tuple(item[3] for item in timed)
