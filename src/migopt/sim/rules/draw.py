"""SplitMix64 in compiled code; ``migopt.sim.random`` is the readable one."""

from __future__ import annotations

import numpy as np

from migopt.compiled import Ints, lean
from migopt.sim.layout import RANDOM_STATE


@lean
def draw_below(S: Ints, bound: int) -> int:
    """Return a number from 0 to bound - 1."""
    state = np.uint64(S[RANDOM_STATE]) + np.uint64(0x9E3779B97F4A7C15)
    S[RANDOM_STATE] = np.int64(state)
    value = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    value = value ^ (value >> np.uint64(31))
    return np.int64(value % np.uint64(bound))
