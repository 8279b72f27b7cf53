"""Options that every trace format takes; the command line builds its switches from this table."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from migopt.io._options import Options

Positive = Annotated[float, Field(gt=0)]

#: Deadline slack by name: medians and tails of the deadlines that Chronus (SoCC 2021) published.
SLACKS = {"tight": 1.1, "normal": 2.0, "loose": 3.5}


class ImportOptions(Options):
    """How rows become jobs of an instance; times in the unit that the name ends with."""

    day: int | None = Field(
        None, ge=0, description="keep arrivals of this day of the trace's clock (from 0)"
    )
    window_days: str | None = Field(
        None, description="keep arrivals of the days A-B, both included, e.g. 116-148"
    )
    gpus: int = Field(1, ge=1, le=100_000, description="number of GPUs of the instance")
    gpu: str = Field("A100-40GB", description="GPU model of the instance")
    catalogue: str | None = Field(
        None, description="allowed partitions (default paper-12 on A100-40GB, else all)"
    )
    keep: str = Field(
        "1", description="thinning: keep each job with this probability, 0.01 or 1/100"
    )
    seed: int = Field(0, ge=0, description="seed of thinning and of drawn deadlines")
    merge_campaigns: float | None = Field(
        None,
        gt=0,
        description="a tenant's arrivals with gaps of at most this many seconds become one arrival",
    )
    origin: Literal["midnight", "first"] = Field(
        "midnight", description="time 0: midnight before the first arrival, or the first arrival"
    )
    deadline_slack: str = Field(
        "2.0",
        description="due = arrival + slack x run time: a number, tight, normal, loose or chronus (drawn)",
    )
    deadline_floor_s: float = Field(
        10.0, ge=0, description="least time to the deadline of a single request, seconds"
    )
    elasticity: Literal["auto", "linear", "measured"] = Field(
        "auto",
        description="auto: capped by the request, whole GPUs by thirds; linear; or measured models",
    )
    share_of: str = Field(
        "a100", description="what a share is a share of: a100, or memory:GB of the source card"
    )
    memory_floor: Literal["none", "share"] = Field(
        "none",
        description="memory a shared request needs: none known, or the memory its share covers "
        "(then a share above one half fits the full slice alone)",
    )
    speed: str = Field(
        "", description="speed of source cards relative to the instance's GPU, V100M16=0.4,T4=0.2"
    )
    only_completed: bool = Field(False, description="drop jobs that failed or were cancelled")
    censored: Literal["drop", "keep"] = Field(
        "drop", description="jobs cut off by the end of the trace: drop, or keep the time seen"
    )
    min_run_s: float | None = Field(
        None, gt=0, description="keep rows with run time 0 and give them this many seconds"
    )
    mig_off: bool = Field(True, description="whether a GPU may run with MIG off")
    off_gain: float = Field(
        0.06,
        ge=0,
        description="how much faster than on the full slice a linear job runs with MIG off",
    )
    tau_s: float = Field(4.0, ge=0, le=86_400, description="duration of a repartition, seconds")
    weight_a: str | None = Field(
        None, description="energy weight a as P/Q (default: the stored value of s0-slack over gpus)"
    )
