"""Compare CP-SAT with brute force over every decision of every tick, per class of problems.

    python benchmarks/cross_cpsat.py [--cases 300] [--seed 0] [--out benchmarks/results/cross_cpsat.json]

Two to four jobs without preemption; one GPU or two, partitions kept or changing. A run that was ended goes on where
it stopped. The file lists every case in which the proved optimum, the bound or the schedule is wrong.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from _journal import run_all, write

from migopt.check import check
from migopt.exact.cpsat import CpSat
from migopt.metrics import measure
from migopt.results import Budget, Outcome
from migopt.testing.tick_reference import CLASSES, tick_case, tick_reference

JOBS = (2, 3, 3, 4)
LIMIT_S = 120.0


def run(task: tuple[str, int]) -> dict[str, Any]:
    """Solve one case and find its truth."""
    kind, seed = task
    instance = tick_case(kind, seed, jobs=JOBS)
    start = time.perf_counter()
    truth = tick_reference(instance)
    searched = time.perf_counter()
    result = CpSat("free").solve(instance, Budget(LIMIT_S))
    solved = time.perf_counter()
    assert truth is not None
    assert result.schedule is not None
    scored = measure(instance, result.schedule)
    return {
        "class": kind,
        "seed": seed,
        "jobs": len(instance.jobs),
        "gpus": [model.key for model in instance.gpus],
        "mig_off": instance.mig_off,
        "tau_ms": instance.repartition.tau_ms,
        "late": scored.jobs_late > 0,
        "changes": len(result.schedule.reconfigurations),
        "equal": scored.cost_exact == truth,
        "proved": result.outcome is Outcome.OPTIMAL,
        "bound_below": result.lower is not None and Fraction(result.lower) <= truth,
        "legal": not check(instance, result.schedule),
        "reference_s": searched - start,
        "solve_s": solved - searched,
    }


def main() -> int:
    """Run all classes and write the table; exit 1 when a value contradicts the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/cross_cpsat.json"))
    parser.add_argument("--collect", action="store_true", help="only the cases of the journal")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.cases)
    tasks = [] if options.collect else [(kind, seed) for seed in seeds for kind in CLASSES]
    journal = options.out.with_suffix(".jsonl")
    rows = run_all(run, tasks, lambda row: (row["class"], row["seed"]), journal, options.processes)
    rows.sort(key=lambda row: (CLASSES.index(row["class"]), row["seed"]))
    wrong = [
        r for r in rows if not (r["legal"] and r["bound_below"]) or (r["proved"] and not r["equal"])
    ]
    summary = {kind: summarise([r for r in rows if r["class"] == kind]) for kind in CLASSES}
    write(
        options.out,
        journal,
        {
            "seeds": spans(sorted({r["seed"] for r in rows})),
            "cases": len(rows),
            "time_limit_s": LIMIT_S,
            "classes": summary,
            "contradictions": wrong,
            "not_proved": [r for r in rows if not r["proved"]],
        },
    )
    for kind, row in summary.items():
        print(kind, row)
    print(f"{len(wrong)} contradictions; {options.out}")
    return 1 if wrong else 0


def spans(seeds: list[int]) -> list[list[int]]:
    """Return first and last of each stretch of seeds."""
    found: list[list[int]] = []
    for seed in seeds:
        if found and found[-1][1] == seed - 1:
            found[-1][1] = seed
        else:
            found.append([seed, seed])
    return found


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts and times of one class."""
    times = sorted(r["solve_s"] for r in rows)
    return {
        "cases": len(rows),
        "jobs": {
            str(n): sum(r["jobs"] == n for r in rows) for n in sorted({r["jobs"] for r in rows})
        },
        "proved": sum(r["proved"] for r in rows),
        "equal_to_reference": sum(r["equal"] for r in rows),
        "with_lateness": sum(r["late"] for r in rows),
        "with_a_change": sum(r["changes"] > 0 for r in rows),
        "two_models": sum(len(set(r["gpus"])) > 1 for r in rows),
        "mig_off_allowed": sum(r["mig_off"] for r in rows),
        "solve_s_median": times[len(times) // 2],
        "solve_s_max": times[-1],
    }


if __name__ == "__main__":
    raise SystemExit(main())
