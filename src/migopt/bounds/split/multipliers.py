"""The prices of a splitting bound as integers, in a form that files can hold."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migopt.bounds.split.problem import Floats, SplitProblem
from migopt.errors import InputError
from migopt.units import MS_PER_MINUTE

#: Prices are below 2 ** PRICE_BITS units.
PRICE_BITS = 30
FORMAT = "split-1"
#: Most bytes of one packed array; a day of 8 GPUs takes 40 MB.
MOST_BYTES = 1 << 31


@dataclass(frozen=True)
class Multipliers:
    """Prices of (job, interval, group), zero outside the windows.

    Attributes
    ----------
    case : str
        ``mig``, ``off`` or ``both``.
    grid_ms : int64 array [m + 1]
    first, last : int64 arrays [J]
        Windows in order of job id; a window begins at or before the job's release.
    groups : tuple of (GPU key, tuple of tuple of profile names)
        Columns of ``prices``, per GPU model.
    exponent : int
        A price of 1 is 2 ** -exponent units of cost per millisecond.
    prices : int64 array [pairs, K]
    parts : int
        Into how many steps tau is cut.
    partition : int
        The bound holds for schedules that keep this partition (1-based) of the catalogue, and groups
        are its own; 0 for any.
    """

    case: str
    grid_ms: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    groups: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    exponent: int
    prices: NDArray[np.int64]
    parts: int
    partition: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "format": FORMAT,
            "case": self.case,
            "grid_ms": _pack(np.diff(self.grid_ms, prepend=0)),
            "first": _pack(self.first),
            "last": _pack(self.last),
            "groups": [[key, [list(names) for names in groups]] for key, groups in self.groups],
            "exponent": self.exponent,
            "prices": _pack(self.prices),
            "columns": int(self.prices.shape[1]),
            "parts": self.parts,
            **({"partition": self.partition} if self.partition else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Multipliers:
        """Read what ``to_dict`` wrote; raises InputError when it is something else."""
        try:
            if data["format"] != FORMAT:
                raise InputError(f"multipliers of format {data['format']!r}; known: {FORMAT}")
            columns = int(data["columns"])
            return cls(
                str(data["case"]),
                np.cumsum(_unpack(data["grid_ms"])),
                _unpack(data["first"]),
                _unpack(data["last"]),
                tuple(
                    (str(key), tuple(tuple(map(str, names)) for names in groups))
                    for key, groups in data["groups"]
                ),
                int(data["exponent"]),
                _unpack(data["prices"]).reshape(-1, columns),
                int(data["parts"]),
                int(data.get("partition", 0)),
            )
        except (KeyError, TypeError, ValueError, OverflowError, zlib.error) as error:
            raise InputError(f"these multipliers cannot be read: {error!r}") from error


def round_prices(problem: SplitProblem, prices: Floats, parts: int) -> Multipliers:
    """Round prices (cost per minute) to integers; any prices at or above 0 give a valid bound."""
    per_ms = prices / MS_PER_MINUTE
    scale = max(float(per_ms.max(initial=0.0)), problem.step_scale / MS_PER_MINUTE, 2.0**-200)
    exponent = PRICE_BITS - math.frexp(scale)[1]
    groups = tuple((kind.vectors.model.key, kind.vectors.groups) for kind in problem.kinds)
    return Multipliers(
        problem.case,
        problem.grid_ms,
        problem.first,
        problem.last,
        groups,
        exponent,
        np.maximum(np.rint(per_ms * 2.0**exponent), 0.0).astype(np.int64),
        parts,
        problem.partition,
    )


def _pack(values: NDArray[np.int64]) -> str:
    # Byte planes of one significance together compress far better.
    planes = values.astype("<i8").ravel().view(np.uint8).reshape(-1, 8).T
    return base64.b85encode(zlib.compress(np.ascontiguousarray(planes).tobytes(), 6)).decode()


def _unpack(text: str) -> NDArray[np.int64]:
    inflate = zlib.decompressobj()
    data = inflate.decompress(base64.b85decode(text), MOST_BYTES)
    if inflate.unconsumed_tail or not inflate.eof:
        raise ValueError("packed numbers are cut off, or too many")
    planes = np.frombuffer(data, np.uint8).reshape(8, -1)
    return np.ascontiguousarray(planes.T).view("<i8").ravel().astype(np.int64)
