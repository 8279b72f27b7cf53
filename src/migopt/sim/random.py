"""A small random generator with the same numbers in readable and compiled code."""

from __future__ import annotations

_MASK = 2**64 - 1


class SplitMix64:
    """Sebastiano Vigna's SplitMix64 (public domain, https://prng.di.unimi.it/splitmix64.c).

    Parameters
    ----------
    seed : int
        The 64-bit state to start from.
    """

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK

    def next(self) -> int:
        """Return the next 64-bit number."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        value = self.state
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        return value ^ (value >> 31)

    def below(self, bound: int) -> int:
        """Return a number from 0 to ``bound - 1`` (remainder of the next one)."""
        return self.next() % bound
