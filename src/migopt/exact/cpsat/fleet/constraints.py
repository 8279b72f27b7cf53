"""Constraints of the fleet model, in two strengths.

*Relaxed*: seats, slices, changes, and area cuts from below on how long each busy level holds. *Full*: busy
levels measured exactly, as follows. Between two consecutive starts on a GPU jobs only end, so the level
only falls. For each job i and level l, ``high`` is at least the time from the start of i for which the level
is at least l before the next start: either until some later start on the GPU (a later one than the next
only makes it longer), or until all jobs have ended that started no later, but for some *spared* ones
that together stay below l. The time at level l is at least the sum of these.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

from ortools.sat.python import cp_model

from migopt.exact.cpsat.fleet.problem import Fleet, Rows
from migopt.exact.cpsat.fleet.values import Values
from migopt.exact.cpsat.fleet.variables import Hinted, Literal, Variables


def add_constraints(hinted: Hinted, fleet: Fleet, var: Variables, rows: Rows) -> None:
    """Add every constraint; exact levels only where their variables are there."""
    add_runs(hinted.model, fleet, var)
    add_slices(hinted.model, fleet, var)
    add_partitions(hinted, fleet, var, rows)
    add_equal_jobs(hinted.model, fleet, var)
    add_equal_gpus(hinted.model, fleet, var)
    if var.level_time:
        add_area(hinted.model, fleet, var)
    if var.exact_levels:
        add_order(hinted.model, fleet, var)
        add_levels(hinted, fleet, var, rows)


def add_runs(model: cp_model.CpModel, fleet: Fleet, var: Variables) -> None:
    """Each job takes one seat, without a stop; GPU, class and group are those of the seat."""
    for j, seats in enumerate(var.seat):
        model.add_exactly_one(seats.values())
        durations = {(g, c, k): duration for g, c, k, duration in fleet.seats(j)}
        whole = sum(durations[seat] * literal for seat, literal in seats.items())
        model.add(var.end[j] == var.start[j] + whole)
        model.add(var.late[j] >= var.end[j] - fleet.due[j])
        for g, literal in var.on[j].items():
            model.add(sum(z for seat, z in seats.items() if seat[0] == g) == literal)
        for key, literal in var.cls[j].items():
            model.add(sum(z for seat, z in seats.items() if seat[:2] == key) == literal)
        for (number, k), literal in var.group[j].items():
            here = [
                z for seat, z in seats.items() if fleet.kind_of[seat[0]] == number and seat[2] == k
            ]
            model.add(sum(here) == literal)


def add_slices(model: cp_model.CpModel, fleet: Fleet, var: Variables) -> None:
    """A class runs no more jobs at a time on a group than it has slices of it."""
    users: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for j, seats in enumerate(var.seat):
        for seat in seats:
            users[seat].append(j)
    for seat, jobs in users.items():
        gpu, c, k = seat
        slices = fleet.kind(gpu).classes[c].slices[k]
        if slices >= len(jobs):
            continue
        runs = []
        for j in jobs:
            duration = fleet.kind(gpu).durations[j][k]
            assert duration is not None
            literal, name = var.seat[j][seat], f"run{j},{seat}"
            runs.append(
                model.new_optional_interval_var(var.start[j], duration, var.end[j], literal, name)
            )
        if slices == 1:
            model.add_no_overlap(runs)
        else:
            model.add_cumulative(runs, [1] * len(runs), slices)


def add_partitions(hinted: Hinted, fleet: Fleet, var: Variables, rows: Rows) -> None:
    """Jobs of one GPU under different classes run at least tau apart; MIG off is kept, or never."""
    model = hinted.model
    for gpu in range(len(fleet.kind_of)):
        mine = {c: literal for (g, c), literal in var.keeps.items() if g == gpu}
        if not fleet.changing:
            model.add_exactly_one(mine.values())
        for j in range(fleet.count):
            for (g, c), literal in var.cls[j].items():
                if g != gpu:
                    continue
                if c in mine:
                    model.add_implication(literal, mine[c])
                else:
                    for off in mine.values():
                        model.add_implication(literal, off.negated())
    if not fleet.changing:
        return
    for i, j in combinations(range(fleet.count), 2):
        others = [(g, c) for g, c in var.cls[i] for h, d in var.cls[j] if g == h and c != d]
        if others:
            _apart(hinted, fleet, var, rows, i, j)


def _apart(hinted: Hinted, fleet: Fleet, var: Variables, rows: Rows, i: int, j: int) -> None:
    model, tau = hinted.model, fleet.tau
    ends = fleet.end(i, rows[i]), fleet.end(j, rows[j])
    first = hinted.literal(f"apart{i},{j}", ends[0] + tau <= rows[j].start)
    second = hinted.literal(f"apart{j},{i}", ends[1] + tau <= rows[i].start)
    model.add(var.end[i] + tau <= var.start[j]).only_enforce_if(first)
    model.add(var.end[j] + tau <= var.start[i]).only_enforce_if(second)
    model.add_at_most_one(first, second)
    for key, mine in var.cls[i].items():
        other = var.on[j].get(key[0])
        if other is None:
            continue
        same = var.cls[j].get(key)
        clause = [mine.negated(), other.negated(), first, second]
        model.add_bool_or(clause if same is None else [*clause, same])


def add_equal_jobs(model: cp_model.CpModel, fleet: Fleet, var: Variables) -> None:
    """Jobs that nothing tells apart start in order of index."""
    last: dict[object, int] = {}
    for j in range(fleet.count):
        job = fleet.instance.jobs[j]
        key = (job.release_ms, job.due_ms, job.weight, *(k.durations[j] for k in fleet.kinds))
        if key in last:
            model.add(var.start[last[key]] <= var.start[j])
        last[key] = j


def add_equal_gpus(model: cp_model.CpModel, fleet: Fleet, var: Variables) -> None:
    """Of GPUs of one kind the next is used only if an earlier job uses the one before."""
    for kind in fleet.kinds:
        for before, gpu in zip(kind.gpus, kind.gpus[1:], strict=False):
            for j in range(fleet.count):
                if gpu in var.on[j]:
                    earlier = [var.on[i][before] for i in range(j) if before in var.on[i]]
                    model.add_bool_or([var.on[j][gpu].negated(), *earlier])


def add_area(model: cp_model.CpModel, fleet: Fleet, var: Variables) -> None:
    """Area cuts: the busy vectors' times, over all GPUs of a kind, add up to what jobs run on each group."""
    for number, kind in enumerate(fleet.kinds):
        times = {counts: time for (n, counts), time in var.vector_time.items() if n == number}
        if not times:
            continue
        for k in range(len(kind.vectors.groups)):
            if k == kind.off_group:
                continue
            served = sum(counts[k] * time for counts, time in times.items() if counts[k])
            runs = [
                _length(fleet, number, j, k) * var.group[j][number, k]
                for j in range(fleet.count)
                if (number, k) in var.group[j]
            ]
            model.add(served == sum(runs))
        for (n, level), time in var.level_time.items():
            if n != number:
                continue
            reached = [item for counts, item in times.items() if kind.levels[counts] >= level]
            model.add(time == sum(reached))
            for j in range(fleet.count):
                large = [
                    _length(fleet, number, j, k) * literal
                    for (m, k), literal in var.group[j].items()
                    if m == number and kind.compute(k) >= level
                ]
                if large:
                    model.add(time >= sum(large))


