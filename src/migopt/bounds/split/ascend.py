"""Ascent over the prices: Adam with averaging and restarts, a valid bound after every round."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from migopt.bounds.split.evaluate import Evaluator
from migopt.bounds.split.problem import Floats, SplitProblem
from migopt.compiled import compiled

#: Steps per round; the average is evaluated after each.
ROUND = 50
MEMORY, SQUARES, SMALL = 0.9, 0.999, 1e-3
KEEP = 0.99


@dataclass
class Ascent:
    """State of an ascent: the best prices so far and how the bound rose.

    Attributes
    ----------
    prices : float array [pairs, K]
        Where the best value was found.
    value : float
        The bound there, without the constant cost.
    history : list of (seconds, value)
    step : float
        First step length that suited the instance.
    """

    prices: Floats
    value: float = -np.inf
    history: list[tuple[float, float]] = field(default_factory=list)
    step: float = 0.05


def ascend(
    problem: SplitProblem,
    evaluator: Evaluator,
    state: Ascent,
    *,
    steps: tuple[float, float],
    rounds: int,
    seconds: float = math.inf,
    started: float | None = None,
    report: Callable[[float], bool] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Ascent:
    """Raise the bound from ``state``; the best prices are kept.

    Parameters
    ----------
    steps : (float, float)
        First and last step length in units of ``problem.step_scale``; it falls geometrically.
    rounds : int
        Most rounds of 50 steps.
    seconds : float
        Time limit; whichever of rounds and time is further along sets the step length.
    report : callable, optional
        Called with the best value after each round; True stops the ascent.
    should_stop : callable, optional
        Asked after each step; True ends the ascent with the best so far.
    """
    now = time.perf_counter()
    began = now if started is None else started
    prices = state.prices.copy()
    average = prices.copy()
    first, second = np.zeros_like(prices), np.zeros_like(prices)
    done = 0.0
    for at in range(1, rounds * ROUND + 1):
        value = evaluator(prices)
        if value > state.value:
            state.value, state.prices = value, prices.copy()
        adam_step(
            prices,
            average,
            first,
            second,
            evaluator.job_minutes,
            evaluator.gpu_minutes,
            problem.step_scale * steps[0] * (steps[1] / steps[0]) ** done,
            1.0 - MEMORY**at,
            1.0 - SQUARES**at,
            KEEP if at > 100 else 1.0 - 1.0 / at,
        )
        spent = time.perf_counter() - now
        done = min(1.0, max(at / (rounds * ROUND), spent / seconds))
        if should_stop is not None and should_stop():
            done = 1.0
        if at % ROUND == 0 or done >= 1.0:
            value = evaluator(average)
            if value > state.value:
                state.value, state.prices = value, average.copy()
            state.history.append((time.perf_counter() - began, state.value))
            if done >= 1.0 or (report is not None and report(state.value)):
                break
    return state


@compiled
def adam_step(
    prices: Any,
    average: Any,
    first: Any,
    second: Any,
    job_minutes: Any,
    gpu_minutes: Any,
    length: float,
    correct_first: float,
    correct_second: float,
    keep: float,
) -> None:
    """Take one Adam step upwards, stay at or above 0, and update the average."""
    for q in range(prices.shape[0]):
        for k in range(prices.shape[1]):
            slope = job_minutes[q, k] - gpu_minutes[q, k]
            m = MEMORY * first[q, k] + (1.0 - MEMORY) * slope
            v = SQUARES * second[q, k] + (1.0 - SQUARES) * slope * slope
            first[q, k], second[q, k] = m, v
            move = length * (m / correct_first) / (np.sqrt(v / correct_second) + SMALL)
            prices[q, k] = max(0.0, prices[q, k] + move)
            average[q, k] = keep * average[q, k] + (1.0 - keep) * prices[q, k]


def transfer(old: SplitProblem, prices: Floats, new: SplitProblem) -> Floats:
    """Return prices on a finer grid or wider windows: each interval takes those of the one covering it.

    On a refinement of the same windows this gives exactly the same bound.
    """
    out = new.start_prices()
    covering = np.searchsorted(old.grid_ms, new.grid_ms[:-1], side="right") - 1
    for j in range(new.speed.shape[0]):
        span = covering[new.first[j] : new.last[j]]
        known = (span >= old.first[j]) & (span < old.last[j])
        rows = out[new.pair0[j] : new.pair0[j + 1]]
        rows[known] = prices[old.pair0[j] + span[known] - old.first[j]]
    return out
