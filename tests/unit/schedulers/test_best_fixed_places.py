"""Best fixed tries each set of slices once: where slices lie changes no cost."""

from __future__ import annotations

import pytest

from migopt.errors import MigoptError
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.schedulers import dispatch_rules, parse_policy
from migopt.schedulers.partition.best_fixed import BestFixed


@pytest.mark.parametrize("rule", sorted(dispatch_rules()))
def test_places_change_no_cost(rule):
    """On paper-17, where five of the twelve sets of slices lie in two ways, both cost the same under every rule."""
    day = generate("s0-tight", seed=2, jobs=9, load=1.2, catalogue="paper-17")
    catalogue = day.catalogue(0)
    costs: dict[tuple[str, ...], set] = {}
    for number in range(1, 1 + len(catalogue)):
        try:
            schedule = parse_policy(f"{rule}+static:{number}").run(day)
        except MigoptError as error:
            pytest.skip(str(error))
        cost = measure(day, schedule).cost_exact
        costs.setdefault(tuple(sorted(catalogue[number].profiles)), set()).add(cost)
    assert len(costs) == 12 < len(catalogue)
    assert {len(found) for found in costs.values()} == {1}


def test_a_large_catalogue_is_played_once_per_set_of_slices(monkeypatch):
    """All 2,318 partitions of an A100 are 152 sets of slices or fewer; so many simulations, not 2,318."""
    from migopt.schedulers.partition import best_fixed

    played = []
    score = best_fixed.score
    monkeypatch.setattr(best_fixed, "score", lambda *a, **k: played.append(1) or score(*a, **k))
    day = generate("s0-tight", seed=2, jobs=2, load=0.9, catalogue="all")
    catalogue = day.catalogue(0)
    BestFixed().resolve(day, parse_policy("edf_fs+static:1").dispatcher, 0)
    assert len(played) == len({tuple(sorted(partition.profiles)) for partition in catalogue})
    assert len(played) < len(catalogue) // 10
