"""Calibrate the numbers of the priced policy on training days; writes schedulers/joint/numbers.json.

Evolution strategy with covariance matrix adaptation (Hansen and Ostermeier, Evolutionary Computation 9,
2001) over the logarithms of the twelve numbers. The cost is the mean cost above idle of the training days,
simulated by ``schedulers/joint/course.py``. Training seeds begin at 2,000,000; no study uses them.

    python benchmarks/calibrate_prices.py --scenario s0-slack --days 24 --seconds 120
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from migopt.bench.environment import commit
from migopt.io.generators import generate
from migopt.schedulers.joint import course
from migopt.schedulers.joint.decide import NUMBERS, STEP
from migopt.schedulers.joint.view import View, view_of

FIRST_SEED = 2_000_000
FILE = Path(course.__file__).with_name("numbers.json")
#: Where the search begins: prices a little above what a full GPU costs, or far above it; early or late.
STARTS = (
    (2.0, 4.0, 0.5, 0.7, 3.0, 1.0, 0.7, 1.5, 1.0, 1.0, 0.3, 0.01),
    (1.2, 4.0, 0.1, 0.6, 8.0, 0.3, 0.8, 2.0, 1.0, 0.5, 0.7, 0.02),
    (4.5, 12.0, 0.1, 0.6, 2.0, 0.2, 0.7, 2.0, 1.0, 0.3, 0.3, 0.01),
    (2.0, 0.5, 0.5, 0.8, 3.0, 3.7, 0.6, 1.1, 0.5, 4.0, 0.1, 0.01),
    (1.7, 1.6, 0.01, 0.3, 1.9, 0.2, 0.01, 0.43, 2.0, 0.53, 1.7, 0.01),
    (2.0, 0.8, 0.5, 0.73, 2.3, 5.0, 0.56, 0.73, 0.61, 3.9, 0.1, 0.01),
)
#: Prices are looked at again after at least so many minutes.
LEAST_STEP = 0.25


class Search:
    """One run of the strategy from one start."""

    def __init__(self, views: list[View], start: tuple[float, ...], seed: int) -> None:
        self.views, self.draw = views, np.random.default_rng(seed)
        self.mean, self.sigma = np.log(np.array(start)), 0.5
        n, self.size = NUMBERS, 12
        self.parents = self.size // 2
        weights = np.log(self.parents + 0.5) - np.log(np.arange(1, self.parents + 1))
        self.weights = weights / weights.sum()
        self.mass = mass = 1.0 / float(np.sum(self.weights**2))
        self.c_path = (4 + mass / n) / (n + 4 + 2 * mass / n)
        self.c_sigma = (mass + 2) / (n + mass + 5)
        self.c_one = 2 / ((n + 1.3) ** 2 + mass)
        self.c_rank = min(1 - self.c_one, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
        self.damp = 1 + 2 * max(0.0, np.sqrt((mass - 1) / (n + 1)) - 1) + self.c_sigma
        self.path, self.path_sigma, self.cov = np.zeros(n), np.zeros(n), np.eye(n)
        self.length = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
        self.generation = 0
        self.best = (self.cost(self.mean), self.mean.copy())

    def cost(self, point: Any) -> float:
        """Return the mean cost above idle of the training days."""
        numbers = np.exp(point)
        return float(
            np.mean(
                [
                    course.whole_day(v.jobs, v.coming, v.gpu, numbers, v.scratch, 0)
                    for v in self.views
                ]
            )
        )

    def step(self) -> None:
        """Go on by one generation."""
        n = NUMBERS
        roots, basis = np.linalg.eigh(self.cov)
        roots = np.sqrt(np.maximum(roots, 1e-12))
        moves = self.draw.standard_normal((self.size, n)) * roots @ basis.T
        points = self.mean + self.sigma * moves
        points[:, STEP] = np.maximum(points[:, STEP], np.log(LEAST_STEP))
        costs = np.array([self.cost(point) for point in points])
        order = np.argsort(costs)
        if costs[order[0]] < self.best[0]:
            self.best = (float(costs[order[0]]), points[order[0]].copy())
        moves = (points[order[: self.parents]] - self.mean) / self.sigma
        move = self.weights @ moves
        self.mean = self.mean + self.sigma * move
        self.generation += 1
        keep = np.sqrt(self.c_sigma * (2 - self.c_sigma) * self.mass)
        self.path_sigma *= 1 - self.c_sigma
        self.path_sigma += keep * (basis @ ((basis.T @ move) / roots))
        norm = float(np.linalg.norm(self.path_sigma))
        fresh = np.sqrt(1 - (1 - self.c_sigma) ** (2 * self.generation))
        go = norm / fresh < (1.4 + 2 / (n + 1)) * self.length
        self.path = (1 - self.c_path) * self.path
        self.path += go * np.sqrt(self.c_path * (2 - self.c_path) * self.mass) * move
        self.cov = (1 - self.c_one - self.c_rank) * self.cov
        self.cov += self.c_one * np.outer(self.path, self.path)
        self.cov += self.c_rank * (moves.T * self.weights) @ moves
        self.sigma *= float(np.exp(self.c_sigma / self.damp * (norm / self.length - 1)))


def main() -> None:
    """Search and write the best numbers into the file, beside those of other scenarios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scenario", default="s0-slack")
    parser.add_argument("--days", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=120.0, help="per start")
    parser.add_argument("--starts", type=int, nargs="*", default=list(range(len(STARTS))))
    options = parser.parse_args()
    views = [
        view_of(generate(options.scenario, seed=FIRST_SEED + day)) for day in range(options.days)
    ]
    found = []
    for number in options.starts:
        search = Search(views, STARTS[number], seed=number)
        # Processor time, so that a loaded machine finds the same.
        end = time.process_time() + options.seconds
        while time.process_time() < end and search.sigma > 1e-3:
            search.step()
        found.append(search.best)
        print(options.scenario, "start", number, search.generation, search.best[0], flush=True)
    cost, point = min(found, key=lambda pair: pair[0])
    table = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {"sets": {}}
    table["sets"][options.scenario] = {
        "numbers": [float(f"{value:.6g}") for value in np.exp(point)],
        "mean_cost_above_idle": cost,
        "training_seeds": [FIRST_SEED, FIRST_SEED + options.days - 1],
        "command": shlex.join(["python", *sys.argv]),
        "commit": commit(Path(course.__file__).resolve()),
    }
    FILE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
