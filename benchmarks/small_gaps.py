"""Gaps and times of the interval MILP on instances/small (tau = 4 s), every case listed.

    python benchmarks/small_gaps.py [--limit8 60] [--limit12 300] [--gap 1e-4] [--processor] [--out FILE]

Cases of up to 8 jobs get ``--limit8`` seconds, larger ones ``--limit12``. Gaps are active gaps between the
schedule in ticks, checked and measured, and the bound. No policy may beat a schedule or a bound.
A run that was ended, or told to begin nothing after ``--minutes``, goes on where it stopped (a journal beside the
output, removed at the end), also from an output whose ``not_run`` lists cases. Each row holds its commit, limit, clock
and load.
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

from migopt.api import Answer, show_versions, solve
from migopt.bench.environment import commit
from migopt.exact.interval_milp import IntervalMilp
from migopt.io import read_instance
from migopt.model import Instance
from migopt.registry import find_entry
from migopt.results import Budget, active_gap

FOLDER = Path(__file__).resolve().parent.parent / "instances" / "small"
POLICIES = ("edf_ss_restricted+best_fixed", "edf_fs+best_fixed", "sjf+best_fixed", "fifo+no_mig")


def solved(instance: Instance, limit: float, gap: float, processor: bool) -> Answer:
    """Solve within ``limit`` seconds, or seconds of the processor on a machine that is shared."""
    if not processor:
        return solve(instance, "interval_milp", budget=Budget(limit, gap=gap))
    half, end = time.process_time() + limit / 2, time.process_time() + limit
    hint = find_entry("interval_milp").load().best_of_policies(instance, 0)
    solver = IntervalMilp(
        hint=hint,
        should_stop=lambda: time.process_time() > end,
        tree_due=lambda: time.process_time() > half,
    )
    return solve(instance, solver, budget=Budget(8 * limit, gap=gap))


def run(task: tuple[str, float, float, bool, float]) -> dict[str, Any] | None:
    """Solve one case and hold every policy against it; None when it is too late to begin."""
    name, limit, gap, processor, until = task
    if time.time() > until:
        return None
    instance = read_instance(FOLDER / name)
    cpu = time.process_time()
    answer = solved(instance, limit, gap, processor)
    cpu = time.process_time() - cpu
    policies = {text: solve(instance, text).upper for text in POLICIES}
    known = [cost for cost in policies.values() if cost is not None]
    best = min(known, default=None)
    assert answer.upper is not None
    assert answer.lower is not None
    found = active_gap(instance, answer.upper, answer.lower)
    constant = float(instance.constant_cost)
    beaten = best is not None and (
        best < answer.lower * (1 - 1e-9) or best < answer.upper * (1 - 1e-9)
    )
    return {
        "case": name.removesuffix(".json"),
        "jobs": len(instance.jobs),
        "upper": answer.upper,
        "lower": answer.lower,
        "active_gap": found,
        "active_gap_unrounded": active_gap(instance, answer.result.claimed_upper, answer.lower),
        "wall_s": round(answer.wall_s, 2),
        "cpu_s": round(cpu, 2),
        "outcome": str(answer.outcome),
        "best_policy": best,
        "policy_above": None
        if best is None or answer.upper <= constant
        else (best - constant) / (answer.upper - constant) - 1,
        "beaten_by_a_policy": beaten,
        "violations": [str(item) for item in answer.violations],
        "columns": answer.result.detail.get("columns"),
        "points": answer.result.detail.get("points"),
        "rounds": answer.result.detail.get("rounds"),
        "integer_models": answer.result.detail.get("integer_models"),
        "tree_nodes": answer.result.detail.get("tree_nodes", 0),
        "limit_s": limit,
        "clock": "processor" if processor else "wall",
        "load": round(os.getloadavg()[0], 1),
        "commit": commit(Path(__file__).resolve()),
    }


def rows_before(out: Path, journal: Path) -> list[dict[str, Any]]:
    """Return the rows of a table that is not complete and of its journal."""
    rows: list[dict[str, Any]] = []
    if out.exists():
        table = json.loads(out.read_text(encoding="utf-8"))
        if table["summary"].get("not_run"):
            rows = table["cases"]
    if journal.exists():
        rows += [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    return list({row["case"]: row for row in rows}.values())


def share(rows: list[dict[str, Any]], gap: float) -> str:
    """Return how many rows have a gap of at most ``gap``, as text."""
    good = sum(r["active_gap"] <= gap for r in rows)
    return f"{good} of {len(rows)}"


def main() -> int:
    """Run all cases and write the table; exit 1 when a policy beats a schedule or bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit8", type=float, default=60.0)
    parser.add_argument("--limit12", type=float, default=300.0)
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--processor", action="store_true", help="limits are seconds of the processor"
    )
    parser.add_argument("--most-jobs", type=int, default=12)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no case after this")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/small_gaps.json"))
    options = parser.parse_args()
    until = time.time() + 60 * options.minutes
    tasks = []
    for path in sorted(FOLDER.glob("small-*.json")):
        jobs = len(read_instance(path).jobs)
        if jobs <= options.most_jobs:
            limit = options.limit8 if jobs <= 8 else options.limit12
            tasks.append((path.name, limit, options.gap, options.processor, until))
    journal = options.out.with_suffix(".jsonl")
    rows = rows_before(options.out, journal)
    known = {row["case"] for row in rows}
    left = [task for task in tasks if task[0].removesuffix(".json") not in known]
    with (
        multiprocessing.get_context("spawn").Pool(options.processes) as pool,
        journal.open("a", encoding="utf-8") as file,
    ):
        for row in pool.imap_unordered(run, left):
            if row is None:
                continue
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(
                f"{row['case']} {row['jobs']:2d} jobs  gap {row['active_gap']:.2%}"
                f"  {row['wall_s']:.1f} s ({row['cpu_s']:.1f} s of processor)  {row['outcome']}",
                flush=True,
            )
    rows.sort(key=lambda row: row["case"])
    not_run = sorted({task[0].removesuffix(".json") for task in tasks} - {r["case"] for r in rows})
    few = [r for r in rows if r["jobs"] <= 8]
    summary = {
        "up_to_8_jobs": {str(g): share(few, g) for g in (1e-4, 1e-3, 1e-2, 0.1)},
        "up_to_12_jobs": {str(g): share(rows, g) for g in (1e-4, 1e-3, 1e-2, 0.1)},
        "beaten_by_a_policy": [r["case"] for r in rows if r["beaten_by_a_policy"]],
        "illegal": [r["case"] for r in rows if r["violations"]],
        "not_run": not_run,
    }
    document = {
        "command": "python " + " ".join(sys.argv),
        "commit": commit(Path(__file__).resolve()),
        "machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end",
        "versions": show_versions(),
        "limits_s": {
            "up to 8 jobs": options.limit8,
            "above": options.limit12,
            "clock": "processor" if options.processor else "wall",
        },
        "summary": summary,
        "cases": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if not not_run:
        journal.unlink()
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(summary, indent=1))
    return 1 if summary["beaten_by_a_policy"] or summary["illegal"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
