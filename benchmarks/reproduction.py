"""From the results of the S0 suites to figures with intervals, and to the tables of docs/reproduction.md.

    for s in table2 preemption busy rates table3 sensitivity gaps; do migopt bench s0-$s -o RESULTS/s0-$s; done
    python benchmarks/reproduction.py RESULTS

writes benchmarks/results/reproduction.json and the tables between the marks of the page. Suites that are
not there leave their tables as they are. Runs no simulation.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from migopt.records import Record, Status, read_records
from migopt.report.statistics import Interval, mean_interval

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reproduction.md"
CLASSES = ("s0-slack", "s0-tight")
RULES = ("edf_fs", "edf_ss", "llf", "lalf")
R = "edf_ss_restricted"
PARTIAL = ("edf_ss+look_ahead", "edf_ss+miso", "priced+priced")
PARTIAL += ("receding_horizon+receding_horizon", "rollout+rollout")

Runs = dict[str, dict[int, Record]]


def load(folder: Path) -> dict[str, Runs]:
    """Return class to entry to seed to record, good runs only."""
    found: dict[str, Runs] = {}
    for record in read_records(folder / "records.jsonl").records.values():
        if record.status is Status.OK:
            runs = found.setdefault(record.instance_class, {}).setdefault(record.entry, {})
            runs[record.seed] = record
    return found


def paired(
    runs: Runs, one: str, other: str, value: Callable[[Record], float]
) -> list[tuple[float, float]]:
    """Return the values of two entries on their common seeds."""
    if one not in runs or other not in runs:
        return []
    seeds = sorted(runs[one].keys() & runs[other].keys())
    return [(value(runs[one][seed]), value(runs[other][seed])) for seed in seeds]


def ratio(pairs: list[tuple[float, float]]) -> Interval | None:
    """Return 1 - mean(first) / mean(second) with a 95 % interval by the delta method on paired values."""
    if len(pairs) < 2:
        return None
    top, bottom = fmean(a for a, _ in pairs), fmean(b for _, b in pairs)
    share = top / bottom
    spread = mean_interval([(a - share * b) / bottom for a, b in pairs])
    assert spread.low is not None
    half = spread.mean - spread.low
    return Interval(1 - share, 1 - share - half, 1 - share + half, len(pairs))


def cost(record: Record) -> float:
    """Return ET under the stored a."""
    assert record.cost is not None
    return record.cost


def active(record: Record) -> float:
    """Return ET without idle energy."""
    return float(record.metrics["active_cost"])


def recalibrated(runs: Runs, entries: list[str]) -> dict[str, float]:
    """Return mean ET with the weight a = t / (2 s) over all runs compared, as the paper sets it."""
    rows = [record for entry in entries for record in runs.get(entry, {}).values()]
    if not rows:
        return {}
    tardiness = fmean(float(r.mean_tardiness_min or 0.0) for r in rows)
    energy = fmean(float(r.energy_wmin or 0.0) for r in rows)
    a = tardiness / (2 * energy)
    answer = {}
    for entry in entries:
        mine = runs.get(entry, {}).values()
        if mine:
            answer[entry] = fmean(
                (a * float(r.energy_wmin or 0) + float(r.mean_tardiness_min or 0)) / (a + 1)
                for r in mine
            )
    return answer


# --- tables ----------------------------------------------------------------------------------


def number(value: float | None, digits: int = 3) -> str:
    """Format a number, a dash without one."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def mean_text(values: list[float], digits: int = 3) -> str:
    """Format a mean with its interval."""
    if not values:
        return "–"
    found = mean_interval(values)
    if found.low is None or found.high is None:
        return number(found.mean, digits)
    return f"{found.mean:.{digits}f} ± {found.mean - found.low:.{digits}f}"


def percent_text(found: Interval | None) -> str:
    """Format a share with its interval."""
    if found is None or found.low is None or found.high is None:
        return "–"
    return f"{100 * found.mean:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def table2(found: dict[str, Runs]) -> str:
    """Rules over the twelve partitions: mean over all, and on the best partition of each rule."""
    published = {"edf_fs": "5.53", "edf_ss": "5.37", "llf": "6.32", "lalf": "6.83"}
    rows = []
    for name in filter(found.__contains__, CLASSES):
        runs = found[name]
        groups = {rule: [f"{rule}+static:{n}" for n in range(1, 13)] for rule in RULES}
        whole = recalibrated(runs, [entry for entries in groups.values() for entry in entries])
        for rule in RULES:
            by_seed = _mean_by_seed(runs, groups[rule])
            base = _mean_by_seed(runs, groups["edf_fs"])
            versus = ratio([(by_seed[s], base[s]) for s in by_seed if s in base])
            best = min(groups[rule], key=lambda e: fmean(map(cost, runs[e].values())))
            rows.append(
                [
                    name,
                    f"`{rule}`",
                    published[rule],
                    number(fmean(whole[e] for e in groups[rule]), 2),
                    mean_text(list(by_seed.values())),
                    percent_text(versus) if rule != "edf_fs" else "",
                    f"{best.rpartition(':')[2]}: {mean_text([cost(r) for r in runs[best].values()])}",
                    str(len(by_seed)),
                ]
            )
    heads = ["scenario", "rule", "paper", "ET, a recalibrated", "ET, stored a", "below EDF-FS"]
    return table([*heads, "best partition: ET", "days"], rows)


