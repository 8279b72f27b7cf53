"""Options and pairs of rules that mean nothing: one clear error each."""

from __future__ import annotations

import pytest

from migopt import generate
from migopt.errors import InputError, NotApplicableError
from migopt.schedulers import parse_policy
from migopt.testing.cases import small_instance


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("edf_fs+rollout:futures=100000", "futures must be at most 500, not 100000"),
        ("edf_fs+receding_horizon:step=1,step=2", "step is given twice"),
        ("edf_fs+look_ahead:first=1,first=2", "first is given twice"),
    ],
)
def test_options_that_mean_nothing_are_refused(policy: str, text: str) -> None:
    """More futures than anybody waits for, and an option with two values."""
    with pytest.raises(InputError, match=text):
        parse_policy(policy)


@pytest.mark.parametrize("rule", ["priced", "rollout", "receding_horizon"])
def test_dispatch_to_slices_needs_slices(rule: str) -> None:
    """Beside ``no_mig`` a joint dispatch rule says that MIG is off instead of failing inside."""
    day = generate("s0-slack", seed=1, jobs=2)
    with pytest.raises(NotApplicableError, match=f"{rule}: .* MIG is off"):
        parse_policy(f"{rule}+no_mig").run(day)


def test_day_night_means_its_partitions_whatever_their_numbers() -> None:
    """In ``paper-12`` it is the timetable of 6 and 2; in ``all`` the same partitions; an A30 has none."""
    night = parse_policy("edf_fs+timetable:5:00=6,17:00=2")
    rule = parse_policy("edf_fs+day_night")
    schedules = {}
    for catalogue in ("paper-12", "all"):
        day = generate("s0-slack", seed=1, jobs=40, load=0.02, catalogue=catalogue)
        schedules[catalogue] = rule.run(day)
        assert schedules[catalogue].reconfigurations
        if catalogue == "paper-12":
            assert schedules[catalogue] == night.run(day)
    assert schedules["all"] == schedules["paper-12"]
    with pytest.raises(NotApplicableError, match=r"A30-24GB has no partition \[2g, 2g, 3g\]"):
        rule.run(small_instance(1, gpu="A30-24GB", catalogue="all"))
