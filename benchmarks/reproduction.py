"""From the results of the S0 suites to figures with intervals, and to the tables of docs/reproduction.md.

    for s in table2 preemption busy rates table3 sensitivity gaps; do migopt bench s0-$s -o RESULTS/s0-$s; done
    python benchmarks/reproduction.py RESULTS

writes benchmarks/results/reproduction.json and the tables between the marks of the page. Suites that are
not there leave their tables as they are. Runs no simulation.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from _claims import PUBLISHED, verdicts
from _paired import (
    CLASSES,
    RULES,
    R,
    Runs,
    above,
    active,
    best_static,
    cost,
    load,
    mean_by_seed,
    mean_text,
    number,
    paired,
    percent_text,
    ratio,
    recalibrated,
    table,
)

from migopt.records import Record
from migopt.report.statistics import mean_interval

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reproduction.md"
PARTIAL = ("edf_ss+look_ahead", "edf_ss+miso", "priced+priced")
PARTIAL += ("receding_horizon+receding_horizon", "rollout+rollout")
#: Names in PUBLISHED of the rows of Table III: three baselines and the dynamic policy.
PARTITION_RULES = tuple(PUBLISHED[name] for name in ("no_mig", "static", "day_night", "dynamic"))


def table2(found: dict[str, Runs]) -> str:
    """Rules over the twelve partitions: mean over all, and on the best partition of each rule."""
    rows = []
    for name in filter(found.__contains__, CLASSES):
        runs = found[name]
        groups = {rule: [f"{rule}+static:{n}" for n in range(1, 13)] for rule in RULES}
        whole = recalibrated(runs, [entry for entries in groups.values() for entry in entries])
        for rule in RULES:
            by_seed = mean_by_seed(runs, groups[rule])
            base = mean_by_seed(runs, groups["edf_fs"])
            versus = ratio([(by_seed[s], base[s]) for s in by_seed if s in base])
            best = min(groups[rule], key=lambda e: fmean(map(cost, runs[e].values())))
            rows.append(
                [
                    name,
                    f"`{rule}`",
                    PUBLISHED[rule],
                    mean_text(over_partitions(whole, groups[rule]), 2),
                    mean_text(list(by_seed.values())),
                    percent_text(versus) if rule != "edf_fs" else "",
                    f"{best.rpartition(':')[2]}: {mean_text([cost(r) for r in runs[best].values()])}",
                    str(len(by_seed)),
                ]
            )
    heads = ["scenario", "rule", "paper", "ET, a recalibrated", "ET, stored a", "below EDF-FS"]
    return table([*heads, "best partition: ET", "days"], rows)


def over_partitions(values: dict[str, dict[int, float]], entries: list[str]) -> list[float]:
    """Return the mean over entries, one per seed."""
    seeds = set.intersection(*(set(values[entry]) for entry in entries))
    return [fmean(values[entry][seed] for entry in entries) for seed in sorted(seeds)]


def table3(found: dict[str, Runs]) -> str:
    """Partition rules: ET, and the gain over each of the paper's three baselines."""
    rows = []
    for name in filter(found.__contains__, CLASSES):
        runs = found[name]
        static = best_static(runs)
        bases = [f"{R}+no_mig", static, f"{R}+day_night"]
        shown = [*bases, f"{R}+static:3", f"{R}+static:best_day", f"{R}+look_ahead"]
        shown += ["edf_ss+look_ahead", f"{R}+dqn", f"{R}+miso", "edf_ss+miso", "priced+priced"]
        shown += ["receding_horizon+receding_horizon", "rollout+rollout"]
        whole = recalibrated(
            runs, [*bases, f"{R}+dqn" if f"{R}+dqn" in runs else f"{R}+look_ahead"]
        )
        names = dict(zip([*bases, f"{R}+dqn"], PARTITION_RULES, strict=True))
        for entry in dict.fromkeys(shown):
            if entry not in runs:
                continue
            gains = [
                percent_text(ratio(paired(runs, entry, base, cost))) if entry != base else ""
                for base in bases
            ]
            rows.append(
                [
                    name,
                    f"`{entry}`",
                    names.get(entry, ""),
                    mean_text(list(whole.get(entry, {}).values()), 2),
                    mean_text([cost(r) for r in runs[entry].values()]),
                    late_share(runs[entry]),
                    *gains,
                    mean_text([float(r.metrics["repartitions"]) for r in runs[entry].values()], 0),
                    str(len(runs[entry])),
                ]
            )
    heads = ["scenario", "policy", "paper", "ET, a recalibrated", "ET, stored a", "late"]
    heads += ["below No MIG", "below best Static", "below Day-Night", "repartitions", "days"]
    return table(heads, rows)


