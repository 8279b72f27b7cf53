"""From drawn numbers to an instance: what all scenario families share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from migopt.errors import InputError
from migopt.gpus import default_power, load_gpu
from migopt.io._options import rational
from migopt.io.generators._arrivals import ArrivalProcess, published_mean_per_min
from migopt.io.generators._parameters import MULTIPLIER_PER_GPU, ScenarioParameters
from migopt.io.generators._streams import Seed, Streams, between
from migopt.io.rates import half_up, rates_of
from migopt.model import (
    FrozenMap,
    GpuModel,
    Instance,
    Job,
    Preemption,
    Repartition,
)
from migopt.placement import build_catalogue
from migopt.units import MS_PER_DAY, MS_PER_MINUTE, ceil_div, ms_from_minutes

GPU = "A100-40GB"
#: Most jobs that a scenario may be expected to have.
MAX_JOBS = 10_000_000


@dataclass(frozen=True, slots=True)
class Draw:
    """One job before it has a place in time.

    Attributes
    ----------
    kind : str
        ``inference`` or ``training``.
    minutes : float
        Duration on a 1g slice.
    elasticity : str
        Label for reports.
    speeds : FrozenMap
        Profile (and ``off``) to speed relative to 7g, as exact fractions.
    """

    kind: str
    minutes: float
    elasticity: str
    speeds: FrozenMap


class Workload(Protocol):
    """What a family adds: how long its jobs are and how fast slices do them."""

    def mean_minutes(self) -> float:
        """Return the expected duration of a job on 1g, in minutes."""
        ...

    def draw(self, count: int, streams: Streams, model: GpuModel) -> list[Draw]:
        """Return ``count`` jobs."""
        ...


def build(family: str, parameters: ScenarioParameters, workload: Workload, seed: Seed) -> Instance:
    """Return the instance of one family for one seed; the same input gives the same instance."""
    streams = Streams(seed)
    model = load_gpu(GPU)
    p = resolve(family, parameters)
    arrivals = _arrivals(p, workload, streams, model)
    jobs = _jobs(p, arrivals, workload.draw(len(arrivals), streams, model), streams, model)
    horizon = MS_PER_DAY * p.days if p.days else max(job.due_ms for job in jobs)
    return Instance(
        name=_name(family, p, seed),
        gpus=(model,) * p.gpus,
        jobs=jobs,
        catalogues=FrozenMap({model.key: build_catalogue(p.catalogue, model)}),
        power=FrozenMap({model.key: default_power(model.key)}),
        preemption=Preemption(p.preemption, ms_from_minutes(Fraction(p.resume_overhead_s) / 60)),
        repartition=Repartition(p.repartition, ms_from_minutes(Fraction(p.tau_s) / 60)),
        weight_a=rational(str(p.weight_a), "weight_a"),
        horizon_ms=horizon,
        mig_off=p.mig_off,
        origin={
            "generator": family,
            "seed": seed if isinstance(seed, int) else list(seed),
            "parameters": p.model_dump(mode="json"),
        },
    )


def resolve(family: str, parameters: ScenarioParameters) -> ScenarioParameters:
    """Return the parameters with every derived default filled in, so that they stand alone."""
    p = parameters
    changes: dict[str, Any] = {}
    if p.jobs is None and p.days is None:
        changes["days"] = 1
    if p.arrivals is None:
        changes["arrivals"] = "published" if p.jobs is None else "flat"
    if p.load is None and p.rate_multiplier is None:
        changes["rate_multiplier"] = MULTIPLIER_PER_GPU * p.gpus
    weight = (
        stored_weight(family) / p.gpus if p.weight_a is None else rational(p.weight_a, "weight_a")
    )
    changes["weight_a"] = str(weight)
    return p.model_copy(update=changes)


@cache
def stored_weights() -> Mapping[str, Any]:
    """Return the stored record of every scenario's energy weight."""
    text = files("migopt.io.generators").joinpath("data/weights.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    scenarios: dict[str, Any] = document["scenarios"]
    return scenarios


def stored_weight(family: str) -> Fraction:
    """Return the energy weight a of one GPU for ``family`` (``migopt calibrate`` derives it)."""
    return Fraction(stored_weights()[family]["weight_a"])


def _arrivals(
    p: ScenarioParameters, workload: Workload, streams: Streams, model: GpuModel
) -> list[float]:
    if p.load is not None:
        mean = p.load * p.gpus * model.compute_slices / workload.mean_minutes()
    else:
        mean = float(p.rate_multiplier or 0) * published_mean_per_min()
    process = ArrivalProcess(str(p.arrivals), mean, p.batch_mean, p.day_cv)
    if p.jobs is not None:
        return process.first(p.jobs, streams)
    days = int(p.days or 1)
    if process.expected(days) > MAX_JOBS:
        raise InputError(f"about {process.expected(days):.3g} jobs; the most is {MAX_JOBS:,}")
    return process.within(days, streams)


def _jobs(
    p: ScenarioParameters,
    arrivals: list[float],
    draws: list[Draw],
    streams: Streams,
    model: GpuModel,
) -> tuple[Job, ...]:
    smallest = next(q.name for q in model.profiles if q.compute_slices == 1 and q.kind == "plain")
    full = model.full_profile.name
    factors = streams.uniform("due", len(arrivals))
    jobs = []
    for index, (arrival, draw, u) in enumerate(zip(arrivals, draws, factors, strict=True)):
        rates = rates_of(model, draw.speeds)
        per_profile = rates[model.key]
        work = max(1, half_up(draw.minutes, MS_PER_MINUTE * per_profile[smallest]))
        release = half_up(arrival, MS_PER_MINUTE)
        factor, parts = between(u, p.due_low, p.due_high).as_integer_ratio()
        jobs.append(
            Job(
                id=index,
                release_ms=release,
                due_ms=release + ceil_div(factor * work, parts * per_profile[full]),
                work=work,
                rates=rates,
                kind=draw.kind,
                elasticity=draw.elasticity,
            )
        )
    return tuple(jobs)


def _name(family: str, p: ScenarioParameters, seed: Seed) -> str:
    parts = [family]
    parts.append(f"load{p.load:g}" if p.load is not None else f"x{p.rate_multiplier:g}")
    parts.append(f"g{p.gpus}")
    if p.jobs is not None:
        parts.append(f"n{p.jobs}")
    elif p.days != 1:
        parts.append(f"d{p.days}")
    seeds = [seed] if isinstance(seed, int) else list(seed)
    return "-".join([*parts, "seed" + ".".join(map(str, seeds))])
