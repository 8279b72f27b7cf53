"""Constraints of the model of one case.

Slices of one group are interchangeable: jobs that never overlap more than ``n`` at a time can be laid on
``n`` slices (intervals are coloured by as many colours as overlap at most), so each group is one cumulative
resource and placements are chosen afterwards.

Busy levels are measured between consecutive starts. Jobs are ordered by start (``before``); in the *gap*
that ends where job i starts and begins where the job before it starts, jobs only end, so the busy level only
falls. The part of that gap with level below l reaches back from start_i to the moment at which the jobs
still running fit below l: choose jobs to *spare*, together at most the next lower level, and the part may
reach back to the latest end of the others. Each such part is bounded above by differences of times, the
objective wants them long, and

    level_time_l >= (last end - first release) - sum of the parts below l.
"""

from __future__ import annotations

from itertools import combinations

from ortools.sat.python import cp_model

from migopt.exact.cpsat.case import Case
from migopt.exact.cpsat.variables import Variables
from migopt.model import Job


def add_constraints(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """Add every constraint of the case."""
    add_runs(model, case, variables)
    add_equal_jobs(model, case, variables)
    if variables.level_time:
        add_order(model, case, variables)
        add_vector_times(model, case, variables)
        for level in variables.level_time:
            add_level_time(model, case, variables, level)


def add_runs(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """Each job runs once, without a stop, on one group; a group runs no more jobs than it has slices."""
    intervals: list[list[cp_model.IntervalVar]] = [[] for _ in case.slices]
    for j, use in enumerate(variables.use):
        start, end = variables.start[j], variables.end[j]
        model.add_exactly_one(use.values())
        durations = dict(case.modes(j))
        model.add(end == start + sum(durations[k] * literal for k, literal in use.items()))
        model.add(variables.late[j] >= end - case.due[j])
        for k, literal in use.items():
            name = f"run{j},{k}"
            run = model.new_optional_interval_var(start, durations[k], end, literal, name)
            intervals[k].append(run)
    add_whole_gpu(model, case, variables)
    for k, runs in enumerate(intervals):
        if case.slices[k] == 1:
            model.add_no_overlap(runs)
        elif len(runs) > case.slices[k]:
            model.add_cumulative(runs, [1] * len(runs), case.slices[k])


def add_whole_gpu(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """Redundant: all jobs together need at most all compute slices; the engine's own cuts work on this."""
    if sum(case.slices) == 1:
        return
    runs, demands = [], []
    for j, use in enumerate(variables.use):
        durations = dict(case.modes(j))
        size = model.new_int_var_from_domain(
            cp_model.Domain.from_values([durations[k] for k in use]), f"size{j}"
        )
        demand = model.new_int_var_from_domain(
            cp_model.Domain.from_values([case.compute[k] for k in use]), f"demand{j}"
        )
        model.add(size == sum(durations[k] * literal for k, literal in use.items()))
        model.add(demand == sum(case.compute[k] * literal for k, literal in use.items()))
        runs.append(
            model.new_interval_var(variables.start[j], size, variables.end[j], f"run{j}")
        )
        demands.append(demand)
    whole = sum(c * n for c, n in zip(case.compute, case.slices, strict=True))
    model.add_cumulative(runs, demands, whole)


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


def add_order(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """``before`` is the order of starts; ``last_end`` the latest end."""
    start = variables.start
    for i, j in combinations(range(case.count), 2):
        first = variables.before[i, j]
        model.add(start[i] <= start[j]).only_enforce_if(first)
        model.add(start[j] < start[i]).only_enforce_if(first.negated())
    assert variables.last_end is not None
    model.add_max_equality(variables.last_end, variables.end)


def add_vector_times(model: cp_model.CpModel, case: Case, variables: Variables) -> None:
    """Area cuts: the busy vectors' times add up to what the jobs run on each group.

    They hold of the true times, so they cut nothing off; without them the levels would be bounded
    only once all starts are in order.
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


def add_level_time(
    model: cp_model.CpModel, case: Case, variables: Variables, level: int
) -> None:
    """``level_time[level]`` is at least the time with that many busy compute slices (see above)."""
    assert variables.last_end is not None
    below = max(reached for reached in case.levels.values() if reached < level)
    gaps = [
        _gap(model, case, variables, level, below, next_job) for next_job in (*range(case.count), None)
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
