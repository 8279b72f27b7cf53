"""A Gymnasium environment: when to repartition one GPU, decision by decision, over the simulator's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from migopt.errors import InputError, MissingExtraError
from migopt.model import Instance
from migopt.rl.episodes import Episodes, kernel_rule
from migopt.schedulers.learned.view import View
from migopt.sim import episodes as at

try:
    import gymnasium as gymnasium
    from gymnasium import spaces as spaces
except ImportError:  # pragma: no cover - tested in an interpreter without the package
    raise MissingExtraError("gymnasium", "rl", "the environment") from None

#: Bounds of times in a state, minutes; a state beyond them is clipped.
MOST_MIN = 1e6
#: Figures of an episode that infos carry.
INFOS = {
    "day": at.DAY,
    "decisions": at.STEPS,
    "elapsed_ms": at.ELAPSED,
    "energy_above_idle_uj": at.ENERGY,
    "weighted_tardiness_ms": at.LATE,
}
#: Name by which ``gymnasium.make`` and ``gymnasium.make_vec`` know the environment.
ENV_ID = "migopt/Repartition-v0"


class MigEnv(gymnasium.Env[np.ndarray[Any, Any], Any]):
    """One GPU for a day; a decision at every arrival and completion, unless the GPU is changing.

    Action ``k`` asks for partition ``k + 1`` of the catalogue; the present one, or one that may not be
    changed to now (see ``info["action_mask"]``), changes nothing. The episode ends when every job is
    done; its rewards, the constant part of the cost paid with the first, then sum to minus its ET.

    Parameters
    ----------
    days : sequence of Instance
        ``reset`` draws one of them, or takes ``options={"day": index}``.
    dispatch : str
        Dispatch rule.
    view : View, optional
        What a state shows; the paper's 2 + 2m numbers by default. Actions and the price of energy
        are the first day's.
    first : int
        Catalogue number of the partition at time 0; 0 is MIG off.
    most_steps : int
        Decisions after which an episode is truncated, 0 for no cap; its rewards then claim no sum.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(
        self,
        days: Sequence[Instance],
        *,
        dispatch: str = "edf_ss_restricted",
        view: View | None = None,
        first: int = 1,
        most_steps: int = 0,
    ) -> None:
        if not days:
            raise InputError("an environment needs at least one day")
        self.view = (view or View()).for_instance(days[0])
        rule = kernel_rule(dispatch)
        self.episodes = Episodes(days, rule, self.view, count=1, first=first, most_steps=most_steps)
        self.begun = False
        self.action_space = spaces.Discrete(self.view.actions)
        self.observation_space = observation_space(self.view)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        """Begin a day and go to its first decision."""
        super().reset(seed=seed)
        count = len(self.episodes.days)
        day = (options or {}).get("day")
        if day is None:
            day = int(self.np_random.integers(count))
        if not 0 <= day < count:
            raise InputError(f"there are days 0 to {count - 1}, not {day}", where="options.day")
        self.episodes.begin(day)
        self.begun = True
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        """Take a decision and go to the next; returns observation, reward, terminated, truncated, info.

        Raises
        ------
        InputError
            The action is none of the action space, or no day has begun (call ``reset``).
        """
        number = np.asarray(action)
        if number.size != 1 or not self.action_space.contains(number.reshape(-1)[0]):
            most = self.view.actions - 1
            raise InputError(f"action must be a whole number from 0 to {most}, not {action!r}")
        if not self.begun:
            raise InputError("no day has begun: call reset first")
        self.episodes.step(number.reshape(1).astype(np.int64) + 1)
        status = self.episodes.figures[0, at.STATUS]
        reward = float(self.episodes.rewards[0])
        ended, cut = bool(status == at.ENDED), bool(status == at.CUT)
        return self._observation(), reward, ended, cut, self._info()

    def _observation(self) -> np.ndarray[Any, Any]:
        return clipped(self.observation_space, self.episodes.states[0])

    def _info(self) -> dict[str, Any]:
        row = self.episodes.figures[0]
        figures = {name: int(row[column]) for name, column in INFOS.items()}
        return {"action_mask": self.episodes.masks[0].astype(np.int8), **figures}


def clipped(space: spaces.Space[Any], states: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return states as elements of a view's space: bins as integers, times within their bounds."""
    bounds: Any = space
    binned = isinstance(space, spaces.MultiDiscrete)
    found: np.ndarray[Any, Any] = (
        states.astype(np.int64) if binned else np.clip(states, bounds.low, bounds.high)
    )
    return found


def observation_space(view: View) -> spaces.Space[Any]:
    """Return the space of a view's states."""
    if view.layout == "paper-binned":
        bins = [len(view.due_edges_min) + 2, len(view.mean_edges_min) + 2]
        return spaces.MultiDiscrete([view.actions + 1, 24, *bins * view.jobs])
    low = np.full(view.width, -MOST_MIN, np.float32)
    low[:2] = 0
    high = np.full(view.width, MOST_MIN, np.float32)
    high[0], high[1] = view.actions, 24
    return spaces.Box(low, high, dtype=np.float32)


if ENV_ID not in gymnasium.registry:
    gymnasium.register(
        ENV_ID,
        entry_point="migopt.rl.env:MigEnv",
        vector_entry_point="migopt.rl.vector_env:MigVectorEnv",
    )
