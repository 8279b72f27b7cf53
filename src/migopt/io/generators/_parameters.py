"""Parameters that every scenario has.

A family's parameters are one pydantic model: field name, type, default, limits and description in
one place. ``None`` as a default means that it is derived; the resolved value is what is stored.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from migopt.errors import UnknownNameError
from migopt.io._options import Options, split_list
from migopt.io.generators._arrivals import shape_names

#: Arrival rate multiplier per GPU: 20 for 8 GPUs in the published experiments.
MULTIPLIER_PER_GPU = 2.5


def _shape(value: str | None) -> str | None:
    if value is not None and value not in shape_names():
        raise UnknownNameError("arrival shape", value, shape_names(), where="arrivals")
    return value


Numbers = Annotated[tuple[Annotated[float, Field(ge=0)], ...], BeforeValidator(split_list)]
Sizes = Annotated[tuple[Annotated[int, Field(ge=1, le=99)], ...], BeforeValidator(split_list)]
Names = Annotated[tuple[str, ...], BeforeValidator(split_list)]
Positive = Annotated[float, Field(gt=0)]
#: Minutes of a duration, of any sensible length.
Minutes = Annotated[float, Field(gt=0, le=1_000_000)]


class ScenarioParameters(Options):
    """What every scenario family lets the user choose; times in the unit that the name ends with."""

    gpus: int = Field(1, ge=1, le=100_000, description="number of A100-40GB GPUs")
    days: int | None = Field(
        None, ge=1, le=366, description="days of arrivals (default 1); H = 24 h times days"
    )
    jobs: int | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="exactly this many jobs instead of days; H = last due",
    )
    rate_multiplier: Positive | None = Field(
        None, description=f"times the published arrival rate (default {MULTIPLIER_PER_GPU} x gpus)"
    )
    load: Positive | None = Field(
        None,
        description="instead of rate_multiplier: arrival rate x mean 1g-minutes / (GPUs x slices)",
    )
    arrivals: Annotated[str | None, BeforeValidator(_shape)] = Field(
        None,
        description="shape of the rate by hour: "
        + ", ".join(shape_names())
        + " (default published; flat when jobs is given)",
    )
    batch_mean: float = Field(
        1.0,
        ge=1,
        le=1_000_000,
        description="mean number of jobs that arrive at the same moment (geometric)",
    )
    day_cv: float = Field(
        0.0,
        ge=0,
        le=100,
        description="coefficient of variation of a random factor on each day's rate",
    )
    inference_share: float = Field(0.8, ge=0, le=1, description="share of inference jobs")
    inference_mean_min: Minutes = Field(
        3.0, description="mean of the exponential inference duration on 1g, minutes"
    )
    due_low: float = Field(1.0, ge=0, le=1_000_000, description="least due factor")
    due_high: float = Field(
        1.5,
        ge=0,
        le=1_000_000,
        description="greatest due factor; due = release + U(low, high) x duration on 7g",
    )
    catalogue: str = Field("paper-12", description="partitions that may be in force")
    mig_off: bool = Field(False, description="whether a GPU may run with MIG off")
    off_gain: float = Field(
        0.06, ge=0, le=100, description="how much faster than on 7g a linear job runs with MIG off"
    )
    repartition: Literal["gpu", "slices", "never"] = Field(
        "gpu", description="what stands still during a repartition: gpu or slices; or never allowed"
    )
    tau_s: float = Field(4.0, ge=0, le=86_400, description="duration of a repartition, seconds")
    preemption: Literal["free", "cost", "none"] = Field("free", description="preemption mode")
    resume_overhead_s: float = Field(
        0.0, ge=0, le=86_400, description="overhead per resume under preemption cost, seconds"
    )
    weight_a: str | None = Field(
        None,
        description="energy weight a as P/Q (default: the scenario's stored value over gpus)",
    )

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.due_low > self.due_high:
            raise ValueError(f"due_low {self.due_low:g} is above due_high {self.due_high:g}")
        if self.load is not None and self.rate_multiplier is not None:
            raise ValueError("give load or rate_multiplier, not both")
        if self.jobs is not None and self.days is not None:
            raise ValueError("give jobs or days, not both")
        return self
