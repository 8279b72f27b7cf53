"""MISO: what it changes to, when it stays, and which jobs it looks at."""

from __future__ import annotations

from fractions import Fraction

import pytest

from migopt import generate
from migopt.check import check
from migopt.errors import InputError, NotApplicableError
from migopt.gpus import load_gpu
from migopt.mig.recommend import MixJob, recommend
from migopt.model import FrozenMap, Instance, Job, Repartition
from migopt.placement import build_catalogue
from migopt.schedulers import parse_policy

A100 = load_gpu("A100-40GB")
#: Ten minutes at full speed.
WORK = 10 * 60_000 * 1_000_000


def day(speeds: dict[str, int], count: int, **changes: object) -> Instance:
    """Return ``count`` equal jobs at time 0 with speeds in thousandths, energy free."""
    rates = FrozenMap({A100.key: FrozenMap({name: 1000 * v for name, v in speeds.items()})})
    jobs = tuple(Job(n, 0, 60_000, WORK, rates) for n in range(count))
    base = generate("s0-tight", seed=1, jobs=2, load=0.5)
    return base.replace(weight_a=Fraction(0), jobs=jobs, **changes)


def test_changes_to_the_largest_summed_speed() -> None:
    """Three jobs of speed 1/2 on 2g, which 7g holds one at a time: it changes to three 2g at once."""
    instance = day({"7g.40gb": 1000, "2g.10gb": 500}, 3)
    schedule = parse_policy("edf_fs+miso").run(instance)
    assert not check(instance, schedule)
    first = schedule.reconfigurations[0]
    assert [place.profile for place in first.new].count("2g.10gb") == 3
    assert first.end_ms - first.start_ms == instance.repartition.tau_ms


def test_stays_where_nothing_is_gained() -> None:
    """One job alone runs fastest on the whole GPU, which is in force: no change; nor for a small gain."""
    assert (
        not parse_policy("edf_fs+miso")
        .run(day({"7g.40gb": 1000, "1g.5gb": 999}, 1))
        .reconfigurations
    )
    # Two jobs: [7g] holds one, at speed 1; so a slice for each is no matter of a margin.
    two = day({"7g.40gb": 1000, "4g.20gb": 505, "3g.20gb": 505}, 2)
    assert parse_policy("edf_fs+miso:margin=0.5").run(two).reconfigurations
    # From [4g, 3g] on, a lone job would be faster on 7g: by 98 %, which is above 0.5 and below 1.
    slow = day({"7g.40gb": 1000, "4g.20gb": 505, "3g.20gb": 500}, 1)
    number = next(
        n
        for n, cut in enumerate(slow.catalogue(0), 1)
        if [p.profile for p in cut] == ["4g.20gb", "3g.20gb"]
    )
    assert parse_policy(f"edf_fs+miso:first={number},margin=0.5").run(slow).reconfigurations
    assert not parse_policy(f"edf_fs+miso:first={number},margin=1").run(slow).reconfigurations


def test_keep_never_stops_a_job() -> None:
    """With keep=yes a repartition leaves every running job on its slice."""
    instance = generate("s0-tight", seed=3, jobs=30, load=0.8).replace(
        repartition=Repartition("slices", 4000)
    )
    schedule = parse_policy("edf_fs_nonpreemptive+miso:keep=yes").run(instance)
    assert not check(instance, schedule)
    for change in schedule.reconfigurations:
        for part in schedule.segments:
            if part.gpu == change.gpu and part.start_ms < change.start_ms < part.end_ms:
                assert part.placement in change.new
    with pytest.raises(NotApplicableError, match="needs repartition scope slices"):
        parse_policy("edf_fs+miso:keep=yes").run(day({"7g.40gb": 1000}, 1))


def test_within_a_catalogue_the_recommendation_is_the_best_part() -> None:
    """Only parts of the given partitions count: paper-12 has no two 1g.10gb beside each other."""
    catalogue = build_catalogue("paper-12", A100)
    jobs = [MixJob(f"j{i}", {"1g.10gb": 1}) for i in range(2)]
    assert recommend(A100, jobs).possible
    assert not recommend(A100, jobs, partitions=tuple(catalogue)).possible
    assert recommend(A100, jobs[:1], partitions=tuple(catalogue)).possible


@pytest.mark.parametrize("policy", ["edf_ss+miso", "fifo+miso:objective=slowdown"])
def test_legal_on_several_gpus(policy: str) -> None:
    """On two GPUs and a busy day every schedule is legal and ends all jobs."""
    instance = generate("s0-tight", seed=5, jobs=40, load=0.9, gpus=2)
    schedule = parse_policy(policy).run(instance)
    assert not check(instance, schedule)
    assert len(schedule.completions_ms()) == 40
    assert schedule.reconfigurations


def test_arguments_and_scope() -> None:
    """Unknown options, objectives and an instance without repartition are clear errors."""
    for text in ("miso:margins=1", "miso:keep=maybe", "miso:objective=energy", "miso:margin=2"):
        with pytest.raises(InputError):
            parse_policy(f"edf_fs+{text}")
    fixed = day({"7g.40gb": 1000}, 1, repartition=Repartition("never", 0))
    with pytest.raises(NotApplicableError, match="scope never"):
        parse_policy("edf_fs+miso").run(fixed)
