"""The planner of the receding horizon: the first decisions of the relaxation over the jobs known now."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from migopt.schedulers._arguments import named, real_number
from migopt.schedulers.joint.decide import AHEAD, NUMBERS, STEP, assign_at, decide_at
from migopt.schedulers.joint.planner import Planner
from migopt.schedulers.joint.relaxation import PRESSING, Relaxation
from migopt.schedulers.joint.view import view_of
from migopt.sim import SimState
from migopt.units import MS_PER_MINUTE

#: Less of a job than this counts as this much: engines do not see less.
LEAST_REST = 1e-3
#: Patterns of the relaxation have reduced cost 0, but for rounding.
ROUNDING = 1.01
DEFAULTS = {
    "reserve": "0.3",
    "haste": "0.1",
    "margin": "0",
    "ahead": "2",
    "step": "1",
    "hold": "0.5",
    "wait": "2",
    "behind": "4",
}


class RecedingPlanner(Planner):
    """Solves the relaxation at every instant and does what is worth most at its prices.

    At the optimum of the relaxation the patterns that it runs now are exactly those of least reduced
    cost, so they are what the pricing problem at its dual values returns. To the dual value of a job's
    work comes what a minute of delay costs where its laxity is gone: within its first interval the
    relaxation does not say what comes first.

    Parameters
    ----------
    relaxation : Relaxation
    ahead_min, step_min : float
        Minutes within which a change of partition must pay; longest time between two decisions.
    hold, wait_min, behind : float
        A job's dual value falls by the share ``hold`` while its laxity, less ``behind`` times the minutes
        that a full GPU needs for all present jobs, is well above ``wait_min``.
    """

    def __init__(
        self,
        relaxation: Relaxation,
        ahead_min: float,
        step_min: float,
        hold: float = 0.0,
        wait_min: float = 2.0,
        behind: float = 1.0,
    ) -> None:
        numbers = np.ones(NUMBERS)
        numbers[AHEAD], numbers[STEP] = ahead_min, step_min
        super().__init__(relaxation.view, numbers)
        self.relaxation = relaxation
        self.hold, self.wait_min, self.behind = hold, wait_min, behind
        self.at_ms = -1
        self.prices = np.zeros((0, relaxation.view.problem.groups))
        self.who = np.zeros(0, np.int64)
        self.urgent = False

    def think(self, state: SimState, kind: int) -> None:
        """Solve for this instant unless that is done."""
        if state.now_ms == self.at_ms:
            return
        self.at_ms = state.now_ms
        self.who, rest = self.present(state)
        if not len(self.who):
            return
        minute = state.now_ms / MS_PER_MINUTE
        rest = np.maximum(rest, LEAST_REST)
        later = self.announced(minute)
        answer = self.relaxation.solve(
            minute,
            np.concatenate([self.who, later]),
            np.concatenate([rest, np.ones(len(later))]),
        )
        jobs, who = self.view.jobs, self.who
        lax = np.maximum(jobs.due[who] - minute - rest * jobs.quick[who], 0.0)
        self.urgent = bool((lax <= 0).any())
        press = jobs.late[who] / rest * np.exp(-lax / PRESSING)
        # What a job costs alone is more than it will cost if others come while it can wait.
        spare = np.maximum(lax - self.behind * float((rest * jobs.work[who]).sum()), 0.0)
        wait = self.hold * (1.0 - np.exp(-spare / self.wait_min))
        self.prices = (ROUNDING - wait)[:, None] * answer.prices[: len(who)]
        self.prices += press[:, None] * jobs.speed[who]

    def announced(self, minute: float) -> NDArray[np.int64]:
        """Return jobs known before their release: none for an online policy; a study may know some."""
        return np.zeros(0, np.int64)

    def wish(self, state: SimState, kind: int) -> int:
        """Return the partition type that shall be in force."""
        self.think(state, kind)
        count, scratch = len(self.who), self.view.scratch
        scratch.prices[:count] = self.prices[:count]
        ahead = float(self.numbers[AHEAD])
        wanted, _ = decide_at(count, kind, self.urgent, self.view.gpu, ahead, 1.0, scratch)
        return int(wanted)

    def runs(self, state: SimState) -> dict[int, int]:
        """Return who runs where on the slices that stand."""
        self.think(state, 0)
        count, scratch = len(self.who), self.view.scratch
        scratch.prices[:count] = self.prices[:count]
        groups = self.groups_of(state)
        allowed = self.allowed(groups)
        assign_at(count, allowed, self.urgent, self.view.gpu, scratch)
        return self.placed(state, groups, self.chosen(self.who))


def receding_planner(argument: str) -> Callable[[SimState], Planner]:
    """Return what builds the planner of a run; raises on a bad argument at once.

    Parameters
    ----------
    argument : str
        ``reserve=SHARE`` (0.3), ``haste=SHARE`` (0.1), ``margin=SHARE`` (0), ``ahead=MINUTES`` (2),
        ``step=MINUTES`` (1), ``hold=SHARE`` (0.5), ``wait=MINUTES`` (2), ``behind=FACTOR`` (4),
        separated by commas.
    """
    values = named("receding_horizon", argument, DEFAULTS)
    reserve = real_number("receding_horizon", "reserve", values["reserve"], 0.0, 0.95)
    ahead = real_number("receding_horizon", "ahead", values["ahead"], 0.0, 1e6)
    step = real_number("receding_horizon", "step", values["step"], 0.01, 1e6)
    haste = real_number("receding_horizon", "haste", values["haste"], 0.0, 1e3)
    margin = real_number("receding_horizon", "margin", values["margin"], 0.0, 1.0)

    hold = real_number("receding_horizon", "hold", values["hold"], 0.0, 1.0)
    behind = real_number("receding_horizon", "behind", values["behind"], 0.0, 1e3)
    wait = real_number("receding_horizon", "wait", values["wait"], 0.01, 1e6)

    def make(state: SimState) -> Planner:
        relaxation = Relaxation(view_of(state.instance), reserve, haste, margin)
        return RecedingPlanner(relaxation, ahead, step, hold, wait, behind)

    return make
