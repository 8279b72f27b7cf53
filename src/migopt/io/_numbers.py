"""Numbers as people write them in Python, turned into exact ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

from migopt.errors import InputError
from migopt.io.limits import shown
from migopt.units import MS_PER_MINUTE

#: A number as people write it: 0.1 means one tenth, "1/3" one third.
Number = int | float | str | Fraction | Decimal


@dataclass(frozen=True)
class Time:
    """A time of a job, given in minutes or in milliseconds."""

    where: str
    name: str
    minutes: Number | None
    ms: Number | None

    def exact_ms(self) -> Fraction:
        """Return it in milliseconds, not rounded."""
        if self._given_in() == "ms":
            return exact(self.ms, self._place("ms"))
        return exact(self.minutes, self._place("min")) * MS_PER_MINUTE

    def rounded(self, rounding: Callable[[Fraction], int]) -> int:
        """Return it in whole milliseconds; ``rounding`` is applied to minutes."""
        if self._given_in() == "min":
            return rounding(exact(self.minutes, self._place("min")))
        value = plain(self.ms)
        if type(value) is not int:
            raise InputError(f"must be a whole number, not {shown(value)}", where=self._place("ms"))
        return value

    def _given_in(self) -> str:
        if self.minutes is None and self.ms is None:
            raise InputError(f"give {self.name}_min or {self.name}_ms", where=self.where)
        if self.minutes is not None and self.ms is not None:
            message = f"give {self.name}_min or {self.name}_ms, not both"
            raise InputError(message, where=self.where)
        return "min" if self.ms is None else "ms"

    def _place(self, unit: str) -> str:
        return ".".join(part for part in (self.where, f"{self.name}_{unit}") if part)


def plain(value: Any) -> Any:
    """Return whole numbers of any library as int, and anything else as it is."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def exact(value: Any, where: str) -> Fraction:
    """Return a number as it is written: a float counts as its shortest decimal form."""
    if isinstance(value, bool) or not isinstance(value, Real | Decimal | str):
        raise InputError(f"must be a number, not {shown(value)}", where=where)
    try:
        if isinstance(value, Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        return Fraction(repr(float(value)) if isinstance(value, Real) else str(value))
    except (ValueError, ZeroDivisionError):
        raise InputError(f"must be a finite number, not {shown(value)}", where=where) from None
