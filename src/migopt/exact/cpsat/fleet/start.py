"""First schedules of the fleet model: list scheduling with changes, improved by a short local search."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from migopt.exact.cpsat.fleet.decode import from_schedule, in_gpu_order
from migopt.exact.cpsat.fleet.problem import Fleet, Row, Rows
from migopt.model import Schedule


def first_rows(fleet: Fleet, hints: Sequence[Schedule], seed: int, seconds: float) -> Rows:
    """Return the cheapest of the hints that belong to the class and some list schedules, at least one."""
    given = [rows for hint in hints if (rows := from_schedule(fleet, hint)) is not None]
    jobs = range(fleet.count)
    orders = [
        sorted(jobs, key=lambda j: (fleet.due[j], j)),
        sorted(jobs, key=lambda j: (fleet.release[j], fleet.due[j], j)),
    ]
    best = list_schedule(fleet, orders[0])
    cost = fleet.cost(best)
    began, draw = time.perf_counter(), random.Random(seed)
    order = orders[0]
    for attempt in range(30 * fleet.count):
        if time.perf_counter() - began > seconds:
            break
        if attempt == 0:
            trial = orders[1]
        else:
            trial = list(order)
            trial.insert(draw.randrange(fleet.count), trial.pop(draw.randrange(fleet.count)))
        rows = list_schedule(fleet, trial)
        value = fleet.cost(rows)
        if value <= cost:
            best, cost, order = rows, value, trial
    return min([*given, in_gpu_order(fleet, best)], key=fleet.cost)


def list_schedule(
    fleet: Fleet, order: Sequence[int], allowed: Sequence[frozenset[int]] | None = None
) -> Rows:
    """Place jobs in order, each on the seat where lateness and slices held cost least, as early as it can.

    Raises
    ------
    ValueError
        No choice of partitions runs every job.
    """
    rows: dict[int, Row] = {}
    for j in order:
        options = []
        for gpu, c, k, duration in fleet.seats(j):
            start = _earliest(fleet, rows, j, gpu, c, k)
            if start is None or (allowed is not None and c not in allowed[gpu]):
                continue
            kind = fleet.kind(gpu)
            rate = kind.off_cost if k == kind.off_group else kind.slope * kind.compute(k)
            late = fleet.late_cost[j] * max(0, start + duration - fleet.due[j])
            options.append((late + rate * duration, start + duration, gpu, c, k, start))
        if not options:
            # What earlier jobs took rules this one out; with classes shared out first that cannot be.
            return list_schedule(fleet, order, share_out(fleet))
        _, _, gpu, c, k, start = min(options)
        rows[j] = Row(gpu, c, k, start)
    return tuple(rows[j] for j in range(fleet.count))


def _earliest(fleet: Fleet, rows: dict[int, Row], j: int, gpu: int, c: int, k: int) -> int | None:
    """Return the earliest start on a seat beside the rows placed; None where the GPU keeps another class."""
    kind = fleet.kind(gpu)
    here = {i: row for i, row in rows.items() if row.gpu == gpu}
    others = [i for i, row in here.items() if row.cls != c]
    kept = {row.cls for row in here.values()}
    if others and (not fleet.changing or kind.off in (c, *kept)):
        return None
    duration = kind.durations[j][k]
    assert duration is not None
    ends = [fleet.end(i, row) for i, row in here.items()]
    starts = {fleet.release[j], *ends, *(end + fleet.tau for end in ends)}
    rivals = [
        (row.start, fleet.end(i, row)) for i, row in here.items() if (row.cls, row.group) == (c, k)
    ]
    blocks = [(here[i].start - fleet.tau, fleet.end(i, here[i]) + fleet.tau) for i in others]
    for start in sorted(moment for moment in starts if moment >= fleet.release[j]):
        end = start + duration
        if any(begin < end and start < stop for begin, stop in blocks):
            continue
        meeting = [(b, e) for b, e in rivals if b < end and start < e]
        moments = {start, *(b for b, _ in meeting if b > start)}
        crowd = max(sum(b <= at < e for b, e in meeting) for at in moments)
        if crowd < kind.classes[c].slices[k]:
            return start
    return None


def share_out(fleet: Fleet) -> list[frozenset[int]]:
    """Return classes for every GPU, one or those that may follow each other, such that every job has a seat.

    Raises
    ------
    ValueError
        There is no such choice.
    """
    everyone = frozenset(range(fleet.count))
    reached: dict[frozenset[int], list[frozenset[int]]] = {frozenset(): []}
    for gpu in range(len(fleet.kind_of)):
        following: dict[frozenset[int], list[frozenset[int]]] = {}
        for classes in _choices(fleet, gpu):
            seated = frozenset(
                j for j in everyone for g, c, _, _ in fleet.seats(j) if g == gpu and c in classes
            )
            for done, chosen in reached.items():
                following.setdefault(done | seated, [*chosen, classes])
        reached = following
    if everyone not in reached:
        raise ValueError("no choice of one partition per GPU runs every job")
    return reached[everyone]


def _choices(fleet: Fleet, gpu: int) -> list[frozenset[int]]:
    kind = fleet.kind(gpu)
    classes = range(len(kind.classes))
    if not fleet.changing:
        return [frozenset((c,)) for c in classes]
    mig = frozenset(c for c in classes if c != kind.off)
    return [mig] if kind.off is None else [mig, frozenset((kind.off,))]
