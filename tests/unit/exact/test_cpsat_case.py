"""The integer view of a partition: what it keeps, what it costs, and what it refuses."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import A30, P_33, P_43, make_instance, make_job, make_schedule, seg
from migopt.errors import InputError
from migopt.exact.cpsat.case import MAX_JOBS, Row, cases, covers_instance, why_not
from migopt.exact.cpsat.decode import from_schedule, is_legal, to_schedule
from migopt.exact.cpsat.start import first_rows, improve, list_schedule
from migopt.metrics import measure
from migopt.model import OFF_PARTITION, Catalogue, FrozenMap, Partition, PowerCurve
from migopt.testing.cases import small_instance

NO_OFF_POWER = FrozenMap({"A100-40GB": PowerCurve((40_000,) + (110_000,) * 7)})


def catalogue(*partitions: str) -> FrozenMap:
    """Return catalogues with these partitions of an A100."""
    made = tuple(Partition.parse(text) for text in partitions)
    return FrozenMap({"A100-40GB": Catalogue("test", "A100-40GB", made)})


def test_partitions_that_offer_no_more_than_another_are_left_out():
    """Of 4g+1g, 4g+2x1g in two orders, and 3g, one 4g+2x1g and 3g are left (1g.10gb counts as 1g.5gb here)."""
    instance = make_instance(
        make_job(0),
        catalogues=catalogue(
            "4g.20gb@0,1g.5gb@4",
            "4g.20gb@0,1g.5gb@4,1g.10gb@6",
            "4g.20gb@0,1g.5gb@5,1g.5gb@6",
            "3g.20gb@4",
        ),
    )
    assert [case.label for case in cases(instance)] == ["partition 2", "partition 4"]
    assert cases(instance)[0].names == (("4g.20gb",), ("1g.5gb", "1g.10gb"))


def test_memory_keeps_profiles_of_equal_speed_apart():
    """A job of 6 GB fits 1g.10gb only, so the two 1g profiles are two groups."""
    instance = make_instance(
        make_job(0, memory_bytes=6 * 10**9),
        make_job(1),
        catalogues=catalogue("1g.5gb@0,1g.10gb@2"),
    )
    (case,) = cases(instance)
    assert len(case.names) == 2
    assert sorted(row.count(None) for row in case.durations) == [0, 1]


def test_mig_off_is_one_more_case_where_allowed():
    """The last case is MIG off: one slice, the whole card."""
    instance = make_instance(make_job(0), mig_off=True)
    assert cases(instance)[-1].partition == OFF_PARTITION
    assert cases(instance, "off")[0].slices == (1,)
    assert OFF_PARTITION not in [case.partition for case in cases(make_instance(make_job(0)))]


def test_times_are_counted_in_their_greatest_common_divisor():
    """Durations 28 s and 4 s, release 2 s, due 8 s: the unit is 2 s."""
    instance = make_instance(
        make_job(0, release=2_000, due=8_000), catalogues=catalogue("7g.40gb@0", "1g.5gb@0")
    )
    assert {case.scale.unit_ms for case in cases(instance)} == {2_000}
    assert {case.durations for case in cases(instance)} == {((2,),), ((14,),)}


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_cost_is_what_measure_says(seed):
    """The integer cost of a random list schedule, as a cost of the instance, equals measure's to the last digit."""
    draw = random.Random(seed)
    instance = small_instance(seed, jobs=draw.randrange(1, 7), mig_off=True)
    for case in draw.sample(cases(instance), 3):
        if case.misfit() is None:
            order = draw.sample(range(case.count), case.count)
            rows = list_schedule(case, order, draw.random() < 0.5)
            exact = measure(instance, to_schedule(case, rows, "test")).cost_exact
            assert case.scale.cost(instance, case.cost(rows)) == exact
            assert case.root_bound() <= case.cost(rows)


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_latest_ends_exclude_no_schedule_within_the_cutoff(seed):
    """A schedule that costs exactly the cutoff ends every job by its latest end."""
    instance = small_instance(seed, jobs=5, mode="none", mig_off=True)
    for case in cases(instance):
        if case.misfit() is None:
            rows = first_rows(case)
            latest = case.latest(case.cost(rows))
            for j, row in enumerate(rows):
                assert row.start + case.duration(j, row) <= latest[j]


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_local_search_never_loses_and_stays_legal(seed):
    """The improved schedule is legal and costs no more than the one it began with."""
    case = next(case for case in cases(small_instance(seed, jobs=6)) if case.misfit() is None)
    rows = first_rows(case)
    better = improve(case, rows, 60, random.Random(seed))
    assert is_legal(case, better)
    assert case.cost(better) <= case.cost(rows)


