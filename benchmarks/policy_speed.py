"""Processor time of one decision of the receding horizon at ten active jobs, one JSON line.

Every moment of real days with nine to eleven jobs present is a decision, in the order of the day, so
patterns are as warm as they are in use: the relaxation, the partition decision and the dispatch.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import ClassVar

from migopt.bench.environment import commit, machine
from migopt.io.generators import generate
from migopt.schedulers.joint.decide import AHEAD, STEP
from migopt.schedulers.joint.planner import Planner
from migopt.schedulers.joint.receding import RecedingPlanner, receding_planner
from migopt.schedulers.joint.rules import JointDispatch, JointPartition
from migopt.sim import SimState, simulate

DAYS = 4


class Timed(RecedingPlanner):
    """Adds up the processor seconds of each instant's decisions, with the number of active jobs."""

    spent: ClassVar[list[tuple[int, float]]] = []
    at = -1

    def wish(self, state: SimState, kind: int) -> int:
        """Decide the partition, timed; nothing was solved at this instant before."""
        began = time.process_time()
        wanted = super().wish(state, kind)
        self.spent.append((len(state.waiting) + len(state.running), time.process_time() - began))
        self.at = state.now_ms
        return wanted

    def runs(self, state: SimState) -> dict[int, int]:
        """Decide who runs, timed together with the partition decision of the instant."""
        began = time.process_time()
        chosen = super().runs(state)
        if state.now_ms == self.at:
            count, before = self.spent.pop()
            self.spent.append((count, before + time.process_time() - began))
        return chosen


def timed_planner(state: SimState) -> Planner:
    """Return a timed planner with the policy's own settings."""
    plain = receding_planner("")(state)
    assert isinstance(plain, RecedingPlanner)
    numbers = plain.numbers
    return Timed(
        plain.relaxation,
        float(numbers[AHEAD]),
        float(numbers[STEP]),
        plain.hold,
        plain.wait_min,
        plain.behind,
    )


def main() -> None:
    """Play busy days and print the times of the decisions at 9 to 11 active jobs."""
    for day in range(DAYS):
        instance = generate("s0-slack", seed=day + 1, rate_multiplier=4.0)
        simulate(
            instance,
            JointDispatch("timed", timed_planner),
            JointPartition("timed", timed_planner),
        )
    times = [1e3 * seconds for count, seconds in Timed.spent if 9 <= count <= 11]
    print(
        json.dumps(
            {
                "what": "receding horizon, one decision at 9 to 11 active jobs",
                "decisions": len(times),
                "mean_ms": round(statistics.fmean(times), 2),
                "median_ms": round(statistics.median(times), 2),
                "p95_ms": round(statistics.quantiles(times, n=20)[-1], 2),
                "command": " ".join(["python", *sys.argv]),
                "commit": commit(Path(__file__)),
                "machine": machine(),
            }
        )
    )


if __name__ == "__main__":
    main()
