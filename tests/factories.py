"""Small problems by hand, for every test: ``from factories import make_instance, make_job, ...``.

The GPU is written out here rather than loaded, so that a wrong GPU table cannot hide behind tests
of something else. Times are milliseconds. A job made here has ``work = ms x 1,000,000``, so that a
profile of rate 1,000,000 runs it in ``ms`` milliseconds; by default speed is linear in compute
slices with 7g = 7,000,000, 4g = 4,000,000, ..., so that durations can be done in the head:
``make_job(0, ms=28_000)`` takes 28 s on 1g, 7 s on 4g and 4 s on 7g.
"""

from __future__ import annotations

from fractions import Fraction

from migopt.model import (
    OFF_PARTITION,
    OFF_PLACEMENT,
    Catalogue,
    FrozenMap,
    GpuModel,
    Instance,
    Job,
    Partition,
    Placement,
    PowerCurve,
    Preemption,
    Profile,
    Reconfiguration,
    Repartition,
    Schedule,
    Segment,
)

GB = 10**9

#: A100-40GB without its +me profile.
A100 = GpuModel(
    key="A100-40GB",
    memory_units=8,
    compute_slices=7,
    profiles=(
        Profile("1g.5gb", 1, 1, tuple(range(7)), 7, memory_bytes=5 * GB),
        Profile("1g.10gb", 1, 2, (0, 2, 4, 6), 4, memory_bytes=10 * GB),
        Profile("2g.10gb", 2, 2, (0, 2, 4), 3, memory_bytes=10 * GB),
        Profile("3g.20gb", 3, 4, (0, 4), 2, memory_bytes=20 * GB),
        Profile("4g.20gb", 4, 4, (0,), 1, memory_bytes=20 * GB),
        Profile("7g.40gb", 7, 8, (0,), 1, memory_bytes=40 * GB),
    ),
)

#: A second card with another geometry and other slices of the same names.
A30 = GpuModel(
    key="A30-24GB",
    memory_units=4,
    compute_slices=4,
    profiles=(
        Profile("1g.6gb", 1, 1, (0, 1, 2, 3), 4, memory_bytes=6 * GB),
        Profile("2g.12gb", 2, 2, (0, 2), 2, memory_bytes=12 * GB),
        Profile("4g.24gb", 4, 4, (0,), 1, memory_bytes=24 * GB),
    ),
)

P_7 = Partition.parse("7g.40gb@0")
P_43 = Partition.parse("4g.20gb@0,3g.20gb@4")
P_33 = Partition.parse("3g.20gb@0,3g.20gb@4")
P_223 = Partition.parse("2g.10gb@0,2g.10gb@2,3g.20gb@4")
P_1x4_3 = Partition.parse("1g.5gb@0,1g.5gb@1,1g.5gb@2,1g.5gb@3,3g.20gb@4")

#: Catalogues by GPU key; number 1 of A100 is the whole GPU.
CATALOGUES = {
    "A100-40GB": Catalogue("by-hand", "A100-40GB", (P_7, P_43, P_33, P_223, P_1x4_3)),
    "A30-24GB": Catalogue(
        "by-hand",
        "A30-24GB",
        (Partition.parse("4g.24gb@0"), Partition.parse("2g.12gb@0,1g.6gb@2,1g.6gb@3")),
    ),
}

#: Watts that are easy to add up; A100 rises by 10 W per busy slice from 40 W, 200 W with MIG off.
POWER = {
    "A100-40GB": PowerCurve(tuple(1000 * w for w in (40, 50, 60, 70, 80, 90, 100, 110)), 200_000),
    "A30-24GB": PowerCurve(tuple(1000 * w for w in (30, 50, 70, 90, 110)), 120_000),
}

_LINEAR = {
    model.key: FrozenMap(
        {p.name: p.compute_slices * 1_000_000 for p in model.profiles}
        | {"off": model.compute_slices * 1_000_000}
    )
    for model in (A100, A30)
}


def make_job(
    job_id: int = 0,
    *,
    ms: int = 28_000,
    release: int = 0,
    due: int | None = None,
    speed: dict[str, int] | None = None,
    work: int | None = None,
    **fields: object,
) -> Job:
    """Make a job that takes ``ms`` on 1g and is linear; due at release + ms unless given.

    ``speed`` replaces the rates on A100 by profile (1,000,000 = the speed of a 1g); ``work``
    overrides ``ms``; ``fields`` are other attributes of Job.
    """
    rates = _LINEAR if speed is None else {"A100-40GB": FrozenMap(speed)}
    return Job(
        id=job_id,
        release_ms=release,
        due_ms=release + ms if due is None else due,
        work=ms * 1_000_000 if work is None else work,
        rates=FrozenMap(rates),
        **fields,
    )


def make_instance(
    *jobs: Job,
    gpus: tuple[GpuModel, ...] = (A100,),
    mode: str = "free",
    overhead: int = 0,
    scope: str = "gpu",
    tau: int = 4000,
    a: Fraction | int | str = Fraction(1, 2),
    horizon: int = 600_000,
    **fields: object,
) -> Instance:
    """Make an instance over ``jobs``: catalogues and power by hand, H = 10 min, a = 1/2."""
    keys = {model.key for model in gpus}
    given: dict[str, object] = {
        "name": "by hand",
        "catalogues": FrozenMap({key: CATALOGUES[key] for key in keys}),
        "power": FrozenMap({key: POWER[key] for key in keys}),
    }
    return Instance(
        gpus=gpus,
        jobs=jobs,
        preemption=Preemption(mode, overhead),
        repartition=Repartition(scope, tau),
        weight_a=Fraction(a),
        horizon_ms=horizon,
        **(given | fields),
    )


def seg(job: int, place: str, start: int, end: int, gpu: int = 0) -> Segment:
    """Make a segment; ``place`` is ``profile@start`` or ``off``."""
    placement = OFF_PLACEMENT if place == "off" else Placement.parse(place)
    return Segment(start, end, gpu, placement, job)


def change(old: Partition, new: Partition, start: int, end: int, gpu: int = 0) -> Reconfiguration:
    """Make a reconfiguration of one GPU."""
    return Reconfiguration(start, end, gpu, old, new)


def make_schedule(
    *items: Segment | Reconfiguration, initial: Partition | tuple[Partition, ...] = P_43
) -> Schedule:
    """Make a schedule from segments and reconfigurations in any order; one GPU by default."""
    return Schedule(
        initial=initial if isinstance(initial, tuple) else (initial,),
        segments=tuple(item for item in items if isinstance(item, Segment)),
        reconfigurations=tuple(item for item in items if isinstance(item, Reconfiguration)),
    )


OFF = OFF_PARTITION
