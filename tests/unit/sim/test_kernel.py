"""The compiled simulator at the edges: many equal times, long beside short, many GPUs, nothing at all."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest

from factories import A100, make_instance, make_job
from migopt.check import check
from migopt.errors import InfeasiblePartitionError, NotApplicableError
from migopt.metrics import measure
from migopt.model import Instance
from migopt.schedulers import dispatch_rules, parse_policy
from migopt.sim.arrays import arrays_of
from migopt.sim.random import SplitMix64
from migopt.sim.rules.draw import draw_below
from migopt.sim.rules.wide import add, product
from migopt.testing.cases import small_instance
from migopt.units import MS_PER_DAY

#: Rules that the kernel can play.
COMPILED = [
    name
    for name in dispatch_rules()
    if hasattr(parse_policy(f"{name}+static:1").dispatcher(), "compiled")
]


def both(instance: Instance, policy: str) -> tuple[object, object]:
    """Return what the reference and the kernel make of a policy."""
    return tuple(parse_policy(policy).run(instance, engine=e) for e in ("reference", "compiled"))


def test_hundred_thousand_equal_arrivals() -> None:
    """100,000 jobs of 28 s on 1g that come at once take their turns on seven equal slices of 7 GPUs."""
    count = 100_000
    jobs = [make_job(i, ms=28_000, due=i % 7) for i in range(count)]
    instance = make_instance(*jobs, gpus=(A100,) * 4)
    for rule in ("edf_ss_restricted", "fifo", "sjf", "cedf"):
        figures = parse_policy(f"{rule}+static:1").score(instance, engine="compiled")
        # A whole GPU takes 4 s a job; four GPUs take 25,000 jobs each, one after the other.
        assert figures.makespan_ms == 25_000 * 4_000
        assert figures.total_jct_ms == 4 * sum(4_000 * (i + 1) for i in range(25_000))
        assert figures.preemptions == 0


@pytest.mark.parametrize("rule", COMPILED)
def test_thirty_days_among_milliseconds(rule: str) -> None:
    """One job of 30 days and 60 of a few milliseconds: engines agree and every job ends."""
    jobs = [make_job(0, ms=30 * MS_PER_DAY * 7, due=1)]
    jobs += [make_job(i, ms=7 * (i % 5 + 1), release=3 * i, due=3 * i + 9) for i in range(1, 61)]
    expected, got = both(make_instance(*jobs), f"{rule}+timetable:0:00=2,12:00=4")
    assert expected == got
    assert len(got.completions_ms()) == 61
    assert got.completions_ms()[0] > 30 * MS_PER_DAY


def test_a_thousand_gpus() -> None:
    """1,000 GPUs and 3,000 jobs under each cluster rule: a legal schedule in which every job runs."""
    jobs = [make_job(i, ms=28_000 + i, release=i // 3, due=i // 3 + 20_000) for i in range(3_000)]
    instance = make_instance(*jobs, gpus=(A100,) * 1_000)
    for rule in ("cedf", "edf_mp", "met", "random_slice", "edf_ss_restricted"):
        schedule = parse_policy(f"{rule}+static:4").run(instance, engine="compiled")
        assert len(schedule.completions_ms()) == 3_000
        assert measure(instance, schedule).jobs_without_run == 0
    assert check(instance, schedule) == []


@pytest.mark.parametrize("partition", ["static:1", "no_mig", "best_fixed", "day_night"])
def test_empty_day(partition: str) -> None:
    """No job: nothing happens, and energy is that of idling."""
    instance = small_instance(1, jobs=0, mig_off=True)
    policy = parse_policy(f"edf_fs+{partition}")
    schedule = policy.run(instance, engine="compiled")
    assert schedule == policy.run(instance, engine="reference")
    assert not schedule.segments
    assert policy.score(instance, engine="compiled").energy_uj == instance.idle_energy_uj


def test_tau_larger_than_every_gap() -> None:
    """Changes that take longer than the timetable's gaps and the jobs' arrivals: engines agree."""
    for scope in ("gpu", "slices"):
        instance = small_instance(4, jobs=12, scope=scope, tau_ms=400_000, gpus=2)
        table = ",".join(f"0:{minute:02d}={minute % 12 + 1}" for minute in range(0, 60, 2))
        for rule in COMPILED:
            expected, got = both(instance, f"{rule}+timetable:{table}")
            assert expected == got


def test_jobs_that_only_serve_overheads_end_the_run() -> None:
    """A job that every change of partition stops before its overhead is over is an error, not an endless run."""
    table = ",".join(f"{h}:{m:02d}={(30 * h + m) % 2 + 1}" for h in range(24) for m in range(60))
    instance = make_instance(make_job(0, ms=700_000), mode="cost", overhead=70_000)
    for engine in ("reference", "compiled"):
        with pytest.raises(InfeasiblePartitionError, match="job 0 waits and can never run"):
            parse_policy(f"edf_fs+timetable:{table}").run(instance, engine=engine)


def test_times_beyond_64_bits_go_to_the_reference() -> None:
    """Where sums could overflow the kernel refuses by name, and ``auto`` takes the reference."""
    slow = make_job(0, work=2**61, speed={"7g.40gb": 1})
    instance = make_instance(slow)
    policy = parse_policy("edf_fs+static:1")
    with pytest.raises(NotApplicableError, match="64 bits"):
        policy.run(instance, engine="compiled")
    assert policy.run(instance).segments[-1].end_ms == 2**61


def test_rule_of_ones_own_has_no_compiled_body() -> None:
    """Asking for the kernel with a rule that it does not know names the rule."""
    from migopt.schedulers.play import play

    class Mine:
        def dispatch(self, state):
            raise AssertionError

    static = parse_policy("edf_fs+static:1").partitioner(make_instance())
    with pytest.raises(NotApplicableError, match="Mine has no compiled body"):
        play(make_instance(), Mine(), static, engine="compiled")


def test_same_seed_same_bytes_on_one_core_or_two() -> None:
    """Runs that share an instance in two threads write the same log as one alone."""
    from migopt.sim.compiled import CompiledRun

    instance = small_instance(9, jobs=300, gpus=3)
    policy = parse_policy("random_slice+static:6")
    rule, plan = policy.dispatcher().compiled, policy.partitioner(instance).plan(instance)
    logs: list[bytes] = []

    def work() -> None:
        for _ in range(20):
            run = CompiledRun(arrays_of(instance), rule, plan, seed=5).play()
            logs.append(run.lines().tobytes())

    work()
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(logs) == 60
    assert len(set(logs)) == 1
    other = CompiledRun(arrays_of(instance), rule, plan, seed=6).play().lines().tobytes()
    assert other != logs[0]


def test_compiled_random_numbers_are_the_readable_ones() -> None:
    """SplitMix64 gives Vigna's published numbers for seed 1234567, and the same in the kernel."""
    readable = SplitMix64(1234567)
    first = [readable.next() for _ in range(3)]
    assert first == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    state = np.zeros(64, np.int64)
    state[28] = 1234567
    assert [draw_below(state, 1000) for _ in range(3)] == [n % 1000 for n in first]


def test_wide_integers_are_exact() -> None:
    """128-bit products and sums equal Python's, signs and carries included."""
    values = [0, 1, 2**31, 2**32 - 1, 2**32, 2**61, 2**62 - 1]
    for a in (*values, *(-v for v in values)):
        for b in values:
            high, low = product(a, b)
            assert high * 2**64 + int(low) == a * b
            high, low = add(high, low, *product(2**62 - 1, 2**62 - 1))
            assert high * 2**64 + int(low) == a * b + (2**62 - 1) ** 2


def test_met_costs_are_compared_exactly() -> None:
    """A weight of large numerator and denominator is rounded as documented; both engines see one cost."""
    for weight in (Fraction(10**15 + 1, 10**21 + 7), Fraction(3, 7), Fraction(0)):
        instance = small_instance(3, jobs=20, gpus=2).replace(weight_a=weight)
        expected, got = both(instance, "met+static:6,7")
        assert expected == got
