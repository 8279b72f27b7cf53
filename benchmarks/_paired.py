"""Records of the S0 suites by class, entry and seed; ratios with intervals paired by day; cells of tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from migopt.records import Record, Status, read_records
from migopt.report.statistics import Interval, mean_interval

CLASSES = ("s0-slack", "s0-tight")
RULES = ("edf_fs", "edf_ss", "llf", "lalf")
R = "edf_ss_restricted"
#: A share below this is called no difference, whatever its interval.
NEXT_TO_NOTHING = 1e-3

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


def recalibrated(runs: Runs, entries: list[str]) -> dict[str, dict[int, float]]:
    """Return ET per entry and seed with the weight a = t / (2 s) over all runs compared, as the paper sets it."""
    rows = [record for entry in entries for record in runs.get(entry, {}).values()]
    if not rows:
        return {}
    tardiness = fmean(float(r.mean_tardiness_min or 0.0) for r in rows)
    energy = fmean(float(r.energy_wmin or 0.0) for r in rows)
    a = tardiness / (2 * energy)
    return {
        entry: {
            seed: (a * float(r.energy_wmin or 0) + float(r.mean_tardiness_min or 0)) / (a + 1)
            for seed, r in runs[entry].items()
        }
        for entry in entries
        if entry in runs
    }


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
    """Format a share with its interval, with more digits where it is next to nothing."""
    if found is None or found.low is None or found.high is None:
        return "–"
    digits = 3 if 0 < abs(found.mean) < NEXT_TO_NOTHING else 1
    middle, low, high = (percent(x, digits) for x in (found.mean, found.low, found.high))
    return f"{middle} % ({low} to {high})"


def percent(share: float, digits: int = 1) -> str:
    """Format a share in percent; no minus before zero."""
    text = f"{100 * share:.{digits}f}"
    return text.removeprefix("-") if not float(text) else text


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def mean_by_seed(runs: Runs, entries: list[str]) -> dict[int, float]:
    """Return the mean cost of entries per seed, on the seeds that all of them have."""
    seeds = set.intersection(*(set(runs.get(entry, {})) for entry in entries)) if entries else set()
    return {seed: fmean(cost(runs[entry][seed]) for entry in entries) for seed in sorted(seeds)}


def best_static(runs: Runs, dispatch: str = R) -> str:
    """Return the fixed partition of least mean ET."""
    entries = [f"{dispatch}+static:{n}" for n in range(1, 13) if f"{dispatch}+static:{n}" in runs]
    return min(entries, key=lambda entry: fmean(map(cost, runs[entry].values())))


def above(pairs: list[tuple[float, float]]) -> Interval | None:
    """Return mean(first) / mean(second) - 1 with its interval."""
    found = ratio(pairs)
    if found is None or found.low is None or found.high is None:
        return None
    return Interval(-found.mean, -found.high, -found.low, found.n)
