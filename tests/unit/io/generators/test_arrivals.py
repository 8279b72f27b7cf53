"""Arrival processes: shapes, rates per hour, streams."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migopt.errors import UnknownNameError
from migopt.io.generators._arrivals import (
    ArrivalProcess,
    published_mean_per_min,
    shape,
    shape_names,
)
from migopt.io.generators._streams import Streams, exponential, floor_index, pick


def test_every_shape_is_24_positive_numbers_of_mean_1():
    """A shape only says when jobs come, never how many."""
    for name in shape_names():
        values = shape(name)
        assert len(values) == 24
        assert min(values) > 0
        assert sum(values) / 24 == pytest.approx(1)


def test_published_rate():
    """The published curve: 0.111 per minute at midnight, 0.201 at ten, 3.457 over the 24 hours."""
    mean = published_mean_per_min()
    assert mean * 24 == pytest.approx(3.457)
    assert shape("published")[0] * mean == pytest.approx(0.111)
    assert shape("published")[10] * mean == pytest.approx(0.201)


def test_unknown_shape():
    """An unknown shape names the nearest."""
    with pytest.raises(UnknownNameError, match="nearest: helios-venus"):
        shape("helios-venuss")


@pytest.mark.parametrize("name", ["published", "openb-2023", "flat"])
def test_counts_per_hour_follow_the_shape(name):
    """Over 200 days every hour gets its share of arrivals to within five standard deviations."""
    process = ArrivalProcess(name, 1.0)
    counts = Counter(int(time % 1440 // 60) for time in process.within(200, Streams(1)))
    for hour, relative in enumerate(shape(name)):
        expected = 200 * 60 * relative
        assert abs(counts[hour] - expected) < 5 * expected**0.5


@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(0.05, 3))
@settings(max_examples=40, deadline=None)
def test_first_arrivals_are_a_prefix(seed, count, rate):
    """The first n arrivals are the same whether asked for by number or by day."""
    process = ArrivalProcess("published", rate)
    first = process.first(count, Streams(seed))
    assert first == sorted(first)
    assert process.first(count + 5, Streams(seed))[:count] == first
    within = process.within(2, Streams(seed))
    shared = min(len(within), count)
    assert within[:shared] == first[:shared]


def test_twice_the_rate_is_the_same_process_compressed():
    """With a flat rate, twice the level halves every arrival time: nothing is redrawn."""
    slow = ArrivalProcess("flat", 0.5).first(50, Streams(1))
    fast = ArrivalProcess("flat", 1.0).first(50, Streams(1))
    assert fast == pytest.approx([time / 2 for time in slow])


def test_streams_are_independent_of_order_and_block_size():
    """A stream gives the same numbers in one block, in many, and whatever other streams do."""
    one, two = Streams(7), Streams(7)
    whole = one.uniform("a", 10)
    two.uniform("b", 3)
    parts = two.uniform("a", 4) + two.uniform("a", 6)
    assert whole == parts
    assert one.uniform("b", 3) != whole[:3]
    endless = Streams(7).endless("a")
    assert [next(endless) for _ in range(10)] == whole


def test_transforms_at_the_ends():
    """Inverse transforms are finite for every double that a stream can give."""
    top = 1 - 2.0**-53
    assert exponential(0.0, 3) == 0
    assert 100 < exponential(top, 3) < 120
    assert pick(top, (1, 1, 0)) == 1
    assert pick(0.0, (0, 1, 1)) == 1
    assert floor_index(top, 3) == 2
