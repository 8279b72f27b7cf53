"""Many days as episodes of partition decisions, stepped together in compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from migopt.compiled import Ints
from migopt.errors import InfeasiblePartitionError, InputError
from migopt.model import Instance
from migopt.schedulers import parse_policy
from migopt.schedulers.learned.view import View, refuse_many
from migopt.sim import episodes as at
from migopt.sim import layout
from migopt.sim.arrays import build_arrays
from migopt.sim.compiled import rule_array, seed_word
from migopt.sim.rules import CompiledRule
from migopt.sim.state import Cause
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN

Floats = np.ndarray[Any, np.dtype[np.float64]]
ARRIVALS_AND_COMPLETIONS = Cause.ARRIVAL | Cause.COMPLETION


def kernel_rule(name: str) -> CompiledRule:
    """Return a dispatch rule as the kernel knows it; raises InputError where it has no compiled body."""
    rule = getattr(parse_policy(f"{name}+static:1").dispatcher(), "compiled", None)
    if not isinstance(rule, CompiledRule):
        raise InputError(f"dispatch rule {name} has no compiled body", where="dispatch")
    return rule


@dataclass(frozen=True)
class Tries:
    """What several actions per episode would lead to; rows as in ``Episodes``."""

    states: np.ndarray[Any, np.dtype[np.float32]]
    masks: np.ndarray[Any, np.dtype[np.bool_]]
    figures: Ints


class Episodes:
    """``count`` episodes at a time, each on one of the days.

    Parameters
    ----------
    days : sequence of Instance
        Of one GPU each, all with equally many partitions.
    rule : CompiledRule
        The dispatch rule.
    view : View
        What a state shows.
    count : int, optional
        Episodes at a time; one per day by default.
    first : int
        Catalogue number of the partition at time 0; 0 is MIG off, which never changes.
    most_steps : int
        Decisions after which an episode is cut (truncated); 0 for no cap.
    seed : int
        Of dispatch rules that draw.
    threads : int
        Results do not depend on it.

    Attributes
    ----------
    states : array of float32, (count, view.width)
        Of episodes that go on or were cut; of one that has ended, its last.
    masks : array of bool, (count, actions)
        Which partitions may be chosen.
    rewards : array of float64, (count,)
        Of the last step; over an episode they sum to minus its ET.
    figures : array of int64, (count, FIGURES)
        Per episode, exact: status, day, steps, ms since the last decision, energy above idle (uJ)
        and weighted tardiness (ms) of the last step, and of the episode so far.
    """

    def __init__(
        self,
        days: Sequence[Instance],
        rule: CompiledRule,
        view: View,
        *,
        count: int | None = None,
        first: int = 1,
        most_steps: int = 0,
        causes: Cause = ARRIVALS_AND_COMPLETIONS,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        self.days, self.view, self.first = tuple(days), view, first
        self._refuse()
        self.count = count = len(self.days) if count is None else count
        arrays = [build_arrays(day) for day in self.days]
        stops = np.cumsum([len(a.data) for a in arrays])
        self._days = np.column_stack([np.r_[0, stops[:-1]], stops]).astype(np.int64)
        self._data = np.concatenate([a.data for a in arrays])
        self._program = rule_array(rule)
        size = max(int(a.data[layout.S_SIZE]) for a in arrays) + len(self._program)
        self._state = np.zeros(count * size, np.int64)
        begins = size * np.arange(count, dtype=np.int64)
        self._places = np.column_stack([begins, begins + size])
        self._settings = view.settings(causes=int(causes), first=first, most_steps=most_steps)
        self._units, self._seed = view.units(), seed_word(seed)
        self._rates = np.array([reward_rates(day) for day in self.days], np.float64)
        self._parts = np.zeros((count, 1), np.int64)
        self._scratch = np.zeros((max(2, threads), size), np.int64)
        self._tries: Tries | None = None
        self.states = np.zeros((count, view.width), np.float32)
        self.masks = np.zeros((count, view.actions), np.bool_)
        self.rewards = np.zeros(count, np.float64)
        self.figures = np.zeros((count, at.FIGURES), np.int64)
        # Nothing is due on a day that has not begun.
        self.figures[:, at.STATUS] = at.ENDED
        self.threads = threads
        # The calling thread takes a share, too.
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        cuts = np.linspace(0, count, threads + 1).astype(int).tolist()
        self._shares = [(number, *cut) for number, cut in enumerate(pairwise(cuts))]

    def _refuse(self) -> None:
        if not self.days:
            raise InputError("episodes need at least one day")
        for day in self.days:
            refuse_many(day)
            if len(day.catalogue(0)) != self.view.actions:
                raise InputError(
                    f"{day.name} has {len(day.catalogue(0))} partitions, the state {self.view.actions}"
                )
            if not day.jobs:
                raise InputError(f"{day.name} has no jobs: no decision would ever be due")
            if not (0 if day.mig_off else 1) <= self.first <= self.view.actions:
                raise InputError(f"{day.name} has no partition {self.first}")

    def begin(self, days: Ints | int, chosen: Ints | None = None) -> None:
        """Begin episodes ``chosen`` (all by default) on these days and go to their first decision."""
        picked = np.arange(self.count) if chosen is None else np.asarray(chosen, np.int64)
        self._refuse_beyond("episode", picked, 0, self.count - 1)
        self._refuse_beyond("day", np.asarray(days), 0, len(self.days) - 1)
        self.figures[picked, at.DAY] = days
        at.begin_many(
            self._data,
            self._days,
            self._state,
            self._places,
            self._program,
            self._seed,
            self._settings,
            self._units,
            self._parts,
            picked,
            self._scratch[0],
            self.figures,
            self.states,
            self.masks,
        )
        self._refuse_hopeless()

    def step(self, actions: Ints) -> None:
        """Take one decision per episode that goes on (catalogue numbers) and go to the next.

        0, the present partition, and one that may not be changed to now change nothing.

        Raises
        ------
        InputError
            There is not one action per episode, or one is no number of the catalogue.
        """
        table = self._checked(actions, (self.count,))
        if self._pool is None:
            self._step(table, 0, 0, self.count)
        else:
            others = [self._pool.submit(self._step, table, *part) for part in self._shares[1:]]
            self._step(table, *self._shares[0])
            for other in others:
                other.result()
        self._refuse_hopeless()

    def _step(self, actions: Ints, thread: int, first: int, last: int) -> None:
        at.step_many_episodes(
            self._data,
            self._days,
            self._state,
            self._places,
            actions,
            first,
            last,
            self._settings,
            self._units,
            self._rates,
            self._scratch[thread],
            self.figures,
            self.rewards,
            self.states,
            self.masks,
        )

    def attempt(self, actions: Ints, arrivals: int) -> Tries:
        """Play on to the same arrival under several actions per episode; the episodes stay where they are.

        What arrives is the same under every action, so that outcomes differ by the actions alone.
        Decisions between are look-ahead's; the trial stops before the decision at the last arrival,
        or at the end of the day.

        Parameters
        ----------
        actions : array (count, tries)
            Catalogue numbers.
        arrivals : int
            Jobs that come during the trial.
        """
        table = self._checked(actions, (self.count, np.shape(actions)[-1]))
        count, tries = table.shape
        if self._tries is None or self._tries.figures.shape[1] != tries:
            self._tries = Tries(
                np.zeros((count, tries, self.view.width), np.float32),
                np.zeros((count, tries, self.view.actions), np.bool_),
                np.zeros((count, tries, at.FIGURES), np.int64),
            )
        found = self._tries
        at.try_many(
            self._data,
            self._days,
            self._state,
            self._places,
            table,
            arrivals,
            self._settings,
            self._units,
            np.array([self._seed, 0], np.int64),
            np.array([self._units[at.ENERGY_UNIT], 1 / MS_PER_MINUTE, 0.0]),
            self._scratch[0],
            self._scratch[1],
            self.figures,
            found.figures,
            found.states,
            found.masks,
        )
        return found

    def _checked(self, actions: Ints, shape: tuple[int, ...]) -> Ints:
        """Return actions as compiled code may read them: it checks no index."""
        found = np.asarray(actions)
        if found.shape != shape or found.dtype.kind not in "iu":
            raise InputError(
                f"actions must be whole numbers of shape {shape}, not {found.dtype} of {found.shape}"
            )
        table = np.ascontiguousarray(found, np.int64)
        # Every step asks this, so it is compiled.
        if at.first_beyond(table.reshape(-1), self.view.actions) >= 0:
            self._refuse_beyond("action", found, 0, self.view.actions)
        return table

    @staticmethod
    def _refuse_beyond(what: str, values: Ints, least: int, most: int) -> None:
        if values.size and not least <= int(values.min()) <= int(values.max()) <= most:
            bad = values[(values < least) | (values > most)].flat[0]
            raise InputError(f"{what} must be from {least} to {most}, not {bad}")

    def _refuse_hopeless(self) -> None:
        lost = np.flatnonzero(self.figures[:, at.STATUS] == at.HOPELESS)
        if len(lost):
            day = self.days[int(self.figures[lost[0], at.DAY])]
            done = int(self.figures[lost[0], at.STEPS])
            raise InfeasiblePartitionError(
                f"{day.name}: after {done} decisions a job waits that the present partition cannot run",
                -1,
            )

    @property
    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """All that changes, by name; views, for a snapshot of every episode."""
        return {
            "kernel": self._state,
            "states": self.states,
            "masks": self.masks,
            "figures": self.figures,
        }

    @property
    def going(self) -> Ints:
        """Indices of the episodes in which a decision is due."""
        return np.flatnonzero(self.figures[:, at.STATUS] == at.GOING)

    def cost(self, episode: int) -> Fraction:
        """Return the ET so far of an episode, exact; once it has ended it is the day's."""
        row = self.figures[episode]
        day = self.days[int(row[at.DAY])]
        a = day.weight_a
        energy = Fraction(day.idle_energy_uj + int(row[at.ENERGY]), UJ_PER_WMIN) if a else 0
        late = Fraction(int(row[at.LATE]), day.total_weight * MS_PER_MINUTE)
        return (a * energy + late) / (a + 1)


def reward_rates(day: Instance) -> tuple[float, float, float]:
    """Return what a microjoule above idle and a millisecond of weighted tardiness cost in ET, and the constant."""
    a = day.weight_a
    per_energy = a / (UJ_PER_WMIN * (a + 1))
    per_late = 1 / (day.total_weight * MS_PER_MINUTE * (a + 1))
    return float(per_energy), float(per_late), float(day.constant_cost)
