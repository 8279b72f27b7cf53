"""Best assignment of jobs to the slices of every multiset of slices, in one compiled pass."""

from __future__ import annotations

import numpy as np

from migopt.compiled import Ints, compiled


@compiled
def assign_all(
    parent: Ints,
    last: Ints,
    first: Ints,
    masks: Ints,
    offset: Ints,
    bit: Ints,
    worth: Ints,
    table: Ints,
    profile_of: Ints,
) -> int:
    """Fill ``table[node, jobs]``: the best sum when these jobs take all slices of a multiset.

    Node 0 is empty; every other node is ``parent`` plus one slice of profile ``last``. Nodes of s
    slices are ``first[s]`` to ``first[s + 1] - 1``, and ``masks[offset[s]:offset[s + 1]]`` the sets
    of s jobs. ``worth[job, profile]`` is ``-2**60`` where the job cannot run.

    Recurrence: f(node, J) = max over j in J of f(parent, J - j) + worth[j, last].

    Returns the first best node of as many slices as jobs, 0 when none suits; ``profile_of`` then
    holds the profile of every job.
    """
    jobs = worth.shape[0]
    nothing = -(2**60)
    table[0, 0] = 0
    for size in range(1, jobs + 1):
        for node in range(first[size], first[size + 1]):
            before, profile = parent[node], last[node]
            for at in range(offset[size], offset[size + 1]):
                chosen = masks[at]
                best = nothing
                rest = chosen
                while rest:
                    low = rest & -rest
                    rest ^= low
                    value = worth[bit[low], profile]
                    earlier = table[before, chosen ^ low]
                    if value > nothing and earlier > nothing and earlier + value > best:
                        best = earlier + value
                table[node, chosen] = best
    full = (1 << jobs) - 1
    node = 0
    for other in range(first[jobs], first[jobs + 1]):
        if table[other, full] > nothing and (node == 0 or table[other, full] > table[node, full]):
            node = other
    at, chosen = node, full
    while at:
        before, profile = parent[at], last[at]
        for j in range(jobs):
            low = 1 << j
            if chosen & low and worth[j, profile] > nothing:
                earlier = table[before, chosen ^ low]
                if earlier > nothing and earlier + worth[j, profile] == table[at, chosen]:
                    profile_of[j] = profile
                    chosen ^= low
                    break
        at = before
    return node


def subsets(jobs: int) -> tuple[Ints, Ints, Ints]:
    """Return the subsets of some jobs by size, where each size begins, and bit to position."""
    order = sorted(range(1 << jobs), key=lambda mask: (mask.bit_count(), mask))
    offset = [0]
    for size in range(jobs + 1):
        offset.append(offset[-1] + sum(mask.bit_count() == size for mask in order))
    bit = np.zeros(1 << jobs, dtype=np.int64)
    for j in range(jobs):
        bit[1 << j] = j
    return np.array(order, dtype=np.int64), np.array(offset, dtype=np.int64), bit
