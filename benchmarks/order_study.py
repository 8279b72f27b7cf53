"""Bounds, exact values and policies in order, and relations between optima, on random small cases.

    python benchmarks/order_study.py [--cases 2000] [--relations 200] [--seed 0] [--processes 2] [--out FILE]

For every case each lower bound has to be at most each exact solver's value of its class, and that at
most every policy's cost. The relations: job numbers do not matter; later due dates, a larger catalogue, a
shorter tau and one more GPU (cost above idle) never hurt; a certified optimum changed by a move, a swap, a
resize or another partition never gains. A run that was ended goes on where it stopped (a journal beside
the output, removed at the end). Exit code 1 when anything is out of order.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from migopt.api import show_versions, solve
from migopt.bench.environment import commit
from migopt.bounds.split import split_bound
from migopt.check import check
from migopt.exact.cpsat import CpSat
from migopt.exact.cpsat.case import why_not
from migopt.exact.day_plan import DayPlan
from migopt.exact.interval_milp import IntervalMilp
from migopt.metrics import measure
from migopt.model import FrozenMap, Instance, Schedule, Segment
from migopt.results import Budget
from migopt.testing.cases import small_instance

POLICIES = (
    "edf_fs+static:1",
    "edf_ss+static:3",
    "edf_ss_restricted+static:6",
    "sjf+static:2",
    "llf+static:4",
    "fifo+no_mig",
)
#: Relative room for the tolerances of engines, on the cost above the constant.
ENGINE_ROOM = 1e-6
CHANGES = 40


# ------------------------------------------------------------------ cases


def case(seed: int) -> Instance:
    """Return the case of a seed: all modes, scopes and weights, tau from 0 to 2 minutes."""
    draw = random.Random(f"order {seed}")
    made = small_instance(
        seed,
        jobs=draw.randint(2, 5),
        mode=draw.choice(("free", "free", "none", "cost")),
        scope=draw.choice(("gpu", "gpu", "never", "slices")),
        tau_ms=draw.choice((0, 4_000, 30_000, 120_000)),
        mig_off=draw.random() < 0.2,
        weight_a=Fraction(1, draw.choice((1_000, 100_000, 10**7))),
    )
    return free(made) if draw.random() < 0.7 else made


def free(instance: Instance) -> Instance:
    """Return the instance with every job preemptible."""
    return instance.replace(jobs=tuple(replace(job, preemptible=True) for job in instance.jobs))


def above(instance: Instance, value: float | Fraction) -> float:
    """Return a cost without the constant."""
    return float(Fraction(value) - instance.constant_cost)


def exceeds(low: float, high: float) -> bool:
    """Return whether a value that must be at most another one is above it, beyond engines' tolerances."""
    return low > high + ENGINE_ROOM * max(abs(high), 1e-9)


# ------------------------------------------------------------------ bounds, exact values, policies


def order(seed: int, seconds: float = 1.5) -> dict[str, Any]:
    """Solve one case with everything and list what is out of order; values are above the constant."""
    instance = case(seed)
    faults: list[str] = []

    def answered(name: str, solver: Any, limit: float) -> Any:
        answer = solve(instance, solver, budget=Budget(limit, seed=seed))
        if answer.claim_error:
            faults.append(f"{name}: {answer.claim_error}")
        return answer

    exact = answered("interval_milp", IntervalMilp(), seconds)
    closed = answered("closed_form", "closed_form", seconds)
    lp = answered("lp_bound", "lp_bound", seconds)
    split = split_bound(instance, seconds=0.1)
    bounds = {"split_bound": above(instance, split.lower)}
    for name, answer in (("closed_form", closed), ("lp_bound", lp), ("interval_milp", exact)):
        if answer.lower is not None:
            bounds[name] = above(instance, answer.lower)
    values: dict[str, float] = {}
    schedules: dict[str, float] = {}
    claimed = exact.result.claimed_upper
    if claimed is not None:
        values["interval_milp"] = above(instance, claimed)
    strict = answered("cpsat", CpSat(), 0.3 * seconds) if why_not(instance) is None else None
    if strict is not None and strict.upper is not None:
        values["cpsat"] = above(instance, strict.upper)
        closed_class = strict.result.class_lower
        if closed_class is not None and exceeds(above(instance, closed_class), values["cpsat"]):
            faults.append(f"cpsat: its class bound {closed_class!r} is above its schedule")
    plan = answered("day_plan", DayPlan(), 0.2 * seconds)
    for name, answer in (("day_plan", plan), *((text, solve(instance, text)) for text in POLICIES)):
        if answer.upper is not None:
            schedules[name] = above(instance, answer.upper)
    for (name, low), (other, high) in product(
        bounds.items(), [*values.items(), *schedules.items()]
    ):
        if (name, other) == ("closed_form", "interval_milp"):
            # The closed form counts durations in whole milliseconds, the model's own value does not.
            high += exact.result.detail.get("tick_allowance") or 0.0
        if exceeds(low, high):
            faults.append(f"bound {name} {low!r} is above {other} {high!r}")
    proved = exact.active_gap is not None and exact.result.outcome == "optimal"
    if proved and "interval_milp" in values:
        for name, cost in [
            *schedules.items(),
            *((k, v) for k, v in values.items() if k == "cpsat"),
        ]:
            if exceeds(values["interval_milp"], cost):
                faults.append(
                    f"{name} {cost!r} beats the proven optimum {values['interval_milp']!r}"
                )
    return {
        "kind": "order",
        "seed": seed,
        "jobs": len(instance.jobs),
        "proved": proved,
        "compared": len(bounds) * (len(values) + len(schedules)),
        "faults": faults,
    }


