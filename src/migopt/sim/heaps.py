"""Binary heaps in the state array, with the place of every item, so that any item can be removed.

An entry is a pair (key, item); the order is by key, then item. ``positions + item * stride`` is
where an item's place in the heap is kept.
"""

from __future__ import annotations

from migopt.compiled import Ints, lean


@lean
def push(
    S: Ints, base: int, size_at: int, positions: int, stride: int, key: int, item: int
) -> None:
    """Add an entry."""
    place = S[size_at]
    S[size_at] = place + 1
    _up(S, base, positions, stride, place, key, item)


@lean
def remove(S: Ints, base: int, size_at: int, positions: int, stride: int, place: int) -> None:
    """Remove the entry at ``place`` (0 is the least)."""
    size = S[size_at] - 1
    S[size_at] = size
    if place == size:
        return
    key = S[base + 2 * size]
    item = S[base + 2 * size + 1]
    if place > 0:
        parent = base + 2 * ((place - 1) >> 1)
        if key < S[parent] or (key == S[parent] and item < S[parent + 1]):
            _up(S, base, positions, stride, place, key, item)
            return
    _down(S, base, size, positions, stride, place, key, item)


@lean
def _up(S: Ints, base: int, positions: int, stride: int, place: int, key: int, item: int) -> None:
    while place > 0:
        above = (place - 1) >> 1
        parent = base + 2 * above
        if S[parent] < key or (S[parent] == key and S[parent + 1] < item):
            break
        S[base + 2 * place] = S[parent]
        S[base + 2 * place + 1] = S[parent + 1]
        S[positions + S[parent + 1] * stride] = place
        place = above
    S[base + 2 * place] = key
    S[base + 2 * place + 1] = item
    S[positions + item * stride] = place


@lean
def _down(
    S: Ints, base: int, size: int, positions: int, stride: int, place: int, key: int, item: int
) -> None:
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        child = base + 2 * below
        if below + 1 < size and (
            S[child + 2] < S[child] or (S[child + 2] == S[child] and S[child + 3] < S[child + 1])
        ):
            below += 1
            child += 2
        if key < S[child] or (key == S[child] and item < S[child + 1]):
            break
        S[base + 2 * place] = S[child]
        S[base + 2 * place + 1] = S[child + 1]
        S[positions + S[child + 1] * stride] = place
        place = below
    S[base + 2 * place] = key
    S[base + 2 * place + 1] = item
    S[positions + item * stride] = place
