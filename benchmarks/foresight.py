"""What knowing the jobs to come is worth: the receding horizon with jobs announced ahead of their release.

    python benchmarks/foresight.py [--scenarios s0-slack] [--seeds 1001-1010] [--announced 0,15,60,180]
        [--bound 30] [--processes 2] [--out FILE]

An online policy sees a job at its release. Here the relaxation also holds the jobs that will be released
within so many minutes, which no policy of the package may see: the active gap to the day's certified
bound, by how early jobs are announced, says how much of an online policy's gap is lack of knowledge.
Where jobs are announced, nothing is kept free for unknown ones (``reserve`` 0 when the horizon is long,
``hold`` 0). Every schedule is checked and measured, and no cost may lie below the bound.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import os
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

from migopt.api import show_versions, solve
from migopt.bench.environment import commit
from migopt.check import check
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.results import Budget, active_gap
from migopt.schedulers.joint.planner import Planner
from migopt.schedulers.joint.receding import RecedingPlanner
from migopt.schedulers.joint.relaxation import Relaxation
from migopt.schedulers.joint.rules import JointDispatch, JointPartition
from migopt.schedulers.joint.view import view_of
from migopt.sim import SimState, simulate

#: With jobs announced so far ahead nothing is kept free for unknown ones.
FAR_MIN = 60.0


class Announced(RecedingPlanner):
    """The receding horizon with jobs announced ``ahead_of`` minutes before their release."""

    ahead_of = 0.0

    def announced(self, minute: float) -> np.ndarray:
        """Return the jobs of the next minutes, in order of release."""
        release, coming = self.view.jobs.release, self.view.coming
        first, last = np.searchsorted(
            release[coming], (minute, minute + self.ahead_of), side="right"
        )
        return np.asarray(coming[first:last])


def planner(state: SimState, minutes: float) -> Planner:
    """Return the planner of one run; without announcements exactly ``receding_horizon``'s."""
    known = min(1.0, minutes / FAR_MIN)
    relaxation = Relaxation(view_of(state.instance), 0.3 * (1.0 - known), 0.1, 0.0)
    made = Announced(relaxation, 2.0, 1.0, 0.5 if minutes == 0 else 0.0, 2.0, 4.0)
    made.ahead_of = minutes
    return made


def run(task: tuple[str, int, tuple[float, ...], float]) -> dict[str, Any]:
    """Return the active gaps of one day."""
    scenario, seed, announced, seconds = task
    instance = generate(scenario, seed=seed)
    bound = solve(instance, "split_bound", budget=Budget(seconds, seed=seed)).lower
    assert bound is not None
    gaps = {}
    for minutes in announced:
        name = f"announced {minutes}"

        def make(state: SimState, minutes: float = minutes) -> Planner:
            return planner(state, minutes)

        schedule = simulate(instance, JointDispatch(name, make), JointPartition(name, make))
        assert not check(instance, schedule), name
        cost = measure(instance, schedule).cost
        assert cost >= bound * (1 - 1e-9), (name, cost, bound)
        gaps[str(minutes)] = active_gap(instance, cost, bound)
    return {"scenario": scenario, "seed": seed, "lower": bound, "active_gap": gaps}


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """Return a line per scenario and announcement."""
    lines = []
    for scenario in dict.fromkeys(row["scenario"] for row in rows):
        own = [row["active_gap"] for row in rows if row["scenario"] == scenario]
        for minutes in own[0]:
            gaps = [gap[minutes] for gap in own]
            lines.append(
                f"{scenario}, announced {minutes} min: active gap mean {100 * statistics.mean(gaps):.1f} %, "
                f"median {100 * statistics.median(gaps):.1f} %, worst {100 * max(gaps):.1f} %, {len(gaps)} days"
            )
    return lines


def main() -> int:
    """Run the days, print a line per scenario and announcement."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scenarios", default="s0-slack")
    parser.add_argument("--seeds", default="1001-1010")
    parser.add_argument("--announced", default="0,15,60,180")
    parser.add_argument("--bound", type=float, default=30.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    announced = tuple(float(text) for text in options.announced.split(","))
    tasks = [
        (scenario, seed, announced, options.bound)
        for scenario in options.scenarios.split(",")
        for seed in range(int(first), int(last or first) + 1)
    ]
    rows = []
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for row in pool.imap(run, tasks):
            rows.append(row)
            gaps = {key: round(100 * gap, 1) for key, gap in row["active_gap"].items()}
            print(f"{row['scenario']} seed {row['seed']}: active gap by minutes {gaps}", flush=True)
    print("\n".join(summary(rows)))
    if options.out is not None:
        record = {
            "command": "python " + " ".join(sys.argv),
            "commit": commit(Path(__file__).resolve()),
            "date": datetime.date.today().isoformat(),
            "versions": show_versions(),
            "load_average": os.getloadavg(),
            "summary": summary(rows),
            "rows": rows,
        }
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
