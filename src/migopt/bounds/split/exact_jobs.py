"""The job part of the splitting bound in integers: each job's least cost at stored prices, from below.

A job that ends in interval m pays the tardiness cost of the interval's start and the cheapest
processing up to its end. For any price lambda per unit of work,

    lambda W - sum_i L_i max(0, max_k (lambda v_k - c_ik))

is at most the price of cheapest processing (linear programming duality), so one lambda gives a bound
for every m at once, by prefix sums. Lambdas are found in floats, only values are computed from them in
integers, and gains are rounded up: whatever lambda is, the result is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migopt.model import Job
from migopt.units import ceil_div

Ints = NDArray[np.int64]
#: Bits of a price's fraction; fewer where prices are so large that 64 bits would not hold them.
FRACTION_BITS = 24
#: Gains stay below 2 ** GAIN_BITS.
GAIN_BITS = 60
#: Most steps to the best lambda of one interval.
MOST_STEPS = 60


def job_cost(job: Job, beta: int, times: Ints, prices: Ints, rates: Sequence[int]) -> int:
    """Return a lower bound on tardiness cost plus prices paid by one job, over all its last intervals.

    Parameters
    ----------
    job : Job
    beta : int
        Units of cost per millisecond of tardiness, at or above 0 and below 2 ** 50.
    times : int64 array [m + 1]
        Edges of the window's intervals, in milliseconds.
    prices : int64 array [m, K]
        Units of cost per millisecond, from 0 to below 2 ** 50.
    rates : sequence of int [K]
        Work per millisecond; 0 where the job cannot run.
    """
    base = [beta * max(0, int(t) - job.due_ms) for t in times]
    beyond = base[-1]
    able = [k for k, rate in enumerate(rates) if rate > 0]
    if not able or job.work <= 0:
        return beyond if job.work > 0 else 0
    # Intervals that begin before the due date cost nothing by themselves: the last of them stands for all.
    early = int(np.searchsorted(times[:-1], job.due_ms))
    ends = [m for m in range(max(early - 1, 0), len(times) - 1) if base[m] < beyond]
    top = max(rates)
    ends = [m for m in ends if (int(times[m + 1]) - int(times[0])) * top >= job.work]
    if not ends:
        return beyond
    part = _Prices(job.work, beta, early, times, prices[:, able], [rates[k] for k in able])
    values = {m: base[m] for m in ends}
    tuned: set[int] = set()
    while True:
        cheapest = min(values, key=lambda m: (values[m], m))
        if values[cheapest] >= beyond:
            return beyond
        if cheapest in tuned:
            return values[cheapest]
        tuned.add(cheapest)
        for m, value in part.costs(part.best_lambda(cheapest), ends).items():
            values[m] = max(values[m], base[m] + value)


class _Prices:
    """One job's prices, in floats to look for lambda and in integers for what counts."""

    def __init__(
        self, work: int, beta: int, early: int, times: Ints, prices: Ints, rates: list[int]
    ) -> None:
        self.work, self.beta, self.early = work, beta, early
        self.lengths, self.prices, self.rates = np.diff(times), prices, rates
        bits = (int(prices.max(initial=0)) + beta).bit_length()
        self.shift = max(0, min(FRACTION_BITS, GAIN_BITS - bits))
        self.float_lengths = self.lengths.astype(float)
        self.float_prices = prices.astype(float)
        self.speeds = np.array(rates, float)

    def best_lambda(self, m: int) -> float:
        """Return about the lambda that is best for ending in interval ``m``.

        The bound is concave in lambda and linear between breakpoints: the tangents of two sides meet
        above it, and there the next one is drawn.
        """
        lengths, paid = self.float_lengths[: m + 1], self.float_prices[: m + 1]
        if m >= self.early:
            paid = paid.copy()
            paid[-1] += self.beta
        work, speeds = float(self.work), self.speeds

        def at(price: float) -> tuple[float, float]:
            """Return value and slope at a lambda."""
            gain = price * speeds - paid
            chosen = gain.argmax(axis=1)
            best = np.take_along_axis(gain, chosen[:, None], axis=1)[:, 0]
            used = best > 0
            time = lengths[used]
            earned = float(time @ best[used])
            return price * work - earned, work - float(time @ speeds[chosen[used]])

        low, (low_value, low_slope) = 0.0, (0.0, work)
        high = float((paid[:, -1] / speeds[-1]).max()) + 1.0
        for _ in range(200):
            high_value, high_slope = at(high)
            if high_slope <= 0:
                break
            low, low_value, low_slope = high, high_value, high_slope
            high *= 2.0
        else:
            return low
        for _ in range(MOST_STEPS):
            if low_slope - high_slope <= 0:
                break
            middle = (high_value - low_value + low_slope * low - high_slope * high) / (
                low_slope - high_slope
            )
            if not low < middle < high:
                break
            hoped = low_value + low_slope * (middle - low)
            value, slope = at(middle)
            if slope > 0:
                low, low_value, low_slope = middle, value, slope
            else:
                high, high_value, high_slope = middle, value, slope
            if value >= hoped - 1e-13 * abs(hoped):
                break
        return low if low_value > high_value else high

    def costs(self, price: float, ends: Sequence[int]) -> dict[int, int]:
        """Return, for each last interval, a lower bound on what the work costs, from one lambda."""
        top = max(self.rates)
        # lambda = scaled / (2 ** shift top), kept where gains fit into 64 bits.
        most = 1 << GAIN_BITS
        scaled = min(int(price * 2.0**self.shift * float(top)), most)
        offers = np.array([ceil_div(scaled * rate, top) for rate in self.rates], dtype=np.int64)
        net = offers[None, :] - (self.prices << self.shift)
        gain = np.maximum(net.max(axis=1), 0)
        late = np.maximum(net.max(axis=1) - (self.beta << self.shift), 0)
        room = int(gain.max(initial=0)).bit_length() + int(self.lengths.sum()).bit_length()
        exact: Any = np.int64 if room < 63 else object
        lengths = self.lengths.astype(exact)
        earned = np.concatenate(([0], np.cumsum(gain.astype(exact) * lengths)))
        found = {}
        for m in ends:
            own = int(late[m]) if m >= self.early else int(gain[m])
            spent = int(earned[m]) + own * int(self.lengths[m])
            found[m] = max(0, (scaled * self.work - spent * top) // (top << self.shift))
        return found
