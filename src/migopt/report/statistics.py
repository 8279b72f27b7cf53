"""Means with confidence intervals, paired comparisons, and a ranking over common runs.

A unit is what two entries have in common: one instance with one seed. Intervals are Student's t
at 95 % (Student, Biometrika 6, 1908), paired by unit where two entries are compared, so that how
hard a day is cancels out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
Unit = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of ``n`` values and its confidence interval; None at both ends when n < 2."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def excludes_zero(self) -> bool:
        """True when the whole interval lies on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of ``values`` with its two-sided t interval.

    Raises
    ------
    ValueError
        There are no values.
    """
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, None, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = _t_quantile(confidence, n - 1) * math.sqrt(variance / n)
    return Interval(mean, mean - half, mean + half, n)


def _t_quantile(confidence: float, freedom: int) -> float:
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    return float(stdtrit(freedom, 0.5 + confidence / 2))


def paired_difference(first: Mapping[Unit, float], second: Mapping[Unit, float]) -> Interval | None:
    """Return the mean of first - second over their common units, None when there is none."""
    common = [unit for unit in first if unit in second]
    if not common:
        return None
    return mean_interval([first[unit] - second[unit] for unit in common])


@dataclass(frozen=True, slots=True)
class Ranked:
    """One entry's place.

    Attributes
    ----------
    entry : str
        Name in tables.
    place : int or None
        From 1; None for an entry that did not answer every unit.
    mean : Interval
        Its mean over its own units.
    to_best : Interval or None
        Paired difference to the first entry; None for that entry itself.
    wins : int
        Units in which no entry is better.
    """

    entry: str
    place: int | None
    mean: Interval
    to_best: Interval | None
    wins: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """Entries by mean cost over the same units, then those that miss some units.

    Attributes
    ----------
    rows : tuple of Ranked
        Ranked entries first.
    units : int
        Units that at least one entry answered.
    """

    rows: tuple[Ranked, ...]
    units: int


def rank(costs: Mapping[str, Mapping[Unit, float]]) -> Ranking:
    """Rank entries by mean cost; lower is better, equal means share a place in order of name.

    Only entries that answered every unit have a place: a mean over other units is no comparison.
    The rest follow, still compared with the best over the units they share with it.

    Parameters
    ----------
    costs : Mapping
        Entry to unit to cost.
    """
    answered = {entry: values for entry, values in costs.items() if values}
    units = {unit for values in answered.values() for unit in values}
    means = {entry: mean_interval(list(values.values())) for entry, values in answered.items()}
    complete = [entry for entry, values in answered.items() if len(values) == len(units)]
    complete.sort(key=lambda entry: (means[entry].mean, entry))
    partial = sorted(set(answered) - set(complete), key=lambda e: (-means[e].n, means[e].mean, e))
    lowest = {
        unit: min(values[unit] for values in answered.values() if unit in values) for unit in units
    }
    best = complete[0] if complete else None
    rows = []
    for entry in [*complete, *partial]:
        values = answered[entry]
        versus = None
        if best is not None and entry != best:
            versus = paired_difference(values, answered[best])
        wins = sum(value == lowest[unit] for unit, value in values.items())
        place = None
        if entry in complete:
            place = 1 + sum(means[other].mean < means[entry].mean for other in complete)
        rows.append(Ranked(entry, place, means[entry], versus, wins))
    return Ranking(tuple(rows), len(units))
