"""Variables of the fleet model; every one of them is created with its value in the schedule given."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

from ortools.sat.python import cp_model

from migopt.exact.cpsat.fleet.problem import Fleet, Rows
from migopt.exact.cpsat.fleet.values import Values

Literal = cp_model.IntVar
Seat = tuple[int, int, int]


class Hinted:
    """A CP-SAT model whose variables cannot be created without a hint."""

    def __init__(self) -> None:
        self.model = cp_model.CpModel()

    def literal(self, name: str, value: bool | int) -> Literal:
        """Return a new Boolean variable."""
        variable = self.model.new_bool_var(name)
        self.model.add_hint(variable, bool(value))
        return variable

    def integer(self, low: int, high: int, name: str, value: int) -> cp_model.IntVar:
        """Return a new integer variable; a value outside its bounds is moved to the nearest."""
        variable = self.model.new_int_var(low, high, name)
        self.model.add_hint(variable, min(high, max(low, value)))
        return variable


@dataclass
class Variables:
    """All variables of one model.

    Attributes
    ----------
    start, end, late : list of IntVar
        Per job, in time units.
    seat : list of dict
        Per job, (gpu, class, group) to the literal "it takes this seat".
    on : list of dict
        Per job, GPU to the literal "it runs on this GPU".
    cls : list of dict
        Per job, (gpu, class) to the literal "it runs under this class there".
    group : list of dict
        Per job, (kind, group) to the literal "it runs on a slice of this group".
    keeps : dict
        (gpu, class) to the literal "the GPU keeps this class"; where partitions change only for MIG off.
    before : dict
        ``before[i, j]``: jobs i and j share a GPU, and i starts first (together: lower index first). Only where
        busy levels are measured exactly.
    vector_time, level_time : dict
        (kind, busy vector) and (kind, level) to times over all GPUs of the kind.
    span : int
        Longest possible time of one of these.
    exact_levels : bool
        Whether levels carry cost and are measured exactly.
    """

    start: list[cp_model.IntVar] = field(default_factory=list)
    end: list[cp_model.IntVar] = field(default_factory=list)
    late: list[cp_model.IntVar] = field(default_factory=list)
    seat: list[dict[Seat, Literal]] = field(default_factory=list)
    on: list[dict[int, Literal]] = field(default_factory=list)
    cls: list[dict[tuple[int, int], Literal]] = field(default_factory=list)
    group: list[dict[tuple[int, int], Literal]] = field(default_factory=list)
    keeps: dict[tuple[int, int], Literal] = field(default_factory=dict)
    before: dict[tuple[int, int], Literal] = field(default_factory=dict)
    vector_time: dict[tuple[int, tuple[int, ...]], cp_model.IntVar] = field(default_factory=dict)
    level_time: dict[tuple[int, int], cp_model.IntVar] = field(default_factory=dict)
    span: int = 0
    exact_levels: bool = False


def add_variables(
    hinted: Hinted, fleet: Fleet, latest: list[int], rows: Rows, exact_levels: bool
) -> Variables:
    """Add the variables.

    Parameters
    ----------
    hinted : Hinted
    fleet : Fleet
    latest : list of int
        The latest end of each job that matters.
    rows : Rows
        The schedule that hints are read from.
    exact_levels : bool
        With what the exact measure of busy levels needs.
    """
    found = Variables()
    for j in range(fleet.count):
        _add_job(hinted, fleet, found, latest[j], rows, j)
    for gpu, number in enumerate(fleet.kind_of):
        kind = fleet.kinds[number]
        for c in range(len(kind.classes)):
            if not fleet.changing or c == kind.off:
                kept = {row.cls for row in rows if row.gpu == gpu} or {0}
                found.keeps[gpu, c] = hinted.literal(f"keeps{gpu},{c}", c in kept)
    longest = [max(duration for *_, duration in fleet.all_modes(j)) for j in range(fleet.count)]
    found.span = span = sum(longest)
    values = Values(fleet, rows)
    for number, kind in enumerate(fleet.kinds):
        _, per_level = kind.split
        if not per_level:
            continue
        for counts, level in kind.levels.items():
            if level:
                time = values.vector_time(number, counts)
                name = f"vector{number},{counts}"
                found.vector_time[number, counts] = hinted.integer(0, span, name, time)
        for level in per_level:
            time = values.level_time(number, level)
            found.level_time[number, level] = hinted.integer(
                0, span, f"level{number},{level}", time
            )
    found.exact_levels = bool(found.level_time) and exact_levels
    if found.exact_levels:
        for i, j in combinations(range(fleet.count), 2):
            if set(found.on[i]) & set(found.on[j]):
                found.before[i, j] = hinted.literal(f"before{i},{j}", values.before(i, j))
                found.before[j, i] = hinted.literal(f"before{j},{i}", values.before(j, i))
    return found


def _add_job(
    hinted: Hinted, fleet: Fleet, found: Variables, latest: int, rows: Rows, j: int
) -> None:
    release, due, row = fleet.release[j], fleet.due[j], rows[j]
    end = fleet.end(j, row)
    found.start.append(hinted.integer(release, latest, f"start{j}", row.start))
    found.end.append(hinted.integer(release, latest, f"end{j}", end))
    found.late.append(hinted.integer(0, max(0, latest - due), f"late{j}", max(0, end - due)))
    taken = (row.gpu, row.cls, row.group)
    seats = [(gpu, c, k) for gpu, c, k, duration in fleet.seats(j) if release + duration <= latest]
    found.seat.append({seat: hinted.literal(f"seat{j},{seat}", seat == taken) for seat in seats})
    found.on.append(
        {g: hinted.literal(f"on{j},{g}", g == row.gpu) for g in sorted({seat[0] for seat in seats})}
    )
    found.cls.append(
        {
            key: hinted.literal(f"class{j},{key}", key == (row.gpu, row.cls))
            for key in sorted({seat[:2] for seat in seats})
        }
    )
    mine = (fleet.kind_of[row.gpu], row.group)
    groups = sorted({(fleet.kind_of[gpu], k) for gpu, _, k in seats})
    found.group.append({key: hinted.literal(f"group{j},{key}", key == mine) for key in groups})
