"""Partial repartition for joint policies: which partition, where only the slices that change stand still."""

from __future__ import annotations

from typing import Any

import numpy as np

from migopt.bounds.kernel import fill
from migopt.model import Partition
from migopt.schedulers._changes import Changes
from migopt.schedulers.joint.decide import AHEAD, HOPE
from migopt.schedulers.joint.planner import Planner
from migopt.sim import SimState

Array = np.ndarray[Any, np.dtype[Any]]


def choose(
    planner: Planner, state: SimState, kind: int, wanted: int, changes: Changes
) -> Partition | None:
    """Return the partition to change to under scope ``slices``, or None to stay.

    Call it right after ``planner.wish``, which returned ``wanted``: what every vector is worth at the
    prices of this instant is then in the scratch buffers. While a change lasts the slices that both
    partitions have go on, so for a partition whose best vector is worth m, with h the best in the
    partition in force and d the best on the slices that stay, a change pays where

        (m - h) t7 > tau (m - d)

    Of those that pay the one of largest m is taken, then the one worth most if all prices were t8
    times as high, then the one that loses least meanwhile, then the lower number.
    """
    current = state.partitions[0]
    assert current is not None
    if not (state.waiting or state.running):
        return None
    view, scratch = planner.view, planner.view.scratch
    worth = scratch.value - view.gpu.cost
    here = _best(worth, view.gpu.tables.inside[kind])
    ahead = float(planner.numbers[AHEAD])
    hoped: Array | None = None
    best: tuple[tuple[float, float, float, int], Partition] | None = None
    catalogue = state.instance.catalogue(0)
    typed = [(c, n) for c, numbers in enumerate(view.types) for n in numbers]
    for c, number in typed:
        target = catalogue[number]
        if target == current or state.why_not_repartition(0, target):
            continue
        if not changes.allows(state, 0, target):
            continue
        most = _best(worth, view.gpu.tables.inside[c])
        during = _best(worth, planner.allowed(_groups(planner, current, target)))
        asked = c == wanted != kind
        if not asked and not (most - here) * ahead > view.gpu.tau * (most - during):
            continue
        if hoped is None:
            hoped = _hoped(planner, state, kind != wanted) - view.gpu.cost
        key = (most, _best(hoped, view.gpu.tables.inside[c]), during, -number)
        if best is None or key > best[0]:
            best = key, target
    return None if best is None else best[1]


def _best(worth: Array, inside: Array) -> float:
    return float(worth[inside].max())


def _groups(planner: Planner, current: Partition, target: Partition) -> list[int]:
    group_of = planner.view.problem.vectors.group_of
    return [group_of[place.profile] for place in current if place in target]


def _hoped(planner: Planner, state: SimState, done: bool) -> Array:
    """Return what vectors are worth at ``t8`` times the prices, as a wish for another type leaves it."""
    scratch = planner.view.scratch
    if not done:
        count = min(len(state.waiting) + len(state.running), len(scratch.prices))
        scratch.prices[:count] *= planner.numbers[HOPE]
        fill(scratch.prices, count, planner.view.gpu.tables, scratch.other, scratch.choice)
    return scratch.other
