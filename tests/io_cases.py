"""A small instance file as a document, ways to change one place of it, and random valid documents."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from migopt.gpus import load_gpu
from migopt.placement import build_catalogue

A100 = "A100-40GB"
A30 = "A30-24GB"
WATTS = [40000, 119000, 160000, 205300, 243900, 247700, 248500, 248500]
REMOVE = object()


def document() -> dict[str, Any]:
    """Return a valid instance file with every key, two GPU models and two jobs."""
    return {
        "format": "migopt-instance",
        "version": 1,
        "kind": "schedule",
        "name": "two cards",
        "gpus": [{"model": A100, "count": 1}, {"model": A30, "count": 2}],
        "catalogue": {A100: "paper-12", A30: [["2g.12gb@0", "2g.12gb@2"], ["4g.24gb@0"]]},
        "mig_off": True,
        "preemption": {"mode": "cost", "resume_overhead_ms": 500},
        "repartition": {"scope": "slices", "tau_ms": 4000},
        "power": {
            A100: {"busy_mw": list(WATTS), "off_busy_mw": 250000, "source": "somewhere"},
            A30: {"busy_mw": [30000, 60000, 90000, 120000, 150000], "off_busy_mw": 165000},
        },
        "weight_a": "2/200000",
        "horizon_ms": 3600000,
        "rates": {
            "linear": {
                A100: {"2g.10gb": 285714, "4g.20gb": 571429, "7g.40gb": 1000000, "off": 1060000},
                A30: {"2g.12gb": 200000, "4g.24gb": 400000},
            }
        },
        "jobs": [
            {"id": 4, "release_ms": 0, "due_ms": 600000, "work": 300000000000, "rates": "linear"},
            {
                "id": 2,
                "release_ms": 60000,
                "due_ms": 1000,
                "work": 7,
                "rates": {A100: {"3g.20gb": 428571, "1g.5gb": 0}},
                "weight": 3,
                "memory_bytes": 17179869184,
                "preemptible": False,
                "kind": "training",
                "elasticity": "measured",
                "name": "fine-tuning",
            },
        ],
        "origin": {"made_by": ["hand", 1.5, None]},
    }


def changed(path: list[str | int], value: Any) -> dict[str, Any]:
    """Return the document with the value at ``path`` replaced, or removed if it is REMOVE."""
    made = document()
    part: Any = made
    for step in path[:-1]:
        part = part[step]
    if value is REMOVE:
        del part[path[-1]]
    else:
        part[path[-1]] = copy.deepcopy(value)
    return made


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a valid instance file."""
    keys = draw(st.lists(st.sampled_from([A100, A30]), min_size=1, max_size=3))
    models = {key: load_gpu(key) for key in keys}
    catalogues: dict[str, Any] = {}
    for key, model in models.items():
        everything = build_catalogue("all", model).partitions
        listed = draw(st.lists(st.sampled_from(everything), min_size=1, max_size=3, unique=True))
        as_list = [[str(placement) for placement in partition] for partition in listed]
        catalogues[key] = draw(st.sampled_from(["maximal", as_list]))
    tables = {}
    for name in draw(st.lists(st.text(max_size=4), min_size=1, max_size=3, unique=True)):
        rates = st.integers(0, 2**21)
        tables[name] = {
            key: {p.name: draw(rates) for p in model.profiles}
            | {"off": draw(st.integers(1, 2**21))}
            for key, model in models.items()
        }
    # Every job may run with MIG off, so no more memory than the smallest of the cards has.
    roomiest = min(model.full_profile.memory_bytes or 10**12 for model in models.values())
    times = st.integers(0, 10**8)
    label = st.text(st.characters(codec="utf-8"), max_size=5)
    job = st.fixed_dictionaries(
        {
            "release_ms": times,
            "due_ms": times,
            "work": st.integers(1, 10**13),
            "rates": st.one_of(
                st.sampled_from(list(tables)), st.sampled_from(list(tables.values()))
            ),
        },
        optional={
            "weight": st.integers(0, 9),
            "memory_bytes": st.integers(0, roomiest),
            "preemptible": st.booleans(),
            "kind": label,
            "elasticity": label,
            "name": label,
        },
    )
    jobs = draw(st.lists(job, max_size=5))
    ids = draw(st.permutations(range(len(jobs))))
    return {
        "format": "migopt-instance",
        "version": 1,
        "kind": "schedule",
        "name": draw(label),
        "gpus": [{"model": key, "count": draw(st.integers(1, 3))} for key in keys],
        "catalogue": catalogues,
        "mig_off": True,
        "preemption": {
            "mode": draw(st.sampled_from(["free", "cost", "none"])),
            "resume_overhead_ms": draw(times),
        },
        "repartition": {
            "scope": draw(st.sampled_from(["gpu", "slices", "never"])),
            "tau_ms": draw(times),
        },
        "power": {
            key: {
                "busy_mw": draw(
                    st.lists(
                        st.integers(0, 10**6),
                        min_size=model.compute_slices + 1,
                        max_size=model.compute_slices + 1,
                    )
                ),
                "off_busy_mw": draw(st.integers(0, 10**6)),
            }
            for key, model in models.items()
        },
        "weight_a": f"{draw(st.integers(0, 99))}/{draw(st.integers(1, 10**6))}",
        "horizon_ms": draw(st.integers(1, 10**9)),
        "rates": tables,
        "jobs": [entry | {"id": number} for entry, number in zip(jobs, ids, strict=True)],
        "origin": draw(st.dictionaries(label, st.one_of(st.integers(), st.none(), label))),
    }
