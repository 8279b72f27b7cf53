"""Small instances that between them touch every rule of a legal schedule."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from migopt.gpus import default_power, load_gpu
from migopt.model import FrozenMap, GpuModel, Instance, Job, PowerCurve, Preemption, Repartition
from migopt.placement import build_catalogue
from migopt.units import FULL_RATE, MS_PER_MINUTE

MODES = ("free", "cost", "none")
SCOPES = ("gpu", "slices", "never")


def small_instance(
    seed: int,
    *,
    jobs: int = 5,
    gpus: int = 1,
    mode: str = "free",
    scope: str = "gpu",
    tau_ms: int = 4000,
    mig_off: bool = False,
    gpu: str = "A100-40GB",
    catalogue: str = "paper-12",
    unit_ms: int = MS_PER_MINUTE,
    weight_a: Fraction = Fraction(1, 100_000),
) -> Instance:
    """Return a random small instance: mixed elasticities, some equal times, some memory limits, some zero slack.

    Parameters
    ----------
    seed : int
    jobs, gpus : int
    mode, scope : str
        Preemption mode and repartition scope.
    tau_ms, unit_ms : int
        Repartition time, and the time unit that durations are small multiples of.
    """
    draw = random.Random(seed)
    model = load_gpu(gpu)
    tables = _rate_tables(model)
    overhead = draw.choice((0, 1, unit_ms // 10)) if mode == "cost" else 0
    made = []
    release = 0
    for number in range(jobs):
        release += draw.choice((0, 0, unit_ms, draw.randrange(1, 2 * unit_ms + 1)))
        duration = draw.choice((unit_ms, 2 * unit_ms, draw.randrange(1, 3 * unit_ms + 1)))
        slack = draw.choice((0, 1, 2, draw.random() * 3))
        made.append(
            Job(
                id=number,
                release_ms=release,
                due_ms=release + round(duration * slack),
                work=duration * FULL_RATE,
                rates=draw.choice(tables),
                weight=draw.choice((1, 1, 1, 2)),
                memory_bytes=draw.choice((0, 0, 0, 6 * 1024**3)),
                preemptible=draw.random() > 0.1,
            )
        )
    power = default_power(gpu)
    return Instance(
        name=f"small-{mode}-{scope}-{seed}",
        gpus=(model,) * gpus,
        jobs=tuple(made),
        catalogues=FrozenMap({gpu: build_catalogue(catalogue, model)}),
        power=FrozenMap({gpu: power} if power else {}),
        preemption=Preemption(mode, overhead),  # type: ignore[arg-type]
        repartition=Repartition(scope, tau_ms),  # type: ignore[arg-type]
        weight_a=weight_a if power else Fraction(0),
        horizon_ms=30 * unit_ms,
        mig_off=mig_off,
    )


def _rate_tables(model: GpuModel) -> list[FrozenMap]:
    """Linear, sublinear, capped, and super-linear on one profile."""
    most = model.compute_slices
    shapes: list[Callable[[int], Fraction]] = [
        lambda c: Fraction(c, most),
        lambda c: Fraction(2 * c, c + most),
        lambda c: Fraction(min(c, 2), 2),
        lambda c: Fraction(c, most) * (Fraction(11, 10) if c == 3 else 1),
    ]
    tables = []
    for shape in shapes:
        rates = {p.name: max(1, int(shape(p.compute_slices) * FULL_RATE)) for p in model.profiles}
        tables.append(FrozenMap({model.key: FrozenMap(rates | {"off": FULL_RATE * 106 // 100})}))
    return tables


def conformance_cases() -> Iterator[Instance]:
    """Return the instances that every rule and solver is run on: all modes and scopes, MIG off, two GPUs, no job."""
    seed = 0
    for mode in MODES:
        for scope in SCOPES:
            for mig_off in (False, True):
                seed += 1
                yield small_instance(seed, jobs=4, mode=mode, scope=scope, mig_off=mig_off)
    yield small_instance(101, jobs=8, gpus=2, mode="free")
    yield small_instance(102, jobs=8, gpus=2, mode="cost", scope="slices")
    yield small_instance(103, jobs=5, gpu="A30-24GB", catalogue="maximal", mode="none")
    yield small_instance(104, jobs=0)
    yield small_instance(105, jobs=6, unit_ms=3, tau_ms=5)


#: Figures for tests; those of the A30 are invented.
_POWER = FrozenMap(
    {
        "A100-40GB": default_power("A100-40GB"),
        "A30-24GB": PowerCurve((30_000, 65_000, 95_000, 120_000, 118_000), 140_000, "invented"),
    }
)


def random_instance(seed: int) -> Instance:
    """Return a random small instance of any kind: modes, scopes, tau from 0, MIG off, mixed GPUs, tiny times.

    Times of a few milliseconds make many things happen at once.
    """
    draw = random.Random(f"random instance {seed}")
    key, catalogue = draw.choice(
        (("A100-40GB", "paper-12"), ("A100-40GB", "paper-17"), ("A30-24GB", "maximal"))
    )
    unit_ms = draw.choice((2, 3, 7, MS_PER_MINUTE))
    base = small_instance(
        seed,
        jobs=draw.choice((0, 1, 3, 5, 8, 14, 25)),
        gpus=draw.choice((1, 1, 1, 2, 3)),
        mode=draw.choice(MODES),
        scope=draw.choice(SCOPES),
        tau_ms=draw.choice((0, 1, 2, unit_ms, 5 * unit_ms)),
        mig_off=draw.random() < 0.3,
        gpu=key,
        catalogue=catalogue,
        unit_ms=unit_ms,
    )
    if draw.random() < 0.3:
        base = _with_other_gpu(base, draw)
    base = base.replace(power=_POWER, weight_a=Fraction(1, 100_000))
    if draw.random() < 0.3:
        base = base.replace(weight_a=draw.choice((Fraction(0), Fraction(1, 2), Fraction(7, 3))))
    if base.preemption.mode == "cost" and draw.random() < 0.5:
        base = base.replace(preemption=Preemption("cost", draw.choice((1, 2, unit_ms))))
    return base


def _with_other_gpu(base: Instance, draw: random.Random) -> Instance:
    """Add a GPU of the other model; jobs get rates there, some of them none."""
    key, catalogue = (
        ("A30-24GB", "maximal") if base.gpus[0].key == "A100-40GB" else ("A100-40GB", "paper-12")
    )
    model = load_gpu(key)
    tables = _rate_tables(model)
    jobs = []
    for job in base.jobs:
        if draw.random() < 0.85:
            both = FrozenMap({**job.rates, **draw.choice(tables)})
            job = replace(job, rates=both)
        jobs.append(job)
    gpus = [*base.gpus, model]
    draw.shuffle(gpus)
    return base.replace(
        gpus=tuple(gpus),
        jobs=tuple(jobs),
        catalogues=FrozenMap({**base.catalogues, key: build_catalogue(catalogue, model)}),
    )
