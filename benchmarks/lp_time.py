"""Seconds until the day LP of ``s0-slack`` and ``s0-tight`` has converged to 0.1 %.

    python benchmarks/lp_time.py [--seeds 10] [--out FILE]

Master and Lagrangian bound 0.1 % apart, grid of releases and due dates, multiplier 2.5, one thread, compiled
code loaded before. Wall and processor time without the exact evaluation of the stored prices.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from migopt.api import show_versions
from migopt.bench.environment import commit
from migopt.bounds.split.problem import build_problem
from migopt.exact.lp_bound import DayLp
from migopt.io.generators import generate

LIMIT = 600.0


def run(scenario: str, seed: int) -> dict[str, Any]:
    """Solve one day's LP."""
    instance = generate(scenario, seed=seed, rate_multiplier=2.5)
    wall, cpu = time.perf_counter(), time.process_time()
    result = DayLp(build_problem(instance, "mig", uniform=0)).solve(wall + LIMIT)
    return {
        "scenario": scenario,
        "seed": seed,
        "jobs": len(instance.jobs),
        "rounds": len(result.rounds),
        "columns": result.columns,
        "lower": result.lower,
        "master": result.master,
        "converged": result.converged,
        "wall_s": round(time.perf_counter() - wall, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "load_average": os.getloadavg(),
    }


def main() -> int:
    """Run all days; exit 1 if one did not converge."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    run("s0-slack", 0)
    rows = [
        run(name, seed) for name in ("s0-slack", "s0-tight") for seed in range(1, options.seeds + 1)
    ]
    for row in rows:
        print(
            f"{row['scenario']} seed {row['seed']:2} jobs {row['jobs']} rounds {row['rounds']} columns "
            f"{row['columns']} wall {row['wall_s']:.2f} s processor {row['cpu_s']:.2f} s"
        )
    print(f"median processor time {statistics.median(row['cpu_s'] for row in rows):.2f} s")
    if options.out is not None:
        record = {
            "command": "python " + " ".join(sys.argv),
            "commit": commit(Path(__file__).resolve()),
            "versions": show_versions(),
            "rows": rows,
        }
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(not all(row["converged"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
