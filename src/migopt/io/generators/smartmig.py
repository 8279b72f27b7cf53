"""The workload of SMART-MIG (IPDPS 2026, arXiv 2606.29775): BERT and ResNet jobs, lognormal training.

Source: the paper's figures 2 and 5 and the job generator that a co-author published
(GitHub aayush-agi/RL-GPU-Scheduling-MIG, commit 7e61cba29dff). The published experiments use 8 GPUs
and multipliers 12, 16 and 20; the multiplier's default of 2.5 per GPU is 20 for 8.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Self

from pydantic import Field, model_validator

from migopt.io.generators._parameters import Minutes, ScenarioParameters
from migopt.io.generators._streams import Streams, exponential, lognormal
from migopt.io.generators._workload import Draw
from migopt.io.measured import measured
from migopt.io.rates import spread
from migopt.model import FrozenMap, GpuModel

#: 95th percentile of the standard normal distribution, as the published generator rounds it.
_Z95 = 1.645


class Parameters(ScenarioParameters):
    """Parameters of ``smartmig``."""

    training_p05_min: Minutes = Field(
        40.0, description="5th percentile of the lognormal training duration on 1g, minutes"
    )
    training_p95_min: Minutes = Field(
        60.0, description="95th percentile of the lognormal training duration on 1g, minutes"
    )
    bert_share: float = Field(
        2 / 3, ge=0, le=1, description="share of BERT jobs, the others are ResNet"
    )

    @model_validator(mode="after")
    def _ranges(self) -> Self:
        if self.training_p05_min > self.training_p95_min:
            raise ValueError("training_p05_min is above training_p95_min")
        return self


class Workload:
    """Jobs of the SMART-MIG experiments."""

    def __init__(self, parameters: Parameters) -> None:
        self.p = parameters
        low, high = math.log(parameters.training_p05_min), math.log(parameters.training_p95_min)
        self.mu, self.sigma = (low + high) / 2, (high - low) / (2 * _Z95)

    def mean_minutes(self) -> float:
        """Return the expected duration on 1g."""
        training = math.exp(self.mu + self.sigma**2 / 2)
        share = self.p.inference_share
        return share * self.p.inference_mean_min + (1 - share) * training

    def draw(self, count: int, streams: Streams, model: GpuModel) -> list[Draw]:
        """Return ``count`` jobs."""
        kinds, models = streams.uniform("kind", count), streams.uniform("model", count)
        inference, training = (
            streams.uniform("inference", count),
            streams.uniform("training", count),
        )
        shared = {
            (name, task): self._speeds(model, name, task)
            for name in ("bert", "resnet")
            for task in ("infer", "train")
        }
        draws = []
        for k, m, i, t in zip(kinds, models, inference, training, strict=True):
            name = "bert" if m < self.p.bert_share else "resnet"
            if k < self.p.inference_share:
                minutes = exponential(i, self.p.inference_mean_min)
                draws.append(Draw("inference", minutes, name, shared[name, "infer"]))
            else:
                minutes = lognormal(t, self.mu, self.sigma)
                draws.append(Draw("training", minutes, name, shared[name, "train"]))
        return draws

    def _speeds(self, model: GpuModel, name: str, task: str) -> FrozenMap:
        relative = measured()[f"smartmig:{name}:{task}"].relative
        linear = len({speed / slices for slices, speed in relative.items()}) == 1
        gain = Fraction(str(self.p.off_gain)) if linear else Fraction(0)
        return spread(model, relative, (1 + gain) if self.p.mig_off else Fraction(0))
