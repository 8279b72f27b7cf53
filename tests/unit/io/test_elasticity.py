"""Elasticity classes: the four families, their parameters, and MIG off."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import gpu_keys, load_gpu
from migopt.io.elasticity import elasticity_names, relative_speed, speeds

SIZES = range(1, 8)


def test_formulas():
    """The speeds are those of the printed formulas, to a millionth."""
    for c in SIZES:
        assert relative_speed("linear", c, 7) == Fraction(c, 7)
        assert relative_speed("capped-3g", c, 7) == Fraction(min(c, 3), 3)
        for k in (0.2, 0.4):
            exact = (1 - math.exp(-k * c)) / (1 - math.exp(-k * 7))
            assert relative_speed(f"exp:{k}", c, 7) == pytest.approx(exact, abs=5.1e-7)
        for k in (0.5, 2):
            exact = math.log(1 + k * c) / math.log(1 + k * 7)
            assert relative_speed(f"log:{k}", c, 7) == pytest.approx(exact, abs=5.1e-7)


@pytest.mark.parametrize("name", elasticity_names())
@pytest.mark.parametrize("full", [2, 4, 7])
def test_classes_rise_to_one_and_are_concave(name, full):
    """No class gets slower on more slices, none gains more from a later slice, all end at 1."""
    values = [relative_speed(name, c, full) for c in range(1, full + 1)]
    steps = [b - a for a, b in zip([Fraction(0), *values], values, strict=False)]
    assert values[-1] == 1
    assert all(step >= 0 for step in steps)
    assert steps == sorted(steps, reverse=True)


def test_a_cap_above_the_gpu_is_linear():
    """On a GPU of two slices a job capped at 3g is linear."""
    assert relative_speed("capped-3g", 1, 2) == Fraction(1, 2)


def test_speeds_of_every_gpu():
    """Every profile of every GPU gets a speed, the full profile 1, equal slices equal speed."""
    for key in gpu_keys():
        model = load_gpu(key)
        found = speeds(model, "log:2")
        assert set(found) == {*(p.name for p in model.profiles), "off"}
        assert found[model.full_profile.name] == found["off"] == 1
        assert len({(p.compute_slices, found[p.name]) for p in model.profiles}) == len(
            {p.compute_slices for p in model.profiles}
        )


def test_only_linear_jobs_gain_with_mig_off():
    """1.06 for linear, 1 for the others; another gain and none at all can be asked for."""
    model = load_gpu("A100-40GB")
    assert speeds(model, "linear")["off"] == Fraction(106, 100)
    assert speeds(model, "capped-4g")["off"] == 1
    assert speeds(model, "linear", off_gain=Fraction(1, 4))["off"] == Fraction(5, 4)
    assert "off" not in speeds(model, "linear", off_gain=None)


@pytest.mark.parametrize(
    ("name", "nearest"), [("liner", "linear"), ("capped-2", "capped-2g"), ("exp", "exp:0.")]
)
def test_an_unknown_class_is_answered_with_the_nearest(name, nearest):
    """Misspelt classes name the place and a valid one."""
    with pytest.raises(UnknownNameError, match=nearest) as caught:
        speeds(load_gpu("A100-40GB"), name, where="jobs[0].elasticity")
    assert caught.value.where == "jobs[0].elasticity"


@pytest.mark.parametrize("name", ["exp:0", "log:0.0001", "exp:2000"])
def test_parameters_out_of_range(name):
    """A parameter that makes the curve flat or a step is refused."""
    with pytest.raises(InputError, match="between"):
        relative_speed(name, 1, 7)
