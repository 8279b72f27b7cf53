"""The kernel against enumeration of every assignment."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from migopt.bounds.busy_vectors import busy_vectors
from migopt.bounds.kernel import assigned_groups, best_of, fill, make_tables
from migopt.bounds.kernel.tables import partition_types
from migopt.testing.cases import small_instance


def _vectors(seed):
    instance = small_instance(seed, jobs=4)
    return busy_vectors(instance, instance.gpus[0])


def _brute(prices, counts):
    slots = [k for k, n in enumerate(counts) for _ in range(n)]
    if len(slots) > len(prices):
        return None
    return max(
        sum(
            prices[j][k] if prices[j][k] > 0 else -np.inf for j, k in zip(order, slots, strict=True)
        )
        for order in permutations(range(len(prices)), len(slots))
    )


@pytest.mark.parametrize("seed", range(6))
def test_every_vector_is_filled_best(seed):
    """For each busy vector the value is the best over all orders of jobs, and the choices add up to it."""
    draw = np.random.default_rng(seed)
    vectors = _vectors(seed)
    tables = make_tables(vectors)
    jobs = 4
    prices = draw.random((jobs, len(vectors.groups))) * (draw.random((jobs, 1)) > 0.2)
    prices[draw.random(prices.shape) < 0.2] = 0.0
    value = np.empty(len(vectors))
    choice = np.empty((jobs, len(vectors)), np.int8)
    fill(prices, jobs, tables, value, choice)
    groups = np.empty(jobs, np.int64)
    for b, counts in enumerate(vectors.counts):
        want = _brute(prices, counts)
        if want is None or want == -np.inf:
            assert value[b] < -1e299
            continue
        assert value[b] == pytest.approx(want)
        assigned_groups(choice, jobs, b, tables, groups)
        assert value[b] == pytest.approx(sum(prices[j, k] for j, k in enumerate(groups) if k >= 0))
        assert np.bincount(groups[groups >= 0], minlength=len(counts)).tolist() == list(counts)


def test_best_stays_inside():
    """Only vectors inside may be chosen, and the empty one when nothing pays."""
    vectors = _vectors(0)
    value = np.arange(len(vectors), dtype=float)
    inside = np.zeros(len(vectors), np.bool_)
    inside[[1, 3]] = True
    cost = np.ones(len(vectors))
    assert best_of(value, cost, inside) == (3, 2.0)
    assert best_of(value, cost * 99, inside) == (0, 0.0)


def test_types_are_the_largest_partitions():
    """Partitions of one multiset are one type; a partition inside another is none."""
    instance = small_instance(0, jobs=3, catalogue="all")
    vectors = busy_vectors(instance, instance.gpus[0])
    types = partition_types(vectors)
    assert len(types) < 30 < len(instance.catalogue(0))
    assert set().union(*types) == set(range(len(vectors)))
    assert not any(a < b for a in types for b in types)