def late_share(records: dict[int, Record]) -> str:
    """Return which part of mean ET above idle is tardiness."""
    above_idle = fmean(map(active, records.values()))
    # ET = (a E + T) / (a + 1): what is no tardiness is energy, idle energy included.
    late = fmean(float(r.mean_tardiness_min or 0) / (1 + _weight(r)) for r in records.values())
    return f"{100 * late / above_idle:.0f} %" if above_idle else "–"


def _weight(record: Record) -> float:
    """Return the stored weight a."""
    assert record.settings is not None
    top, _, bottom = record.settings.weight_a.partition("/")
    return int(top) / int(bottom or 1)


def preemption(found: dict[str, Runs]) -> str:
    """Restricted against free EDF-SS, by partition."""
    rows = []
    for n in range(1, 13):
        row = [str(n)]
        for name in CLASSES:
            runs = found.get(name, {})
            free, kept = f"edf_ss+static:{n}", f"{R}+static:{n}"
            stops = paired(runs, kept, free, lambda r: float(r.metrics["preemptions"]))
            row.append(percent_text(ratio(stops)) if sum(b for _, b in stops) else "no preemption")
            row.append(percent_text(above(paired(runs, kept, free, cost))))
        rows.append(row)
    heads = ["partition", "s0-slack: fewer preemptions", "ET above free"]
    return table([*heads, "s0-tight: fewer preemptions", "ET above free"], rows)


def busy(found: dict[str, Runs]) -> str:
    """Share of time per busy level: partitions 3 and 6, and the partition rules."""
    rows = []
    for name in filter(found.__contains__, CLASSES):
        runs = found[name]
        for entry in runs:
            if entry.rpartition(":")[2] in ("2", "10"):
                continue
            shares = [
                next(iter(r.metrics["busy_level_share"].values())) for r in runs[entry].values()
            ]
            means = [fmean(column) for column in zip(*shares, strict=True)]
            rows.append([name, f"`{entry}`", *(f"{100 * share:.1f}" for share in means)])
    return table(["scenario", "policy", *(f"{level}" for level in range(8))], rows)


def rates(found: dict[str, Runs]) -> str:
    """Best partition and ET per rule, by rate and inference share."""
    rows = []
    for name, runs in found.items():
        cells = []
        for rule in (*RULES, R):
            entries = [f"{rule}+static:{n}" for n in range(1, 13) if f"{rule}+static:{n}" in runs]
            best = min(entries, key=lambda entry: fmean(map(cost, runs[entry].values())))
            costs = mean_text([cost(r) for r in runs[best].values()], 2)
            cells.append(f"{best.rpartition(':')[2]}: {costs}")
        rows.append([name.removeprefix("s0-"), *cells])
    return table(
        ["scenario, rate per minute, inference %", *(f"`{rule}`" for rule in (*RULES, R))], rows
    )


def sensitivity(found: dict[str, Runs]) -> str:
    """Order of the partition rules per setting."""
    rows = []
    for name, runs in found.items():
        if name.endswith("partial"):
            continue
        statics = [f"{R}+static:{n}" for n in (2, 3, 6)]
        static = min(statics, key=lambda entry: fmean(map(cost, runs[entry].values())))
        dynamic = f"{R}+look_ahead"
        shown = [f"{R}+no_mig", static, f"{R}+day_night", dynamic]
        gains = [percent_text(ratio(paired(runs, dynamic, entry, cost))) for entry in shown[:3]]
        gains.append(percent_text(ratio(paired(runs, shown[2], static, cost))))
        costs = [number(fmean(map(cost, runs[entry].values())), 3) for entry in shown]
        costs[1] = f"{static.rpartition(':')[2]}: {costs[1]}"
        rows.append([name.removeprefix("s0-"), *costs, *gains])
    heads = ["setting", "No MIG", "best Static of 2, 3, 6", "Day-Night", "look-ahead"]
    heads += ["below No MIG", "below Static", "below Day-Night", "Day-Night below Static"]
    return table(heads, rows)


def partial(found: dict[str, Runs]) -> str:
    """Every policy under scope gpu, under scope slices, and with changes only that stop no job."""
    rows = []
    for name in CLASSES:
        whole, parts = found.get(f"{name}-base", {}), found.get(f"{name}-partial", {})
        for entry in PARTIAL:
            three = [whole.get(entry, {}), parts.get(entry, {}), parts.get(f"{entry}:keep=yes", {})]
            seeds = sorted(set.intersection(*(set(records) for records in three)))
            if not seeds:
                continue
            costs = [mean_text([cost(records[s]) for s in seeds]) for records in three]
            stops = [
                f"{fmean(float(records[s].metrics['preemptions']) for s in seeds):.0f}"
                for records in three
            ]
            gain = ratio([(cost(three[1][s]), cost(three[0][s])) for s in seeds])
            row = [name, f"`{entry}`", *costs, percent_text(gain), " / ".join(stops)]
            rows.append([*row, str(len(seeds))])
    heads = ["scenario", "policy", "scope gpu", "scope slices", "stopping no job"]
    return table([*heads, "slices below gpu", "preemptions", "days"], rows)


