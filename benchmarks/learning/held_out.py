"""The shipped policies on held-out days against fixed rules and look-ahead; paired differences with 95 % intervals.

``python benchmarks/learning/held_out.py --days 100 --out FILE``. Best Static is the partition of least mean
ET on training days, as the paper chooses it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from migopt.rl.config import FIRST_TRAINING_SEED
from migopt.schedulers.batch import Day, run_batch
from migopt.schedulers.learned.checkpoint import find_policy, load_policy

DISPATCH = "edf_ss_restricted"
#: The first held-out seed; those before it calibrate the scenarios' weight of energy.
FIRST = 1001


def best_static(scenario: str, days: int, workers: int) -> int:
    """Return the catalogue number of least mean ET on training days."""
    training = [Day(scenario, FIRST_TRAINING_SEED + number) for number in range(days)]
    policies = [f"{DISPATCH}+static:{number}" for number in range(1, 13)]
    costs = run_batch(training, policies, workers=workers).columns["cost"][:, 0, :]
    return 1 + int(costs.mean(axis=0).argmin())


def compare(scenario: str, days: int, workers: int) -> dict:
    """Return mean ET of each rule and what the learned policy saves, paired by day."""
    split = load_policy(find_policy(scenario)).header["split"]
    first, last = split["seeds"]["held_out"]
    assert first <= FIRST
    assert FIRST + days - 1 <= last
    static = best_static(scenario, 60, workers)
    names = ["no_mig", f"static:{static}", "day_night", f"look_ahead:first={static}"]
    policies = [f"{DISPATCH}+{name}" for name in [*names, f"dqn:{scenario}"]]
    held_out = [Day(scenario, FIRST + number) for number in range(days)]
    result = run_batch(held_out, policies, workers=workers)
    assert set(result.outcome) == {"ok"}
    costs = result.columns["cost"][:, 0, :]
    learned = costs[:, -1]
    rows = []
    for number, name in enumerate([*names, "dqn"]):
        saved = costs[:, number] - learned
        half = 1.96 * saved.std(ddof=1) / np.sqrt(days)
        rows.append(
            {
                "rule": name,
                "mean_et": float(costs[:, number].mean()),
                "saved": float(saved.mean()),
                "saved_95": [float(saved.mean() - half), float(saved.mean() + half)],
                "saved_percent": float(100 * saved.mean() / costs[:, number].mean()),
                "repartitions": float(result.columns["repartitions"][:, 0, number].mean()),
            }
        )
    constant = float(Day(scenario, FIRST).instance().constant_cost)
    return {
        "scenario": scenario,
        "seeds": [FIRST, FIRST + days - 1],
        "split": split["digest"],
        "constant_cost": constant,
        "rules": rows,
    }


def main() -> None:
    """Compare on both scenarios, print, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--scenarios", nargs="+", default=["s0-tight", "s0-slack"])
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    found = [compare(name, chosen.days, chosen.workers) for name in chosen.scenarios]
    for item in found:
        print(item["scenario"], "seeds", item["seeds"], "constant", round(item["constant_cost"], 4))
        for row in item["rules"]:
            low, high = row["saved_95"]
            print(
                f"  {row['rule']:<20} ET {row['mean_et']:.4f}  dqn saves {row['saved']:+.4f}"
                f" [{low:+.4f}, {high:+.4f}] {row['saved_percent']:+.1f} %"
                f"  repartitions {row['repartitions']:.0f}"
            )
    if chosen.out:
        chosen.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
