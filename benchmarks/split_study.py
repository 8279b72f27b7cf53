"""The splitting bound on random small cases: never above the best schedule known, and how far below.

    python benchmarks/split_study.py [--cases 1000] [--seconds 0.5] [--processes 2] [--out FILE]

Cases have 2 to 7 jobs, all slacks, three weights, tau 0, 4 s, 30 s and 2 min, all scopes, some with MIG off
allowed. The reference is the cheapest of a day plan and of simple policies, each checked, so the shortfall
is that of bound and reference together.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from migopt.api import show_versions, solve
from migopt.bounds.split import split_bound
from migopt.exact.day_plan import DayPlan
from migopt.model import Instance
from migopt.results import Budget
from migopt.testing.cases import small_instance

POLICIES = (
    "edf_fs+static:1",
    "edf_ss_restricted+static:2",
    "edf_ss_restricted+static:6",
    "fifo+no_mig",
)


def case(seed: int) -> Instance:
    """Return the case of a seed."""
    draw = np.random.default_rng(seed)
    made = small_instance(
        seed,
        jobs=int(draw.integers(2, 8)),
        scope=str(draw.choice(["gpu", "gpu", "gpu", "slices", "never"])),
        tau_ms=int(draw.choice([0, 4000, 30_000, 120_000])),
        mig_off=bool(draw.random() < 0.2),
        weight_a=Fraction(1, int(draw.choice([1000, 100_000, 10**7]))),
    )
    return made.replace(jobs=tuple(replace(job, preemptible=True) for job in made.jobs))


def run(task: tuple[int, float]) -> dict[str, Any]:
    """Bound one case and hold it against the best schedule."""
    seed, seconds = task
    instance = case(seed)
    costs = [solve(instance, DayPlan(), budget=Budget(seconds, seed=seed)).upper]
    costs += [solve(instance, text).upper for text in POLICIES]
    best = min(cost for cost in costs if cost is not None)
    found = split_bound(instance, seconds=seconds)
    constant = float(instance.constant_cost)
    above = best - constant
    return {
        "seed": seed,
        "jobs": len(instance.jobs),
        "tau_ms": instance.repartition.tau_ms,
        "scope": instance.repartition.scope,
        "upper": best,
        "lower": found.value,
        "violated": found.value > best + 1e-12 * abs(best),
        "shortfall": (best - found.value) / above if above > 1e-12 else 0.0,
    }


def summary(rows: list[dict[str, Any]]) -> str:
    """Return the shortfall by tau, and whether any bound was too high."""
    lines = []
    for tau in sorted({row["tau_ms"] for row in rows}):
        own = sorted(row["shortfall"] for row in rows if row["tau_ms"] == tau)
        under = sum(x < 0.01 for x in own)
        lines.append(
            f"tau {tau / 1000:5.0f} s: {len(own):4} cases, shortfall median {100 * statistics.median(own):.2f} %, "
            f"90th percentile {100 * own[len(own) * 9 // 10]:.2f} %, worst {100 * own[-1]:.1f} %, "
            f"under 1 %: {under}"
        )
    bad = [row["seed"] for row in rows if row["violated"]]
    return "\n".join([*lines, f"bounds above a schedule: {len(bad)} {bad or ''}"])


def main() -> int:
    """Run the study; exit 1 if any bound is above a schedule."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    tasks = [(seed, options.seconds) for seed in range(options.cases)]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        rows = list(pool.imap_unordered(run, tasks, chunksize=8))
    rows.sort(key=lambda row: row["seed"])
    print(summary(rows))
    if options.out is not None:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent,
            check=False,
        ).stdout.strip()
        record = {
            "command": "python " + " ".join(sys.argv),
            "commit": commit,
            "versions": show_versions(),
            "summary": summary(rows).splitlines(),
            "rows": rows,
        }
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(any(row["violated"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
