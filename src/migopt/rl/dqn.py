"""DQN over many days at a time; a run is its settings, and can go on from a file as if never stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from migopt.errors import InputError
from migopt.model import Instance
from migopt.rl.config import DqnConfig
from migopt.rl.episodes import Episodes, kernel_rule
from migopt.rl.learner import Learner
from migopt.rl.points import Point
from migopt.rl.replay import Replay
from migopt.rl.returns import n_step
from migopt.schedulers.learned.checkpoint import catalogue_of, save_policy
from migopt.schedulers.learned.network import Encoder, Network, best_actions
from migopt.schedulers.learned.view import View
from migopt.sim import episodes as at
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN

Array = np.ndarray[Any, np.dtype[Any]]


class DqnRun:
    """A training run.

    Parameters
    ----------
    config : DqnConfig
    training, validation : list of Instance
        The days; see ``rl.days``.
    """

    def __init__(
        self, config: DqnConfig, training: list[Instance], validation: list[Instance]
    ) -> None:
        self.config = config
        rule = kernel_rule(config.dispatch)
        price = float(np.mean([float(d.weight_a) * d.total_weight for d in training]))
        view = View(layout=config.layout, jobs=config.jobs)
        self.view = replace(view.for_instance(training[0]), job_minutes_per_wmin=price)
        if config.compare > self.view.actions:
            raise InputError(
                f"there are {self.view.actions} partitions to compare, not {config.compare}",
                where="compare",
            )
        self.catalogue = catalogue_of(training[0])
        self.playing = Episodes(
            training, rule, self.view, count=config.episodes, first=config.first
        )
        self.validating = Episodes(validation, rule, self.view, first=config.first)
        self.encoder = Encoder(self.view, self._unit(), config.network, config.slack)
        seeds = np.random.SeedSequence(config.seed).spawn(3)
        weights, self.choices, self.draws = (np.random.default_rng(seed) for seed in seeds)
        self.learner = Learner(config, self.encoder, weights)
        self.replay = Replay(config.buffer, self.encoder.width, self.view.actions, config.compare)
        self.steps, self.rounds, self.next_day = 0, 0, 0
        self.error, self.best_cost = float("nan"), float("inf")
        self.best = self.learner.average.clone()
        self.costs: list[float] = []
        count, n = config.episodes, config.n_step
        self.past: dict[str, Array] = {
            "inputs": np.zeros((n, count, self.encoder.width), np.float32),
            "base": np.zeros((n, count, self.view.actions), np.float32),
            "next_inputs": np.zeros((n, count, self.encoder.width), np.float32),
            "next_base": np.zeros((n, count, self.view.actions), np.float32),
            "action": np.zeros((n, count), np.int64),
            "reward": np.zeros((n, count)),
            "minutes": np.zeros((n, count)),
            "ended": np.zeros((n, count), bool),
            "cut": np.zeros((n, count), bool),
        }
        self._begin(np.arange(count))
        self.look_again()

    def _unit(self) -> float:
        """Return the mean cost of a decision, in job-minutes, when the first partition stays."""
        episodes = self.validating
        episodes.begin(np.arange(episodes.count))
        nothing = np.zeros(episodes.count, np.int64)
        while len(episodes.going):
            episodes.step(nothing)
        sums = episodes.figures.sum(axis=0)
        energy = self.view.job_minutes_per_wmin * sums[at.ENERGY] / UJ_PER_WMIN
        return float((energy + sums[at.LATE] / MS_PER_MINUTE) / sums[at.STEPS])

    # --- playing ------------------------------------------------------------------------------

    def _begin(self, chosen: Array) -> None:
        days = (self.next_day + np.arange(len(chosen))) % len(self.playing.days)
        self.next_day += len(chosen)
        self.playing.begin(days, chosen)

    def look_again(self) -> None:
        """Encode the present states anew."""
        self._seen = self._see()

    def _see(self) -> tuple[Array, Array, Array]:
        """Return inputs, base and masks of the present states."""
        states = self.playing.states
        base = self.encoder.base(states)
        return self.encoder.inputs(states), base, self.encoder.considered(base, self.playing.masks)

    @property
    def epsilon(self) -> float:
        """Share of random decisions now."""
        c = self.config
        done = min(1.0, self.steps / (c.epsilon_share * c.steps)) if c.epsilon_share else 1.0
        return c.epsilon_start + done * (c.epsilon_end - c.epsilon_start)

    @property
    def learning_rate(self) -> float:
        """Size of Adam's steps now."""
        c = self.config
        return c.learning_rate + min(1.0, self.steps / c.steps) * (
            c.final_learning_rate - c.learning_rate
        )

    def _choose(self, inputs: Array, base: Array, masks: Array) -> Array:
        with torch.inference_mode():
            values = self.learner.online.values(torch.from_numpy(inputs)).numpy()
        values = values + base
        chosen = best_actions(values, masks)
        drawn = self.choices.random((2, len(chosen)))
        ranks = (drawn[1] * masks.sum(axis=1)).astype(np.int64)
        # The allowed partition of that rank.
        random = (masks.cumsum(axis=1) <= ranks[:, None]).sum(axis=1) + 1
        taken = np.where(drawn[0] < self.epsilon, random, chosen)
        if self.config.compare == 1:
            return taken[:, None]
        noise = -np.log(-np.log(self.choices.random(values.shape) + 1e-12) + 1e-12)
        rank = np.where(masks, values + self.config.compare_spread * noise, -np.inf)
        rank[np.arange(len(taken)), taken - 1] = np.inf
        order = np.argsort(-rank, axis=1, kind="stable")[:, : self.config.compare] + 1
        # Where fewer are considered, the one that is taken stands in for the rest.
        few = np.arange(self.config.compare) >= masks.sum(axis=1, keepdims=True)
        return np.where(few, taken[:, None], order)

    def _play(self) -> None:
        """Take one decision on every day and remember what has become complete."""
        past, row = self.past, self.rounds % self.config.n_step
        inputs, base, masks = self._seen
        past["inputs"][row], past["base"][row] = inputs, base
        tries = self._choose(inputs, base, masks)
        if self.config.compare > 1:
            self._compare(inputs, base, tries)
        actions = tries[:, 0]
        self.playing.step(actions)
        figures = self.playing.figures
        past["action"][row] = actions - 1
        past["reward"][row] = self._rewards(figures)
        past["minutes"][row] = figures[:, at.ELAPSED] / MS_PER_MINUTE
        past["ended"][row] = figures[:, at.STATUS] == at.ENDED
        past["cut"][row] = figures[:, at.STATUS] == at.CUT
        after = self._see()
        past["next_inputs"][row] = after[0]
        past["next_base"][row] = np.where(after[2], after[1], -np.inf)
        over = np.flatnonzero(figures[:, at.STATUS] != at.GOING)
        if len(over):
            self.costs += [float(self.playing.cost(int(e))) for e in over]
            self._begin(over)
            after = self._see()
        self._seen = after
        self.rounds += 1
        self.steps += self.config.episodes
        if self.config.compare == 1 and self.rounds >= self.config.n_step:
            self._remember()

    def _rewards(self, figures: Array) -> Array:
        """Return what the last steps cost, in units of the network, negative."""
        energy = figures[..., at.GAIN_ENERGY] * (self.view.job_minutes_per_wmin / UJ_PER_WMIN)
        rewards: Array = -(energy + figures[..., at.GAIN_LATE] / MS_PER_MINUTE) / self.encoder.unit
        return rewards

    def _compare(self, inputs: Array, base: Array, actions: Array) -> None:
        """Remember what several partitions would lead to from the present states."""
        found = self.playing.attempt(actions, self.config.compare_arrivals)
        shape = actions.shape
        states = found.states.reshape(-1, self.view.width)
        next_base = self.encoder.base(states)
        masks = self.encoder.considered(next_base, found.masks.reshape(next_base.shape))
        next_base = np.where(masks, next_base, -np.inf).reshape(*shape, -1)
        ended = found.figures[..., at.STATUS] != at.GOING
        minutes = found.figures[..., at.ELAPSED] / MS_PER_MINUTE
        factors = np.where(ended, 0.0, np.exp(-minutes / self.config.discount_min))
        columns = (actions - 1, self._rewards(found.figures), factors)
        parts = [
            self.encoder.inputs(states).reshape(*shape, -1),
            np.where(ended[..., None], 0.0, next_base),
            np.stack(columns, axis=-1),
        ]
        seen = np.concatenate([inputs, base], axis=1)
        self.replay.add(seen, np.concatenate(parts, axis=-1, dtype=np.float32))

    def _remember(self) -> None:
        past, n = self.past, self.config.n_step
        order = (self.rounds + np.arange(n)) % n
        rewards, minutes, ended, cut = (
            past[name][order] for name in ("reward", "minutes", "ended", "cut")
        )
        returns, factors, last = n_step(rewards, minutes, ended, cut, self.config.discount_min)
        episodes = np.arange(self.config.episodes)
        first, end = order[0], order[last]
        next_base = past["next_base"][end, episodes]
        # After an end there is nothing to choose; a finite number keeps 0 times it 0.
        next_base = np.where(factors[:, None] > 0, next_base, np.float32(0))
        columns = (past["action"][first], returns, factors)
        seen = np.concatenate([past["inputs"][first], past["base"][first]], axis=1)
        parts = [
            past["next_inputs"][end, episodes],
            next_base,
            np.stack(columns, axis=1),
        ]
        self.replay.add(seen, np.concatenate(parts, axis=1, dtype=np.float32)[:, None])

    # --- learning -----------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether all decisions have been taken."""
        return self.steps >= self.config.steps

    def advance(self) -> Point | None:
        """Take one decision on every day and the gradient steps due; return a point where one is due."""
        config = self.config
        before = self.steps // config.validate_every
        self._play()
        due = int(max(0, self.steps - config.learn_start) / config.steps_per_update)
        error = None
        with torch.inference_mode():
            while self.learner.updates < due:
                batch = self.replay.sample(config.batch, self.draws)
                error = self.learner.update(batch, self.learning_rate)
        if error is not None:
            self.error = float(error)
        if self.steps // config.validate_every == before and not self.finished:
            return None
        return self._point()

    def points(self) -> Iterator[Point | None]:
        """Advance to the end."""
        torch.set_num_threads(1)
        while not self.finished:
            yield self.advance()

    def _point(self) -> Point:
        cost = self.validate(self.learner.online.network(self.learner.average))
        if cost < self.best_cost:
            self.best_cost = cost
            self.best.copy_(self.learner.average)
        training = float(np.mean(self.costs)) if self.costs else float("nan")
        self.costs = []
        return Point(
            self.steps,
            self.learner.updates,
            self.epsilon,
            self.learning_rate,
            self.error,
            training,
            cost,
            self.best_cost,
        )

    def validate(self, network: Network) -> float:
        """Return the mean ET of a network on the validation days, without random decisions."""
        return mean_cost(self.validating, self.encoder, network)

    def save(self, path: Path, split: dict[str, Any]) -> None:
        """Write the best network as a policy."""
        header = {
            "view": self.view.as_dict(),
            "unit": self.encoder.unit,
            "network": self.encoder.kind,
            "slack": self.encoder.slack,
            "first": self.config.first,
            "catalogue": self.catalogue,
            "config": self.config.as_dict(),
            "split": split,
            "steps": self.steps,
            "validation_cost": self.best_cost,
        }
        save_policy(path, self.learner.online.network(self.best), header)


def mean_cost(episodes: Episodes, encoder: Encoder, network: Network) -> float:
    """Return the mean ET of the days of ``episodes``, decided by a network."""
    episodes.begin(np.arange(episodes.count))
    while len(going := episodes.going):
        states = episodes.states[going]
        actions = np.zeros(episodes.count, np.int64)
        actions[going] = encoder.choose(network, states, episodes.masks[going])
        episodes.step(actions)
    return float(np.mean([float(episodes.cost(e)) for e in range(episodes.count)]))
