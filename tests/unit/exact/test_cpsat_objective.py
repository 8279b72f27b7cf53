"""The integer objective and the split of power into slices and levels."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import make_instance, make_job
from migopt.exact.cpsat.case import cases
from migopt.exact.cpsat.objective import Scale, split_power
from migopt.gpus import default_power, load_gpu
from migopt.model import FrozenMap, PowerCurve
from migopt.placement import build_catalogue

A100_MW = default_power("A100-40GB")


def rebuilt(alpha, beta, counts, level):
    """Return the power that a split gives a busy vector."""
    linear = sum(a * n for a, n in zip(alpha, counts, strict=True))
    return linear + sum(step for reached, step in beta.items() if level >= reached)


def paper_case(number, power=A100_MW):
    """Return a partition of the paper's twelve with one linear job."""
    model = load_gpu("A100-40GB")
    instance = make_instance(
        make_job(0),
        gpus=(model,),
        catalogues=FrozenMap({model.key: build_catalogue("paper-12", model)}),
        power=FrozenMap({model.key: power}),
    )
    return cases(instance, number)[0]


@pytest.mark.parametrize("number", range(1, 13))
def test_split_is_exact_on_every_partition_of_the_paper(number):
    """Slices and levels add up to the published curve for every busy vector, with no level below zero."""
    case = paper_case(number)
    alpha, beta = split_power(case.extra_mw, case.levels)
    assert all(step > 0 for step in beta.values())
    for counts, extra in case.extra_mw.items():
        assert rebuilt(alpha, beta, counts, case.levels[counts]) == extra


@pytest.mark.parametrize(("number", "levels"), [(1, 0), (2, 1), (5, 1), (3, 4), (12, 6)])
def test_split_leaves_few_levels_to_model(number, levels):
    """7g needs no level, [4g, 3g] and [3g, 3g] one, [4g, 2g, 1g] four; seven 1g all but the flat last one."""
    case = paper_case(number)
    assert len(split_power(case.extra_mw, case.levels)[1]) == levels


@settings(max_examples=50)
@given(
    st.lists(st.integers(-50_000, 90_000), min_size=7, max_size=7),
    st.sampled_from(range(1, 13)),
    st.integers(1, 10**9),
)
def test_split_is_exact_for_any_curve_even_a_falling_one(steps, number, factor):
    """Slices below zero make up for levels that would be; any curve in any unit of cost is split exactly."""
    levels = [0]
    for step in steps:
        levels.append(levels[-1] + step)
    case = paper_case(number, PowerCurve(tuple(levels)))
    scaled = {counts: factor * extra for counts, extra in case.extra_mw.items()}
    alpha, beta = split_power(scaled, case.levels)
    assert all(step > 0 for step in beta.values())
    for counts, extra in scaled.items():
        assert rebuilt(alpha, beta, counts, case.levels[counts]) == extra


def test_power_that_has_no_split_is_refused():
    """One, two and three slices at level 1 that cost 5, 3, 9 fit no line; a level that costs -4 is none."""
    with pytest.raises(ValueError, match="more than the busy level"):
        split_power({(0,): 0, (1,): 5, (2,): 3, (3,): 9}, {(0,): 0, (1,): 1, (2,): 1, (3,): 1})
    with pytest.raises(ValueError, match="power falls from level 1 to level 2"):
        split_power({(0,): 0, (1,): 9, (2,): 5, (3,): 5}, {(0,): 0, (1,): 1, (2,): 2, (3,): 2})


def test_scale_counts_cost_in_whole_numbers():
    """a = 1/60 and one job: a milliwatt second is worth 1, a second of lateness 60,000, of 61 x 60,000."""
    scale = Scale.of(make_instance(make_job(0), a=Fraction(1, 60)), 1000)
    assert (scale.per_mw, scale.per_late) == (1, 60_000)
    assert 61 * 60_000 * scale.cost_unit == 1


def test_scale_without_energy_counts_lateness_only():
    """a = 0: one unit is one time unit of lateness."""
    scale = Scale.of(make_instance(make_job(0), a=0), 1000)
    assert (scale.per_mw, scale.per_late) == (0, 1)
