"""128-bit integers as (high, low): high signed, low unsigned; enough to compare costs exactly."""

from __future__ import annotations

import numpy as np

from migopt.compiled import lean


@lean
def product(a: int, b: int) -> tuple[int, int]:
    """Return a * b of a signed and a non-negative 64-bit integer."""
    negative = a < 0
    x = np.uint64(-a if negative else a)
    y = np.uint64(b)
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    low0 = x0 * y0
    middle = x1 * y0 + (low0 >> half)
    cross = x0 * y1 + (middle & mask)
    low = (cross << half) | (low0 & mask)
    high = x1 * y1 + (middle >> half) + (cross >> half)
    if negative:
        low = ~low + np.uint64(1)
        high = ~high + np.uint64(1 if low == np.uint64(0) else 0)
    return np.int64(high), low


@lean
def add(high: int, low: int, high2: int, low2: int) -> tuple[int, int]:
    """Return the sum of two such numbers."""
    total = low + low2
    return high + high2 + (1 if total < low else 0), total