def test_local_search_finds_the_shortest_first_order():
    """Of three jobs on one slice, all late, the short ones come first: 1 + 3 + 7 s late instead of 4 + 6 + 7 s."""
    jobs = [make_job(i, ms=ms, due=0) for i, ms in enumerate((28_000, 14_000, 7_000))]
    (case,) = cases(make_instance(*jobs, a=0), 1)
    rows = list_schedule(case, [0, 1, 2], False)
    assert measure(case.instance, to_schedule(case, rows, "")).weighted_tardiness_ms == 17_000
    best = improve(case, rows, 200, random.Random(1))
    assert measure(case.instance, to_schedule(case, best, "")).weighted_tardiness_ms == 11_000


def test_a_schedule_of_the_class_is_read_back():
    """Rows to a schedule to rows is the identity."""
    instance = make_instance(*(make_job(i, ms=14_000 * (i + 1)) for i in range(4)))
    case = next(case for case in cases(instance) if len(case.partition) == 2)
    rows = first_rows(case)
    assert from_schedule(case, to_schedule(case, rows, "test")) == rows


@pytest.mark.parametrize(
    "schedule",
    [
        make_schedule(seg(0, "3g.20gb@0", 0, 8_000), initial=P_33),
        make_schedule(seg(0, "4g.20gb@0", 0, 3_000), seg(0, "4g.20gb@0", 5_000, 9_000)),
        make_schedule(),
        make_schedule(seg(0, "4g.20gb@0", -1_000, 6_000)),
    ],
    ids=["other partition", "stopped", "job missing", "before release"],
)
def test_other_schedules_are_not_taken_as_rows(schedule):
    """A schedule outside the class gives no start, instead of a wrong one."""
    case = next(case for case in cases(make_instance(make_job(0))) if case.partition == P_43)
    assert from_schedule(case, schedule) is None


def test_overfull_groups_are_illegal():
    """Two jobs at once on one slice are not legal, one after the other they are."""
    (case,) = cases(make_instance(make_job(0), make_job(1)), 1)
    length = case.duration(0, Row(0, 0))
    assert not is_legal(case, (Row(0, 0), Row(0, length - 1)))
    assert is_legal(case, (Row(0, 0), Row(0, length)))


@pytest.mark.parametrize(
    ("instance", "partition", "reason"),
    [
        (
            make_instance(*(make_job(i) for i in range(9)), gpus=(A30,) * 20),
            None,
            "9 jobs on 20 GPUs: cpsat covers up to 160 pairs; use the day bound",
        ),
        (
            make_instance(*(make_job(i) for i in range(MAX_JOBS + 1))),
            None,
            "41 jobs: cpsat covers up to 40; use the day bound",
        ),
        (make_instance(make_job(0)), 6, "has partitions 1 to 5, not 6"),
        (make_instance(make_job(0)), "off", "does not allow MIG off"),
        (make_instance(make_job(0), power=FrozenMap({})), None, "no power curve"),
        (make_instance(make_job(0), power=NO_OFF_POWER, mig_off=True), None, "power with MIG off"),
        (make_instance(make_job(0), kind="gang"), None, "kind gang"),
    ],
)
def test_what_is_not_covered_is_named(instance, partition, reason):
    """Each limit of the model is told in words."""
    assert reason in (why_not(instance, partition) or "")


@pytest.mark.parametrize("partition", [None, 5, "off"])
def test_what_is_covered_has_no_reason_against_it(partition):
    """Without weight on energy no power is asked for."""
    instance = make_instance(make_job(0), power=FrozenMap({}), a=Fraction(0), mig_off=True)
    assert why_not(instance, partition) is None


def test_the_class_is_the_instance_only_where_nothing_else_is_allowed():
    """One job that may be stopped, or a partition that may change, and the bound is that of the class."""
    stiff = make_job(0, preemptible=False)
    strict = make_instance(stiff, scope="never")
    assert covers_instance(strict, None)
    assert covers_instance(make_instance(make_job(0), mode="none", scope="never"), None)
    assert not covers_instance(strict, 1)
    assert not covers_instance(make_instance(stiff, make_job(1), scope="never"), None)
    assert not covers_instance(make_instance(stiff), None)
    assert covers_instance(make_instance(stiff), "free")
    assert not covers_instance(make_instance(stiff, scope="slices"), "free")
    assert not covers_instance(make_instance(stiff, make_job(1)), "free")
    assert covers_instance(make_instance(stiff, gpus=(A30, A30), scope="never"), None)
    assert not covers_instance(make_instance(stiff, gpus=(A30, A30), scope="never"), 1)
    single = make_instance(stiff, catalogues=catalogue("7g.40gb@0"))
    assert covers_instance(single, 1)
    assert not covers_instance(single.replace(mig_off=True), 1)


def test_partitions_outside_the_catalogue_are_refused():
    """The error names the partitions there are."""
    with pytest.raises(InputError, match="partitions 1 to 5"):
        cases(make_instance(make_job(0)), 9)
