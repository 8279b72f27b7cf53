"""The tardiness search against brute force: every assignment to slices, every order on each of them."""

from __future__ import annotations

import random
from itertools import permutations, product

import numpy as np
import pytest

from migopt.exact.tardiness.dual import Grid
from migopt.exact.tardiness.problem import Problem
from migopt.exact.tardiness.search import Search
from migopt.exact.tardiness.solver import minimise

#: (first seed, cases): a few in every run, 300 with the tests marked slow.
FEW, MANY = range(30), range(1000, 1300)


def draw(seed: int) -> Problem:
    """Return 2 to 6 jobs on 1 to 4 machines: ties, zero slack, jobs that do not fit, 1 ms beside long ones."""
    rng = random.Random(seed)
    n, machines = rng.randint(2, 6), rng.randint(1, 4)
    longest = rng.choice((3, 10, 1000))
    release = [rng.choice((0, 0, rng.randint(0, 2 * longest))) for _ in range(n)]
    rows = [[rng.randint(1, longest) for _ in range(n)] for _ in range(machines)]
    for j in range(n):
        for m in rng.sample(range(machines), rng.randint(0, machines - 1)):
            if rng.random() < 0.3:
                rows[m][j] = -1
    if machines > 1 and rng.random() < 0.4:
        rows[1] = list(rows[0])
    for j in range(n):
        if all(row[j] < 0 for row in rows):
            rows[0][j] = longest
    fastest = [min(row[j] for row in rows if row[j] > 0) for j in range(n)]
    due = [
        r + int(q * rng.choice((0, 1, 1.3, 2, 4))) for r, q in zip(release, fastest, strict=True)
    ]
    weight = [rng.choice((1, 1, 1, 2, 5, 0)) for _ in range(n)]
    return Problem.of(release, due, weight, rows)


def truth(p: Problem) -> int:
    """Return the least cost by enumeration; nothing of the search is used."""
    n = p.jobs
    best = [[0] * (1 << n) for _ in range(p.machines)]
    for m, jobs_done in product(range(p.machines), range(1, 1 << n)):
        jobs = [j for j in range(n) if jobs_done >> j & 1]
        costs = []
        if all(p.duration[m, j] >= 0 for j in jobs):
            for order in permutations(jobs):
                time = cost = 0
                for j in order:
                    time = max(time, int(p.release[j])) + int(p.duration[m, j])
                    cost += int(p.weight[j]) * max(0, time - int(p.due[j]))
                costs.append(cost)
        best[m][jobs_done] = min(costs, default=1 << 40)
    sums = []
    for machine_of in product(range(p.machines), repeat=n):
        sets = [0] * p.machines
        for j, m in enumerate(machine_of):
            sets[m] |= 1 << j
        sums.append(sum(best[m][jobs_done] for m, jobs_done in enumerate(sets)))
    return min(sums)


def assert_exact(seed: int) -> None:
    """The schedule costs the least, the bound says so, and any prices and targets keep both true."""
    p = draw(seed)
    least = truth(p)
    answer = minimise(p, seed=seed)
    assert answer.sequences is not None
    assert p.cost(answer.sequences) == answer.cost == least
    assert answer.lower == least
    rng = np.random.default_rng(seed)
    for cells in (1, 7, 64):
        grid = Grid(p, least + 1, cells)
        scale = (least + 1) * rng.choice((0.0, 0.3, 1.0))
        prices = np.rint(scale * rng.random(p.jobs)).astype(np.int64)
        assert grid.evaluate(prices) <= least
        found = Search(grid, least + 1, 10**6, lambda: False).run()
        assert found.complete
        assert found.cost == least
        assert found.sequences is not None
        assert p.cost(found.sequences) == least
        nothing = Search(grid, least, 10**6, lambda: False).run()
        assert nothing.complete
        assert nothing.cost is None


@pytest.mark.parametrize("seed", FEW)
def test_thirty_cases_are_optimal(seed):
    """Random machines and jobs: cost and bound are the brute-force optimum, whatever prices and grid."""
    assert_exact(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_three_hundred_cases_are_optimal(seed):
    """The same on 300 more cases."""
    assert_exact(seed)
