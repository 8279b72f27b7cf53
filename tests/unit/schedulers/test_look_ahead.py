"""Look-ahead: what its forecasts decide, and that both simulators agree on it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from migopt import generate
from migopt.errors import InputError, NotApplicableError
from migopt.metrics import measure
from migopt.model import Job
from migopt.schedulers import parse_policy
from migopt.testing.cases import small_instance


def test_changes_to_the_partition_that_ends_two_jobs_sooner() -> None:
    """Two equal linear jobs on [7g] take 7 + 7 min in turn; nothing beats 7g for linear jobs, so it stays.

    With speeds capped at 3g two slices of 3g or more run both at full speed: it changes once.
    """
    for shape, changes in (("linear", 0), ("capped-3g", 1)):
        day = generate("s0-tight", seed=1, jobs=2, load=0.5).replace(weight_a=Fraction(0))
        other = generate("s0-tight", seed=1, jobs=40, load=0.5)
        rates = next(j.rates for j in other.jobs if _shape(j) == shape)
        work = 10 * 60_000 * 1_000_000
        jobs = tuple(Job(n, 0, 60_000, work, rates) for n in range(2))
        figures = parse_policy("edf_fs+look_ahead").score(day.replace(jobs=jobs))
        assert figures.repartitions == changes, shape


def _shape(job: Job) -> str:
    rates = job.rates["A100-40GB"]
    one, three, full = rates["1g.5gb"], rates["3g.20gb"], rates["7g.40gb"]
    if three == full and 3 * one <= full + 3:
        return "capped-3g"
    return "linear" if 7 * one <= full + 7 else "other"


def test_forecasts_count_the_change() -> None:
    """With a repartition of ten hours no forecast of a change pays: the run is that of static:1."""
    day = generate("s0-slack", seed=1, jobs=30, load=0.4, tau_s=36_000.0)
    policy, fixed = parse_policy("edf_ss+look_ahead"), parse_policy("edf_ss+static:1")
    assert policy.score(day, engine="compiled").cost == fixed.score(day, engine="compiled").cost


@pytest.mark.parametrize("argument", ["", ":margin=0.1,first=3", ":keep=yes"])
def test_both_simulators_agree_on_a_stretch_of_day(argument: str) -> None:
    """Schedules are equal, with repartitions among them, under scope slices."""
    day = generate(
        "s0-slack", seed=3, jobs=25, load=0.7, repartition="slices", catalogue="paper-17"
    )
    policy = parse_policy(f"edf_ss_restricted+look_ahead{argument}")
    schedule = policy.run(day, engine="reference")
    assert schedule.reconfigurations
    assert policy.run(day, engine="compiled") == schedule


def test_keep_stops_no_job() -> None:
    """Under scope slices and a rule that never stops a job, ``keep=yes`` leaves no preemption."""
    day = generate(
        "s0-slack", seed=2, jobs=200, load=0.7, repartition="slices", catalogue="paper-17"
    )
    kept = parse_policy("fifo+look_ahead:keep=yes").run(day, engine="compiled")
    free = parse_policy("fifo+look_ahead").run(day, engine="compiled")
    assert measure(day, kept).repartitions > 10
    assert measure(day, kept).preemptions == 0 < measure(day, free).preemptions


def test_refusals_say_what_and_why() -> None:
    """Unknown options, bad values, scope never and ``keep`` under scope gpu are single errors."""
    for argument, text in (("margn=1", "margin"), ("margin=2", "from 0 to 1"), ("keep=1", "yes")):
        with pytest.raises(InputError, match=text):
            parse_policy(f"edf_fs+look_ahead:{argument}")
    with pytest.raises(NotApplicableError, match="never"):
        parse_policy("edf_fs+look_ahead").run(small_instance(1, scope="never"))
    with pytest.raises(NotApplicableError, match="slices"):
        parse_policy("edf_fs+look_ahead:keep=yes").run(small_instance(1))
