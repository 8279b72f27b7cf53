"""The planner of the rollout policy: the priced policy at the level of prices that sampled futures favour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from migopt.errors import InputError
from migopt.schedulers._arguments import named, real_number, whole_number
from migopt.schedulers.joint.decide import BASE, RISE, STEP, Floats
from migopt.schedulers.joint.futures import Futures, sample_futures
from migopt.schedulers.joint.planner import Planner, numbers_of, scenario_of
from migopt.schedulers.joint.rollout import rollout
from migopt.sim import SimState
from migopt.units import MS_PER_MINUTE

#: Factors on the energy part of prices that are tried.
LEVELS = (0.2, 0.5, 1.0, 2.0)
#: Days that may be drawn, each of some 500 jobs.
MOST_FUTURES = 500
#: Minutes for which a factor is tried.
STRETCH = 2.0


@dataclass(frozen=True)
class Settings:
    """Settings of the rollout policy.

    Attributes
    ----------
    scenario : str
        Where futures come from, and whose stored numbers are the base; empty: the instance's own.
    futures : int
    span_min, step_min : float
        Length of a future; longest time between two decisions.
    """

    scenario: str
    futures: int
    span_min: float
    step_min: float


class RolloutPlanner(Planner):
    """Chooses a level at every instant and then decides as the priced policy does."""

    def __init__(self, futures: Futures, numbers: Floats, settings: Settings) -> None:
        super().__init__(futures.view, numbers.copy())
        self.futures, self.settings = futures, settings
        self.base = numbers.copy()
        self.base[STEP] = self.numbers[STEP] = settings.step_min
        self.levels = np.array(LEVELS)
        self.costs = np.zeros(len(LEVELS))
        self.at_ms = -1

    def think(self, state: SimState, kind: int) -> None:
        """Set the level of prices for this instant."""
        if state.now_ms == self.at_ms or not (state.waiting or state.running):
            return
        self.at_ms = state.now_ms
        who, rest = self.present(state)
        minute = state.now_ms / MS_PER_MINUTE
        coming, starts = self.futures.after(minute, self.settings.span_min)
        view = self.view
        rollout(
            minute,
            who,
            rest,
            len(who),
            kind,
            coming,
            starts,
            STRETCH,
            self.settings.span_min,
            self.levels,
            view.jobs,
            view.gpu,
            self.base,
            view.scratch,
            self.costs,
        )
        level = self.levels[int(np.argmin(self.costs))]
        self.numbers[BASE] = self.base[BASE] * level
        self.numbers[RISE] = self.base[RISE] * level


def rollout_planner(argument: str) -> Callable[[SimState], Planner]:
    """Return what builds the planner of a run; raises on a bad argument at once.

    Parameters
    ----------
    argument : str
        A scenario's name (by default the instance's), then ``futures=N`` (16), ``span=MINUTES`` (60),
        ``step=MINUTES`` (1), separated by commas.
    """
    first, _, rest = argument.partition(",")
    if "=" in first:
        first, rest = "", argument
    values = named("rollout", rest, {"futures": "16", "span": "60", "step": "1"})
    if "/" in first:
        raise InputError(f"rollout: {first!r} names no scenario")
    if first:
        numbers_of("rollout", first)
    settings = Settings(
        first,
        whole_number("rollout", "futures", values["futures"], 1, MOST_FUTURES),
        real_number("rollout", "span", values["span"], 1.0, 1440.0),
        real_number("rollout", "step", values["step"], 0.01, 60.0),
    )

    def make(state: SimState) -> Planner:
        scenario = settings.scenario or scenario_of(state.instance)
        sampled = sample_futures(state.instance, scenario, settings.futures)
        return RolloutPlanner(sampled, numbers_of("rollout", scenario), settings)

    return make
