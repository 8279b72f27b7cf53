"""Constraints of the model of one case, in two strengths.

*Relaxed*: jobs on slices, and area cuts from below on how long each level is busy. Its optimum is a lower
bound, its schedules are schedules; it is quickly solved. *Full*: busy levels measured exactly.

Slices of one group are interchangeable; of the first i jobs none needs more than the first i of them, which
removes most of the symmetry.

Busy levels are measured between consecutive starts. Jobs are ordered by start (``before``); in the *gap*
that ends where job i starts and begins where the job before it starts, jobs only end, so the busy level only
falls. The part of that gap with level below l reaches back from start_i to the moment at which the jobs
still running fit below l: choose jobs to *spare*, together at most the next lower level, and the part may
reach back to the latest end of the others. Each such part is bounded above by differences of times, the
objective wants them long, and

    level_time_l >= (last end - first release) - sum of the parts below l.
"""

from __future__ import annotations

from itertools import combinations, pairwise

from ortools.sat.python import cp_model

from migopt.exact.cpsat.case import Case
from migopt.exact.cpsat.variables import Variables
from migopt.model import Job


def add_constraints(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """Add every constraint of the case; the exact levels only where their variables are there."""
    add_runs(model, case, variables)
    add_equal_jobs(model, case, variables)
    if variables.level_time:
        add_area(model, case, variables)
    if variables.before:
        add_order(model, case, variables)
        for level in variables.level_time:
            add_level_time(model, case, variables, level)


def add_runs(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """Each job runs once, without a stop, on one group, and there on one slice that runs nothing else."""
    for j, use in enumerate(variables.use):
        start, end = variables.start[j], variables.end[j]
        model.add_exactly_one(use.values())
        durations = dict(case.modes(j))
        model.add(end == start + sum(durations[k] * literal for k, literal in use.items()))
        model.add(variables.late[j] >= end - case.due[j])
    for group, count in enumerate(case.slices):
        users = [j for j, use in enumerate(variables.use) if group in use]
        if count < len(users):
            add_slices(model, case, variables, group, users)


def add_slices(
    model: cp_model.CpModel, case: Case, variables: Variables, group: int, users: list[int]
) -> None:
    """Lay the runs on the slices of one group, on each of them one after the other."""
    count = case.slices[group]
    runs: list[list[cp_model.IntervalVar]] = [[] for _ in range(count)]
    for position, j in enumerate(users):
        whole = variables.use[j][group]
        name = f"{j},{group}"
        on = [whole] if count == 1 else []
        while len(on) < min(count, position + 1):
            on.append(model.new_bool_var(f"on{name},{len(on)}"))
        if count > 1:
            model.add(sum(on) == whole)
        duration = dict(case.modes(j))[group]
        for slice_runs, literal in zip(runs, on, strict=False):
            run = model.new_optional_interval_var(
                variables.start[j], duration, variables.end[j], literal, f"run{name}"
            )
            slice_runs.append(run)
    for slice_runs in runs:
        model.add_no_overlap(slice_runs)


def add_equal_jobs(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """Jobs that nothing tells apart start in order of index."""
    last: dict[object, int] = {}
    for j, job in enumerate(case.instance.jobs):
        key = _kind(job, case.durations[j])
        if key in last:
            model.add(variables.start[last[key]] <= variables.start[j])
        last[key] = j


def _kind(job: Job, durations: tuple[int | None, ...]) -> tuple[object, ...]:
    return job.release_ms, job.due_ms, job.weight, durations


def add_windows(
    model: cp_model.CpModel, case: Case, variables: Variables, latest: list[int]
) -> None:
    """Area cuts per interval between releases, due dates and latest ends: jobs run inside their windows.

    They hold of the true times, and cost many variables; they help where windows are narrow.
    """
    points = {*case.release, *latest, *(due for due in case.due if due < max(latest))}
    grid = sorted(point for point in points if point >= case.first)
    total: dict[tuple[int, ...], list[cp_model.IntVar]] = {c: [] for c in variables.vector_time}
    served: dict[tuple[int, int], list[cp_model.IntVar]] = {
        (j, k): [] for j, use in enumerate(variables.use) for k in use
    }
    for begin, end in pairwise(grid):
        inside = [j for j in range(case.count) if case.release[j] <= begin and latest[j] >= end]
        if not inside:
            continue
        length, tag = end - begin, f"{begin}"
        times = {c: model.new_int_var(0, length, f"vector{c},{tag}") for c in total}
        model.add(sum(times.values()) <= length)
        runs = {
            j: {
                k: model.new_int_var(0, min(length, dict(case.modes(j))[k]), f"in{j},{k},{tag}")
                for k in variables.use[j]
            }
            for j in inside
        }
        for counts, time in times.items():
            total[counts].append(time)
        for j, parts in runs.items():
            _inside(model, variables, j, parts, begin, end)
            for k, part in parts.items():
                served[j, k].append(part)
            for level in variables.level_time:
                large = [part for k, part in parts.items() if case.compute[k] >= level]
                reached = [time for c, time in times.items() if case.levels[c] >= level]
                if large:
                    model.add(sum(large) <= sum(reached))
        for k in range(len(case.slices)):
            busy = sum(counts[k] * time for counts, time in times.items() if counts[k])
            model.add(sum(parts[k] for parts in runs.values() if k in parts) == busy)
    for counts, times_of in total.items():
        model.add(variables.vector_time[counts] == sum(times_of))
    for (j, k), parts_of in served.items():
        model.add(sum(parts_of) == dict(case.modes(j))[k] * variables.use[j][k])


def _inside(
    model: cp_model.CpModel,
    variables: Variables,
    job: int,
    parts: dict[int, cp_model.IntVar],
    begin: int,
    end: int,
) -> None:
    """A job runs in an interval for no longer than it overlaps it, and only on its own group."""
    whole = sum(parts.values())
    for k, part in parts.items():
        model.add(part <= (end - begin) * variables.use[job][k])
    for room in (end - variables.start[job], variables.end[job] - begin):
        meets = model.new_bool_var(f"meets{job},{begin}")
        model.add(whole <= room).only_enforce_if(meets)
        model.add(whole == 0).only_enforce_if(meets.negated())


def add_order(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """``before`` is the order of starts; ``last_end`` the latest end."""
    start = variables.start
    for i, j in combinations(range(case.count), 2):
        first = variables.before[i, j]
        model.add(start[i] <= start[j]).only_enforce_if(first)
        model.add(start[j] < start[i]).only_enforce_if(first.negated())
    assert variables.last_end is not None
    model.add_max_equality(variables.last_end, variables.end)


def add_area(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """Area cuts: the busy vectors' times add up to what the jobs run on each group.

    They hold of the true times, so they cut nothing off.
    """
    times = variables.vector_time
    for k in range(len(case.slices)):
        served = sum(counts[k] * time for counts, time in times.items() if counts[k])
        runs = []
        for j, use in enumerate(variables.use):
            if k in use:
                runs.append(dict(case.modes(j))[k] * use[k])
        model.add(served == sum(runs))
    for level, time in variables.level_time.items():
        reached = sum(item for counts, item in times.items() if case.levels[counts] >= level)
        model.add(time == reached)
        for j, use in enumerate(variables.use):
            large = [
                duration * use[k]
                for k, duration in case.modes(j)
                if k in use and case.compute[k] >= level
            ]
            if large:
                model.add(time >= sum(large))


def add_level_time(model: cp_model.CpModel, case: Case, variables: Variables, level: int) -> None:
    """``level_time[level]`` is at least the time with that many busy compute slices (see above)."""
    assert variables.last_end is not None
    below = max(reached for reached in case.levels.values() if reached < level)
    gaps = [
        _gap(model, case, variables, level, below, next_job)
        for next_job in (*range(case.count), None)
    ]
    model.add(variables.level_time[level] >= variables.last_end - case.first - sum(gaps))


def _gap(
    model: cp_model.CpModel,
    case: Case,
    variables: Variables,
    level: int,
    below: int,
    next_job: int | None,
) -> cp_model.IntVar:
    """Return the time below ``level`` in the gap before ``next_job`` starts (None: before the last end)."""
    tag = f"{level},{'end' if next_job is None else next_job}"
    closes = variables.last_end if next_job is None else variables.start[next_job]
    assert closes is not None
    part = model.new_int_var(0, variables.span, f"gap{tag}")
    counts = model.new_bool_var(f"counts{tag}")
    model.add(part == 0).only_enforce_if(counts.negated())
    model.add(part <= closes - case.first)
    spared: list[cp_model.LinearExprT] = []
    for j in range(case.count):
        if j == next_job:
            continue
        earlier = [] if next_job is None else [variables.before[j, next_job]]
        model.add(part <= closes - variables.start[j]).only_enforce_if(earlier)
        spare = _spare(model, case, variables, j, below, tag, spared)
        held = [counts, *earlier, *([] if spare is None else [spare.negated()])]
        model.add(part <= closes - variables.end[j]).only_enforce_if(held)
    if spared:
        model.add(sum(spared) <= below)
    return part


def _spare(
    model: cp_model.CpModel,
    case: Case,
    variables: Variables,
    job: int,
    below: int,
    tag: str,
    spared: list[cp_model.LinearExprT],
) -> cp_model.IntVar | None:
    """Return the literal "this job may run on while the level is low", adding its demand to ``spared``."""
    use = variables.use[job]
    fitting = [k for k in use if case.compute[k] <= below]
    if not fitting:
        return None
    spare = model.new_bool_var(f"spare{job},{tag}")
    for k, literal in use.items():
        if k not in fitting:
            model.add_implication(spare, literal.negated())
    if len(fitting) == 1:
        spared.append(case.compute[fitting[0]] * spare)
        return spare
    for k in fitting:
        demand = model.new_bool_var(f"spare{job},{k},{tag}")
        model.add_bool_or(spare.negated(), use[k].negated(), demand)
        spared.append(case.compute[k] * demand)
    return spare
