"""Busy vectors as arrays for compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from migopt.bounds.busy_vectors import BusyVectors

Ints = NDArray[np.int64]


class Tables(NamedTuple):
    """Arrays of one ``BusyVectors``; B vectors, K groups, S growth steps.

    Attributes
    ----------
    grow_b, grow_k, grow_less : int64 arrays [S]
        ``BusyVectors.grow``: vector b is vector less with one more slice of group k.
    less : int64 array [B, K]
        The vector with one slice of group k less, -1 where b has none.
    counts : int64 array [B, K]
    inside : bool array [C, B]
        Whether vector b is inside partition type c. Only types that no other one contains are
        kept (a larger partition allows whatever a smaller one does); ``off`` is in none.
    """

    grow_b: Ints
    grow_k: Ints
    grow_less: Ints
    less: Ints
    counts: Ints
    inside: NDArray[np.bool_]


def make_tables(vectors: BusyVectors) -> Tables:
    """Return the arrays of ``vectors``."""
    grow = np.array(list(vectors.grow()), dtype=np.int64).reshape(-1, 3)
    shape = (len(vectors), len(vectors.groups))
    less = np.full(shape, -1, dtype=np.int64)
    less[grow[:, 0], grow[:, 1]] = grow[:, 2]
    counts = np.array(vectors.counts, dtype=np.int64).reshape(shape)
    columns = [np.ascontiguousarray(column) for column in grow.T]
    inside = [[b in chosen for b in range(shape[0])] for chosen in partition_types(vectors)]
    return Tables(
        columns[0],
        columns[1],
        columns[2],
        less,
        counts,
        np.array(inside, dtype=np.bool_).reshape(len(inside), shape[0]),
    )


def partition_types(vectors: BusyVectors) -> list[frozenset[int]]:
    """Return the vectors of each partition, without equal ones and those inside another, in catalogue order."""
    bits = max((mask.bit_length() for mask in vectors.partitions), default=0)
    sets = list(dict.fromkeys(frozenset(vectors.of_partition(c + 1)) for c in range(bits)))
    return [chosen for chosen in sets if not any(chosen < other for other in sets)]
