"""Run records made by hand, for tests of the report."""

from __future__ import annotations

from typing import Any

from migopt.records import Record, Settings, Status

SETTINGS = Settings(
    kind="schedule",
    gpus={"A100-40GB": 1},
    catalogue="paper-12",
    preemption="free",
    resume_overhead_ms=0,
    scope="gpu",
    tau_ms=4000,
    mig_off=True,
    weight_a="1/3",
)

ENVIRONMENT = {
    "command": "migopt bench made-up -o out",
    "commit": "0123456789ab",
    "machine": {"cores": 2, "memory_gib": 8.0, "processor": "a processor", "system": "Linux"},
    "versions": {"python": "3.11.7", "migopt": "0.1.0"},
}


def make_record(
    entry: str,
    seed: int = 1,
    *,
    upper: float | None = None,
    lower: float | None = None,
    instance: str = "day",
    cls: str = "days",
    claims: str = "heuristic",
    status: Status = Status.OK,
    settings: Settings | None = SETTINGS,
    **changes: Any,
) -> Record:
    """Return a record; by default of the generated instance ``day`` with the given seed.

    The constant part of the cost is 1, tardiness a tenth of the rest.
    """
    metrics: dict[str, Any] = {}
    if upper is not None:
        tardiness = (upper - 1) / 10
        metrics = {
            "cost": upper,
            "constant_cost": 1.0,
            "energy_cost": upper - tardiness,
            "tardiness_cost": tardiness,
            "busy_level_share": {"A100-40GB": [0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]},
        }
    fields: dict[str, Any] = {
        "key": f"{instance}/{seed}/{entry}/10s",
        "suite": "made-up",
        "instance": instance,
        "instance_class": cls,
        "seed": seed,
        "entry": entry,
        "spec": entry,
        "budget": {"time_limit_s": 10.0, "gap": 0.0, "threads": 1},
        "definition": {"spec": entry},
        "status": status,
        "digest": f"digest-{instance}-{seed}",
        "jobs": 5,
        "horizon_ms": 86_400_000,
        "settings": settings,
        "constant_cost": "1",
        "claims": claims,
        "outcome": "feasible" if upper is not None else "bound_only",
        "stop": "finished",
        "upper": upper,
        "lower": lower,
        "cost": upper,
        "energy_wmin": None if upper is None else 100 * upper,
        "mean_tardiness_min": None if upper is None else upper / 2,
        "metrics": metrics,
        "wall_s": 0.5,
        "environment": ENVIRONMENT,
        "started_at": "2030-01-01T00:00:00.000Z",
        "ended_at": f"2030-01-01T00:00:{seed % 60:02d}.000Z",
    }
    if status is not Status.OK:
        fields |= {"outcome": "", "stop": "", "reason": f"{entry} had a reason"}
    return Record(**(fields | changes))
