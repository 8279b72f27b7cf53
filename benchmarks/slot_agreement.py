"""Both slot models on random cases of two to four jobs: the same optimum, a legal schedule, at most its value.

    python benchmarks/slot_agreement.py [--cases 200] [--seed 0] [--out benchmarks/results/slot_agreement.json]

A run that was ended goes on where it stopped (a journal beside the output, removed at the end). Times are
wall times of whole runs of each entry's class, model building included.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from _journal import run_all, write

from migopt.check import check
from migopt.exact.interval_milp import IntervalMilp
from migopt.exact.slot_cpsat import SlotCpSat
from migopt.exact.slot_milp import SlotMilp
from migopt.metrics import measure
from migopt.results import Budget
from migopt.testing.slot_reference import slot_case

LIMIT = Budget(120.0)


def run(seed: int) -> dict[str, Any]:
    """Solve one case with both engines, and the continuous problem for comparison."""
    case = slot_case(seed)
    results = {
        "cpsat": SlotCpSat(case.partition, case.slot_ms).solve(case.instance, LIMIT),
        "milp": SlotMilp(case.partition, case.slot_ms).solve(case.instance, LIMIT),
    }
    row: dict[str, Any] = {
        "seed": seed,
        "jobs": len(case.instance.jobs),
        "partition": case.partition,
        "outcome": [str(result.outcome) for result in results.values()],
    }
    if results["cpsat"].schedule is None:
        return row | {"same": row["outcome"][0] == row["outcome"][1], "proved": True, "sound": True}
    exact = IntervalMilp(case.partition).solve(case.instance, Budget(10.0, gap=1e-3))
    bound = exact.class_lower if exact.lower is None else exact.lower
    values = [result.detail["grid"]["objective"] for result in results.values()]
    sound = True
    for result in results.values():
        cost = measure(case.instance, result.schedule).cost
        sound &= not check(case.instance, result.schedule)
        sound &= cost <= result.detail["grid"]["value"] * (1 + 1e-12) and result.lower is None
        sound &= result.detail["grid"]["lower"] <= result.detail["grid"]["value"]
        sound &= bound is not None and bound <= cost * (1 + 1e-9)
    return row | {
        "slots": results["cpsat"].detail["grid"]["slots"],
        "values": values,
        "same": values[0] == values[1],
        "proved": all(result.detail["grid"]["optimal"] for result in results.values()),
        "sound": bool(sound),
        "seconds": [result.wall_s for result in results.values()],
    }


def main() -> int:
    """Run all cases and write the table; exit 1 when the engines differ or a schedule is unsound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/slot_agreement.json"))
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.cases)
    journal = options.out.with_suffix(".jsonl")
    rows = run_all(run, seeds, lambda row: row["seed"], journal, options.processes)
    rows.sort(key=lambda row: row["seed"])
    both = [row for row in rows if row["proved"] and "values" in row]
    wrong = [row for row in rows if not row["sound"] or (row["proved"] and not row["same"])]
    seconds = {
        name: sorted(row["seconds"][i] for row in rows if "seconds" in row)
        for i, name in enumerate(("slot_cpsat", "slot_milp"))
    }
    document = {
        "seeds": [seeds.start, seeds.stop - 1],
        "cases": len(rows),
        "proved_by_both": len(both),
        "infeasible_partition": sum("values" not in row for row in rows),
        "same_value": sum(row["same"] for row in both),
        "not_proved_by_both": [row for row in rows if not row["proved"]],
        "contradictions": wrong,
        "seconds": {
            name: {"median": s[len(s) // 2], "p90": s[9 * len(s) // 10], "max": s[-1]}
            for name, s in seconds.items()
        },
    }
    write(options.out, journal, document)
    print(f"{len(both)} proved by both, {document['same_value']} equal, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
