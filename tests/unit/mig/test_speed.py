"""How fast the questions are that are asked most."""

from __future__ import annotations

import time

import pytest

from migopt.gpus import gpu_keys, load_gpu
from migopt.placement import is_valid, maximal_partitions, valid_partitions


@pytest.mark.parametrize("key", gpu_keys())
def test_validation_under_20_microseconds(key: str) -> None:
    """Whether slices are a partition is answered in less than 20 µs, for the longest partitions too."""
    model = load_gpu(key)
    partitions = sorted(valid_partitions(model), key=len)[-200:]
    assert all(is_valid(model, partition) for partition in partitions)

    def each() -> float:
        start = time.perf_counter()
        for partition in partitions:
            is_valid(model, partition)
        return (time.perf_counter() - start) / len(partitions)

    assert min(each() for _ in range(20)) < 20e-6


@pytest.mark.parametrize("key", gpu_keys())
def test_maximal_partitions_under_200_milliseconds(key: str) -> None:
    """All maximal partitions of a GPU, every kind of slice included, take less than 0.2 s."""
    model = load_gpu(key)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        assert maximal_partitions(model)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.2
