"""Objective of the interval MILP: energy above idle by busy vector, tardiness by option."""

from __future__ import annotations

import numpy as np

from migopt.exact.interval_milp.variables import Layout
from migopt.exact.one_gpu import Floats


def objective(layout: Layout) -> Floats:
    """Return the cost per column.

    A job that completes in (t_m, t_m+1] is late by at least t_m - d plus its own processing in there,
    plus what is left of a change of partition that ends in there: nothing runs until it is over.
    """
    p = layout.problem
    cost = np.zeros(layout.columns)
    for o, option in enumerate(layout.options):
        if option.late:
            rate = p.late_cost[option.job]
            cost[layout.lam[o]] = rate * (layout.points[option.last] - p.due[option.job])
            cost[layout.u[o][-1]] = rate
            if layout.mode == "change":
                cost[layout.wait[o]] = rate
    for members, columns in zip(layout.vectors, layout.y, strict=True):
        cost[columns] = p.vector_cost[members][None, :]
    return cost
