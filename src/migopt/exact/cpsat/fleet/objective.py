"""Objective of the fleet model: busy slices, busy levels, lateness, in the scale's unit."""

from __future__ import annotations

from ortools.sat.python import cp_model

from migopt.exact.cpsat.fleet.problem import Fleet
from migopt.exact.cpsat.fleet.variables import Variables
from migopt.exact.cpsat.objective import EXACT_BELOW


def add_objective(
    model: cp_model.CpModel, fleet: Fleet, var: Variables, latest: list[int], cutoff: int
) -> int:
    """Minimise the cost, which is at most ``cutoff``; return by how many bits it was shifted.

    The engine's floats carry whole numbers below 2^53 only. Where the objective could be larger, its
    coefficients are divided by a power of two and rounded down: what is proved of the rounded objective then
    holds of the true one, times that power.
    """
    terms: list[tuple[int, cp_model.LinearExprT, int]] = []
    for j in range(fleet.count):
        for (number, k), literal in var.group[j].items():
            kind = fleet.kinds[number]
            duration = kind.durations[j][k]
            assert duration is not None
            if kind.linear_cost(k):
                terms.append((kind.linear_cost(k) * duration, literal, 1))
        terms.append((fleet.late_cost[j], var.late[j], max(0, latest[j] - fleet.due[j])))
    for (number, level), time in var.level_time.items():
        terms.append((fleet.kinds[number].split[1][level], time, var.span))
    largest = sum(abs(cost) * most for cost, _, most in terms)
    shift = 0
    while (largest >> shift) >= EXACT_BELOW:
        shift += 1
    objective = sum((cost >> shift) * term for cost, term, _ in terms)
    model.add(objective <= cutoff >> shift)
    model.minimize(objective)
    return shift
