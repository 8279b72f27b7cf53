"""Targets of several rewards with a discount that knows how much time passed."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def n_step(
    rewards: Array, elapsed_min: Array, ended: Array, cut: Array, discount_min: float
) -> tuple[Array, Array, Array]:
    """Return discounted rewards of n steps, the factor of what follows, and the step it follows.

    A reward counts e^(-t / T) where t is the time from the first decision to the one it was earned
    after. An episode that ended owes nothing more (factor 0); one that was cut goes on without being
    watched, so its last state is valued (bootstrapped), as after n steps.

    Parameters
    ----------
    rewards, elapsed_min, ended, cut : array (n, episodes)
        Of n consecutive steps; time until the next decision, in minutes.
    discount_min : float
        T, in minutes.

    Returns
    -------
    returns, factors : array of float64 (episodes,)
    last : array of int (episodes,)
        Steps 0 .. last belong to the return.
    """
    n, count = rewards.shape
    returns, passed = np.zeros(count), np.zeros(count)
    open_, last = np.ones(count, bool), np.zeros(count, np.int64)
    for k in range(n):
        returns += np.where(open_, np.exp(-passed / discount_min) * rewards[k], 0.0)
        passed += np.where(open_, elapsed_min[k], 0.0)
        last[open_] = k
        open_ &= ~(ended[k] | cut[k])
    over = ended[last, np.arange(count)]
    return returns, np.where(over, 0.0, np.exp(-passed / discount_min)), last
