"""Measured speeds per slice size as an alternative to the synthetic elasticity classes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from migopt.errors import InputError, UnknownNameError


@dataclass(frozen=True, slots=True)
class MeasuredSpeeds:
    """One measured model: its speed on 1, 2, 3, 4 and 7 compute slices, relative to 7.

    Attributes
    ----------
    id : str
        ``source:model:batch``.
    task : str
        ``train`` or ``infer``.
    relative : dict of int to Fraction
        Compute slices to speed over the speed on 7 slices (may exceed 1: measurements do).
    """

    id: str
    task: str
    relative: dict[int, Fraction]

    def __hash__(self) -> int:
        return hash(self.id)


@cache
def measured() -> dict[str, MeasuredSpeeds]:
    """Return every measured model by id, in the order of the data file (which has the sources)."""
    text = files("migopt.io").joinpath("data/measured_speeds.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    slices = document["slices"]
    found = {}
    for row in document["rows"]:
        speeds = [Fraction(str(value)) for value in row["speed"]]
        relative = {c: speed / speeds[-1] for c, speed in zip(slices, speeds, strict=True)}
        found[row["id"]] = MeasuredSpeeds(row["id"], row["task"], relative)
    return found


def pool(names: tuple[str, ...], task: str) -> list[MeasuredSpeeds]:
    """Return the measured models of ``task`` among ``names`` (ids, or prefixes such as ``miso``).

    Raises UnknownNameError for a name that matches nothing, InputError when no model is left.
    """
    chosen = []
    for name in names:
        ids = [i for i in measured() if i == name or i.startswith(name + ":")]
        if not ids:
            raise UnknownNameError("measured model", name, measured(), where="measured")
        chosen += [measured()[i] for i in ids if measured()[i].task == task]
    if not chosen:
        raise InputError(
            f"no measured model for task {task!r} in {', '.join(names)}", where="measured"
        )
    return list(dict.fromkeys(chosen))
