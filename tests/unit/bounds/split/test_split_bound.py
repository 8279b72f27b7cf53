"""The splitting bound never exceeds a schedule's cost, and its stored prices prove it exactly."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from factories import make_instance, make_job
from migopt.bounds.split import Multipliers, evaluate_multipliers, round_down, split_bound, why_not
from migopt.bounds.split.evaluate import Evaluator
from migopt.bounds.split.multipliers import round_prices
from migopt.bounds.split.problem import build_problem
from migopt.errors import InputError, MigoptError
from migopt.metrics import measure
from migopt.model import FrozenMap
from migopt.schedulers import parse_policy
from migopt.testing.cases import conformance_cases, small_instance

WEIGHTS = (Fraction(0), Fraction(1, 100_000), Fraction(1, 100))
POLICIES = (
    "edf_fs+static:1",
    "edf_ss_restricted+static:2",
    "edf_ss_restricted+static:6",
    "fifo+no_mig",
)


def _cheapest_policy(instance):
    costs = []
    for text in POLICIES:
        try:
            schedule = parse_policy(text).run(instance, seed=0)
        except MigoptError:
            continue
        metrics = measure(instance, schedule)
        costs.append(Fraction(metrics.cost))
    return min(costs)


def _random_case(seed):
    draw = np.random.default_rng(seed)
    return small_instance(
        seed,
        jobs=int(draw.integers(1, 7)),
        gpus=int(draw.choice([1, 1, 1, 2])),
        mode=str(draw.choice(["free", "cost", "none"])),
        scope=str(draw.choice(["gpu", "gpu", "slices", "never"])),
        tau_ms=int(draw.choice([0, 4000, 30_000, 120_000])),
        mig_off=bool(draw.random() < 0.3),
        weight_a=WEIGHTS[int(draw.integers(3))],
    )


@pytest.mark.parametrize("seed", range(40))
def test_never_above_a_schedule(seed):
    """All preemption modes, scopes, weights, tau up to 2 minutes: the bound is at most any policy's cost."""
    instance = _random_case(seed)
    found = split_bound(instance, seconds=1.0, rounds=(4, 2), uniform=40)
    assert found.lower <= _cheapest_policy(instance)
    assert found.lower >= instance.constant_cost


@pytest.mark.parametrize("instance", list(conformance_cases()), ids=lambda instance: instance.name)
def test_covers_the_conformance_cases(instance):
    """Every case of the kit gets a bound, also no jobs, another GPU, two GPUs, milliseconds."""
    assert why_not(instance) is None
    found = split_bound(instance, seconds=0.5, rounds=(2, 2), uniform=20)
    assert float(instance.constant_cost) - 1e-12 <= found.value <= float(_cheapest_policy(instance))


@pytest.mark.parametrize("tau_ms", [0, 4000, 30_000])
def test_exact_value_is_the_float_value_rounded_down(tau_ms):
    """Evaluated in integers, rounded prices give the compiled value to 1e-6 and nothing above it."""
    for seed in range(4):
        instance = small_instance(seed, jobs=5, tau_ms=tau_ms)
        problem = build_problem(instance, "mig", uniform=30)
        draw = np.random.default_rng(seed)
        prices = problem.start_prices() * draw.exponential(1.0, problem.start_prices().shape)
        multipliers = round_prices(problem, prices, parts=8)
        value = Evaluator(problem, parts=8)(prices)
        exact = float(evaluate_multipliers(instance, multipliers) - instance.constant_cost)
        assert exact == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_any_prices_are_valid():
    """Random and absurd prices give a weak bound, never a false one."""
    for seed in range(10):
        instance = small_instance(seed, jobs=4, tau_ms=30_000)
        problem = build_problem(instance, "mig", uniform=10)
        draw = np.random.default_rng(seed)
        prices = draw.exponential(10.0 ** draw.integers(-6, 1), problem.start_prices().shape)
        bound = evaluate_multipliers(instance, round_prices(problem, prices, 4))
        assert bound <= _cheapest_policy(instance)


def test_multipliers_survive_a_file():
    """Written as JSON and read back, the prices prove the same bound; a digit changed is still a bound."""
    instance = small_instance(3, jobs=5)
    found = split_bound(instance, seconds=1.0, rounds=(3, 2))
    text = json.dumps(found.multipliers[0].to_dict())
    again = Multipliers.from_dict(json.loads(text))
    assert evaluate_multipliers(instance, again) == found.lower


def test_multipliers_of_another_instance_are_refused():
    """Prices for other jobs, a cut file or a window after the release are errors, not bounds."""
    found = split_bound(small_instance(3, jobs=5), seconds=0.5, rounds=(1, 1))
    with pytest.raises(InputError, match="do not fit"):
        evaluate_multipliers(small_instance(4, jobs=4), found.multipliers[0])
    with pytest.raises(InputError, match="cannot be read"):
        Multipliers.from_dict({"format": "split-1", "columns": 3})
    late = found.multipliers[0]
    shifted = Multipliers(
        late.case,
        np.concatenate(([0], late.grid_ms[1:] + 10**7)),
        late.first + 1,
        np.minimum(late.last + 1, late.grid_ms.size - 1),
        late.groups,
        late.exponent,
        late.prices[
            : int((np.minimum(late.last + 1, late.grid_ms.size - 1) - late.first - 1).sum())
        ],
        late.parts,
    )
    with pytest.raises(InputError, match="after its release"):
        evaluate_multipliers(small_instance(3, jobs=5), shifted)


def test_lone_job_pays_its_real_power():
    """One job alone cannot share the power of others: the bound is its best single slice, exactly."""
    # 28 s on 1g, 4 s on 7g; power 40 W idle, 50 W with one slice busy (10 W x 28 s on 1g).
    instance = make_instance(make_job(0, ms=28_000, due=100_000), a=Fraction(1), tau=0)
    power = instance.power["A100-40GB"].busy_mw
    best = min((power[c] - power[0]) * 28_000 // c for c in (1, 2, 3, 4, 7))
    want = instance.constant_cost + Fraction(best, 60_000_000) / 2
    found = split_bound(instance, seconds=2.0, rounds=(20, 20))
    assert found.lower <= want
    assert float(found.lower - instance.constant_cost) == pytest.approx(
        float(want - instance.constant_cost), rel=2e-3
    )


def test_forced_lateness_is_seen():
    """A 60 s job due at 0 with no energy weight: a minute on 7g is late by exactly that minute."""
    job = make_job(0, ms=420_000, due=0)
    instance = make_instance(job, a=Fraction(0))
    found = split_bound(instance, seconds=2.0, rounds=(20, 20))
    assert found.value == pytest.approx(1.0, rel=5e-3)
    assert found.value <= 1.0
    assert found.tardiness_part == pytest.approx(1.0, rel=5e-2)


def test_why_not_names_what_is_missing():
    """Energy with weight and no curve, or a GPU that saves power by working, get a reason."""
    instance = make_instance(make_job(0))
    assert "no power curve" in why_not(instance.replace(power=FrozenMap({})))
    odd = instance.power["A100-40GB"]
    odd = type(odd)((50_000, 10_000, *odd.busy_mw[2:]))
    assert "less power" in why_not(instance.replace(power=FrozenMap({"A100-40GB": odd})))


def test_round_down_is_directed():
    """The float shown is never above the exact value."""
    third = Fraction(1, 3)
    assert Fraction(round_down(third)) <= third < Fraction(np.nextafter(round_down(third), 1.0))