# ------------------------------------------------------------------ relations


def optimum(instance: Instance, seconds: float) -> tuple[float, float, Schedule | None]:
    """Return lower and upper value of the interval MILP above the constant, and its schedule."""
    result = IntervalMilp().solve(instance, Budget(seconds))
    assert result.lower is not None
    assert result.claimed_upper is not None
    low, high = above(instance, result.lower), above(instance, result.claimed_upper)
    return low, high, result.schedule


def relations(seed: int, seconds: float = 1.5) -> dict[str, Any]:
    """Solve a case and its relatives; list every relation that does not hold."""
    draw = random.Random(f"relations {seed}")
    tau = draw.choice((4_000, 30_000))
    base = free(small_instance(seed, jobs=draw.randint(2, 3), tau_ms=tau, scope="gpu"))
    low, high, schedule = optimum(base, seconds)
    faults: list[str] = []

    def never_above(name: str, less: tuple[float, float], more: tuple[float, float]) -> None:
        # The optimum of the first lies above less[0], that of the second below more[1].
        if exceeds(less[0], more[1]):
            faults.append(f"{name}: {less[0]!r} is above {more[1]!r}")

    top = len(base.jobs) - 1
    turned = base.replace(jobs=tuple(replace(job, id=top - job.id) for job in base.jobs))
    other = optimum(turned, seconds)[:2]
    never_above("job order", other, (low, high))
    never_above("job order", (low, high), other)
    later = base.replace(
        jobs=tuple(replace(job, due_ms=job.due_ms + draw.randint(0, 90_000)) for job in base.jobs)
    )
    never_above("later due dates", optimum(later, seconds)[:2], (low, high))
    quick = base.replace(repartition=replace(base.repartition, tau_ms=tau // 4))
    never_above("shorter tau", optimum(quick, seconds)[:2], (low, high))
    key = base.gpus[0].key
    catalogue = base.catalogue(0)
    kept = (catalogue[1], *draw.sample(catalogue.partitions[1:], 5))
    fewer = base.replace(catalogues=FrozenMap({key: replace(catalogue, partitions=kept)}))
    never_above("larger catalogue", (low, high), optimum(fewer, seconds)[:2])
    two = base.replace(gpus=base.gpus * 2)
    never_above("one more GPU", (above(two, split_bound(two, seconds=0.1).lower), 0.0), (low, high))
    changed = legal = 0
    # On a loaded machine the search may end with many short segments, whose changes are seldom legal.
    for start in (schedule, solve(base, "edf_fs+best_fixed").schedule):
        if start is not None:
            more = perturb(base, start, low, draw, faults)
            changed, legal = changed + more[0], legal + more[1]
    return {
        "kind": "relations",
        "seed": seed,
        "jobs": len(base.jobs),
        "proved": high - low <= ENGINE_ROOM * max(high, 1e-9),
        "changed": changed,
        "legal": legal,
        "faults": faults,
    }


def perturb(
    instance: Instance, schedule: Schedule, low: float, draw: random.Random, faults: list[str]
) -> tuple[int, int]:
    """Change a certified schedule at random; return how many changes were made, and how many were legal."""
    legal = 0
    for _ in range(CHANGES):
        how = draw.choice((_move, _swap, _resize, _other_partition))
        changed = how(instance, schedule, draw)
        if changed is None or check(instance, changed):
            continue
        legal += 1
        cost = above(instance, measure(instance, changed).cost_exact)
        if exceeds(low, cost):
            faults.append(f"{how.__name__[1:]} gains: {cost!r} is below the bound {low!r}")
    return CHANGES, legal


def _move(_: Instance, schedule: Schedule, draw: random.Random) -> Schedule:
    """Shift one segment."""
    segments = list(schedule.segments)
    at = draw.randrange(len(segments))
    shift = draw.choice((-60_000, -1_000, -1, 1, 1_000, 60_000))
    one = segments[at]
    segments[at] = replace(one, start_ms=one.start_ms + shift, end_ms=one.end_ms + shift)
    return replace(schedule, segments=tuple(segments))


def _whole(schedule: Schedule) -> list[int]:
    """Return the segments that are all of their job."""
    jobs = [segment.job for segment in schedule.segments]
    return [at for at, job in enumerate(jobs) if jobs.count(job) == 1]


def _placed(instance: Instance, segment: Segment, job: int, placement: Any) -> Segment | None:
    rate = instance.rate(instance.job_by_id[job], instance.gpus[0], placement.profile)
    if not rate:
        return None
    length = instance.job_by_id[job].duration_ms(rate)
    return replace(segment, job=job, placement=placement, end_ms=segment.start_ms + length)


def _swap(instance: Instance, schedule: Schedule, draw: random.Random) -> Schedule | None:
    """Exchange two jobs that run without interruption."""
    whole = _whole(schedule)
    if len(whole) < 2:
        return None
    first, second = draw.sample(whole, 2)
    segments = list(schedule.segments)
    one, two = segments[first], segments[second]
    changed = (
        _placed(instance, one, two.job, one.placement),
        _placed(instance, two, one.job, two.placement),
    )
    if changed[0] is None or changed[1] is None:
        return None
    segments[first], segments[second] = changed[0], changed[1]
    return replace(schedule, segments=tuple(segments))


def _resize(instance: Instance, schedule: Schedule, draw: random.Random) -> Schedule | None:
    """Let an uninterrupted job run on another slice from the same moment on."""
    whole = _whole(schedule)
    if not whole or schedule.initial[0].is_off:
        return None
    at = draw.choice(whole)
    partitions = [schedule.initial[0], *(change.new for change in schedule.reconfigurations)]
    segments = list(schedule.segments)
    one = segments[at]
    found = _placed(instance, one, one.job, draw.choice(list(draw.choice(partitions))))
    if found is None:
        return None
    segments[at] = found
    return replace(schedule, segments=tuple(segments))


def _other_partition(instance: Instance, schedule: Schedule, draw: random.Random) -> Schedule:
    """Begin with another partition of the catalogue, jobs on the slices of the same rank."""
    new = draw.choice(instance.catalogue(0).partitions)
    old = list(schedule.initial[0])
    segments = []
    for segment in schedule.segments:
        place = old.index(segment.placement) if segment.placement in old else 0
        found = _placed(instance, segment, segment.job, list(new)[min(place, len(list(new)) - 1)])
        segments.append(segment if found is None else found)
    return Schedule((new,), tuple(segments))


# ------------------------------------------------------------------ the study


def run(task: tuple[str, int]) -> dict[str, Any]:
    """Do one task."""
    return order(task[1]) if task[0] == "order" else relations(task[1])


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts, and every fault with its seed."""
    orders = [row for row in rows if row["kind"] == "order"]
    others = [row for row in rows if row["kind"] == "relations"]
    return {
        "cases": len(orders),
        "cases_proved": sum(row["proved"] for row in orders),
        "comparisons": sum(row["compared"] for row in orders),
        "relation_cases": len(others),
        "relation_cases_proved": sum(row["proved"] for row in others),
        "changed_schedules": sum(row["changed"] for row in others),
        "changed_legal": sum(row["legal"] for row in others),
        "faults": [
            {"kind": r["kind"], "seed": r["seed"], "fault": f} for r in rows for f in r["faults"]
        ],
    }


def main() -> int:
    """Run what is not in the journal yet, and write the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--relations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/order_study.json"))
    options = parser.parse_args()
    tasks = [("order", options.seed + n) for n in range(options.cases)]
    tasks += [("relations", options.seed + n) for n in range(options.relations)]
    # By seed, so that a run cut short has done some of both.
    tasks.sort(key=lambda task: task[1] * (1 if task[0] == "order" else 10))
    journal = options.out.with_suffix(".jsonl")
    rows = []
    if journal.exists():
        rows = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    known = {(row["kind"], row["seed"]) for row in rows}
    left = [task for task in tasks if task not in known]
    with (
        multiprocessing.get_context("spawn").Pool(options.processes) as pool,
        journal.open("a", encoding="utf-8") as file,
    ):
        for row in pool.imap_unordered(run, left, chunksize=1):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
    wanted = set(tasks)
    found = summary([row for row in rows if (row["kind"], row["seed"]) in wanted])
    record = {
        "command": "python " + " ".join(sys.argv),
        "commit": commit(Path(__file__).resolve()),
        "machine": f"{os.cpu_count()} cores",
        "versions": show_versions(),
        "seeds": [options.seed, options.seed + options.cases - 1],
        **found,
    }
    options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    journal.unlink()
    print(json.dumps({key: value for key, value in record.items() if key != "versions"}, indent=1))
    return int(bool(found["faults"]))


if __name__ == "__main__":
    raise SystemExit(main())
