"""What a learned policy sees of one GPU at a decision: named layouts of numbers.

====================  ===========================================================================
``paper``             the paper's 2 + 2m numbers: partition, hour of the day, then per job its
                      time to the due date and its mean duration over the present slices, minutes
``paper-binned``      the same in bins, as in the paper
``queue``             partition, hour, active jobs, running jobs, then per job its time to the
                      due date, its mean duration over all kinds of slices, whether it runs
``forecast``          ``queue``, then per partition what the present jobs would cost under it:
                      energy and tardiness in job-minutes, and minutes until the last one ends
====================  ===========================================================================

Jobs are the first m active ones in order of due date, running ones among them. Where there are fewer,
the rest is due in 1,440 minutes and takes 0 (in bins: bin 0). A time to the due date is at most 1,440.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from migopt.errors import InputError, NotApplicableError, nearest_hint
from migopt.model import Instance

LAYOUTS = ("paper", "paper-binned", "queue", "forecast")
MS_PER_MIN = 60_000
UJ_PER_WMIN = 60_000_000
#: Version of the layouts above; a change of meaning is a new version.
LAYOUT_VERSION = 1


@dataclass(frozen=True, slots=True)
class View:
    """A layout with its parameters.

    Attributes
    ----------
    layout : str
        One of ``LAYOUTS``.
    jobs : int
        How many jobs are listed (the paper's m).
    actions : int
        Partitions of the catalogue.
    job_minutes_per_wmin : float
        What one W·min of energy costs, in minutes of one job's tardiness: a times the jobs of a day.
    due_edges_min, mean_edges_min : tuple of float
        Upper edges of the bins, ascending.
    """

    layout: str = "paper"
    jobs: int = 3
    actions: int = 12
    job_minutes_per_wmin: float = 0.0
    due_edges_min: tuple[float, ...] = (0.0, 2.0, 5.0, 10.0, 20.0, 40.0)
    mean_edges_min: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)

    def __post_init__(self) -> None:
        """Refuse what no layout can be."""
        if self.layout not in LAYOUTS:
            raise InputError(f"no state layout {self.layout!r}{nearest_hint(self.layout, LAYOUTS)}")
        price = self.job_minutes_per_wmin
        for name in ("jobs", "actions"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 0:
                raise InputError(
                    f"{name} of a state must be a whole number, not {getattr(self, name)!r}"
                )
        if type(price) not in (int, float) or not 0 <= price < float("inf"):
            raise InputError(f"job_minutes_per_wmin must be a number from 0, not {price!r}")
        if not 0 <= self.jobs <= 64:
            raise InputError(f"a state lists 0 to 64 jobs, not {self.jobs}")
        for name in ("due_edges_min", "mean_edges_min"):
            edges = getattr(self, name)
            if not all(type(edge) in (int, float) and isfinite(edge) for edge in edges):
                raise InputError(f"{name} must be numbers, not {edges}")
            if list(edges) != sorted(set(edges)):
                raise InputError(f"{name} must ascend, not {edges}")

    @property
    def width(self) -> int:
        """How many numbers a state has."""
        if self.layout.startswith("paper"):
            return 2 + 2 * self.jobs
        return 4 + 3 * self.jobs + (3 * self.actions if self.layout == "forecast" else 0)

    @property
    def forecast_columns(self) -> slice:
        """Columns of the forecasts, three per partition; empty in other layouts."""
        return slice(4 + 3 * self.jobs, self.width) if self.layout == "forecast" else slice(0, 0)

    def as_dict(self) -> dict[str, Any]:
        """Return the parameters as a document."""
        return asdict(self) | {"version": LAYOUT_VERSION}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> View:
        """Read what ``as_dict`` wrote; raises InputError for another version or other keys."""
        values = dict(document)
        version = values.pop("version", None)
        if version != LAYOUT_VERSION:
            raise InputError(
                f"its state layout has version {version}; this migopt knows {LAYOUT_VERSION}"
            )
        known = {name for name in cls.__slots__}
        if set(values) != known:
            odd = sorted(set(values) ^ known)
            raise InputError(f"its state layout has other parameters: {', '.join(odd)}")
        for name in ("due_edges_min", "mean_edges_min"):
            values[name] = tuple(values[name])
        return cls(**values)

    def for_instance(self, instance: Instance) -> View:
        """Return the view with the actions and the price of energy of an instance."""
        refuse_many(instance)
        price = float(instance.weight_a) * instance.total_weight
        return replace(self, actions=len(instance.catalogue(0)), job_minutes_per_wmin=price)

    # --- what the kernel reads ------------------------------------------------------------------

    def settings(self, *, causes: int, first: int, most_steps: int) -> np.ndarray[Any, Any]:
        """Return the integers of ``sim.episodes``."""
        return np.array(
            [
                LAYOUTS.index(self.layout),
                self.jobs,
                causes,
                self.actions,
                first,
                most_steps,
                len(self.due_edges_min),
                len(self.mean_edges_min),
            ],
            np.int64,
        )

    def units(self) -> np.ndarray[Any, Any]:
        """Return the floats of ``sim.episodes``."""
        per_uj = self.job_minutes_per_wmin / UJ_PER_WMIN
        return np.array([per_uj, *self.due_edges_min, *self.mean_edges_min], np.float64)


def refuse_many(instance: Instance) -> None:
    """Raise NotApplicableError for an instance of several GPUs."""
    if len(instance.gpus) != 1:
        raise NotApplicableError(
            f"learned policies decide for one GPU; the instance has {len(instance.gpus)}"
        )