def lower_bounds(runs: Runs) -> dict[int, float]:
    """Return per seed the best certified lower bound on ET above idle."""
    lower: dict[int, float] = {}
    for records in runs.values():
        for seed, record in records.items():
            if record.proven_lower is not None and record.claims == "bound":
                over_idle = record.proven_lower - _constant(record)
                lower[seed] = max(lower.get(seed, 0.0), over_idle)
    return lower


def gaps_by_day(found: dict[str, Runs]) -> dict[str, Any]:
    """Return per scenario the bounds, and per policy the active gap of every day."""
    answer: dict[str, Any] = {}
    for name in filter(found.__contains__, CLASSES):
        lower = lower_bounds(found[name])
        answer[name] = {"lower_above_idle": {s: _short(v) for s, v in sorted(lower.items())}}
        for entry, records in found[name].items():
            seeds = [s for s in sorted(records) if s in lower and records[s].cost is not None]
            if seeds:
                answer[name][entry] = {
                    s: round(1 - lower[s] / active(records[s]), 5) for s in seeds
                }
    return answer


def gaps(found: dict[str, Runs]) -> str:
    """Active gap to the certified bound, and how far above the clairvoyant plan."""
    rows = []
    for name in filter(found.__contains__, CLASSES):
        runs = found[name]
        lower = lower_bounds(runs)
        plan = runs.get("day_plan", {})
        for entry, records in runs.items():
            seeds = [s for s in records if s in lower and records[s].cost is not None and s in plan]
            if not seeds:
                continue
            certified = [1 - lower[s] / active(records[s]) for s in seeds]
            over = above([(active(records[s]), active(plan[s])) for s in seeds])
            rows.append(
                [
                    name,
                    f"`{entry}`",
                    mean_text([active(records[s]) for s in seeds], 4),
                    percent_text(mean_interval(certified)),
                    f"{100 * min(certified):.1f} to {100 * max(certified):.1f} %",
                    percent_text(over) if entry != "day_plan" else "",
                    str(len(seeds)),
                ]
            )
    heads = ["scenario", "policy", "ET above idle", "active gap, mean", "least and most"]
    return table([*heads, "above the clairvoyant plan", "days"], rows)


def differences(rows: list[dict[str, Any]]) -> str:
    """Shares of decisions in which rules differ, from ``rule_differences.py``."""
    lines = []
    numbers = sorted({row["partition"] for row in rows})
    for n in numbers:
        line = [str(n)]
        for name in CLASSES:
            row = next(r for r in rows if r["scenario"] == name and r["partition"] == n)
            line += [f"{100 * row[key][0]:.0f} %" for key in ("empty", "run_edf_fs", f"run_{R}")]
        lines.append(line)
    heads = ["partition"]
    for name in CLASSES:
        heads += [f"{name}: empty", "run, EDF-FS", "run, restricted"]
    return table(heads, lines)


def hours(found: dict[str, Runs]) -> str:
    """Repartitions per four hours, and the partitions most in force."""
    rows = []
    for name in filter(found.__contains__, CLASSES):
        for entry, records in found[name].items():
            mine = [r.metrics for r in records.values() if "repartitions_by_hour" in r.metrics]
            if len(mine) < len(records) or "day_night" in entry:
                continue
            cells = []
            for span in range(6):
                count = fmean(sum(m["repartitions_by_hour"][4 * span : 4 * span + 4]) for m in mine)
                total: dict[str, float] = {}
                for metrics in mine:
                    for number_text, spent in metrics["partition_ms_by_span"].items():
                        total[number_text] = total.get(number_text, 0.0) + spent[span]
                top = sorted(total, key=lambda n: -total[n])[:2]
                whole = sum(total.values())
                shares = ", ".join(f"{n} ({100 * total[n] / whole:.0f} %)" for n in top)
                cells.append(f"{count:.0f}: {shares}")
            rows.append([name, f"`{entry}`", *cells])
    spans = [f"{4 * i} to {4 * i + 4} h" for i in range(6)]
    return table(["scenario", "policy", *spans], rows)


def _constant(record: Record) -> float:
    top, _, bottom = record.constant_cost.partition("/")
    return int(top) / int(bottom or 1)


