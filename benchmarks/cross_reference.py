"""Compare the interval MILP with the truth on random cases of two to four jobs, per class.

    python benchmarks/cross_reference.py [--cases 300] [--seed 0] [--out benchmarks/results/cross_interval.json]

A run that was ended goes on where it stopped (a journal beside the output, removed at the end).

For every case: the unrounded upper value against the best of all orders of events, and the lower
bound against it. The file lists every case where the two differ by more than 1e-6, and every one whose
lower bound is more than 1e-4 below.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import Any

from migopt.api import show_versions
from migopt.bench.environment import commit
from migopt.check import check
from migopt.exact.interval_milp import IntervalMilp
from migopt.exact.one_gpu import one_gpu
from migopt.metrics import measure
from migopt.results import Budget
from migopt.testing.order_reference import CLASSES, reference, reference_case

JOBS = (2, 2, 3, 3, 3, 4)
LIMIT_S = 60.0


def run(task: tuple[str, int]) -> dict[str, Any]:
    """Solve one case and find its truth."""
    kind, seed = task
    case = reference_case(kind, seed, jobs=JOBS)
    start = time.perf_counter()
    result = IntervalMilp(max_changes=case.max_changes).solve(case.instance, Budget(LIMIT_S))
    solved = time.perf_counter()
    best = reference(one_gpu(case.instance), case.max_changes)
    constant = float(case.instance.constant_cost)
    bound = result.lower if case.max_changes is None else result.class_lower
    assert bound is not None
    assert result.claimed_upper is not None
    assert result.schedule is not None
    cost = measure(case.instance, result.schedule).cost
    upper, lower = result.claimed_upper - constant, bound - constant
    scale = max(best, 1e-12)
    late = best > 0 and measure(case.instance, result.schedule).jobs_late > 0
    return {
        "class": kind,
        "seed": seed,
        "jobs": len(case.instance.jobs),
        "late": bool(late),
        "reference": best,
        "upper_error": (upper - best) / scale,
        "lower_shortfall": (best - lower) / scale,
        "legal": not check(case.instance, result.schedule),
        "ticks_within_allowance": cost
        <= result.claimed_upper + result.detail["tick_allowance"] + 1e-12,
        "solve_s": solved - start,
        "reference_s": time.perf_counter() - solved,
    }


def main() -> int:
    """Run all classes and write the table; exit 1 when a value contradicts the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/cross_interval.json"))
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.cases)
    tasks = [(kind, seed) for kind in CLASSES for seed in seeds]
    journal = options.out.with_suffix(".jsonl")
    rows = []
    if journal.exists():
        rows = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    known = {(row["class"], row["seed"]) for row in rows}
    left = [task for task in tasks if task not in known]
    with (
        multiprocessing.get_context("spawn").Pool(options.processes) as pool,
        journal.open("a", encoding="utf-8") as file,
    ):
        for row in pool.imap_unordered(run, left, chunksize=2):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
    rows.sort(key=lambda row: (CLASSES.index(row["class"]), row["seed"]))
    summary = {kind: summarise([r for r in rows if r["class"] == kind]) for kind in CLASSES}
    wrong = [
        r
        for r in rows
        if abs(r["upper_error"]) > 1e-6
        or r["lower_shortfall"] < -1e-8
        or not r["legal"]
        or not r["ticks_within_allowance"]
    ]
    document = {
        "command": "python " + " ".join(sys.argv),
        "commit": commit(Path(__file__).resolve()),
        "machine": f"{os.cpu_count()} cores",
        "versions": show_versions(),
        "seeds": [seeds.start, seeds.stop - 1],
        "cases": len(rows),
        "time_limit_s": LIMIT_S,
        "classes": summary,
        "contradictions": wrong,
        "lower_more_than_1e-4_below": [r for r in rows if r["lower_shortfall"] > 1e-4],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    journal.unlink()
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for kind, row in summary.items():
        print(kind, row)
    print(f"{len(wrong)} contradictions; {options.out}")
    return 1 if wrong else 0


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts and extremes of one class."""
    times = sorted(r["solve_s"] for r in rows)
    return {
        "cases": len(rows),
        "with_lateness": sum(r["late"] for r in rows),
        "jobs": {
            str(n): sum(r["jobs"] == n for r in rows) for n in sorted({r["jobs"] for r in rows})
        },
        "largest_upper_error": max(abs(r["upper_error"]) for r in rows),
        "largest_lower_shortfall": max(r["lower_shortfall"] for r in rows),
        "lower_above_reference": sum(r["lower_shortfall"] < -1e-8 for r in rows),
        "lower_within_1e-4": sum(r["lower_shortfall"] <= 1e-4 for r in rows),
        "solve_s_median": times[len(times) // 2],
        "solve_s_max": times[-1],
    }


if __name__ == "__main__":
    raise SystemExit(main())
