"""Independent random streams, one per kind of draw, so that one option never reshuffles another.

Only uniform doubles are taken from numpy; every distribution is an inverse transform of one of them.
A stream therefore gives job number i the same uniform whatever else is drawn, and files regenerate
alike under every numpy that keeps ``PCG64`` and ``Generator.random``.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

from migopt.errors import InputError

Seed = int | Sequence[int]
_BLOCK = 64


class Streams:
    """Named streams of uniform doubles in [0, 1) that all derive from one seed.

    Parameters
    ----------
    seed : int or sequence of int
        Not negative. A sequence, such as (case, attempt), is one seed of several parts.
    """

    def __init__(self, seed: Seed) -> None:
        parts = list(seed) if isinstance(seed, Sequence) else [seed]
        if not parts or any(type(part) is not int or part < 0 for part in parts):
            raise InputError(f"a seed is a whole number of at least 0, not {seed!r}", where="seed")
        # The count goes in first because numpy pads with zeros: (1,) and (1, 0) must differ.
        self._entropy = [len(parts), *parts]
        self._open: dict[str, np.random.Generator] = {}

    def uniform(self, name: str, count: int) -> list[float]:
        """Return the next ``count`` doubles of stream ``name``."""
        if name not in self._open:
            key = (zlib.crc32(name.encode()),)
            sequence = np.random.SeedSequence(self._entropy, spawn_key=key)
            self._open[name] = np.random.Generator(np.random.PCG64(sequence))
        values: list[float] = self._open[name].random(count).tolist()
        return values

    def endless(self, name: str) -> Iterator[float]:
        """Yield doubles of stream ``name`` without end; do not mix with ``uniform`` on one name."""
        while True:
            yield from self.uniform(name, _BLOCK)


def exponential(u: float, mean: float) -> float:
    """Map a uniform double to an exponential one with the given mean."""
    return -mean * math.log1p(-u)


def between(u: float, low: float, high: float) -> float:
    """Map a uniform double to the interval from ``low`` to ``high``."""
    return low + u * (high - low)


def lognormal(u: float, mu: float, sigma: float) -> float:
    """Map a uniform double to a lognormal one; ``mu`` and ``sigma`` belong to the logarithm."""
    return math.exp(mu + sigma * NormalDist().inv_cdf(max(u, 2.0**-60)))


def pick(u: float, weights: Sequence[float]) -> int:
    """Map a uniform double to an index, with probability proportional to its weight."""
    target = u * math.fsum(weights)
    passed = 0.0
    for index, weight in enumerate(weights):
        passed += weight
        if target < passed:
            return index
    return max(index for index, weight in enumerate(weights) if weight > 0)


def floor_index(u: float, count: int) -> int:
    """Map a uniform double to one of ``count`` equally likely indices."""
    return min(count - 1, math.floor(u * count))