def _length(fleet: Fleet, number: int, j: int, k: int) -> int:
    duration = fleet.kinds[number].durations[j][k]
    assert duration is not None
    return duration


def add_order(model: cp_model.CpModel, fleet: Fleet, var: Variables) -> None:
    """``before`` is the order of starts among jobs that share a GPU."""
    start = var.start
    for (i, j), literal in var.before.items():
        later = start[j] if i < j else start[j] - 1
        model.add(start[i] <= later).only_enforce_if(literal)
        if i > j:
            continue
        other = var.before[j, i]
        model.add_at_most_one(literal, other)
        for g, here in var.on[i].items():
            if g in var.on[j]:
                there = var.on[j][g]
                model.add_bool_or(here.negated(), there.negated(), literal, other)
                for either in (literal, other):
                    model.add_bool_or(either.negated(), here.negated(), there)
                    model.add_bool_or(either.negated(), there.negated(), here)
            else:
                for either in (literal, other):
                    model.add_implication(either, here.negated())


def add_levels(hinted: Hinted, fleet: Fleet, var: Variables, rows: Rows) -> None:
    """``level_time`` is at least the sum of the times that the level holds from each start on (see above)."""
    values = Values(fleet, rows)
    high: dict[tuple[int, int], list[cp_model.IntVar]] = defaultdict(list)
    for i in range(fleet.count):
        until, closers = _next_start(hinted, fleet, var, values, i)
        for number, level in var.level_time:
            if any(n == number for n, _ in var.group[i]):
                held = _high(hinted, fleet, var, values, i, number, level, until, closers)
                high[number, level].append(held)
    for key, time in var.level_time.items():
        hinted.model.add(time >= sum(high[key]))


