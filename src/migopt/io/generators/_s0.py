"""The workload of scenario S0 (arXiv 2606.25082, CCGrid 2025), shared by ``s0-tight`` and ``s0-slack``.

Arrivals follow the published hourly rates. A job is inference with probability 0.8 (exponential,
mean 3 min on 1g) or training (uniform 10 to 40 min on 1g). Its elasticity class is linear, sublinear
or capped, equally likely; a capped job stops getting faster at 2g, 3g or 4g. The paper prints neither
its sublinear functions nor its deadline rule: both are parameters here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, Self

from pydantic import Field, model_validator

from migopt.io.elasticity import CAPS, SUBLINEAR, speeds
from migopt.io.generators._parameters import Minutes, Names, Numbers, ScenarioParameters, Sizes
from migopt.io.generators._streams import (
    Streams,
    between,
    exponential,
    floor_index,
    pick,
)
from migopt.io.generators._workload import Draw
from migopt.io.measured import pool
from migopt.io.rates import spread
from migopt.model import FrozenMap, GpuModel

CLASSES = ("linear", "sublinear", "capped")


class S0Parameters(ScenarioParameters):
    """Parameters of the S0 scenarios."""

    mig_off: bool = Field(True, description="whether a GPU may run with MIG off")
    training_low_min: Minutes = Field(
        10.0, description="least training duration on 1g (uniform), minutes"
    )
    training_high_min: Minutes = Field(
        40.0, description="greatest training duration on 1g (uniform), minutes"
    )
    elasticity: Literal["synthetic", "measured"] = Field(
        "synthetic", description="synthetic classes, or measured models (see measured)"
    )
    class_weights: Numbers = Field(
        (1.0, 1.0, 1.0),
        min_length=3,
        max_length=3,
        description="relative frequency of " + ", ".join(CLASSES),
    )
    caps: Sizes = Field(
        CAPS, min_length=1, description="slices at which capped jobs stop getting faster"
    )
    sublinear: Names = Field(
        SUBLINEAR, min_length=1, description="sublinear functions, equally likely"
    )
    measured: Names = Field(
        ("miso", "parvagpu"),
        description="with elasticity measured: sources or single models to draw from",
    )

    @model_validator(mode="after")
    def _ranges(self) -> Self:
        if self.training_low_min > self.training_high_min:
            raise ValueError("training_low_min is above training_high_min")
        if sum(self.class_weights) == 0:
            raise ValueError("class_weights are all 0")
        return self


class Workload:
    """Jobs of S0."""

    def __init__(self, parameters: S0Parameters) -> None:
        self.p = parameters

    def mean_minutes(self) -> float:
        """Return the expected duration on 1g."""
        training = (self.p.training_low_min + self.p.training_high_min) / 2
        share = self.p.inference_share
        return share * self.p.inference_mean_min + (1 - share) * training

    def draw(self, count: int, streams: Streams, model: GpuModel) -> list[Draw]:
        """Return ``count`` jobs; every stream gives job i its own uniform, used or not."""
        p = self.p
        inference, training = (
            streams.uniform("inference", count),
            streams.uniform("training", count),
        )
        kinds = [
            "inference" if u < p.inference_share else "training"
            for u in streams.uniform("kind", count)
        ]
        elastic = (
            self._synthetic(count, streams, model)
            if p.elasticity == "synthetic"
            else self._measured(kinds, streams, model)
        )
        draws = []
        for kind, i, t, (label, relative) in zip(kinds, inference, training, elastic, strict=True):
            if kind == "inference":
                minutes = exponential(i, p.inference_mean_min)
            else:
                minutes = between(t, p.training_low_min, p.training_high_min)
            draws.append(Draw(kind, minutes, label, relative))
        return draws

    def _synthetic(
        self, count: int, streams: Streams, model: GpuModel
    ) -> list[tuple[str, FrozenMap]]:
        p = self.p
        gain = Fraction(str(p.off_gain)) if p.mig_off else None
        groups = [["linear"], list(p.sublinear), [f"capped-{cap}g" for cap in p.caps]]
        known = {
            name: speeds(model, name, off_gain=gain, where="sublinear")
            for group in groups
            for name in group
        }
        labels = []
        for c, f, k in zip(
            *(streams.uniform(name, count) for name in ("class", "sublinear", "cap")), strict=True
        ):
            which = pick(c, p.class_weights)
            group = groups[which]
            labels.append(group[floor_index((0.0, f, k)[which], len(group))])
        return [(label, known[label]) for label in labels]

    def _measured(
        self, kinds: list[str], streams: Streams, model: GpuModel
    ) -> list[tuple[str, FrozenMap]]:
        # Nobody measured these models with MIG off: there they run as on the full slice.
        off = Fraction(1) if self.p.mig_off else Fraction(0)
        pools = {
            "inference": pool(self.p.measured, "infer"),
            "training": pool(self.p.measured, "train"),
        }
        known = {row: spread(model, row.relative, off) for rows in pools.values() for row in rows}
        chosen = [
            pools[kind][floor_index(u, len(pools[kind]))]
            for kind, u in zip(kinds, streams.uniform("measured", len(kinds)), strict=True)
        ]
        return [(row.id, known[row]) for row in chosen]
