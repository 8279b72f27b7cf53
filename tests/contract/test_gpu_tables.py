"""Every GPU table: it loads, says where each row is from, and yields the partitions it claims.

The partitions are computed a second time here, from intervals, totals and counts alone: the walk
below never asks whether two placements exclude each other. That it finds the same sets shows that
the pairwise predicate loses nothing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import networkx
import pytest

from migopt.gpus import catalog, gpu_keys, load_gpu, load_table
from migopt.gpus.limits import refuse_limits_that_are_not_pairwise
from migopt.model import GpuModel, Partition, Placement
from migopt.placement import (
    compatibility_graph,
    exact_covers,
    inclusion_maximal_multisets,
    is_valid,
    maximal_partitions,
    multisets,
    placement_index,
    profiles_of_kinds,
    valid_partitions,
)

KEYS = gpu_keys()
GROUPS = [(key, group) for key in KEYS for group in load_table(key).counts]
ENGINES = ("decoders", "encoders", "jpeg", "ofa")


def profiles_of(model: GpuModel, group: str) -> list[str]:
    """Return the profiles of a group of the table's counts."""
    if group == "all_profiles":
        return [profile.name for profile in model.profiles]
    return profiles_of_kinds(model, group.split("+"))


def within_limits(model: GpuModel, chosen: list[Placement]) -> bool:
    """Return whether counts and engine totals of disjoint placements are within the card's."""
    profiles = [model.profile(place.profile) for place in chosen]
    if any(
        n > model.profile(name).max_count for name, n in Counter(p.name for p in profiles).items()
    ):
        return False
    for engine in ENGINES:
        have = getattr(model.engine_budget, engine, None)
        if have is not None and sum(getattr(p.engines, engine) or 0 for p in profiles) > have:
            return False
    return True


def walk(model: GpuModel, names: list[str]) -> Iterator[list[Placement]]:
    """Yield every valid set of placements, going along the memory axis; the empty one too."""

    def from_unit(unit: int, chosen: list[Placement]) -> Iterator[list[Placement]]:
        if unit >= model.memory_units:
            yield chosen
            return
        yield from from_unit(unit + 1, chosen)
        for name in names:
            profile = model.profile(name)
            if unit in profile.starts:
                longer = [*chosen, Placement(unit, name)]
                if within_limits(model, longer):
                    yield from from_unit(unit + profile.memory_units, longer)

    yield from from_unit(0, [])


@pytest.mark.parametrize("key", KEYS)
def test_table_is_complete(key: str) -> None:
    """The key is the file's name; every row has a source, a confidence and a listed whole GPU."""
    table = load_table(key)
    model = table.model
    assert model.key == key
    assert all(profile.source and profile.confidence for profile in model.profiles)
    assert model.full_profile.compute_slices == model.compute_slices
    assert model.full_profile.memory_units == model.memory_units
    ids = [p.driver_id for p in model.profiles if p.driver_id is not None]
    assert len(set(ids)) == len(ids)
    assert "plain" in table.counts
    assert "all_profiles" in table.counts


def test_there_are_seventeen_and_no_name_is_shared() -> None:
    """All 17 models are there, and no alias stands for two of them."""
    assert len(KEYS) == 17
    names = catalog.name_index([load_gpu(key) for key in KEYS])
    assert set(names.values()) == set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_limits_are_pairwise(key: str) -> None:
    """Placements that agree in pairs never break a count, an engine total or the compute slices."""
    refuse_limits_that_are_not_pairwise(load_gpu(key))


@pytest.mark.parametrize(("key", "group"), GROUPS)
def test_counts_are_reproduced(key: str, group: str) -> None:
    """Every stored count of partitions, with and without places, is what enumeration finds."""
    table = load_table(key)
    model, names = table.model, profiles_of(table.model, group)
    valid, maximal = valid_partitions(model, names), maximal_partitions(model, names)
    covers = exact_covers(model, names)
    naive = interval_cliques(model, names)
    assert dict(table.counts[group]) == {
        "valid_positional": len(valid),
        "valid_multisets": len(multisets(model, valid)),
        "maximal_positional": len(maximal),
        "interval_maximal_cliques": len(naive),
        "interval_cliques_refused": sum(model.why_invalid(c) is not None for c in naive),
        "maximal_multisets": len(multisets(model, maximal)),
        "inclusion_maximal_multisets": len(inclusion_maximal_multisets(model, names)),
        "exact_cover_positional": len(covers),
        "exact_cover_multisets": len(multisets(model, covers)),
    }


def interval_cliques(model: GpuModel, names: list[str]) -> list[list[Placement]]:
    """Return the maximal cliques of the graph that knows nothing but memory units."""
    places = [Placement(s, name) for name in names for s in model.profile(name).starts]
    graph = networkx.Graph()
    graph.add_nodes_from(places)
    for one, other in combinations(places, 2):
        if not set(model.units(one)) & set(model.units(other)):
            graph.add_edge(one, other)
    return list(networkx.find_cliques(graph))


