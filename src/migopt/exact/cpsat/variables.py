"""Variables of the model of one case: who runs where and when, in which order jobs start, how long what is busy."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from migopt.exact.cpsat.case import Case, Rows

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


@dataclass
class Variables:
    """All variables of one model.

    Attributes
    ----------
    start, end : list of IntVar
        Per job, in time units.
    use : list of dict
        Per job, group to the literal "runs on a slice of this group".
    late : list of IntVar
        Tardiness per job.
    before : dict
        ``before[i, j]``: job i starts before job j; jobs that start together count in order of index. Only
        where busy levels are measured exactly.
    vector_time : dict
        Time for which each busy vector is busy.
    level_time : dict
        Time for which at least so many compute slices are busy, for the levels that carry cost.
    last_end : IntVar or None
        The latest end.
    span : int
        Longest possible time from the first release to the last end.
    """

    start: list[cp_model.IntVar] = field(default_factory=list)
    end: list[cp_model.IntVar] = field(default_factory=list)
    use: list[dict[int, cp_model.IntVar]] = field(default_factory=list)
    late: list[cp_model.IntVar] = field(default_factory=list)
    before: dict[tuple[int, int], cp_model.IntVar] = field(default_factory=dict)
    vector_time: dict[tuple[int, ...], cp_model.IntVar] = field(default_factory=dict)
    level_time: dict[int, cp_model.IntVar] = field(default_factory=dict)
    last_end: cp_model.IntVar | None = None
    span: int = 0


def add_variables(
    model: cp_model.CpModel, case: Case, latest: list[int], exact_levels: bool
) -> Variables:
    """Add the variables.

    Parameters
    ----------
    model : CpModel
    case : Case
    latest : list of int
        The latest end of each job that can still improve on the incumbent.
    exact_levels : bool
        With what the exact measure of busy levels needs.
    """
    found = Variables()
    for j in range(case.count):
        release, due = case.release[j], case.due[j]
        found.start.append(model.new_int_var(release, latest[j], f"start{j}"))
        found.end.append(model.new_int_var(release, latest[j], f"end{j}"))
        found.late.append(model.new_int_var(0, max(0, latest[j] - due), f"late{j}"))
        found.use.append(
            {
                k: model.new_bool_var(f"use{j},{k}")
                for k, duration in case.modes(j)
                if release + duration <= latest[j]
            }
        )
    _, per_level = case.split
    if per_level:
        found.span = span = max(latest) - case.first
        found.vector_time = {
            counts: model.new_int_var(0, span, f"vector{counts}")
            for counts, level in case.levels.items()
            if level
        }
        found.level_time = {
            level: model.new_int_var(0, span, f"level{level}") for level in per_level
        }
    if per_level and exact_levels:
        for i, j in combinations(range(case.count), 2):
            literal = model.new_bool_var(f"before{i},{j}")
            found.before[i, j] = literal
            found.before[j, i] = literal.negated()  # type: ignore[assignment]
        found.last_end = model.new_int_var(case.first, max(latest), "last_end")
    return found


def add_hint(model: cp_model.CpModel, case: Case, variables: Variables, rows: Rows) -> None:
    """Tell the engine a schedule to start from: all of its times, groups, lateness and order."""
    order = sorted(range(case.count), key=lambda j: (rows[j].start, j))
    rank = {j: position for position, j in enumerate(order)}
    for j, row in enumerate(rows):
        end = row.start + case.duration(j, row)
        model.add_hint(variables.start[j], row.start)
        model.add_hint(variables.end[j], end)
        model.add_hint(variables.late[j], max(0, end - case.due[j]))
        for k, literal in variables.use[j].items():
            model.add_hint(literal, k == row.group)
    for i, j in combinations(range(case.count), 2):
        if (i, j) in variables.before:
            model.add_hint(variables.before[i, j], rank[i] < rank[j])
