"""Size and time of the CP-SAT fleet model and of both slot models, by number of jobs.

    python benchmarks/exact_sizes.py fleet|slot [--limit 20] [--seeds 3] [--out FILE]

Jobs of scenario s0-slack at load 0.9 per GPU, paper-12, tau = 4 s; ``fleet``: no preemption, partitions change,
one GPU and two; ``slot``: preemption free, partitions change, about 24 slots. One thread. Processor seconds stand
beside wall seconds, since the machine may be busy with other work.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _journal import run_all, write

from migopt.exact.cpsat import CpSat
from migopt.exact.cpsat.fleet.model import FleetModel
from migopt.exact.cpsat.fleet.problem import fleet
from migopt.exact.cpsat.fleet.start import first_rows
from migopt.exact.slot_cpsat import SlotCpSat
from migopt.exact.slot_cpsat.solver import build
from migopt.exact.slot_milp import SlotMilp
from migopt.exact.slots.answer import Found, prepare
from migopt.io.generators import generate
from migopt.model import Instance, Preemption
from migopt.results import Budget, SolveResult, active_gap, gap_above

FLEET_JOBS = (4, 5, 6, 8, 10)
SLOT_JOBS = (3, 4, 6, 8)


def instance_of(jobs: int, gpus: int, seed: int) -> Instance:
    """Return a small instance on equal GPUs."""
    one = generate("s0-slack", seed=seed, jobs=jobs, load=0.9 * gpus)
    return one.replace(gpus=one.gpus * gpus)


def run(task: list[Any]) -> dict[str, Any]:
    """Solve one case."""
    what, size, gpus, seed, limit = task
    row = {"task": task, "jobs": size, "gpus": gpus, "seed": seed}
    return row | (_fleet if what == "fleet" else _slot)(instance_of(size, gpus, seed), limit)


def _fleet(instance: Instance, limit: float) -> dict[str, Any]:
    strict = instance.replace(preemption=Preemption("none"))
    problem = fleet(strict, "free")
    rows = first_rows(problem, [], 0, 1.0)
    built = FleetModel(problem, problem.cost(rows), rows, True)
    began = time.process_time()
    result = CpSat("free").solve(strict, Budget(limit))
    cpu_s = time.process_time() - began
    return {
        "variables": len(built.model.proto.variables),
        "constraints": len(built.model.proto.constraints),
        "outcome": str(result.outcome),
        "wall_s": result.wall_s,
        "cpu_s": cpu_s,
        "active_gap": active_gap(strict, result.claimed_upper, result.class_lower),
        "changes": len(result.schedule.reconfigurations) if result.schedule else None,
    }


def _slot(instance: Instance, limit: float) -> dict[str, Any]:
    found = prepare(instance, "free", 0, 0, 0.0)
    assert isinstance(found, Found)
    model, _ = build(found)
    results, cpu_s = [], []
    for solver in (SlotCpSat, SlotMilp):
        began = time.process_time()
        results.append(solver().solve(instance, Budget(limit)))
        cpu_s.append(time.process_time() - began)
    return {
        "slots": found.data.slots,
        "slot_ms": found.data.slot_ms,
        "variables": len(model.proto.variables),
        "constraints": len(model.proto.constraints),
        "wall_s": [result.wall_s for result in results],
        "cpu_s": cpu_s,
        "optimal": [result.detail["grid"]["optimal"] for result in results],
        "grid_gap": [_grid_gap(instance, result) for result in results],
    }


def _grid_gap(instance: Instance, result: SolveResult) -> float | None:
    grid = result.detail["grid"]
    return gap_above(float(instance.constant_cost), grid["value"], grid["lower"])


def tasks(what: str, seeds: int, limit: float) -> Iterator[list[Any]]:
    """Yield every case."""
    for seed in range(1, seeds + 1):
        for size in FLEET_JOBS if what == "fleet" else SLOT_JOBS:
            for gpus in (1, 2) if what == "fleet" else (1,):
                yield [what, size, gpus, seed, limit]


def main() -> int:
    """Run all cases and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("fleet", "slot"))
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or Path(f"benchmarks/results/exact_sizes_{options.what}.json")
    journal = out.with_suffix(".jsonl")
    todo = list(tasks(options.what, options.seeds, options.limit))
    rows = run_all(
        _run_listed, map(str, todo), lambda row: str(row["task"]), journal, options.processes
    )
    rows.sort(key=lambda row: (row["gpus"], row["jobs"], row["seed"]))
    write(out, journal, {"time_limit_s": options.limit, "cases": rows})
    for row in rows:
        print({key: value for key, value in row.items() if key != "task"})
    return 0


def _run_listed(task: str) -> dict[str, Any]:
    import ast

    return run(ast.literal_eval(task))


if __name__ == "__main__":
    raise SystemExit(main())