@pytest.mark.parametrize(("key", "group"), GROUPS)
def test_walk_along_the_axis_finds_the_same(key: str, group: str) -> None:
    """Valid, maximal and covering sets agree with a walk that uses intervals and totals only."""
    model = load_gpu(key)
    names = profiles_of(model, group)
    walked = {frozenset(chosen) for chosen in walk(model, names)} - {frozenset()}
    assert {frozenset(p) for p in valid_partitions(model, names)} == walked
    units = {p.name: p.memory_units for p in model.profiles}
    covering = {s for s in walked if sum(units[p.profile] for p in s) == model.memory_units}
    assert {frozenset(p) for p in exact_covers(model, names)} == covering
    contained = {s - {place} for s in walked for place in s}
    assert {frozenset(p) for p in maximal_partitions(model, names)} == walked - contained


@pytest.mark.parametrize(("key", "group"), GROUPS)
def test_maximal_cliques_of_the_graph(key: str, group: str) -> None:
    """networkx finds the same maximal partitions as the search on bits."""
    model = load_gpu(key)
    names = profiles_of(model, group)
    cliques = networkx.find_cliques(compatibility_graph(model, names))
    assert {Partition(tuple(c)) for c in cliques} == set(maximal_partitions(model, names))


@pytest.mark.parametrize(
    ("key", "group"),
    [(key, "plain") for key in KEYS]
    + [
        (key, "all_profiles")
        for key in ("A30-24GB", "RTX-PRO-5000-BW-48GB", "RTX-PRO-4500-BW-32GB")
    ],
)
def test_all_subsets_of_placements(key: str, group: str) -> None:
    """Every one of up to 2^14 subsets is judged as plain interval arithmetic judges it."""
    check_all_subsets(load_gpu(key), group)


def test_all_subsets_with_double_memory() -> None:
    """The same for all 2^18 subsets of A100-40GB with 1g.10gb."""
    check_all_subsets(load_gpu("A100-40GB"), "plain+double_memory")


def check_all_subsets(model: GpuModel, group: str) -> None:
    """Compare ``is_valid`` with intervals and totals on every subset of the group's placements."""
    names = profiles_of(model, group)
    places = [Placement(s, name) for name in names for s in model.profile(name).starts]
    assert len(places) <= 18
    spans = [set(model.units(place)) for place in places]
    disjoint = [True] * (1 << len(places))
    covered: list[set[int]] = [set()] * (1 << len(places))
    for subset in range(1, 1 << len(places)):
        top = subset.bit_length() - 1
        rest = subset ^ (1 << top)
        disjoint[subset] = disjoint[rest] and not covered[rest] & spans[top]
        if disjoint[subset]:
            covered[subset] = covered[rest] | spans[top]
        chosen = [places[i] for i in range(top + 1) if subset >> i & 1]
        legal = disjoint[subset] and within_limits(model, chosen)
        assert is_valid(model, chosen) == legal, chosen


@pytest.mark.parametrize("key", KEYS)
def test_speed(key: str) -> None:
    """All maximal partitions in under 0.2 s, one validated in under 20 microseconds, warm."""
    model = load_gpu(key)
    placement_index(model)
    maximal = maximal_partitions(model)
    longest = max(maximal, key=len)
    assert best_of(3, lambda: maximal_partitions(model)) < 0.2
    assert best_of(5, lambda: [is_valid(model, longest) for _ in range(200)]) / 200 < 20e-6


def best_of(times: int, work: object) -> float:
    """Return the shortest wall time in seconds; other load on the machine only lengthens it."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


@pytest.mark.parametrize("key", KEYS)
def test_against_the_collected_facts(key: str, shared: Path) -> None:
    """The table says what the collected listings say, row by row."""
    facts = json.loads((shared / "facts" / "mig_profiles.json").read_text())
    (card,) = (entry for entry in facts["gpus"] if entry["key"] == key)
    table = load_table(key)
    model = table.model
    assert (model.memory_units, model.compute_slices) == (
        card["memory_slices"],
        card["compute_slices"],
    )
    assert [p.name for p in model.profiles] == [row["name"] for row in card["profiles"]]
    for profile, row in zip(model.profiles, card["profiles"], strict=True):
        assert list(profile.starts) == row["placements"]["starts"]
        assert profile.memory_units == row["placements"]["size"]
        assert profile.kind == row["kind"]
        assert profile.compute_slices == row["compute_slices"]
        assert profile.max_count == row["max_count"]
        assert profile.driver_id == row["profile_id"]
        assert profile.sm == row["sm"]
        assert profile.confidence == card["placement_confidence"]
        assert [getattr(profile.engines, name) for name in ENGINES] == [row[n] for n in ENGINES]
        seen = row["memory_gib_seen"]
        assert profile.memory_bytes == (
            int(round(min(seen) * 100) * 2**30 // 100) if seen else None
        )
    assert [getattr(model.engine_budget, name) for name in ENGINES] == [
        card["engine_budget"][name] for name in ENGINES
    ]
    renamed = {
        "full_cover_positional": "exact_cover_positional",
        "full_cover_multisets": "exact_cover_multisets",
        "nx_maximal_cliques": "interval_maximal_cliques",
        "nx_cliques_that_break_rules": "interval_cliques_refused",
    }
    for group, counts in card["derived_counts"].items():
        assert dict(table.counts[group]) == {renamed.get(k, k): v for k, v in counts.items()}