def _next_start(
    hinted: Hinted, fleet: Fleet, var: Variables, values: Values, i: int
) -> tuple[cp_model.IntVar, list[Literal]]:
    """Return the time from the start of job i to a later start on its GPU, and the literals "to job j's"."""
    model = hinted.model
    following = values.following(i)
    gap = 0 if following is None else values.rows[following].start - values.rows[i].start
    until = hinted.integer(0, fleet.horizon, f"until{i}", gap)
    closers = []
    for j in range(fleet.count):
        if (i, j) in var.before:
            literal = hinted.literal(f"closes{i},{j}", j == following)
            model.add_implication(literal, var.before[i, j])
            model.add(until >= var.start[j] - var.start[i]).only_enforce_if(literal)
            closers.append(literal)
    if closers:
        model.add_at_most_one(closers)
    return until, closers


def _high(
    hinted: Hinted,
    fleet: Fleet,
    var: Variables,
    values: Values,
    i: int,
    number: int,
    level: int,
    until: cp_model.IntVar,
    closers: list[Literal],
) -> cp_model.IntVar:
    """Return the time for which the level holds from the start of job i to the next start."""
    model, kind, tag = hinted.model, fleet.kinds[number], f"{i},{number},{level}"
    mine = fleet.kind_of[values.rows[i].gpu] == number
    time, to_next, running = values.high(i, level) if mine else (0, False, set())
    held = hinted.integer(0, fleet.horizon, f"high{tag}", time)
    here = [lit for (n, _), lit in var.group[i].items() if n == number]
    elsewhere = len(here) < len(var.group[i])
    # Where job i may run on another kind, nothing is asked unless it runs on this one.
    asks: list[Literal] = []
    if elsewhere:
        asks = [hinted.literal(f"asks{tag}", mine)]
        model.add(sum(here) == asks[0])
    next_start = hinted.literal(f"next{tag}", to_next)
    model.add_bool_or([*closers, next_start.negated()])
    model.add(held >= until).only_enforce_if([next_start, *asks])
    below = max(reached for reached in kind.levels.values() if reached < level)
    spared: list[cp_model.LinearExprT] = []
    for m in range(fleet.count):
        if m != i and (m, i) not in var.before:
            continue
        earlier = [] if m == i else [var.before[m, i]]
        spare = _spare(hinted, fleet, var, values, m, number, below, tag, m in running, spared)
        kept = [] if spare is None else [spare.negated()]
        enforced = [next_start.negated(), *asks, *earlier, *kept]
        model.add(held >= var.end[m] - var.start[i]).only_enforce_if(enforced)
    if spared:
        model.add(sum(spared) <= below)
    return held


def _spare(
    hinted: Hinted,
    fleet: Fleet,
    var: Variables,
    values: Values,
    m: int,
    number: int,
    below: int,
    tag: str,
    value: bool,
    spared: list[cp_model.LinearExprT],
) -> Literal | None:
    """Return the literal "job m may run on while the level is low", adding its demand to ``spared``."""
    kind, model = fleet.kinds[number], hinted.model
    groups = {k: literal for (n, k), literal in var.group[m].items() if n == number}
    fitting = [k for k in groups if kind.compute(k) <= below]
    if not fitting:
        return None
    spare = hinted.literal(f"spare{m},{tag}", value)
    row = values.rows[m]
    for k, literal in groups.items():
        if k not in fitting:
            model.add_implication(spare, literal.negated())
        elif kind.compute(k):
            mine = value and (fleet.kind_of[row.gpu], row.group) == (number, k)
            demand = hinted.literal(f"spare{m},{k},{tag}", mine)
            model.add_bool_or(spare.negated(), literal.negated(), demand)
            spared.append(kind.compute(k) * demand)
    return spare
