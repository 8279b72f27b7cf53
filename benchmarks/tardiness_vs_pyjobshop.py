"""Total tardiness on the slices [4g, 2g, 1g] without preemption: the tardiness search beside PyJobShop.

    python benchmarks/tardiness_vs_pyjobshop.py [--scenario s0-slack] [--other-python PYTHON]
                                                [--limit 60] [--minutes M] [--out FILE]

Cases, fixed before any was solved: scenario ``s0-slack`` (or ``s0-tight``) at rate multiplier 10, four times
the usual 2.5 of one GPU, on one A100-40GB, partition 3 of paper-12 (4g, 2g, 1g), no preemption, no
repartition, weight of energy 0; seeds 1 to 10 of 8, 12, 16, 20 and 25 jobs each. Both solvers get each case one
after the other, PyJobShop (OR-Tools behind it) with 2 threads, the search with one. Seconds are of the wall
and include building the model. Both are warmed up first, since the search is compiled at its first use.

Where both prove a case, the answers must be equal; nowhere may a proven bound pass the other's schedule.
PyJobShop is no dependency of migopt: it is looked for in this interpreter, or in ``--other-python``; without it
only the search runs, and the table says why. A run that was ended goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from migopt import generate
from migopt.api import show_versions
from migopt.bench.environment import commit
from migopt.check import check
from migopt.exact.tardiness import Tardiness
from migopt.metrics import measure
from migopt.model import Instance
from migopt.results import Budget

PARTITION = 3
PARAMETERS = {"rate_multiplier": 10, "preemption": "none", "repartition": "never"}
SIZES = (8, 12, 16, 20, 25)
SEEDS = range(1, 11)
THREADS = 2

#: Run by the other interpreter: one case per line of input, one answer per line of output.
OTHER = """
import json, sys, time
try:
    from importlib.metadata import version
    import ortools, pyjobshop
except ImportError as error:
    print(json.dumps({"missing": str(error)}), flush=True)
    sys.exit()
print(json.dumps({"pyjobshop": version("pyjobshop"), "ortools": version("ortools")}), flush=True)
for line in sys.stdin:
    case = json.loads(line)
    began = time.perf_counter()
    model = pyjobshop.Model()
    machines = [model.add_machine() for _ in case["durations"][0]]
    for release, due, durations in zip(case["release"], case["due"], case["durations"]):
        job = model.add_job(release_date=release, due_date=due)
        task = model.add_task(job=job)
        for machine, duration in zip(machines, durations):
            if duration:
                model.add_mode(task, machine, duration)
    model.set_objective(weight_total_tardiness=1)
    result = model.solve(
        solver="ortools", time_limit=case["limit"], num_workers=case["threads"], display=False
    )
    answer = {
        "proved": result.status.name == "OPTIMAL",
        "upper_ms": int(result.objective),
        "lower_ms": float(result.lower_bound),
        "wall_s": time.perf_counter() - began,
    }
    print(json.dumps(answer), flush=True)
"""


class Other:
    """PyJobShop in a process of its own; ``missing`` says why it is not there."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, "-c", OTHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.versions = self._line() or {"missing": f"{python} does not start"}
        self.missing = self.versions.get("missing")

    def _line(self) -> Any:
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        return json.loads(text) if text else None

    def solve(self, instance: Instance, limit: float) -> dict[str, Any]:
        """Return what PyJobShop finds and proves."""
        assert self.process.stdin is not None
        profiles = instance.catalogue(0)[PARTITION].profiles
        gpu = instance.gpus[0]
        rates = [[instance.rate(job, gpu, name) for name in profiles] for job in instance.jobs]
        case = {
            "release": [job.release_ms for job in instance.jobs],
            "due": [job.due_ms for job in instance.jobs],
            "durations": [
                [job.duration_ms(rate) if rate else 0 for rate in row]
                for job, row in zip(instance.jobs, rates, strict=True)
            ],
            "limit": limit,
            "threads": THREADS,
        }
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        answer = self._line()
        assert answer is not None, "PyJobShop's process has ended"
        return dict(answer)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def make(scenario: str, jobs: int, seed: int) -> Instance:
    """Return one case."""
    instance = generate(scenario, seed=seed, jobs=jobs, **PARAMETERS)
    return instance.replace(weight_a=Fraction(0))