def room(found: dict[str, Runs]) -> str:
    """The most any policy can gain over each baseline, by the certified bounds."""
    rows = []
    for name in filter(found.__contains__, CLASSES):
        runs = found[name]
        bounds: dict[int, float] = {}
        for records in runs.values():
            for seed, record in records.items():
                if record.proven_lower is not None and record.claims == "bound":
                    bounds[seed] = max(bounds.get(seed, 0.0), record.proven_lower)
        for entry in (f"{R}+no_mig", best_static(runs), f"{R}+day_night"):
            records = runs.get(entry, {})
            pairs = [(bounds[s], cost(records[s])) for s in records if s in bounds]
            rows.append([name, f"`{entry}`", percent_text(ratio(pairs)), str(len(pairs))])
    return table(["scenario", "baseline", "no policy gains more than", "days"], rows)


TABLES: dict[str, tuple[str, Callable[[dict[str, Runs]], str]]] = {
    "table2": ("s0-table2", table2),
    "table3": ("s0-table3", table3),
    "hours": ("s0-table3", hours),
    "preemption": ("s0-preemption", preemption),
    "busy": ("s0-busy", busy),
    "rates": ("s0-rates", rates),
    "sensitivity": ("s0-sensitivity", sensitivity),
    "partial": ("s0-sensitivity", partial),
    "gaps": ("s0-gaps", gaps),
    "room": ("s0-gaps", room),
}


def with_table(page: str, mark: str, text: str) -> str:
    """Return the page with the table between its marks replaced."""
    begin, end = f"<!-- table {mark} -->", f"<!-- end {mark} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n{text}\n{end}", page)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def condensed(found: dict[str, Runs]) -> dict[str, Any]:
    """Return mean and interval of the main figures per class and entry."""
    answer: dict[str, Any] = {}
    for name, runs in found.items():
        for entry, records in runs.items():
            rows = list(records.values())
            item: dict[str, Any] = {"seeds": [min(records), max(records)], "runs": len(rows)}
            for label, values in (
                ("cost", [r.cost for r in rows]),
                ("lower", [r.proven_lower for r in rows]),
                ("energy_wmin", [r.energy_wmin for r in rows]),
                ("mean_tardiness_min", [r.mean_tardiness_min for r in rows]),
                ("wall_s", [r.wall_s for r in rows]),
                ("preemptions", [r.metrics.get("preemptions") for r in rows]),
                ("repartitions", [r.metrics.get("repartitions") for r in rows]),
            ):
                known = [float(v) for v in values if v is not None]
                if known:
                    found_mean = mean_interval(known)
                    item[label] = [
                        _short(v) for v in (found_mean.mean, found_mean.low, found_mean.high)
                    ]
            by_hour = [
                r.metrics["repartitions_by_hour"]
                for r in rows
                if "repartitions_by_hour" in r.metrics
            ]
            if by_hour:
                item["repartitions_by_hour"] = [
                    round(fmean(c), 3) for c in zip(*by_hour, strict=True)
                ]
            answer.setdefault(name, {})[entry] = item
    return answer


def main() -> None:
    """Write figures and tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path, help="folder with one results folder per suite")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/reproduction.json")
    options = parser.parse_args()
    known = {name: options.results / name for name, _ in TABLES.values()}
    suites = {
        name: load(path) for name, path in known.items() if (path / "records.jsonl").is_file()
    }
    page = PAGE.read_text("utf-8")
    for mark, (suite, make) in TABLES.items():
        if suite in suites:
            page = with_table(page, mark, make(suites[suite]))
    if all(name in suites for name in ("s0-table2", "s0-table3", "s0-preemption")):
        page = with_table(page, "verdicts", verdicts(suites))
    shares = ROOT / "benchmarks/results/rule_differences.json"
    if shares.is_file():
        text = differences(json.loads(shares.read_text("utf-8"))["rows"])
        page = with_table(page, "differences", text)
    PAGE.write_text(page, encoding="utf-8")
    figures: dict[str, Any] = json.loads(options.out.read_text()) if options.out.is_file() else {}
    for name, found in suites.items():
        records = [r for runs in found.values() for entry in runs.values() for r in entry.values()]
        first = records[0].environment
        figures[name] = {
            "command": first.get("command"),
            "commits": sorted({str(r.environment.get("commit")) for r in records}),
            "machine": first.get("machine"),
            "versions": first.get("versions"),
            "wall_s_of_policies": round(sum(r.wall_s or 0.0 for r in records), 1),
            "classes": condensed(found),
        }
        if name == "s0-gaps":
            figures[name]["active_gap_by_day"] = gaps_by_day(found)
    options.out.write_text(json.dumps(figures, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
