"""The compiled simulator against the readable one: same schedule, same figures, same refusal."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from engine_cases import Case, disagreement, make_case, outcome

from migopt.metrics import measure
from migopt.model import Schedule

SAMPLE = 400
#: `make cross-sim` runs this many; MIGOPT_CROSS_CASES overrides.
ALL = int(os.environ.get("MIGOPT_CROSS_CASES", "20000"))


def test_engines_agree_on_a_fixed_sample() -> None:
    """Schedules, figures and errors are equal on 400 cases of every rule, mode and scope."""
    found = [text for seed in range(SAMPLE) if (text := disagreement(make_case(seed)))]
    assert not found, "\n".join(found[:3])


@pytest.mark.slow
def test_engines_agree_on_many_cases() -> None:
    """The same on 20,000 cases that the sample does not hold."""
    found = [
        text for seed in range(SAMPLE, SAMPLE + ALL) if (text := disagreement(make_case(seed)))
    ]
    assert not found, "\n".join(found[:3])


def test_sample_touches_what_it_claims_to() -> None:
    """Among the sample's cases are stops and repartitions for every kind of rule, with and without overhead."""
    seen: Counter[str] = Counter()
    for seed in range(SAMPLE):
        case = make_case(seed)
        schedule = outcome(case, "compiled")
        if isinstance(schedule, Schedule):
            seen.update(_marks(case, schedule))
    for mark in ("repartition", "repartition at tau 0", "stop", "stop with overhead", "two models"):
        assert seen[mark] >= 10, (mark, seen)
    assert len([name for name in seen if name.startswith("rule ")]) >= 13


def _marks(case: Case, schedule: Schedule) -> set[str]:
    instance, figures = case.instance, measure(case.instance, schedule)
    overhead = instance.preemption.mode == "cost" and instance.preemption.resume_overhead_ms > 0
    marks = {f"rule {case.dispatch.partition(':')[0]}"}
    if figures.repartitions:
        marks |= {"repartition"} | (
            {"repartition at tau 0"} if not instance.repartition.tau_ms else set()
        )
    if figures.preemptions:
        marks |= {"stop"} | ({"stop with overhead"} if overhead else set())
    if len(instance.gpu_models) > 1:
        marks.add("two models")
    return marks
