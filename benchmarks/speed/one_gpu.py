"""Days on one GPU: jobs per second, first call, SimPy and a plain loop beside it, a Python rule."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import plain_loop
import simpy_loop
from _measure import Figure, answer_of, cpu_seconds
from plain_loop import Work

from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.model import Instance
from migopt.schedulers import parse_policy
from migopt.sim import DispatchDecision, SimState, simulate
from migopt.sim.arrays import build_arrays
from migopt.sim.compiled import CompiledRun

POLICY = "edf_ss_restricted+static:3"


def figures() -> Iterator[Figure]:
    """Yield the figures of this file."""
    yield from jobs_per_second()
    yield first_call()
    yield from against_loops()
    yield python_rule()


def _runs(instances: list[Instance], policy: str, *, record: bool) -> list[CompiledRun]:
    parsed = parse_policy(policy)
    return [
        CompiledRun(
            arrays, parsed.dispatcher().compiled, parsed.partitioner(day).plan(day), record=record
        )
        for day, arrays in zip(instances, map(build_arrays, instances), strict=True)
    ]


def _play(instances: list[Instance], policy: str, *, record: bool) -> float:
    """Return the least CPU time of playing all days; setting the runs up is counted, too."""
    parsed = parse_policy(policy)
    rule = parsed.dispatcher().compiled
    known = [(build_arrays(day), parsed.partitioner(day).plan(day)) for day in instances]

    def work() -> None:
        for arrays, plan in known:
            run = CompiledRun(arrays, rule, plan, record=record).play()
            run.lines() if record else run.summary()

    work()
    return cpu_seconds(work, 20)


def jobs_per_second() -> Iterator[Figure]:
    """Jobs of s0-slack days, arrival to completion, per second and core."""
    days = [generate("s0-slack", seed=seed) for seed in range(1, 11)]
    jobs = sum(len(day.jobs) for day in days)
    for day, run in zip(days, _runs(days, POLICY, record=True), strict=True):
        expected = parse_policy(POLICY).run(day, engine="reference")
        assert run.play().schedule() == expected
        assert run.metrics().cost_exact == measure(day, expected).cost_exact
    metrics_only = jobs / _play(days, POLICY, record=False)
    yield Figure("s0-slack day, metrics only", metrics_only / 1e6, "M jobs/s/core", at_least=1.0)
    recorded = jobs / _play(days, POLICY, record=True)
    yield Figure("s0-slack day, schedule recorded", recorded / 1e6, "M jobs/s/core", at_least=0.5)
    run = _runs(days[:1], POLICY, record=True)[0].play()
    objects = len(days[0].jobs) / cpu_seconds(run.schedule)
    yield Figure("recorded schedule as Python objects", objects / 1e6, "M jobs/s/core")
    for rule in ("edf_fs", "edf_ss", "llf", "lalf", "fifo", "sjf", "cedf", "met"):
        rate = jobs / _play(days, f"{rule}+static:3", record=False)
        yield Figure(f"s0-slack day, {rule}, metrics only", rate / 1e6, "M jobs/s/core")


def first_call() -> Figure:
    """Imports, loading of compiled code and a first day, in a fresh interpreter whose cache is filled."""
    code = (
        "import time; start = time.perf_counter()\n"
        "from migopt.testing.cases import small_instance\n"
        "from migopt.schedulers import parse_policy\n"
        f"cost = parse_policy('{POLICY}').score(small_instance(1), engine='compiled').cost\n"
        "print(time.perf_counter() - start)"
    )
    return Figure(
        "first call: imports and cached code", min(float(answer_of(code)) for _ in range(5)), "s"
    )


def against_loops() -> Iterator[Figure]:
    """EDF-FS on [4g, 3g] in events (arrivals and completions) per second: kernel, plain loop, SimPy, same answer."""
    policy = "edf_fs+static:2"
    day = generate("s0-slack", seed=1)
    model, partition = day.gpus[0], day.catalogue(0)[2]
    assert [model.profile(name).compute_slices for name in partition.profiles] == [4, 3]
    figures = parse_policy(policy).score(day, engine="compiled")
    answer = (
        figures.weighted_tardiness_ms,
        figures.energy_uj - day.idle_energy_uj,
        figures.makespan_ms,
    )

    def works() -> list[Work]:
        return [
            Work(
                job.due_ms,
                job.release_ms,
                job.id,
                job.work,
                {
                    model.profile(p).compute_slices: day.rate(job, model, p)
                    for p in partition.profiles
                },
                job.weight,
            )
            for job in day.jobs
        ]

    power = list(day.power[model.key].busy_mw)
    million = 2 * len(day.jobs) / 1e6
    setting_up = cpu_seconds(works, 20)
    rates = [million / (_play([day] * 10, policy, record=False) / 10)]
    for loop in (plain_loop, simpy_loop):
        assert loop.simulate(works(), power) == answer
        seconds = cpu_seconds(lambda loop=loop: loop.simulate(works(), power), 20) - setting_up
        rates.append(million / seconds)
    for name, rate in zip(("kernel", "plain Python loop", "SimPy"), rates, strict=True):
        yield Figure(f"EDF-FS on [4g,3g], {name}", rate, "M events/s")
    yield Figure("kernel against SimPy", rates[0] / rates[2], "times", at_least=15)
    yield Figure("kernel against plain loop", rates[0] / rates[1], "times", at_least=8)


class Earliest:
    """A rule of one's own in Python: idle slices to waiting jobs in order of due date."""

    def __init__(self) -> None:
        self.decisions = 0

    def dispatch(self, state: SimState) -> DispatchDecision:
        """Return who runs where from now on."""
        self.decisions += 1
        runs = {p: place.job for p, place in enumerate(state.slices) if place.job is not None}
        idle = [p for p, place in enumerate(state.slices) if place.job is None]
        if idle and state.waiting:
            for job in sorted(state.waiting, key=state.due_key)[: len(idle)]:
                runs[idle.pop()] = job
        return DispatchDecision(runs)


def python_rule() -> Figure:
    """Decisions per second of that rule, plugged in."""
    day = generate("s0-slack", seed=1)
    partitioner = parse_policy("edf_fs+static:2").partitioner(day)
    rule = Earliest()
    schedule = simulate(day, rule, partitioner)
    assert len(schedule.completions_ms()) == len(day.jobs)
    seconds = cpu_seconds(lambda: simulate(day, Earliest(), partitioner))
    return Figure(
        "Python rule plugged in", rule.decisions / seconds, "decisions/s", at_least=50_000
    )


if __name__ == "__main__":
    start = time.perf_counter()
    for figure in figures():
        print(figure.line(), flush=True)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
