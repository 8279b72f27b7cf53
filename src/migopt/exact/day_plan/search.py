"""Local search on a priced list schedule, compiled and incremental.

The schedule is what a state-feedback rule does: at every arrival, completion, end of a change and
switch of a job's price, choose the busy vector and assignment that maximise
sum_j v_j s_jk - alpha (P_b - P_0), with the same kernel as the bound. The search moves the numbers of
the rule: per job a price v_j that may switch once to a second value, and per arrival how far ahead a
change of partition must pay and which partition to take. Only the stretch of the day that a move
touches is simulated again: a snapshot before each arrival tells when the old course is met.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from migopt.bounds.kernel import Tables, assigned_groups, best_of, fill
from migopt.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Most jobs present at once; a course with more is given up as too bad.
MOST_ACTIVE = 160
#: Equal states: remaining work, and times in minutes, agree to this.
SAME = 1e-11
RELEASE, DONE, OFF, ON = 0, 1, 2, 3


class Day(NamedTuple):
    """The problem, jobs in order of release; minutes and units of cost."""

    release: Floats
    due: Floats
    speed: Floats
    late_cost: Floats
    vector_cost: Floats
    tables: Tables
    tau: float


class Rule(NamedTuple):
    """The numbers that are searched, one per job.

    Attributes
    ----------
    early, late : float arrays
        Price of the whole job before and from ``switch`` on (minutes after the release).
    switch : float array
    ahead : float array
        From this arrival on, a change is made when its gain over this many minutes pays for tau.
    take : int64 array
        Partition type to take after an idle time or by a change, if it holds the wanted vector; -1
        for the first that does.
    """

    early: Floats
    late: Floats
    switch: Floats
    ahead: Floats
    take: Ints


class Course(NamedTuple):
    """Snapshots just before each arrival (one more row for the end), and cost up to there."""

    present: Ints
    jobs: Ints
    rest: Floats
    type_: Ints
    ready: Floats
    empty: Floats
    cost: Floats


def new_course(jobs: int) -> Course:
    """Return empty snapshots; the first is the state at the start: no job, any partition."""
    rows = jobs + 1
    return Course(
        np.zeros(rows, np.int64),
        np.zeros((rows, MOST_ACTIVE), np.int64),
        np.zeros((rows, MOST_ACTIVE)),
        np.full(rows, -1, np.int64),
        np.full(rows, -1e18),
        np.full(rows, -1e18),
        np.zeros(rows),
    )


class Scratch(NamedTuple):
    """Buffers of one simulation."""

    jobs: Ints
    rest: Floats
    prices: Floats
    choice: Any
    value: Floats
    groups: Ints
    every: Any


def new_scratch(day: Day) -> Scratch:
    """Return buffers for one thread."""
    groups, vectors = day.speed.shape[1], day.vector_cost.size
    return Scratch(
        np.zeros(MOST_ACTIVE + 1, np.int64),
        np.zeros(MOST_ACTIVE + 1),
        np.zeros((MOST_ACTIVE + 1, groups)),
        np.zeros((MOST_ACTIVE + 1, vectors), np.int8),
        np.zeros(vectors),
        np.zeros(MOST_ACTIVE + 1, np.int64),
        np.ones(vectors, np.bool_),
    )


@compiled
def _type_with(inside: Any, b: int, wish: int) -> int:
    """Return the wished type if it holds vector b, else the first that does."""
    if wish >= 0 and inside[wish, b]:
        return wish
    for c in range(inside.shape[0]):
        if inside[c, b]:
            return c
    return -1


@compiled
def run(
    day: Any,
    rule: Any,
    begin: int,
    old: Any,
    new: Any,
    changed_until: int,
    changed: Any,
    scratch: Any,
    log: Any,
) -> tuple[int, float, int]:
    """Simulate from just before arrival ``begin`` until the old course is met, or to the end.

    Returns
    -------
    (n, cost, events) : (int, float, int)
        The old course is met just before arrival n (the number of jobs for the end); cost from
        ``begin`` to there, infinite if it was given up; events written to ``log`` (time, kind, who)
        if that has rows.
    """
    jobs, rest, prices, choice, value, groups, every = scratch
    total = day.release.size
    tables, inside = day.tables, day.tables.inside
    m = old.present[begin]
    for q in range(m):
        jobs[q], rest[q] = old.jobs[begin, q], old.rest[begin, q]
    c, ready, empty = old.type_[begin], old.ready[begin], old.empty[begin]
    t = day.release[begin] if begin < total else 0.0
    n, cost, logged = begin, 0.0, 0
    writes = log.shape[0] > 0
    known = c
    while True:
        while n < total and day.release[n] <= t + 1e-12:
            new.present[n], new.type_[n], new.ready[n] = m, c, ready
            new.empty[n], new.cost[n] = empty, cost
            same = n > begin and n > changed_until and m == old.present[n]
            if same:
                both_free = m == 0 and t - max(empty, old.empty[n]) >= day.tau
                both_free = both_free and max(ready, old.ready[n]) <= t
                if not both_free:
                    # Idle for tau, any partition can be had; else partition and clocks must agree.
                    same = c == old.type_[n]
                    same = same and abs(max(ready, t) - max(old.ready[n], t)) < SAME
                    same = same and (m > 0 or abs(empty - old.empty[n]) < SAME)
            for q in range(m):
                new.jobs[n, q], new.rest[n, q] = jobs[q], rest[q]
                if same and (
                    jobs[q] != old.jobs[n, q]
                    or abs(rest[q] - old.rest[n, q]) > SAME
                    or changed[jobs[q]]
                ):
                    same = False
            if same:
                return n, cost, logged
            if m >= MOST_ACTIVE - 1:
                return n, np.inf, logged
            if m == 0 and t - empty >= day.tau and ready <= t:
                # Idle for tau: whatever partition is wanted can have been prepared.
                known = c if c >= 0 else known
                c = -1
            jobs[m], rest[m] = n, 1.0
            m += 1
            if writes:
                log[logged, 0], log[logged, 1], log[logged, 2] = t, RELEASE, n
                logged += 1
            n += 1
        if m == 0:
            if n >= total:
                break
            t = day.release[n]
            continue
        later = day.release[n] if n < total else np.inf
        if t < ready - 1e-12:
            t = min(ready, later)
            continue
        after = later
        for q in range(m):
            j = jobs[q]
            at = day.release[j] + rule.switch[j]
            v = rule.early[j]
            if t >= at - 1e-12:
                v = rule.late[j]
            elif at < after:
                after = at
            for k in range(prices.shape[1]):
                prices[q, k] = v * day.speed[j, k]
        fill(prices, m, tables, value, choice)
        last = n - 1
        wanted, most = best_of(value, day.vector_cost, every)
        if wanted == 0 and after == np.inf:
            # Nothing more will happen: run what is worth most, whatever it costs.
            for b in range(1, value.size):
                if (value[b] > most or wanted == 0) and value[b] > 0.0:
                    wanted, most = b, value[b]
            if wanted == 0:
                return n, np.inf, logged
            if c >= 0 and not inside[c, wanted]:
                ready = t + day.tau
                target = _type_with(inside, wanted, rule.take[last])
                if writes:
                    log[logged, 0], log[logged, 1], log[logged, 2] = t, OFF, c
                    log[logged + 1, 0], log[logged + 1, 1] = ready, ON
                    log[logged + 1, 2] = target
                    logged += 2
                c = target
                continue
        if c < 0:
            # A wish counts after an idle time even if another type holds the vector, too.
            c = rule.take[last]
            if c < 0:
                c = _type_with(inside, wanted, -1)
            if writes and known != c:
                since = t if empty < -1e17 else empty
                log[logged, 0], log[logged, 1], log[logged, 2] = since, OFF, known
                log[logged + 1, 0], log[logged + 1, 1], log[logged + 1, 2] = t, ON, c
                logged += 2
            known = c
        b = wanted
        if not inside[c, b]:
            b, here = best_of(value, day.vector_cost, inside[c])
            gain = most - here
            if gain * rule.ahead[last] > day.tau * most:
                target = _type_with(inside, wanted, rule.take[last])
                ready = t + day.tau
                if writes:
                    log[logged, 0], log[logged, 1], log[logged, 2] = t, OFF, c
                    log[logged + 1, 0], log[logged + 1, 1] = ready, ON
                    log[logged + 1, 2] = target
                    logged += 2
                c = known = target
                if day.tau > 0.0:
                    continue
                b = wanted
            elif b == 0 and after == np.inf:
                # Nothing here pays and nothing else will happen: take the best there is.
                for o in range(1, value.size):
                    if inside[c, o] and value[o] > here:
                        b, here = o, value[o]
                if b == 0:
                    target = _type_with(inside, wanted, rule.take[last])
                    ready = t + day.tau
                    if writes:
                        log[logged, 0], log[logged, 1], log[logged, 2] = t, OFF, c
                        log[logged + 1, 0], log[logged + 1, 1] = ready, ON
                        log[logged + 1, 2] = target
                        logged += 2
                    c = known = target
                    if day.tau > 0.0:
                        continue
                    b = wanted
        for q in range(m):
            groups[q] = -1
        if b > 0:
            assigned_groups(choice, m, b, tables, groups)
        step = after - t
        first = -1
        for q in range(m):
            if groups[q] >= 0:
                need = rest[q] / day.speed[jobs[q], groups[q]]
                if need <= step:
                    step, first = need, q
        if not step < np.inf:
            return n, np.inf, logged
        cost += day.vector_cost[b] * step
        t = after if first < 0 else t + step
        kept = 0
        for q in range(m):
            j = jobs[q]
            if groups[q] >= 0:
                rest[q] -= step * day.speed[j, groups[q]]
            if q == first or (groups[q] >= 0 and rest[q] <= 1e-12):
                cost += day.late_cost[j] * max(0.0, t - day.due[j])
                if writes:
                    log[logged, 0], log[logged, 1], log[logged, 2] = t, DONE, j
                    logged += 1
            else:
                jobs[kept], rest[kept] = j, rest[q]
                kept += 1
        m = kept
        if m == 0:
            empty = t
    return total, cost, logged


@compiled
def _adopt(begin: int, end: int, new: Any, old: Any, base: float, shift: float) -> None:
    """Take over new snapshots begin + 1 .. end - 1, and add ``shift`` to the costs from end on."""
    for n in range(begin + 1, end):
        m = new.present[n]
        old.present[n], old.type_[n] = m, new.type_[n]
        old.ready[n], old.empty[n] = new.ready[n], new.empty[n]
        old.cost[n] = base + new.cost[n]
        for q in range(m):
            old.jobs[n, q], old.rest[n, q] = new.jobs[n, q], new.rest[n, q]
    for n in range(max(end, begin + 1), old.cost.size):
        old.cost[n] += shift


@compiled
def whole(
    day: Any, rule: Any, course: Any, scratch: Any, changed: Any, log: Any
) -> tuple[float, int]:
    """Simulate the whole day into ``course``; return its cost and the events written to ``log``."""
    total = day.release.size
    for n in range(1, total + 1):
        course.present[n] = -1
    _, cost, events = run(day, rule, 0, course, course, total, changed, scratch, log)
    course.cost[total] = cost
    return cost, events


@compiled
def _move(day: Any, rule: Any, j: int, low: int, high: int, types: int) -> None:
    """Change one number of job j at random."""
    kind = np.random.random()
    if kind < 0.25:
        factor = np.exp(0.6 * np.random.normal())
        rule.early[j] *= factor
        rule.late[j] *= factor
    elif kind < 0.40:
        rule.early[j] *= np.exp(0.6 * np.random.normal())
    elif kind < 0.55:
        rule.late[j] *= np.exp(0.6 * np.random.normal())
    elif kind < 0.65:
        rule.switch[j] = max(0.0, rule.switch[j] * np.exp(0.5 * np.random.normal()))
        if rule.switch[j] == 0.0:
            rule.switch[j] = np.random.random() * (day.due[j] - day.release[j] + 0.1)
    elif kind < 0.72:
        # Switch when another job arrives.
        other = min(day.release.size - 1, j + 1 + np.random.randint(0, 6))
        rule.switch[j] = max(0.0, day.release[other] - day.release[j])
    elif kind < 0.80:
        other = min(max(j + np.random.randint(-5, 6), low), high - 1)
        rule.early[j], rule.early[other] = rule.early[other], rule.early[j]
        rule.late[j], rule.late[other] = rule.late[other], rule.late[j]
    elif kind < 0.90:
        rule.take[j] = np.random.randint(-1, types)
    else:
        rule.ahead[j] *= np.exp(np.random.normal())


@compiled
def anneal(
    day: Any,
    rule: Any,
    course: Any,
    spare: Any,
    scratch: Any,
    low: int,
    high: int,
    trials: int,
    hot: float,
    cold: float,
    top: float,
    seed: int,
) -> tuple[float, float]:
    """Anneal the numbers of jobs low .. high - 1; the best rule found is left in ``rule``.

    Parameters
    ----------
    hot, cold : float
        First and last temperature, in units of cost.
    top : float
        Largest price of a job.

    Returns
    -------
    (best, now) : costs
        Of the best rule; of where the walk ended.
    """
    np.random.seed(seed)
    total = day.release.size
    types = day.tables.inside.shape[0]
    changed = np.zeros(total, np.bool_)
    none = np.empty((0, 3))
    now = course.cost[total]
    best = now
    keep_f = np.empty((4, total))
    keep_i = rule.take.copy()
    keep_f[0, :], keep_f[1, :] = rule.early, rule.late
    keep_f[2, :], keep_f[3, :] = rule.switch, rule.ahead
    # What a move changes, to take it back: at most three jobs and one neighbour each.
    back = np.empty((12, 6))
    for trial in range(trials):
        heat = hot * (cold / hot) ** (trial / trials)
        count = 1 + (np.random.random() < 0.35) + (np.random.random() < 0.15)
        first, last = total, 0
        saved = 0
        centre = np.random.randint(low, high)
        for _ in range(count):
            j = min(max(centre + np.random.randint(-4, 5), low), high - 1)
            a, b = max(j - 5, low), min(j + 6, high)
            snap_e, snap_l = rule.early[a:b].copy(), rule.late[a:b].copy()
            switch, ahead, take = rule.switch[j], rule.ahead[j], rule.take[j]
            _move(day, rule, j, low, high, types)
            for o in range(a, b):
                if o == j or rule.early[o] != snap_e[o - a] or rule.late[o] != snap_l[o - a]:
                    rule.early[o] = min(max(rule.early[o], 1e-6 * top), top)
                    rule.late[o] = min(max(rule.late[o], 1e-6 * top), top)
                    rule.ahead[o] = min(max(rule.ahead[o], 1e-3), 1e6)
                    back[saved, 0] = o
                    back[saved, 1], back[saved, 2] = snap_e[o - a], snap_l[o - a]
                    back[saved, 3] = switch if o == j else rule.switch[o]
                    back[saved, 4] = ahead if o == j else rule.ahead[o]
                    back[saved, 5] = take if o == j else rule.take[o]
                    saved += 1
                    first, last = min(first, o), max(last, o)
                    changed[o] = True
        end, cost, _ = run(day, rule, first, course, spare, last, changed, scratch, none)
        shift = course.cost[first] + cost - course.cost[end]
        accepted = shift <= 0.0 or np.random.random() < np.exp(-shift / heat)
        if cost == np.inf or cost != cost:
            accepted = False
        if accepted:
            _adopt(first, end, spare, course, course.cost[first], shift)
            now += shift
        for q in range(saved - 1, -1, -1):
            o = int(back[q, 0])
            changed[o] = False
            if not accepted:
                rule.early[o], rule.late[o] = back[q, 1], back[q, 2]
                rule.switch[o], rule.ahead[o] = back[q, 3], back[q, 4]
                rule.take[o] = int(back[q, 5])
        if accepted and now < best - 1e-12:
            best = now
            for j in range(low, high):
                keep_f[0, j], keep_f[1, j] = rule.early[j], rule.late[j]
                keep_f[2, j], keep_f[3, j] = rule.switch[j], rule.ahead[j]
                keep_i[j] = rule.take[j]
    for j in range(low, high):
        rule.early[j], rule.late[j] = keep_f[0, j], keep_f[1, j]
        rule.switch[j], rule.ahead[j] = keep_f[2, j], keep_f[3, j]
        rule.take[j] = keep_i[j]
    return best, now
