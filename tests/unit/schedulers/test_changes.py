"""Partial repartition as an option of every rule that changes partitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from migopt import generate
from migopt.check import check
from migopt.errors import InputError, NotApplicableError
from migopt.metrics import measure
from migopt.model import FrozenMap, Instance, Job, Repartition, Schedule
from migopt.schedulers import parse_policy
from migopt.units import UJ_PER_WMIN

JOINT = ("priced", "rollout", "receding_horizon")
ARGUMENT = {"rollout": "futures=2,span=20,"}
#: Rule to policy, the option at the end.
POLICIES = {name: f"{name}+{name}:{ARGUMENT.get(name, '')}" for name in JOINT}
POLICIES["rollout"] = "rollout:futures=2,span=20+rollout:futures=2,span=20,"
POLICIES |= {name: f"edf_ss_restricted+{name}:" for name in ("look_ahead", "miso")}


def partial_day(jobs: int = 60) -> Instance:
    """Return a stretch of day in which only slices that change stand still."""
    return generate(
        "s0-tight", seed=2, jobs=jobs, load=0.7, repartition="slices", catalogue="paper-17"
    )


def energy_above_idle_uj(day: Instance, schedule: Schedule) -> int:
    """Add up power steps over all moments at which a segment begins or ends; one GPU."""
    (curve,) = day.power.values()
    model = day.gpus[0]
    moments = sorted({t for s in schedule.segments for t in (s.start_ms, s.end_ms)})
    total = 0
    for begin, end in pairwise(moments):
        busy = sum(
            model.profile(s.placement.profile).compute_slices
            for s in schedule.segments
            if s.start_ms <= begin and s.end_ms >= end
        )
        total += (end - begin) * (curve.busy_mw[busy] - curve.busy_mw[0])
    return total


@pytest.mark.parametrize("rule", POLICIES)
def test_untouched_slices_run_on_while_others_change(rule: str) -> None:
    """While tau passes, jobs run on slices of both partitions and on no other; their energy and the time count."""
    day = partial_day()
    schedule = parse_policy(POLICIES[rule] + "scope=slices").run(day)
    assert check(day, schedule) == []
    through = 0
    for change in schedule.reconfigurations:
        assert change.end_ms - change.start_ms == day.repartition.tau_ms == 4000
        both = [place for place in change.old if place in change.new]
        during = [
            s
            for s in schedule.segments
            if s.start_ms < change.end_ms and s.end_ms > change.start_ms
        ]
        assert all(segment.placement in both for segment in during)
        through += any(s.start_ms < change.start_ms and s.end_ms > change.end_ms for s in during)
    assert through > 0
    found = measure(day, schedule)
    above = energy_above_idle_uj(day, schedule)
    assert found.energy_uj == day.idle_energy_uj + above
    late = sum(max(0, schedule.completions_ms()[j.id] - j.due_ms) for j in day.jobs)
    a = day.weight_a
    cost = a * Fraction(found.energy_uj, UJ_PER_WMIN) + Fraction(late, 60_000 * len(day.jobs))
    assert found.cost_exact == cost / (a + 1)


@pytest.mark.parametrize("rule", JOINT)
def test_keep_changes_under_no_running_job(rule: str) -> None:
    """With ``keep=yes`` every slice that runs a job as a change starts is in the new partition, too."""
    day = partial_day()
    schedule = parse_policy(POLICIES[rule] + "keep=yes").run(day)
    assert check(day, schedule) == []
    assert schedule.reconfigurations
    for change in schedule.reconfigurations:
        for segment in schedule.segments:
            if segment.start_ms < change.start_ms < segment.end_ms:
                assert segment.placement in change.new
    free = parse_policy(POLICIES[rule].rstrip(",:")).run(day)
    assert any(
        s.start_ms < change.start_ms == s.end_ms and s.placement not in change.new
        for change in free.reconfigurations
        for s in free.segments
    )


def test_what_goes_on_meanwhile_is_not_charged() -> None:
    """Two jobs, one on 4g, one on 1g.5gb alone, tau a minute, and a change must pay within 1.5 minutes.

    At minute 1 the GPU has 4g and the second job comes. Both jobs are late and worth v a minute, the
    first v - 203.9 W, the second v - 3.8 W more (power at 4 and 5 busy slices: 243.9, 247.7, idle 40),
    v far above. Where all stands still for tau, 1.5 (v - 3.8) is less than the 2 v - 207.7 given up: it
    waits until the first job ends at minute 11. Where 4g goes on, v - 3.8 is given up, and it pays.
    """
    base = generate("s0-tight", seed=1, jobs=2, load=0.5, catalogue="paper-17")
    key = base.gpus[0].key
    speeds = ({"4g.20gb": 1_000_000}, {"1g.5gb": 1_000_000})
    jobs = tuple(
        Job(n, 60_000 * n, 60_000 * n + 60_000, 600_000 * 1_000_000, FrozenMap({key: FrozenMap(s)}))
        for n, s in enumerate(speeds)
    )
    numbers = "2/1/1/1/2/2/1/1.5/1/1"
    runs = {}
    for scope in ("gpu", "slices"):
        day = base.replace(jobs=jobs, repartition=Repartition(scope, 60_000))
        rule = f"priced:{numbers},scope={scope}"
        schedule = parse_policy(f"{rule}+{rule}").run(day)
        assert check(day, schedule) == []
        runs[scope] = min(s.start_ms for s in schedule.segments if s.job == 1)
    assert runs == {"gpu": 720_000, "slices": 120_000}


@pytest.mark.parametrize("rule", POLICIES)
def test_other_scopes_are_refused(rule: str) -> None:
    """A scope that is not the instance's, or no scope at all, is one error that says what to do."""
    policy, day = POLICIES[rule], partial_day(4)
    whole = day.replace(repartition=Repartition("gpu", 4000))
    for option in ("scope=slices", "keep=yes"):
        with pytest.raises(NotApplicableError, match=f"{rule}:{option} needs .* slices, not gpu"):
            parse_policy(policy + option).run(whole)
    with pytest.raises(NotApplicableError, match="needs repartition scope gpu, not slices"):
        parse_policy(policy + "scope=gpu").run(day)
    parse_policy(policy + "scope=gpu").run(whole)
    for option, text in (
        ("scope=slice", "scope is instance, slices or gpu, not 'slice'.*slices"),
        ("keep=maybe", "keep is yes or no"),
        ("scope=gpu,keep=yes", "keep=yes needs scope slices"),
        ("keep=yes,keep=no", "keep is given twice"),
    ):
        with pytest.raises(InputError, match=text):
            parse_policy(policy + option)
