"""Where the partition never changes, each one has prices of its own; together they prove the bound."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from migopt.bounds.split import Multipliers, evaluate_multipliers, proven_lower, split_bound
from migopt.bounds.split.covers import only_partition, partitions_apart
from migopt.errors import InputError
from migopt.exact.day_plan import DayPlan
from migopt.metrics import measure
from migopt.model import Repartition
from migopt.results import Budget
from migopt.testing.cases import small_instance


def _case(seed, *, mig_off=False):
    made = small_instance(seed, jobs=4, scope="never", mig_off=mig_off, weight_a=Fraction(1, 1000))
    return made.replace(jobs=tuple(replace(job, preemptible=True) for job in made.jobs))


def test_partitions_that_offer_no_more_are_left_out():
    """paper-12 has no partition within another, so all that every job fits count; with scope gpu none."""
    instance = _case(1)
    chosen = partitions_apart(instance)
    assert chosen
    assert set(chosen) <= set(range(1, 13))
    for number in chosen:
        names = only_partition(instance, number).catalogue(0)[1].profiles
        model = instance.gpus[0]
        for job in instance.jobs:
            assert any(instance.rate(job, model, name) for name in names)
    assert partitions_apart(instance.replace(repartition=Repartition("gpu", 4000))) == []


@pytest.mark.parametrize("seed", range(8))
def test_least_of_the_partitions_is_below_the_best_plan(seed):
    """The bound is the least over partitions (and MIG off), below the plan; written and read it stays."""
    instance = _case(seed, mig_off=seed % 2 == 0)
    found = split_bound(instance, seconds=20, rounds=(2, 1), uniform=20)
    plan = DayPlan().solve(instance, Budget(0.3, seed=seed))
    assert found.lower <= Fraction(measure(instance, plan.schedule).cost)
    read = [Multipliers.from_dict(item.to_dict()) for item in found.multipliers]
    assert {item.partition for item in read if item.case == "mig"} == set(
        partitions_apart(instance)
    )
    assert min(evaluate_multipliers(instance, item) for item in read) == found.lower
    assert proven_lower(instance, read) == found.lower


def test_a_partition_alone_is_stronger_than_their_mixture():
    """One price for all partitions lets the GPU mix them; apart the bound is at least as high (two seeds)."""
    for seed in (2, 5):
        instance = _case(seed)
        apart = split_bound(instance, seconds=20, rounds=(6, 2), uniform=20)
        mixed = split_bound(
            instance.replace(repartition=Repartition("slices", 4000)),
            seconds=20,
            rounds=(6, 2),
            uniform=20,
        )
        assert float(apart.lower) > float(mixed.lower)


def test_a_missing_partition_is_no_proof():
    """Without the prices of one partition nothing is proven for schedules that keep it."""
    instance = _case(3)
    found = split_bound(instance, seconds=20, rounds=(1, 1), uniform=10)
    with pytest.raises(InputError, match="case mig is missing"):
        proven_lower(instance, found.multipliers[1:])


def test_prices_of_one_partition_prove_nothing_where_it_may_change():
    """Scope gpu, or a partition that the catalogue lacks: refused."""
    instance = _case(3)
    one = split_bound(instance, seconds=20, rounds=(1, 1), uniform=10).multipliers[0]
    assert one.partition > 0
    with pytest.raises(InputError, match="cannot stand alone"):
        evaluate_multipliers(instance.replace(repartition=Repartition("gpu", 4000)), one)
    with pytest.raises(InputError, match="cannot stand alone"):
        evaluate_multipliers(instance, replace(one, partition=99))


def test_old_files_are_read():
    """A file without the key ``partition`` speaks of all partitions."""
    instance = _case(3).replace(repartition=Repartition("gpu", 4000))
    one = split_bound(instance, seconds=20, rounds=(1, 1), uniform=10).multipliers[0]
    data = one.to_dict()
    assert "partition" not in data
    again = Multipliers.from_dict(data)
    assert again.partition == 0
    assert np.array_equal(again.prices, one.prices)
