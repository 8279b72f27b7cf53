"""First schedules: moves and exchanges of jobs, from a list schedule and from shaken copies of the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.compiled import compiled

NONE = 1 << 60


@compiled
def order_cost(sequence: Any, count: int, m: int, jobs: Any) -> int:
    """Return the cost of ``count`` jobs in this order on machine m."""
    release, due, weight, duration = jobs
    time, cost = 0, 0
    for i in range(count):
        j = sequence[i]
        time = max(time, release[j]) + duration[m, j]
        cost += weight[j] * max(0, time - due[j])
    return cost


@compiled
def list_schedule(jobs: Any, sequence: Any, count: Any) -> None:
    """Give the jobs, in order of due dates, to the machine on which they are least late, then first done."""
    release, due, _, duration = jobs
    free = np.zeros(count.size, np.int64)
    count[:] = 0
    for j in np.argsort(due):
        chosen, least, soonest = -1, NONE, NONE
        for m in range(count.size):
            if duration[m, j] < 0:
                continue
            end = max(free[m], release[j]) + duration[m, j]
            late = max(0, end - due[j])
            if late < least or (late == least and end < soonest):
                chosen, least, soonest = m, late, end
        sequence[chosen, count[chosen]] = j
        count[chosen] += 1
        free[chosen] = soonest


@compiled
def take(sequence: Any, count: Any, m: int, at: int) -> int:
    """Take the job at a place of machine m out; return it."""
    job = sequence[m, at]
    for x in range(at, count[m] - 1):
        sequence[m, x] = sequence[m, x + 1]
    count[m] -= 1
    return int(job)


@compiled
def put(sequence: Any, count: Any, m: int, at: int, job: int) -> None:
    """Put a job at a place of machine m."""
    for x in range(count[m], at, -1):
        sequence[m, x] = sequence[m, x - 1]
    sequence[m, at] = job
    count[m] += 1


@compiled
def move_jobs(sequence: Any, count: Any, cost: Any, jobs: Any) -> bool:
    """Move each job to its best place; return whether anything was gained."""
    duration, gained = jobs[3], False
    for m in range(count.size):
        at = 0
        while at < count[m]:
            job = take(sequence, count, m, at)
            without = order_cost(sequence[m], count[m], m, jobs)
            best, to, place = cost[m] - without, m, at
            for other in range(count.size):
                if duration[other, job] < 0:
                    continue
                before = without if other == m else cost[other]
                for x in range(count[other] + 1):
                    put(sequence, count, other, x, job)
                    extra = order_cost(sequence[other], count[other], other, jobs) - before
                    take(sequence, count, other, x)
                    if extra < best:
                        best, to, place = extra, other, x
                        gained = True
            put(sequence, count, to, place, job)
            cost[m] = without
            cost[to] += best
            at += 1
    return gained


@compiled
def exchange_jobs(sequence: Any, count: Any, cost: Any, jobs: Any) -> bool:
    """Let pairs of jobs change places where that gains; return whether anything was gained."""
    duration, gained = jobs[3], False
    for a in range(count.size):
        for i in range(count[a]):
            for b in range(a, count.size):
                for x in range(i + 1 if b == a else 0, count[b]):
                    j, k = sequence[a, i], sequence[b, x]
                    if duration[a, k] < 0 or duration[b, j] < 0:
                        continue
                    sequence[a, i], sequence[b, x] = k, j
                    new_a = order_cost(sequence[a], count[a], a, jobs)
                    new_b = order_cost(sequence[b], count[b], b, jobs)
                    now = cost[a] if a == b else cost[a] + cost[b]
                    then = new_a if a == b else new_a + new_b
                    if then < now:
                        cost[a], cost[b] = new_a, new_b
                        gained = True
                    else:
                        sequence[a, i], sequence[b, x] = j, k
    return gained


@compiled
def improve(jobs: Any, best: Any, best_count: Any, tries: int, seed: int) -> int:
    """Improve the schedule in ``best`` in ``tries`` descents from shaken copies; return its cost.

    ``best_count`` of zeros asks for a list schedule to start from.
    """
    duration = jobs[3]
    np.random.seed(seed)
    machines = best_count.size
    if best_count.sum() == 0:
        list_schedule(jobs, best, best_count)
    sequence, count = best.copy(), best_count.copy()
    cost = np.zeros(machines, np.int64)
    least = NONE
    for _ in range(tries + 1):
        for m in range(machines):
            cost[m] = order_cost(sequence[m], count[m], m, jobs)
        while move_jobs(sequence, count, cost, jobs) or exchange_jobs(sequence, count, cost, jobs):
            pass
        total = cost.sum()
        if total <= least:
            least = total
            best[:], best_count[:] = sequence, count
        if least == 0:
            break
        sequence[:], count[:] = best, best_count
        for _ in range(np.random.randint(2, 6)):
            m = np.random.randint(machines)
            to = np.random.randint(machines)
            if count[m] == 0:
                continue
            at = np.random.randint(count[m])
            if duration[to, sequence[m, at]] < 0:
                continue
            job = take(sequence, count, m, at)
            put(sequence, count, to, np.random.randint(count[to] + 1), job)
    return int(least)