def _mean_by_seed(runs: Runs, entries: list[str]) -> dict[int, float]:
    seeds = set.intersection(*(set(runs.get(entry, {})) for entry in entries)) if entries else set()
    return {seed: fmean(cost(runs[entry][seed]) for entry in entries) for seed in sorted(seeds)}


def best_static(runs: Runs, dispatch: str = R) -> str:
    """Return the fixed partition of least mean ET."""
    entries = [f"{dispatch}+static:{n}" for n in range(1, 13) if f"{dispatch}+static:{n}" in runs]
    return min(entries, key=lambda entry: fmean(map(cost, runs[entry].values())))


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
                    number(whole.get(entry), 2),
                    mean_text([cost(r) for r in runs[entry].values()]),
                    *gains,
                    mean_text([float(r.metrics["repartitions"]) for r in runs[entry].values()], 0),
                    str(len(runs[entry])),
                ]
            )
    heads = ["scenario", "policy", "ET, a recalibrated", "ET, stored a", "below No MIG"]
    return table([*heads, "below best Static", "below Day-Night", "repartitions", "days"], rows)


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
            change = ratio(paired(runs, kept, free, cost))
            more = (
                None
                if change is None or change.low is None or change.high is None
                else Interval(-change.mean, -change.high, -change.low, change.n)
            )
            row.append(percent_text(more))
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
            cells.append(
                f"{best.rpartition(':')[2]}: {number(fmean(map(cost, runs[best].values())), 2)}"
            )
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
        costs = [number(fmean(map(cost, runs[entry].values())), 3) for entry in shown]
        costs[1] = f"{static.rpartition(':')[2]}: {costs[1]}"
        rows.append([name.removeprefix("s0-"), *costs, *gains])
    heads = ["setting", "No MIG", "best Static of 2, 3, 6", "Day-Night", "look-ahead"]
    return table([*heads, "below No MIG", "below Static", "below Day-Night"], rows)


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


def gaps(found: dict[str, Runs]) -> str:
    """Active gap to the certified bound, and how far above the clairvoyant plan."""
    rows = []
    for name in filter(found.__contains__, CLASSES):
        runs = found[name]
        lower = {}
        for records in runs.values():
            for seed, record in records.items():
                if record.proven_lower is not None and record.claims == "bound":
                    above = record.proven_lower - _constant(record)
                    lower[seed] = max(lower.get(seed, 0.0), above)
        plan = runs.get("day_plan", {})
        for entry, records in runs.items():
            seeds = [s for s in records if s in lower and records[s].cost is not None and s in plan]
            if not seeds:
                continue
            certified = [1 - lower[s] / active(records[s]) for s in seeds]
            over = ratio([(active(records[s]), active(plan[s])) for s in seeds])
            above = (
                None
                if over is None or over.low is None or over.high is None
                else Interval(-over.mean, -over.high, -over.low, over.n)
            )
            rows.append(
                [
                    name,
                    f"`{entry}`",
                    mean_text([active(records[s]) for s in seeds], 4),
                    f"{100 * fmean(certified):.1f} %",
                    f"{100 * min(certified):.1f} to {100 * max(certified):.1f} %",
                    percent_text(above) if entry != "day_plan" else "",
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
            begin, end = f"<!-- table {mark} -->", f"<!-- end {mark} -->"
            text = f"{begin}\n{make(suites[suite])}\n{end}"
            pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
            page = pattern.sub(text.replace("\\", "\\\\"), page)
    shares = ROOT / "benchmarks/results/rule_differences.json"
    if shares.is_file():
        text = differences(json.loads(shares.read_text("utf-8"))["rows"])
        begin, end = "<!-- table differences -->", "<!-- end differences -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        page = pattern.sub(f"{begin}\n{text}\n{end}", page)
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
    options.out.write_text(json.dumps(figures, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
