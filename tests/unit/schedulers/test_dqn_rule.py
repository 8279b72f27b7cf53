"""The rule ``dqn``: shipped policies play without torch, are found by scenario, and know what they were trained on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from migopt.errors import InputError, NotApplicableError
from migopt.io.generators import generate
from migopt.rl.config import DqnConfig
from migopt.schedulers import parse_policy
from migopt.schedulers.learned.checkpoint import find_policy, load_policy, shipped_policies
from migopt.testing.cases import small_instance

WITHOUT = """
import sys
sys.modules.update(torch=None, gymnasium=None)
from migopt.io.generators import generate
from migopt.schedulers import parse_policy
day = generate("{scenario}", seed=1, jobs=60)
print(parse_policy("edf_ss_restricted+dqn").score(day).repartitions > 0)
"""


def test_a_policy_ships_for_each_scenario() -> None:
    """Both scenarios of S0 have one, whose header says settings, split and cost on the validation days."""
    assert shipped_policies() == ["s0-slack", "s0-tight"]
    for name in shipped_policies():
        header = load_policy(find_policy(name)).header
        assert header["config"]["scenario"] == name
        assert DqnConfig.from_dict(header["config"]).as_dict() == header["config"]
        assert header["split"]["seeds"]["held_out"] == [0, 999_999]
        assert len(header["split"]["digest"]) == 64
        assert header["validation_cost"] > 0


@pytest.mark.parametrize("scenario", ["s0-tight", "s0-slack"])
def test_playing_needs_no_learning_library(scenario: str) -> None:
    """With torch and Gymnasium absent the shipped policy of the instance's scenario plays it."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(scenario=scenario)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.parametrize("scenario", ["s0-tight", "s0-slack"])
def test_it_beats_fixed_rules_by_far_on_held_out_days(scenario: str) -> None:
    """On the five held-out days 1 to 5 the mean ET is below that of No MIG, static:2 and Day-Night."""
    means = []
    for rule in ("dqn", "no_mig", "static:2", "day_night"):
        policy = parse_policy(f"edf_ss_restricted+{rule}")
        means.append(
            sum(
                policy.score(generate(scenario, seed=seed), engine="compiled").cost
                for seed in range(1, 6)
            )
        )
    assert means[0] < min(means[1:])


def test_unknown_names_and_instances_without_a_scenario() -> None:
    """A wrong name lists the nearest, a missing file is named, and an instance of no scenario asks for a name."""
    with pytest.raises(InputError, match="unknown policy 's0-tigt'; nearest: s0-tight"):
        parse_policy("edf_fs+dqn:s0-tigt")
    with pytest.raises(InputError, match=r"no policy file nowhere\.safetensors"):
        parse_policy("edf_fs+dqn:nowhere.safetensors")
    with pytest.raises(NotApplicableError, match="name one: s0-slack, s0-tight, or a file"):
        parse_policy("edf_fs+dqn").run(small_instance(1))
