"""One digest per problem, however it is spelt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from migopt.model import FrozenMap, GpuModel, Instance

#: Changes whenever the content below does.
_FORM = "migopt-problem-1"


def instance_digest(instance: Instance) -> str:
    """Return the SHA-256 of the problem as 64 hexadecimal digits.

    Equal problems have equal digests: names, origin, the sources of figures, the name of a
    catalogue, how GPUs are counted and how rate tables are shared play no part; numbers that cannot
    matter (rates of 0, rates of GPUs that the instance lacks, an overhead or a repartition time
    under a mode that has none) do not either. Sizes of the profiles in use are part of it, so that
    a corrected GPU table is another problem.
    """
    canonical = json.dumps(
        _problem(instance), sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _problem(instance: Instance) -> dict[str, Any]:
    numbers: dict[FrozenMap, int] = {}
    tables: list[dict[str, dict[str, int]]] = []
    known: dict[str, int] = {}
    keys = {model.key for model in instance.gpus}
    jobs = []
    for job in instance.jobs:
        number = numbers.get(job.rates)
        if number is None:
            table = _rates(job.rates, keys)
            number = known.setdefault(json.dumps(table, sort_keys=True), len(tables))
            if number == len(tables):
                tables.append(table)
            numbers[job.rates] = number
        jobs.append(
            [
                *(job.id, job.release_ms, job.due_ms, job.work, number, job.weight),
                *(job.memory_bytes, job.preemptible, job.kind, job.elasticity),
            ]
        )
    preemption, repartition = instance.preemption, instance.repartition
    return {
        "form": _FORM,
        "kind": instance.kind,
        "gpus": [model.key for model in instance.gpus],
        "models": {model.key: _model(instance, model) for model in instance.gpu_models},
        "preemption": [
            preemption.mode,
            preemption.resume_overhead_ms if preemption.mode == "cost" else 0,
        ],
        "repartition": [
            repartition.scope,
            repartition.tau_ms if repartition.scope != "never" else 0,
        ],
        "weight_a": str(instance.weight_a),
        "horizon_ms": instance.horizon_ms,
        "mig_off": instance.mig_off,
        "rates": tables,
        "jobs": jobs,
    }


def _rates(table: Mapping[str, Mapping[str, int]], keys: set[str]) -> dict[str, dict[str, int]]:
    kept = {
        key: {profile: rate for profile, rate in rates.items() if rate}
        for key, rates in table.items()
        if key in keys
    }
    return {key: rates for key, rates in kept.items() if rates}


def _model(instance: Instance, model: GpuModel) -> dict[str, Any]:
    curve = instance.power.get(model.key)
    in_use = instance.profiles_in_use[model.key]
    if instance.mig_off and model.full_profile.name not in in_use:
        # The full profile's memory decides what fits with MIG off (Instance.rate).
        in_use = (*in_use, model.full_profile.name)
    profiles = map(model.profile, in_use)
    return {
        "compute_slices": model.compute_slices,
        "memory_units": model.memory_units,
        "profiles": {p.name: [p.compute_slices, p.memory_units, p.memory_bytes] for p in profiles},
        "catalogue": [
            [str(placement) for placement in partition]
            for partition in instance.catalogues[model.key]
        ],
        "power": None if curve is None else [list(curve.busy_mw), curve.off_busy_mw],
    }
