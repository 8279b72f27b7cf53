"""The splitting bound on random small cases against proven optima: never above, and how far below.

    python benchmarks/split_study.py [--cases 1000] [--seconds 2] [--processes 2] [--out FILE] [--for 540]

Cases have 2 to 4 jobs, all slacks, three weights, tau 0, 4 s, 30 s and 2 min, all scopes, some with MIG
off allowed. The reference is the optimum in continuous time of the interval MILP where it closes its gap
to 0.01 % within ``--seconds`` of processor time, else its best schedule or a day plan's, whichever is
cheaper; with scope slices, where the bound ignores tau, the optimum with free changes, which no schedule
undercuts. The ascent is limited by rounds, so that a loaded machine gives the same bounds. With ``--out``
rows are written every minute, and a second call goes on where the first one ended after ``--for`` seconds.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from migopt.api import show_versions
from migopt.bench.environment import commit
from migopt.bounds.split import split_bound
from migopt.exact.day_plan import DayPlan
from migopt.exact.interval_milp import IntervalMilp
from migopt.model import Instance, Repartition
from migopt.results import Budget
from migopt.testing.cases import small_instance

#: Rounds of 50 steps on the coarse and the fine grid, and points of the fine one.
ROUNDS, POINTS = (10, 6), 40
#: Relative active gap at which the interval MILP's value counts as the optimum.
PROVEN = 1e-4


def case(seed: int) -> Instance:
    """Return the case of a seed."""
    draw = np.random.default_rng(seed)
    made = small_instance(
        seed,
        jobs=int(draw.choice([2, 2, 3, 3, 4])),
        scope=str(draw.choice(["gpu", "gpu", "gpu", "slices", "never"])),
        tau_ms=int(draw.choice([0, 4000, 30_000, 120_000])),
        mig_off=bool(draw.random() < 0.2),
        weight_a=Fraction(1, int(draw.choice([1000, 100_000, 10**7]))),
    )
    return made.replace(jobs=tuple(replace(job, preemptible=True) for job in made.jobs))


def run(task: tuple[int, float]) -> dict[str, Any]:
    """Bound one case and hold it against its optimum; ``seconds`` limits the reference."""
    seed, seconds = task
    instance = case(seed)
    constant = float(instance.constant_cost)
    if instance.repartition.scope == "slices":
        instance = instance.replace(repartition=Repartition("gpu", 0))
    exact = IntervalMilp().solve(instance, Budget(seconds, seed=seed))
    best = np.inf if exact.claimed_upper is None else exact.claimed_upper
    gap = (best - (exact.lower or 0.0)) / max(best - constant, 1e-300)
    proven = gap <= PROVEN
    if not proven:
        plan = DayPlan().solve(instance, Budget(0.2 * seconds, seed=seed))
        best = float(min(best, np.inf if plan.claimed_upper is None else plan.claimed_upper))
    found = split_bound(case(seed), seconds=20 * seconds, rounds=ROUNDS, uniform=POINTS)
    above = best - constant
    return {
        "seed": seed,
        "jobs": len(instance.jobs),
        "tau_ms": case(seed).repartition.tau_ms,
        "scope": case(seed).repartition.scope,
        "proven": bool(proven),
        "reference": best,
        "lower": found.value,
        "violated": bool(found.value > best + 1e-9 * abs(best)),
        "shortfall": (best - found.value) / above if above > 1e-12 else 0.0,
    }


def _own_clock() -> None:
    """Let limits count this process's processor time: a loaded machine then gives the same references."""
    time.perf_counter = time.process_time


def summary(rows: list[dict[str, Any]]) -> str:
    """Return the shortfall by scope and tau, and whether any bound was too high."""
    lines = []
    for scope in ("gpu", "never", "slices"):
        for tau in sorted({row["tau_ms"] for row in rows}):
            own = [row for row in rows if (row["scope"], row["tau_ms"]) == (scope, tau)]
            if own:
                lines.append(f"scope {scope:6} tau {tau / 1000:5.0f} s: {_spread(own)}")
    lines.append(f"all: {_spread(rows)}")
    bad = [row["seed"] for row in rows if row["violated"]]
    return "\n".join([*lines, f"bounds above a schedule: {len(bad)} {bad or ''}".rstrip()])


def _spread(own: list[dict[str, Any]]) -> str:
    short = sorted(row["shortfall"] for row in own)
    return (
        f"{len(own):4} cases, {sum(row['proven'] for row in own):4} optima proven, shortfall median "
        f"{100 * statistics.median(short):.2f} %, 90th percentile {100 * short[len(short) * 9 // 10]:.2f} %, "
        f"worst {100 * short[-1]:.1f} %, under 1 %: {sum(x < 0.01 for x in short)}"
    )


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    rows = sorted(rows, key=lambda row: row["seed"])
    record = {
        "command": "python " + " ".join(sys.argv),
        "commit": commit(Path(__file__).resolve()),
        "versions": show_versions(),
        "load_average": os.getloadavg(),
        "summary": summary(rows).splitlines(),
        "rows": rows,
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Run the study; exit 1 if any bound is above a schedule."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--for", dest="limit", type=float, default=float("inf"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if options.out is not None and options.out.exists():
        rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"]
    known = {row["seed"] for row in rows}
    tasks = [(seed, options.seconds) for seed in range(options.cases) if seed not in known]
    began = written = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.processes, _own_clock) as pool:
        for row in pool.imap_unordered(run, tasks):
            rows.append(row)
            now = time.monotonic()
            if options.out is not None and now - written > 60:
                _write(options.out, rows)
                written = now
            if now - began > options.limit:
                pool.terminate()
                break
    print(summary(rows))
    if options.out is not None:
        _write(options.out, rows)
    return int(any(row["violated"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
