"""Certified gaps of whole days: clairvoyant plan against the splitting bound, tau in both.

    python benchmarks/day_gaps.py [--limit 60] [--seeds 1-10] [--scenarios s0-slack,s0-tight] [--out FILE]
    python benchmarks/day_gaps.py --limit 240 --seeds 1 --scenarios smartmig

On one GPU plan and bound run side by side, one process each, for ``--limit`` seconds of wall time, with
compiled code loaded before; the
plan is checked and measured, the bound's stored prices are evaluated exactly. On many GPUs (``smartmig``:
8 GPUs at 20 times the published rate) only the bound runs, and is held against the closed form. Every
seed is a line; gaps are active gaps. A bound above its schedule, or a policy below a bound, is an error.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from migopt.api import show_versions, solve
from migopt.io.generators import generate
from migopt.model import Instance
from migopt.results import Budget, active_gap

POLICIES = ("edf_ss_restricted+static:3", "edf_ss_restricted+day_night")
ROOT = Path(__file__).resolve().parent.parent


def instance_of(scenario: str, seed: int) -> Instance:
    """Return the day: multiplier 2.5 for one GPU, 20 for the eight of SMART-MIG."""
    if scenario == "smartmig":
        return generate(scenario, seed=seed, gpus=8, rate_multiplier=20)
    return generate(scenario, seed=seed, rate_multiplier=2.5)


def run(name: str, scenario: str, seed: int, limit: float, threads: int) -> dict[str, Any]:
    """Run one entry; return the sides it has, and where its cost comes from."""
    # Compiled code is loaded (or made, once per version) before the clock starts.
    solve(generate("s0-slack", seed=0, jobs=60), name, budget=Budget(1.0))
    instance = instance_of(scenario, seed)
    cpu = os.times()
    answer = solve(instance, name, budget=Budget(limit, threads=threads, seed=seed))
    now = os.times()
    metrics = answer.metrics
    parts: dict[str, Any] = {}
    if metrics is not None:
        tardiness = float(metrics.weighted_tardiness_ms) / (
            60_000 * instance.total_weight * float(instance.weight_a + 1)
        )
        parts = {"energy": metrics.cost - tardiness, "tardiness": tardiness}
    elif "tardiness_part" in answer.result.detail:
        parts = {
            "energy": answer.result.detail["energy_part"],
            "tardiness": answer.result.detail["tardiness_part"],
        }
    return {
        "upper": answer.upper,
        "lower": answer.lower,
        "violations": len(answer.violations),
        "wall_s": round(answer.wall_s, 1),
        "cpu_s": round(now.user - cpu.user + now.system - cpu.system, 1),
        "parts": parts,
    }


def day(scenario: str, seed: int, limit: float) -> dict[str, Any]:
    """Return one line of the table."""
    instance = instance_of(scenario, seed)
    constant = float(instance.constant_cost)
    context = multiprocessing.get_context("spawn")
    single = len(instance.gpus) == 1
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        bound = pool.submit(run, "split_bound", scenario, seed, limit, 1 if single else 2)
        plan = pool.submit(run, "day_plan", scenario, seed, limit, 1) if single else None
        lower = bound.result()
        upper = plan.result() if plan is not None else None
    row: dict[str, Any] = {
        "scenario": scenario,
        "seed": seed,
        "jobs": len(instance.jobs),
        "limit_s": limit,
        "constant": constant,
        "bound": lower,
        "plan": upper,
    }
    closed = solve(instance, "closed_form").lower
    assert closed is not None
    row["above_closed_form"] = (lower["lower"] - closed) / (lower["lower"] - constant)
    costs = [solve(instance, text).upper for text in POLICIES] if single else []
    row["policy_active_gap"] = min(
        (active_gap(instance, cost, lower["lower"]) for cost in costs if cost is not None),
        default=None,
    )
    known = [cost for cost in costs if cost is not None]
    if upper is not None:
        assert upper["violations"] == 0, row
        row["active_gap"] = active_gap(instance, upper["upper"], lower["lower"])
        known.append(upper["upper"])
    assert all(lower["lower"] <= cost * (1 + 1e-9) for cost in known), row
    return row


def _line(row: dict[str, Any]) -> str:
    text = f"{row['scenario']:9} seed {row['seed']:3} jobs {row['jobs']:5} limit {row['limit_s']:5.0f} s"
    text += f"  lower {row['bound']['lower']:.6f}"
    if row["plan"] is not None:
        text += f"  upper {row['plan']['upper']:.6f}  active gap {100 * row['active_gap']:6.2f} %"
    return text + f"  above closed form {100 * row['above_closed_form']:5.1f} %"


def _seeds(text: str) -> list[int]:
    out: list[int] = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def main() -> int:
    """Run the days one after the other, print a line each and the medians."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--seeds", default="1-10")
    parser.add_argument("--scenarios", default="s0-slack,s0-tight")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for scenario in options.scenarios.split(","):
        own = []
        for seed in _seeds(options.seeds):
            row = day(scenario, seed, options.limit)
            own.append(row)
            print(_line(row), flush=True)
        gaps = [row["active_gap"] for row in own if "active_gap" in row]
        if gaps:
            print(
                f"{scenario}: median active gap {100 * statistics.median(gaps):.2f} %, "
                f"worst {100 * max(gaps):.2f} %, {len(gaps)} seeds"
            )
        rows += own
    if options.out is not None:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        ).stdout.strip()
        record = {
            "command": "python " + " ".join(sys.argv),
            "commit": commit,
            "date": datetime.date.today().isoformat(),
            "load_average": os.getloadavg(),
            "versions": show_versions(),
            "rows": rows,
        }
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
