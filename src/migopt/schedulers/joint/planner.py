"""The state of a simulation as the priced policy sees it, and its decision in the simulator's terms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from weakref import WeakKeyDictionary

import numpy as np

from migopt.errors import InputError, UnknownNameError
from migopt.model import Instance
from migopt.schedulers.joint.decide import CALM, MOST, NUMBERS, STEP, Floats, assign, decide
from migopt.schedulers.joint.view import View, view_of
from migopt.sim import SimState
from migopt.units import MS_PER_MINUTE

DEFAULT_SET = "s0-slack"
#: What the two rules of a policy share during a run: planners by the rule's name and argument.
_SHARED: WeakKeyDictionary[SimState, dict[str, Planner]] = WeakKeyDictionary()


def shared(state: SimState, name: str, make: Callable[[SimState], Planner]) -> Planner:
    """Return the planner of a run, the same for both rules of a policy."""
    known = _SHARED.setdefault(state, {})
    if name not in known:
        known[name] = make(state)
    return known[name]


@cache
def stored_numbers() -> Mapping[str, Mapping[str, list[float]]]:
    """Return the calibrated numbers by name, with the scenario and seeds they come from."""
    text = files("migopt.schedulers.joint").joinpath("numbers.json").read_text("utf-8")
    table: Mapping[str, Mapping[str, list[float]]] = json.loads(text)["sets"]
    return table


def numbers_of(rule: str, argument: str) -> Floats:
    """Read a rule's argument: a set's name, or the numbers with ``/`` between."""
    name, sets = argument, stored_numbers()
    if name in sets:
        return np.array(sets[name]["numbers"], float)
    if "/" not in name:
        raise UnknownNameError(f"set of numbers of {rule}", name, sets)
    try:
        given = np.array([float(text) for text in name.split("/")])
    except ValueError:
        raise InputError(f"{rule}: {name!r} are not numbers with / between") from None
    first = CALM
    if len(given) not in (first, NUMBERS) or not (
        np.isfinite(given).all() and (given[:first] > 0).all()
    ):
        raise InputError(f"{rule} takes {first} numbers above 0, or {NUMBERS}, not {name!r}")
    if (given[first:] < 0).any():
        raise InputError(
            f"{rule}: the last {NUMBERS - first} numbers may be 0 but not less: {name!r}"
        )
    return np.concatenate([given, np.zeros(NUMBERS - len(given))])


class Planner:
    """One decision at a time, from a state.

    Parameters
    ----------
    view : View
        Of the run's instance.
    numbers : array
        See ``decide``.
    """

    def __init__(self, view: View, numbers: Floats) -> None:
        self.view = view
        self.numbers = numbers

    def think(self, state: SimState, kind: int) -> None:
        """Set ``numbers`` for this instant; the priced policy has the same ones always."""

    def present(self, state: SimState) -> tuple[np.ndarray, Floats]:
        """Return the active jobs in order of due date, the first ``MOST``, and what is left of each."""
        jobs = state.instance.jobs
        active = sorted([*state.waiting, *state.running], key=state.due_key)[:MOST]
        left = [state.work_left(job) / jobs[job].work if jobs[job].work else 1e-9 for job in active]
        return np.array(active, np.int64), np.array(left)

    def wish(self, state: SimState, kind: int) -> int:
        """Return the partition type that shall be in force."""
        view = self.view
        self.think(state, kind)
        who, rest = self.present(state)
        minute = state.now_ms / MS_PER_MINUTE
        wanted, _ = decide(
            minute, who, rest, len(who), kind, view.jobs, view.gpu, self.numbers, view.scratch
        )
        return int(wanted)

    def runs(self, state: SimState) -> dict[int, int]:
        """Return position of a slice to job; a job stays on its slice where the size is right."""
        view = self.view
        who, rest = self.present(state)
        groups = self.groups_of(state)
        allowed = self.allowed(groups)
        minute = state.now_ms / MS_PER_MINUTE
        assign(
            minute, who, rest, len(who), allowed, view.jobs, view.gpu, self.numbers, view.scratch
        )
        return self.placed(state, groups, self.chosen(who))

    def allowed(self, groups: list[int]) -> np.ndarray:
        """Return which busy vectors the slices that stand, by their groups, can hold."""
        problem = self.view.problem
        have = np.bincount(np.array(groups, np.int64), minlength=problem.groups)
        return np.asarray((problem.counts <= have).all(axis=1))

    def chosen(self, who: np.ndarray) -> dict[int, int]:
        """Return job to group as the last assignment left it."""
        pairs = zip(who.tolist(), self.view.scratch.groups.tolist(), strict=False)
        return {job: group for job, group in pairs if group >= 0}

    def groups_of(self, state: SimState) -> list[int]:
        """Return the group of every slice that stands."""
        group_of = self.view.problem.vectors.group_of
        return [group_of[place.placement.profile] for place in state.slices]

    @staticmethod
    def placed(state: SimState, groups: list[int], wanted: dict[int, int]) -> dict[int, int]:
        """Return position to job for jobs that want a slice of a group; who has one of it stays."""
        runs = {}
        left = dict(wanted)
        for position, place in enumerate(state.slices):
            if place.job is not None and left.get(place.job) == groups[position]:
                runs[position] = place.job
                del left[place.job]
        for job, group in left.items():
            runs[next(p for p, g in enumerate(groups) if g == group and p not in runs)] = job
        return runs

    def wake_ms(self, state: SimState) -> int | None:
        """Return when prices are looked at again; None without jobs."""
        if not (state.waiting or state.running):
            return None
        return state.now_ms + max(1, round(float(self.numbers[STEP]) * MS_PER_MINUTE))


def priced_planner(rule: str, argument: str) -> Callable[[SimState], Planner]:
    """Return what builds the planner of a run of the priced policy; raises on a bad argument at once."""
    given = numbers_of(rule, argument) if argument else None

    def make(state: SimState) -> Planner:
        name = scenario_of(state.instance)
        numbers = numbers_of(rule, name) if given is None else given
        return Planner(view_of(state.instance), numbers)

    return make


def scenario_of(instance: Instance) -> str:
    """Return the scenario that an instance was drawn from if it has stored numbers, else ``s0-slack``."""
    name = str(instance.origin.get("generator", ""))
    return name if name in stored_numbers() else DEFAULT_SET
