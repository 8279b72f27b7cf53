"""Certified gaps of whole days: clairvoyant plan against the splitting bound, tau in both.

    python benchmarks/day_gaps.py [--limit 60] [--seeds 1-10] [--scenarios s0-slack,s0-tight]
        [--out FILE] [--one-by-one] [--processor-time]
    python benchmarks/day_gaps.py --limit 100 --seeds 1 --scenarios smartmig

On one GPU plan and bound run side by side, one process each, for ``--limit`` seconds of wall time, with
compiled code loaded before (``course`` says what each had after how many seconds); with
``--one-by-one`` first the bound and then the plan, in half of the time
each. With ``--processor-time`` limits count seconds of processor time of the one process that each side
is, so that a loaded machine gives the figures of a free one. The plan is checked and measured, the
bound's stored prices are evaluated exactly. With ``--out`` every row is written at once, and days that
the file holds are not run again. On many GPUs (``smartmig``: 8 GPUs at 20 times the published rate) only
the bound runs, and is held against the closed form. Every seed is a line; gaps are active gaps. A bound
above its schedule, or a policy below a bound, is an error.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import multiprocessing
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from migopt.api import show_versions, solve
from migopt.bench.environment import commit
from migopt.io.generators import generate
from migopt.model import Instance
from migopt.results import Budget, TrajectoryPoint, active_gap

POLICIES = ("edf_ss_restricted+static:3", "edf_ss_restricted+day_night")


def instance_of(scenario: str, seed: int) -> Instance:
    """Return the day: multiplier 2.5 for one GPU, 20 for the eight of SMART-MIG."""
    if scenario == "smartmig":
        return generate(scenario, seed=seed, gpus=8, rate_multiplier=20)
    return generate(scenario, seed=seed, rate_multiplier=2.5)


def run(
    name: str, scenario: str, seed: int, limit: float, threads: int, processor_time: bool
) -> dict[str, Any]:
    """Run one entry; return the sides it has, and where its cost comes from."""
    if processor_time:
        time.perf_counter = time.process_time
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
        "course": _course(answer.result.trajectory),
    }


def _course(points: tuple[TrajectoryPoint, ...]) -> list[tuple[int, float]]:
    """Return (second, best value so far) at doubling times and at the end."""
    pairs = [(p.wall_s, p.upper if p.lower is None else p.lower) for p in points]
    kept, due = [], 7.5
    for at, value in pairs:
        if value is not None and at >= due:
            kept.append((round(at), value))
            while due <= at:
                due *= 2
    if pairs and pairs[-1][1] is not None:
        kept.append((round(pairs[-1][0]), pairs[-1][1]))
    return kept


def day(
    scenario: str, seed: int, limit: float, one_by_one: bool, processor_time: bool
) -> dict[str, Any]:
    """Return one line of the table."""
    instance = instance_of(scenario, seed)
    constant = float(instance.constant_cost)
    context = multiprocessing.get_context("spawn")
    single = len(instance.gpus) == 1
    began = time.perf_counter()
    share = limit / 2 if one_by_one and single else limit
    workers = 1 if one_by_one else 2
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        bound = pool.submit(
            run, "split_bound", scenario, seed, share, 1 if single else 2, processor_time
        )
        plan = (
            pool.submit(run, "day_plan", scenario, seed, share, 1, processor_time)
            if single
            else None
        )
        lower = bound.result()
        upper = plan.result() if plan is not None else None
    row: dict[str, Any] = {
        "scenario": scenario,
        "seed": seed,
        "jobs": len(instance.jobs),
        "limit_s": limit,
        "one_by_one": one_by_one,
        "processor_time": processor_time,
        # Of both, with the loading of compiled code.
        "wall_s": round(time.perf_counter() - began, 1),
        "load_average": os.getloadavg(),
        "commit": commit(Path(__file__).resolve()),
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


def _medians(rows: list[dict[str, Any]]) -> list[str]:
    lines = []
    for scenario in dict.fromkeys(row["scenario"] for row in rows):
        gaps = [row["active_gap"] for row in rows if row["scenario"] == scenario and row["plan"]]
        if gaps:
            lines.append(
                f"{scenario}: median active gap {100 * statistics.median(gaps):.2f} %, "
                f"worst {100 * max(gaps):.2f} %, {len(gaps)} seeds"
            )
    return lines


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    record = {
        "command": "python " + " ".join(sys.argv),
        "commit": commit(Path(__file__).resolve()),
        "date": datetime.date.today().isoformat(),
        "versions": show_versions(),
        "medians": _medians(rows),
        "rows": rows,
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Run the days one after the other, print a line each and the medians."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--seeds", default="1-10")
    parser.add_argument("--scenarios", default="s0-slack,s0-tight")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one-by-one", action="store_true")
    parser.add_argument("--processor-time", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if options.out is not None and options.out.exists():
        rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"]
    for scenario in options.scenarios.split(","):
        for seed in _seeds(options.seeds):
            if any((row["scenario"], row["seed"]) == (scenario, seed) for row in rows):
                continue
            row = day(scenario, seed, options.limit, options.one_by_one, options.processor_time)
            rows.append(row)
            print(_line(row), flush=True)
            if options.out is not None:
                _write(options.out, rows)
    for line in _medians(rows):
        print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
