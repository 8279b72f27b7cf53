"""Joint policies: the compiled course equals the simulation, prices do what they say, rollouts help."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from migopt import generate
from migopt.check import check
from migopt.errors import InputError, NotApplicableError, UnknownNameError
from migopt.metrics import measure
from migopt.schedulers import parse_policy
from migopt.schedulers.joint.course import whole_day
from migopt.schedulers.joint.futures import sample_futures
from migopt.schedulers.joint.planner import numbers_of
from migopt.schedulers.joint.relaxation import Relaxation
from migopt.schedulers.joint.rollout import rollout
from migopt.schedulers.joint.view import view_of
from migopt.testing.cases import small_instance


@pytest.mark.parametrize("scenario", ["s0-slack", "s0-tight"])
def test_course_costs_what_the_simulation_does(scenario: str) -> None:
    """The float course of calibration and the integer simulation agree to 1 % on a stretch of day."""
    day = generate(scenario, seed=4, jobs=80, load=0.5)
    view = view_of(day)
    course = whole_day(
        view.jobs, view.coming, view.gpu, numbers_of("priced", scenario), view.scratch, 0
    )
    schedule = parse_policy(f"priced:{scenario}+priced:{scenario}").run(day)
    assert check(day, schedule) == []
    active = measure(day, schedule).cost - float(day.constant_cost)
    assert course == pytest.approx(active, rel=0.01)


def test_low_prices_wait_and_high_ones_do_not() -> None:
    """A lone capped job with an hour of laxity waits at prices of a full GPU and starts at once at 100 times.

    At t0 = 1 a job is worth 1/7 of full power per slice, 208.5 / 7 = 29.8 W, less than the 79 W of one slice.
    """
    day = generate("s0-slack", seed=1, jobs=40, load=0.4)
    capped = next(j for j in day.jobs if _is_capped(j.rates["A100-40GB"]))
    job = type(capped)(
        0, 0, 4_000_000, 600_000 * 1_000_000, capped.rates, memory_bytes=capped.memory_bytes
    )
    alone = day.replace(jobs=(job,))
    starts = []
    for price in ("1", "100"):
        rule = f"priced:{price}/9/1/1/2/2/1/2/1/0.5"
        starts.append(parse_policy(f"{rule}+{rule}").run(alone).segments[0].start_ms)
    assert starts[0] > 1_800_000
    assert starts[1] == 0


def test_an_efficient_slice_still_in_time_begins_a_job_earlier() -> None:
    """With t10 = 1 the energy part counts c - q more minutes, so a lone job begins that much earlier.

    Prices are looked at every half minute, so to half a minute; without lateness nothing else differs.
    """
    day = generate("s0-slack", seed=1, jobs=40, load=0.4)
    # On 1g at more than a seventh of the speed of 7g.
    one = next(j for j in day.jobs if j.rates["A100-40GB"]["1g.5gb"] > 300_000)
    alone = day.replace(jobs=(replace(one, id=0, release_ms=0, due_ms=4_000_000),))
    jobs = view_of(alone).jobs
    starts = []
    for calm in ("0", "1"):
        rule = f"priced:1/9/1e-9/1e-9/2/2/1/2/1/0.5/{calm}/0"
        starts.append(parse_policy(f"{rule}+{rule}").run(alone).segments[0].start_ms)
    more = 60_000 * (jobs.calm[0] - jobs.quick[0])
    assert more > 60_001
    assert starts[0] - starts[1] == pytest.approx(more, abs=30_001)


def test_ten_numbers_mean_twelve_with_two_zeros() -> None:
    """Where t10 and t11 are not given they are 0; less than 0 is refused."""
    ten = "2/4/0.5/0.7/3/1/0.7/1.5/1/1"
    assert numbers_of("priced", ten).tolist() == numbers_of("priced", ten + "/0/0").tolist()
    with pytest.raises(InputError, match="not less"):
        numbers_of("priced", ten + "/-1/0")


def _is_capped(rates: dict[str, int]) -> bool:
    return rates["2g.10gb"] == rates["7g.40gb"]


def test_rollout_scores_levels_over_the_same_futures() -> None:
    """Equal levels get equal costs, and no future at all costs what the present jobs cost."""
    day = generate("s0-slack", seed=2, jobs=30, load=0.6)
    futures = sample_futures(day, "s0-slack", 3)
    view = futures.view
    coming, starts = futures.after(0.0, 30.0)
    assert len(starts) == 4
    assert (view.jobs.release[coming] <= 30.0).all()
    assert (np.diff(starts) > 0).all()
    out = np.zeros(3)
    who, rest = np.array([0, 1], np.int64), np.ones(2)
    numbers = numbers_of("rollout", "s0-slack")
    levels = np.array([1.0, 0.2, 1.0])
    args = (view.jobs, view.gpu, numbers, view.scratch, out)
    rollout(0.0, who, rest, 2, 0, coming, starts, 2.0, 30.0, levels, *args)
    assert out[0] == out[2] > 0


def test_rollout_policy_is_legal_and_repeats_itself() -> None:
    """Two runs are equal, and the checker finds nothing."""
    day = generate("s0-tight", seed=3, jobs=40, load=0.5)
    rule = "rollout:s0-tight,futures=3,span=20,step=5"
    first, second = (parse_policy(f"{rule}+{rule}").run(day) for _ in range(2))
    assert first == second
    assert check(day, first) == []


def test_relaxation_of_one_job_costs_what_it_must() -> None:
    """One linear job with ample time: its work is worth its energy on a full GPU, the cheapest there is.

    208.5 W above idle for 10 minutes on 7g; a slice alone needs 79 W for 70 minutes, 2.65 times as much.
    """
    day = generate("s0-slack", seed=1, jobs=40, load=0.4)
    linear = next(j for j in day.jobs if _is_linear(j.rates["A100-40GB"]))
    job = replace(linear, id=0, release_ms=0, due_ms=7_200_000, work=600_000 * 1_000_000)
    view = view_of(day.replace(jobs=(job,)))
    answer = Relaxation(view, reserve=0.0, haste=0.0, margin=0.0).solve(
        0.0, np.array([0]), np.ones(1)
    )
    full = view.jobs.speed[0].argmax()
    per_minute = float(view.gpu.cost.max())
    assert answer.prices[0, full] == pytest.approx(per_minute, rel=1e-3)


def _is_linear(rates: dict[str, int]) -> bool:
    return abs(7 * rates["1g.5gb"] - rates["7g.40gb"]) <= 7 and rates["4g.20gb"] > rates["3g.20gb"]


def test_receding_horizon_keeps_patterns_and_is_legal() -> None:
    """Patterns of one solution serve the next, two runs are equal, and due dates with slack are met."""
    day = generate("s0-slack", seed=5, jobs=60, load=0.4)
    policy = parse_policy("receding_horizon+receding_horizon")
    first, second = policy.run(day), policy.run(day)
    assert first == second
    assert check(day, first) == []
    assert measure(day, first).mean_tardiness_min < 0.01
    view = view_of(day)
    relaxation = Relaxation(view, reserve=0.3, haste=0.1, margin=0.0)
    who = np.argsort(view.jobs.due[:10])
    cold = relaxation.solve(0.0, who, np.ones(10))
    warm = relaxation.solve(0.1, who, np.full(10, 0.99))
    assert len(relaxation.known) > 0
    assert warm.rounds < cold.rounds


def test_announced_jobs_are_in_no_pattern_before_their_release() -> None:
    """A job announced for minute 20 is worth nothing in the first interval; one that is there is."""
    day = generate("s0-slack", seed=1, jobs=40, load=0.4)
    one, two = (replace(day.jobs[0], id=n, release_ms=0, due_ms=4_000_000) for n in (0, 1))
    who, all_of_it = np.array([0, 1]), np.ones(2)
    for release_ms, there in ((0, True), (1_200_000, False)):
        jobs = (one, replace(two, release_ms=release_ms))
        relaxation = Relaxation(view_of(day.replace(jobs=jobs)), 0.0, 0.0, 0.0)
        prices = relaxation.solve(0.0, who, all_of_it).prices
        assert prices[0].max() > 0
        assert bool(prices[1].max() > 0) is there


def test_refusals() -> None:
    """Bad numbers, unknown sets and options, two GPUs, and preemption that costs are single errors."""
    with pytest.raises(UnknownNameError, match="s0-slack"):
        parse_policy("priced:s0-slac+static:1")
    with pytest.raises(InputError, match="10 numbers"):
        parse_policy("edf_fs+priced:1/2/3")
    with pytest.raises(InputError, match="futures"):
        parse_policy("edf_fs+rollout:s0-slack,future=3")
    with pytest.raises(NotApplicableError, match="2 GPUs"):
        parse_policy("priced+priced").run(small_instance(1, gpus=2))
    with pytest.raises(NotApplicableError, match="free"):
        parse_policy("priced+priced").run(small_instance(1, mode="cost"))
    with pytest.raises(NotApplicableError, match="never"):
        parse_policy("priced+priced").run(generate("s0-slack", seed=1, jobs=2, repartition="never"))


def test_rollout_refuses_a_gpu_that_its_futures_cannot_use() -> None:
    """Days of s0-tight are days of an A100: on an A30 the error says so, and blames no job of the instance."""
    day = small_instance(1, gpu="A30-24GB", catalogue="all")
    day = day.replace(jobs=tuple(job for job in day.jobs if job.preemptible))
    rule = "rollout:s0-tight,futures=2"
    with pytest.raises(NotApplicableError, match=r"days of s0-tight, do not all run on A30-24GB"):
        parse_policy(f"{rule}+{rule}").run(day)
