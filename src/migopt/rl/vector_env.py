"""Many ``MigEnv`` in one compiled call, as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from migopt.compiled import Ints
from migopt.errors import InputError
from migopt.model import Instance
from migopt.rl.env import INFOS, clipped, gymnasium, observation_space, spaces
from migopt.rl.episodes import Episodes, kernel_rule
from migopt.schedulers.learned.view import View
from migopt.sim import episodes as at

Array = np.ndarray[Any, Any]
Mode = gymnasium.vector.AutoresetMode


class MigVectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """``num_envs`` environments ``MigEnv``, stepped together; equal to them step by step.

    Observations, rewards and infos are those of ``gymnasium.vector.SyncVectorEnv`` over ``MigEnv``
    with the same seeds.

    Parameters
    ----------
    num_envs : int
    days : sequence of Instance
        Every environment draws its days from them.
    dispatch, view, first, most_steps
        As in ``MigEnv``.
    autoreset_mode : gymnasium.vector.AutoresetMode or str
        What comes after the end of an episode: a new one in the next step, whose action is not used;
        a new one in the same step, with ``final_obs`` and ``final_info``; or nothing until
        ``reset(options={"reset_mask": ...})``.
    threads : int
        Results do not depend on it.
    """

    def __init__(
        self,
        num_envs: int = 1,
        days: Sequence[Instance] = (),
        *,
        dispatch: str = "edf_ss_restricted",
        view: View | None = None,
        first: int = 1,
        most_steps: int = 0,
        autoreset_mode: Any = Mode.NEXT_STEP,
        threads: int = 1,
    ) -> None:
        if not days:
            raise InputError("an environment needs at least one day")
        if num_envs < 1:
            raise InputError(f"a vector needs at least one environment, not {num_envs}")
        self.num_envs, self.mode = num_envs, Mode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.mode}
        self.view = (view or View()).for_instance(days[0])
        self.episodes = Episodes(
            days,
            kernel_rule(dispatch),
            self.view,
            count=num_envs,
            first=first,
            most_steps=most_steps,
            threads=threads,
        )
        self.single_action_space = spaces.Discrete(self.view.actions)
        self.single_observation_space = observation_space(self.view)
        batch = gymnasium.vector.utils.batch_space
        self.action_space = batch(self.single_action_space, num_envs)
        self.observation_space = batch(self.single_observation_space, num_envs)
        self._draws: list[np.random.Generator] = []
        self._over = np.zeros(num_envs, np.bool_)
        self.begun = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes.

        Parameters
        ----------
        seed : int or sequence of int, optional
            Environment i draws its days by ``seed + i``, or by the i-th of them.
        options : dict, optional
            ``day``: an index for all environments; ``reset_mask``: which of them (all by default).
        """
        chosen = options or {}
        which = np.asarray(chosen.get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if which.shape != (self.num_envs,) or which.dtype != np.bool_:
            raise InputError(f"must be {self.num_envs} booleans", where="options.reset_mask")
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        if seeds is not None and len(seeds) != self.num_envs:
            raise InputError(f"{self.num_envs} environments need as many seeds, not {len(seeds)}")
        if not self._draws:
            self._draws = [gymnasium.utils.seeding.np_random()[0] for _ in range(self.num_envs)]
        for i in np.flatnonzero(which) if seeds is not None else ():
            if seeds[i] is not None:
                self._draws[i] = gymnasium.utils.seeding.np_random(seeds[i])[0]
        day, count = chosen.get("day"), len(self.episodes.days)
        if day is not None and not 0 <= day < count:
            raise InputError(f"there are days 0 to {count - 1}, not {day}", where="options.day")
        self._begin(np.flatnonzero(which), day)
        self._over &= ~which
        self.begun |= which
        return self._observations(), self._infos(which)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Take a decision per environment and go to the next; see Gymnasium's ``VectorEnv``.

        Raises
        ------
        InputError
            Not one action of the space per environment, or an episode to step is not there.
        """
        if not self.begun.all():
            raise InputError("no day has begun: call reset first")
        if self.mode is Mode.DISABLED and self._over.any():
            over = int(np.flatnonzero(self._over)[0])
            raise InputError(f"the episode of environment {over} is over: reset it")
        # Episodes that are over stay as they are, with reward 0.
        table = np.asarray(actions)
        if table.dtype.kind not in "iu" or (table.size and table.min() < 0):
            raise InputError(f"actions must be whole numbers from 0 to {self.view.actions - 1}")
        self.episodes.step(table.astype(np.int64) + 1)
        if self.mode is Mode.NEXT_STEP and self._over.any():
            self._begin(np.flatnonzero(self._over))
        status = self.episodes.figures[:, at.STATUS]
        ended, cut = status == at.ENDED, status == at.CUT
        self._over = ended | cut
        final: dict[str, Any] = {}
        if self.mode is Mode.SAME_STEP and self._over.any():
            final = self._final()
            self._begin(np.flatnonzero(self._over))
            self._over = np.zeros(self.num_envs, np.bool_)
        everyone = np.ones(self.num_envs, np.bool_)
        infos = final | self._infos(everyone)
        return self._observations(), self.episodes.rewards.copy(), ended, cut, infos

    def _begin(self, which: Ints, day: int | None = None) -> None:
        count = len(self.episodes.days)
        days = [int(self._draws[i].integers(count)) if day is None else day for i in which]
        self.episodes.begin(np.array(days, np.int64), which)

    def _observations(self) -> Array:
        return clipped(self.single_observation_space, self.episodes.states)

    def _infos(self, which: Array) -> dict[str, Any]:
        """Return figures and masks per environment, zero where ``which`` is not."""
        values: dict[str, Array] = {"action_mask": self.episodes.masks.astype(np.int8)}
        values |= {name: self.episodes.figures[:, column].copy() for name, column in INFOS.items()}
        infos: dict[str, Any] = {}
        for name, value in values.items():
            value[~which] = 0
            infos[name], infos["_" + name] = value, which.copy()
        return infos

    def _final(self) -> dict[str, Any]:
        seen = np.full(self.num_envs, None, object)
        observations = self._observations()
        for i in np.flatnonzero(self._over):
            seen[i] = observations[i]
        return {
            "final_obs": seen,
            "_final_obs": self._over,
            "final_info": self._infos(self._over),
            "_final_info": self._over.copy(),
        }
