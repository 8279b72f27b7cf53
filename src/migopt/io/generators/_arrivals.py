"""Arrival times: a Poisson process whose rate follows the hour of day.

A process with cumulative rate L(t) has its arrivals at L^-1(S_1), L^-1(S_2), ..., where S_k sums
unit exponentials (Çınlar, Introduction to Stochastic Processes, 1975). So another level or
shape moves the same arrivals and never redraws them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any

from migopt.errors import InputError, UnknownNameError
from migopt.io.generators._streams import Streams, exponential, lognormal
from migopt.units import MAX_TIME_MS, MS_PER_HOUR

HOURS = 24
_HOUR_MIN = 60.0
_LAST_HOUR = MAX_TIME_MS // MS_PER_HOUR


@cache
def _data() -> dict[str, Any]:
    text = files("migopt.io.generators").joinpath("data/arrival_shapes.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def published_mean_per_min() -> float:
    """Return the day's mean of the published rates at multiplier 1, in arrivals per minute."""
    return math.fsum(_data()["published"]["per_minute"]) / HOURS


def shape_names() -> list[str]:
    """Return the names of all arrival shapes."""
    return ["published", "flat", *_data()["shapes"]]


def shape(name: str) -> list[float]:
    """Return 24 multiples of the day's mean, hour 0 first; raises UnknownNameError."""
    if name == "flat":
        return [1.0] * HOURS
    if name == "published":
        rates = _data()["published"]["per_minute"]
    elif name in _data()["shapes"]:
        rates = _data()["shapes"][name]["shape"]
    else:
        raise UnknownNameError("arrival shape", name, shape_names(), where="arrivals")
    mean = math.fsum(rates) / HOURS
    return [rate / mean for rate in rates]


@dataclass(frozen=True)
class ArrivalProcess:
    """When jobs come.

    Attributes
    ----------
    shape : str
        Name of the profile by hour of day; it repeats every day.
    mean_per_min : float
        Arrivals per minute, averaged over a day.
    batch_mean : float
        Mean size of a batch (geometric, at least 1) whose jobs come at the same moment; batches are
        then rarer, so that the mean rate stays.
    day_cv : float
        Coefficient of variation of a random factor per day (lognormal with mean 1).
    """

    shape: str
    mean_per_min: float
    batch_mean: float = 1.0
    day_cv: float = 0.0

    def expected(self, days: int) -> float:
        """Return the expected number of arrivals in so many days."""
        return self.mean_per_min * _HOUR_MIN * HOURS * days

    def first(self, count: int, streams: Streams) -> list[float]:
        """Return the first ``count`` arrival times in minutes, over as many days as it takes."""
        times = list(islice(self._times(streams, _LAST_HOUR), count))
        if len(times) < count:
            raise InputError("so few arrivals that some lie beyond the greatest time")
        return times

    def within(self, days: int, streams: Streams) -> list[float]:
        """Return all arrival times before the end of the last day, in minutes."""
        return list(self._times(streams, days * HOURS))

    def _times(self, streams: Streams, hours: int) -> Iterator[float]:
        """Yield arrival times within so many hours: each unit exponential is used up hour by hour."""
        uniforms, sizes = streams.endless("gap"), streams.endless("batch")
        masses = self._mass_per_hour(streams)
        hour, mass = 0, next(masses)
        left = mass
        while True:
            need = exponential(next(uniforms), 1.0)
            while need >= left:
                need -= left
                hour, mass = hour + 1, next(masses)
                left = mass
                if hour == hours:
                    return
            left -= need
            time = _HOUR_MIN * (hour + (1 - left / mass))
            for _ in range(self._batch_size(sizes)):
                yield time

    def _mass_per_hour(self, streams: Streams) -> Iterator[float]:
        """Yield the expected number of batches in hour 0, 1, 2, ... of the whole process."""
        profile = shape(self.shape)
        level = self.mean_per_min * _HOUR_MIN / self.batch_mean
        sigma = math.sqrt(math.log1p(self.day_cv**2))
        for u in streams.endless("day"):
            factor = lognormal(u, -sigma * sigma / 2, sigma) if sigma else 1.0
            for relative in profile:
                yield level * factor * relative

    def _batch_size(self, sizes: Iterator[float]) -> int:
        if self.batch_mean == 1:
            return 1
        return 1 + math.floor(math.log1p(-next(sizes)) / math.log1p(-1 / self.batch_mean))
