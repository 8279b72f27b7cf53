"""Static mixes and the search for the best one."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest

from factories import A30, A100, make_instance, make_job
from migopt.errors import InfeasiblePartitionError, InputError
from migopt.schedulers import parse_policy
from migopt.testing.cases import small_instance


def partitions(policy: str, instance) -> list[int]:
    """Return the catalogue number that each GPU starts with."""
    schedule = parse_policy(policy).run(instance)
    return [instance.catalogue(g).number(p) for g, p in enumerate(schedule.initial)]


def test_counts_name_gpus_in_order() -> None:
    """``1x3,2x5`` gives GPU 0 partition 3 and GPUs 1 and 2 partition 5; plain numbers may be mixed in."""
    instance = make_instance(make_job(), gpus=(A100,) * 3)
    assert partitions("fifo+static:1x3,2x5", instance) == [3, 5, 5]
    assert partitions("fifo+static:2,2x4", instance) == [2, 4, 4]


@pytest.mark.parametrize(("text", "words"), [("1x3", "1 partition"), ("2x3,2x1", "4 partition")])
def test_counts_that_do_not_match_are_refused(text: str, words: str) -> None:
    """A count is meant: ``1x3`` on three GPUs is an error, not partition 3 everywhere."""
    instance = make_instance(make_job(), gpus=(A100,) * 3)
    with pytest.raises(InputError, match=rf"static names {words}\(s\) for 3 GPU\(s\)"):
        parse_policy(f"fifo+static:{text}").run(instance)


@pytest.mark.parametrize("text", ["0x3", "2x", "x3", "2x0", "2*3"])
def test_malformed_counts_are_refused(text: str) -> None:
    """Each malformed part is one clear error."""
    with pytest.raises(InputError, match="static: "):
        parse_policy(f"fifo+static:{text}")


def test_best_mix_is_the_best_of_all_mixes_on_small_clusters() -> None:
    """On two GPUs and a four-partition choice the search finds what trying every mix finds, nearly always."""
    hits = 0
    for seed in range(10):
        instance = small_instance(seed, jobs=9, gpus=2)
        every = [
            parse_policy(f"edf_ss+static:{a},{b}").score(instance).cost_exact
            for a, b in combinations_with_replacement(range(1, 13), 2)
            if _runs(instance, a, b)
        ]
        found = parse_policy("edf_ss+best_mix").score(instance).cost_exact
        fixed = parse_policy("edf_ss+best_fixed").score(instance).cost_exact
        assert min(every) <= found <= fixed
        hits += found == min(every)
    assert hits >= 8


def _runs(instance, a: int, b: int) -> bool:
    try:
        parse_policy(f"edf_ss+static:{a},{b}").run(instance)
    except InfeasiblePartitionError:
        return False
    return True


def test_best_mix_uses_the_models_there_are() -> None:
    """Mixed GPUs: each model's partitions come from its own catalogue, and a mix beats one number for all."""
    jobs = [make_job(i, ms=7_000, due=0) for i in range(4)]
    instance = make_instance(*jobs, gpus=(A30, A100), a=0)
    # A whole A100 (1) beside an A30 in three (2), or both cut, against the same number everywhere.
    fixed = parse_policy("edf_fs+best_fixed").score(instance).cost_exact
    mix = parse_policy("edf_fs+best_mix").score(instance).cost_exact
    assert mix <= fixed
    assert partitions("edf_fs+best_mix", instance)[0] in (1, 2)


def test_budget_of_simulations_ends_the_search() -> None:
    """With one simulation the search returns its start, the best partition for all."""
    instance = small_instance(3, jobs=9, gpus=2)
    assert partitions("edf_ss+best_mix:1", instance) == partitions("edf_ss+best_fixed", instance)
