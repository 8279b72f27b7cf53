"""Busy vectors against counts known from the twelve partitions and against plain enumeration."""

from __future__ import annotations

from itertools import combinations

import pytest

from factories import A100, make_instance, make_job
from migopt.bounds.busy_vectors import busy_vectors
from migopt.gpus import load_gpu
from migopt.model import FrozenMap, PowerCurve
from migopt.placement import build_catalogue
from migopt.testing.cases import small_instance

GIB = 1024**3


def _paper(*jobs):
    model = load_gpu("A100-40GB")
    curve = PowerCurve((40_000, 119_000, 160_000, 205_300, 243_900, 247_700, 248_500, 248_500))
    return make_instance(
        *jobs,
        gpus=(model,),
        catalogues=FrozenMap({model.key: build_catalogue("paper-12", model)}),
        power=FrozenMap({model.key: curve}),
    )


def test_paper_12_has_38_vectors_without_memory():
    """1g.5gb and 1g.10gb are one group when no job tells them apart: 38 vectors, 5 groups."""
    job = make_job(0)
    vectors = busy_vectors(_paper(job), load_gpu("A100-40GB"))
    assert len(vectors) == 38
    assert vectors.compute == (7, 4, 3, 2, 1)
    assert vectors.counts[0] == (0, 0, 0, 0, 0)
    assert vectors.partitions[0] == 2**12 - 1


def test_memory_tells_profiles_apart():
    """A job of 6 GiB fits 1g.10gb and not 1g.5gb: 52 vectors."""
    vectors = busy_vectors(_paper(make_job(0, memory_bytes=6 * GIB)), load_gpu("A100-40GB"))
    assert len(vectors) == 52
    assert vectors.compute == (7, 4, 3, 2, 1, 1)


@pytest.mark.parametrize("seed", range(4))
def test_membership_by_enumeration(seed):
    """A vector belongs to exactly the partitions of which some set of placements has its counts."""
    instance = small_instance(seed, jobs=4)
    model = instance.gpus[0]
    vectors = busy_vectors(instance, model)
    seen = {}
    for bit, partition in enumerate(instance.catalogue(0)):
        for size in range(len(partition) + 1):
            for chosen in combinations(partition.placements, size):
                key = [0] * len(vectors.groups)
                for place in chosen:
                    key[vectors.group_of[place.profile]] += 1
                seen[tuple(key)] = seen.get(tuple(key), 0) | 1 << bit
    assert seen == dict(zip(vectors.counts, vectors.partitions, strict=True))


def test_power_and_levels():
    """Power above idle is read at the sum of compute slices."""
    instance = _paper(make_job(0))
    vectors = busy_vectors(instance, instance.gpus[0])
    b = vectors.number[(0, 1, 0, 1, 1)]
    assert (vectors.levels[b], vectors.extra_mw[b]) == (7, 208_500)
    b = vectors.number[(0, 0, 0, 0, 2)]
    assert (vectors.levels[b], vectors.extra_mw[b]) == (2, 120_000)


def test_mig_off_is_one_more_vector():
    """MIG off adds a vector that is in no partition, or stands alone."""
    instance = make_instance(make_job(0), mig_off=True)
    both = busy_vectors(instance, A100, "both")
    alone = busy_vectors(instance, A100, "off")
    assert both.off_vector == len(both) - 1
    assert both.partitions[both.off_vector] == 0
    assert both.rates(instance, instance.jobs[0])[-1] == 7_000_000
    assert alone.counts == ((0,), (1,))
    assert alone.extra_mw == (0, 160_000)


def test_grow_reaches_every_vector_from_smaller_ones():
    """Each non-empty vector is listed once per group it holds, larger ones first."""
    instance = _paper(make_job(0))
    vectors = busy_vectors(instance, instance.gpus[0])
    steps = list(vectors.grow())
    assert len(steps) == sum(n > 0 for key in vectors.counts for n in key)
    sizes = [sum(vectors.counts[b]) for b, _, _ in steps]
    assert sizes == sorted(sizes, reverse=True)
    assert all(sum(vectors.counts[less]) == sum(vectors.counts[b]) - 1 for b, _, less in steps)
