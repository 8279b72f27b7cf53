"""Many GPUs: a SMART-MIG day, 50,000 jobs, growth with the number of jobs, memory of a million."""

from __future__ import annotations

import math
from collections.abc import Iterator

from _measure import Figure, answer_of, cpu_seconds

from migopt.check import check
from migopt.io.generators import generate
from migopt.model import Instance
from migopt.schedulers import parse_policy
from migopt.sim.arrays import build_arrays
from migopt.sim.compiled import CompiledRun

#: Numbers of jobs of the growth figure: 10^3 to 10^5.5.
SIZES = tuple(round(10 ** (3 + k / 2)) for k in range(6))
GROWTH_RULES = ("cedf", "edf_ss_restricted", "edf_fs")


def figures() -> Iterator[Figure]:
    """Yield the figures of this file."""
    yield smart_mig_day()
    yield hundred_gpus()
    for rule in GROWTH_RULES:
        yield Figure(
            f"growth, {rule}: exponent of time / (n log n)",
            exponent(growth(rule)),
            "exponent",
            at_most=0.0,
        )
    yield memory()


def play_seconds(instance: Instance, policy: str, repeats: int = 7) -> float:
    """Return the least CPU time of a run, arrays laid out before."""
    parsed = parse_policy(policy)
    rule, plan = parsed.dispatcher().compiled, parsed.partitioner(instance).plan(instance)
    arrays = build_arrays(instance)

    def work() -> None:
        CompiledRun(arrays, rule, plan, record=False).play().summary()

    work()
    return cpu_seconds(work, repeats)


def smart_mig_day() -> Figure:
    """A day at 20 times the rate on 8 GPUs under CEDF; the schedule is checked."""
    day = generate("smartmig", seed=1, gpus=8, rate_multiplier=20)
    assert len(day.jobs) > 4_000
    schedule = parse_policy("cedf+static:3").run(day, engine="compiled")
    assert check(day, schedule) == []
    assert schedule == parse_policy("cedf+static:3").run(day, engine="reference")
    return Figure(
        f"SMART-MIG day, 8 GPUs, {len(day.jobs)} jobs, CEDF",
        play_seconds(day, "cedf+static:3"),
        "s",
        at_most=0.03,
    )


def hundred_gpus() -> Figure:
    """50,000 jobs on 100 GPUs under CEDF, reading the instance into arrays included."""
    instance = generate("smartmig", seed=1, gpus=100, jobs=50_000)
    policy = parse_policy("cedf+static:3")
    assert check(instance, policy.run(instance, engine="compiled")) == []
    plan = policy.partitioner(instance).plan(instance)

    def work() -> None:
        CompiledRun(build_arrays(instance), policy.dispatcher().compiled, plan, record=False).play()

    return Figure("100 GPUs, 50,000 jobs, CEDF", cpu_seconds(work, 3), "s", at_most=20)


def growth(rule: str) -> list[tuple[int, float]]:
    """Return (jobs, seconds) at fixed load on 8 GPUs."""
    points = []
    for size in SIZES:
        instance = generate("smartmig", seed=1, gpus=8, jobs=size, load=0.7)
        points.append(
            (size, play_seconds(instance, f"{rule}+static:3", 15 if size < 50_000 else 5))
        )
    return points


def exponent(points: list[tuple[int, float]]) -> float:
    """Return the slope of log(time / (n log n)) over log n by least squares; at most 0 is no worse than n log n."""
    xs = [math.log(n) for n, _ in points]
    ys = [math.log(seconds / (n * math.log(n))) for n, seconds in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / sum(
        (x - mx) ** 2 for x in xs
    )


def memory() -> Figure:
    """Peak memory of a fresh process that makes and plays 10^6 jobs on 100 GPUs, log of the schedule kept."""
    code = (
        "import resource\n"
        "from migopt.io.generators import generate\n"
        "from migopt.schedulers import parse_policy\n"
        "from migopt.sim.arrays import build_arrays\n"
        "from migopt.sim.compiled import CompiledRun\n"
        "day = generate('smartmig', seed=1, gpus=100, jobs=1_000_000, load=0.7)\n"
        "policy = parse_policy('cedf+static:3')\n"
        "plan = policy.partitioner(day).plan(day)\n"
        "run = CompiledRun(build_arrays(day), policy.dispatcher().compiled, plan).play()\n"
        "assert run.summary()[0] == len(run.lines()) == 1_000_000\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2)"
    )
    return Figure("memory: 10^6 jobs on 100 GPUs", float(answer_of(code)), "GiB", at_most=2)


if __name__ == "__main__":
    for figure in figures():
        print(figure.line(), flush=True)
