"""A point of a learning curve."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A point of the learning curve.

    Attributes
    ----------
    steps, updates : int
        Decisions and gradient steps so far.
    epsilon, learning_rate, error : float
        Error: mean absolute error of the last gradient step, in units of the network.
    training_cost : float
        Mean ET of the training days that ended since the last point (with random decisions).
    validation_cost, best_cost : float
        Mean ET of the averaged network on the validation days, and the least so far.
    """

    steps: int
    updates: int
    epsilon: float
    learning_rate: float
    error: float
    training_cost: float
    validation_cost: float
    best_cost: float