def search(instance: Instance, limit: float) -> dict[str, Any]:
    """Solve with the tardiness search; its schedule is checked and measured."""
    began = time.perf_counter()
    result = Tardiness(PARTITION).solve(instance, Budget(limit))
    wall = time.perf_counter() - began
    assert result.schedule is not None
    assert result.class_lower is not None
    assert check(instance, result.schedule) == []
    scale = 60_000 * len(instance.jobs)
    upper = measure(instance, result.schedule).cost_exact * scale
    assert upper.denominator == 1
    return {
        "proved": bool(result.detail["proved"]),
        "upper_ms": int(upper),
        "lower_ms": result.class_lower * scale,
        "wall_s": wall,
        "states": result.detail["states"],
    }


def compare(case: dict[str, Any]) -> None:
    """Hold both answers against each other; an AssertionError names the case."""
    ours, other = case["search"], case.get("pyjobshop")
    if other is None:
        return
    name = f"{case['jobs']} jobs, seed {case['seed']}: {ours} {other}"
    if ours["proved"] and other["proved"]:
        assert ours["upper_ms"] == other["upper_ms"], name
    assert ours["lower_ms"] <= other["upper_ms"] * (1 + 1e-9), name
    assert other["lower_ms"] <= ours["upper_ms"] * (1 + 1e-6), name


def gap(answer: dict[str, Any]) -> float:
    """Return (upper - lower) / upper, 0 where proved."""
    if answer["proved"] or answer["upper_ms"] == 0:
        return 0.0
    return 1 - float(answer["lower_ms"]) / float(answer["upper_ms"])


def summary(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return proofs, medians and ratios by number of jobs, and over all."""
    table: dict[str, Any] = {}
    for jobs in (*SIZES, None):
        rows = [case for case in cases if jobs in (None, case["jobs"])]
        if not rows:
            continue
        line: dict[str, Any] = {"cases": len(rows)}
        for name in ("search", "pyjobshop"):
            answers = [row[name] for row in rows if name in row]
            if answers:
                line[name] = {
                    "proved": sum(a["proved"] for a in answers),
                    "median_wall_s": round(statistics.median(a["wall_s"] for a in answers), 4),
                    "most_wall_s": round(max(a["wall_s"] for a in answers), 3),
                    "largest_gap": round(max(gap(a) for a in answers), 4),
                }
        ratios = [
            row["search"]["wall_s"] / row["pyjobshop"]["wall_s"]
            for row in rows
            if "pyjobshop" in row
        ]
        if ratios:
            line["median_ratio_of_seconds"] = round(statistics.median(ratios), 4)
            line["largest_ratio_of_seconds"] = round(max(ratios), 4)
        table["all" if jobs is None else f"{jobs} jobs"] = line
    return table


def main() -> int:
    """Run what is left of the cases and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", choices=("s0-slack", "s0-tight"), default="s0-slack")
    parser.add_argument("--other-python", default=sys.executable)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no case after this")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or Path(f"benchmarks/results/tardiness_{options.scenario}.json")
    journal = out.with_suffix(".jsonl")
    end = time.monotonic() + 60 * options.minutes
    cases = []
    if journal.exists():
        cases = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    known = {(case["jobs"], case["seed"]) for case in cases}
    other = Other(options.other_python)
    if other.missing:
        print(f"without PyJobShop: {other.missing}")
    for seed in SEEDS:  # compile and load what the cases need
        search(make(options.scenario, 10, 100 + seed), 10.0)
    if not other.missing:
        other.solve(make(options.scenario, 6, 100), 10.0)
    for jobs in SIZES:
        for seed in SEEDS:
            if (jobs, seed) in known:
                continue
            if time.monotonic() > end:
                return 3
            instance = make(options.scenario, jobs, seed)
            case: dict[str, Any] = {"jobs": jobs, "seed": seed}
            case["search"] = search(instance, options.limit)
            if not other.missing:
                case["pyjobshop"] = other.solve(instance, options.limit)
            compare(case)
            cases.append(case)
            with journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(case) + "\n")
            print(json.dumps(case), flush=True)
    other.close()
    document = {
        "command": f"python benchmarks/tardiness_vs_pyjobshop.py --scenario {options.scenario}",
        "commit": commit(Path(__file__).resolve()),
        "machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end",
        "versions": show_versions() | {"other": other.versions},
        "limit_s": options.limit,
        "threads": {"search": 1, "pyjobshop": THREADS},
        "parameters": {**PARAMETERS, "partition": PARTITION, "weight_a": 0},
        "summary": summary(cases),
        "cases": sorted(cases, key=lambda case: (case["jobs"], case["seed"])),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    journal.unlink(missing_ok=True)
    print(json.dumps(document["summary"], indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
