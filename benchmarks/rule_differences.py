"""How often dispatch rules decide differently: the share that says whether a comparison of them means anything.

Two shares per partition. ``empty``: of all jobs, those for which EDF-SS and EDF-FS choose different slices
on an empty GPU at the job's arrival. ``run``: of all instants at which a run of EDF-SS decides, those at
which another rule, asked in the same state, would start or keep jobs elsewhere.

    python benchmarks/rule_differences.py --seeds 10 --out benchmarks/results/rule_differences.json
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from migopt.bench.environment import commit, machine
from migopt.io.generators import generate
from migopt.model import Instance
from migopt.report.statistics import mean_interval
from migopt.schedulers import parse_policy
from migopt.sim import Simulator
from migopt.units import ceil_div

RULES = ("edf_fs", "llf", "lalf", "edf_ss_restricted")


def empty_share(day: Instance, number: int) -> float:
    """Return the share of jobs for which slowest-on-time and fastest differ on an empty GPU."""
    model, partition = day.gpus[0], day.catalogue(0)[number]
    sizes = {
        p: (model.profile(p).compute_slices, model.profile(p).memory_units)
        for p in partition.profiles
    }
    different = 0
    for job in day.jobs:
        rates = {p: day.rate(job, model, p) for p in sizes}
        spent = {p: ceil_div(job.work, rate) for p, rate in rates.items() if rate}
        fastest = min(spent, key=lambda p: (spent[p], sizes[p]))
        latest = job.due_ms - job.release_ms
        on_time = [p for p in spent if spent[p] <= latest]
        slowest = min(on_time, key=lambda p: (-spent[p], sizes[p])) if on_time else fastest
        different += slowest != fastest
    return different / len(day.jobs)


def run_shares(day: Instance, number: int) -> dict[str, float]:
    """Return per rule the share of instants of an EDF-SS run at which it would decide otherwise."""
    followed = parse_policy(f"edf_ss+static:{number}")
    others = {rule: parse_policy(f"{rule}+static:{number}").dispatcher() for rule in RULES}
    simulator, lead = Simulator(day), followed.dispatcher()
    simulator.start(followed.partitioner(day))
    count: Counter[str] = Counter()
    instants = 0
    while simulator.advance():
        state = simulator.state
        decision = lead.dispatch(state)
        kinds = [place.placement.profile for place in state.slices]
        wanted = {job: kinds[position] for position, job in decision.runs.items()}
        instants += 1
        for rule, other in others.items():
            found = {job: kinds[p] for p, job in other.dispatch(state).runs.items()}
            count[rule] += found != wanted
        simulator.apply_dispatch(decision)
    return {rule: count[rule] / instants for rule in RULES}


def main() -> None:
    """Write mean shares and their intervals over seeds, per scenario and partition."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--out", type=Path, default=Path("benchmarks/results/rule_differences.json")
    )
    options = parser.parse_args()
    began = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for scenario in ("s0-slack", "s0-tight"):
        days = [generate(scenario, seed=seed) for seed in range(1, options.seeds + 1)]
        for number in range(1, len(days[0].catalogue(0)) + 1):
            empty = mean_interval([empty_share(day, number) for day in days])
            runs = [run_shares(day, number) for day in days]
            row: dict[str, Any] = {"scenario": scenario, "partition": number}
            row["empty"] = [empty.mean, empty.low, empty.high]
            for rule in RULES:
                share = mean_interval([run[rule] for run in runs])
                row[f"run_{rule}"] = [share.mean, share.low, share.high]
            rows.append(row)
            print(
                scenario,
                number,
                *(f"{k} {v[0]:.3f}" for k, v in row.items() if isinstance(v, list)),
                flush=True,
            )
    answer = {
        "command": shlex.join(["python", *sys.argv]),
        "commit": commit(Path(__file__).resolve()),
        "machine": machine(),
        "seeds": [1, options.seeds],
        "wall_s": round(time.perf_counter() - began, 1),
        "rows": rows,
    }
    options.out.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
