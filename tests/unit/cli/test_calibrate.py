"""The energy weight of every scenario is what its named command derives."""

from fractions import Fraction

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from migopt.cli.calibrate import POLICY, PRECISION, SEEDS, calibrate, command, simplest_between
from migopt.io.generators import generate, generator_names, stored_weight, stored_weights
from migopt.schedulers import parse_policy

POSITIVE = st.fractions(min_value=Fraction(1, 10**9), max_value=10**6, max_denominator=10**9)


@given(POSITIVE, st.fractions(min_value=0, max_value=1, max_denominator=1000))
def test_simplest_between_is_inside_and_simplest(low, width):
    """The cut fraction lies in the interval, and no smaller denominator has one there."""
    high = low * (1 + width)
    found = simplest_between(low, high)
    assert low <= found <= high
    for denominator in range(1, min(found.denominator, 200)):
        assert -(-low * denominator // 1) > high * denominator


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [("1/3", "1/2", "1/2"), ("3/10", "2/5", "1/3"), ("2", "2", "2"), ("0", "1/9", "0")],
)
def test_simplest_between_by_hand(low, high, expected):
    """Small intervals worked out by hand."""
    assert simplest_between(Fraction(low), Fraction(high)) == Fraction(expected)


def test_calibration_is_half_the_ratio_of_the_means():
    """a = t / (2 s) over the seeds, within a millionth; two seeds recomputed from the metrics."""
    result = calibrate("s0-tight", seeds=[1, 2])
    runs = []
    for seed in (1, 2):
        runs.append(parse_policy(POLICY).score(generate("s0-tight", seed=seed)))
    tardiness = sum(metrics.mean_tardiness_min for metrics in runs) / 2
    energy = sum(metrics.energy_wmin for metrics in runs) / 2
    assert float(result.exact_a) == pytest.approx(tardiness / (2 * energy))
    assert abs(result.weight_a - result.exact_a) <= PRECISION * result.exact_a
    assert len(str(result.weight_a)) < len(str(result.exact_a)) / 3


def test_every_scenario_has_a_weight():
    """A weight is stored for each scenario, with the policy and the seeds it rests on."""
    assert sorted(stored_weights()) == generator_names()
    for name, record in stored_weights().items():
        assert stored_weight(name) > 0
        assert record["policy"] == POLICY
        assert record["seeds"] == [SEEDS[0], SEEDS[-1]]


@pytest.mark.slow
@pytest.mark.parametrize("name", generator_names())
def test_stored_weight_is_what_the_command_derives(name):
    """Deriving the weight anew gives the stored one exactly."""
    assert calibrate(name).record() == stored_weights()[name]


def test_unknown_scenario_is_refused():
    """A scenario that does not exist is an error with the nearest name."""
    result = CliRunner().invoke(command, ["s0-slak"])
    assert "nearest: s0-slack" in str(result.exception)
