"""How the speed figures are taken, and how one is printed."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

#: A figure that is about right is still noise: best of so many.
REPEATS = 7


@dataclass(frozen=True)
class Figure:
    """One line of ``make speed``; ``at_least`` or ``at_most`` is its target, None where there is none."""

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target."""
        if self.at_least is not None:
            return self.value >= self.at_least
        return None if self.at_most is None else self.value <= self.at_most

    def line(self) -> str:
        """Return one JSON line."""
        target = self.at_least if self.at_least is not None else self.at_most
        shown = float(f"{self.value:.4g}")
        return json.dumps(
            {
                "name": self.name,
                "value": shown,
                "unit": self.unit,
                "target": target,
                "met": self.met,
            }
        )


def cpu_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the least CPU time of one core that a call took; what else the machine does is not in it."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def cpu_of_children() -> float:
    """Return the CPU time that finished child processes have taken so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of_command(arguments: list[str], repeats: int = REPEATS) -> float:
    """Return the least CPU time of a command from start to end; on a quiet machine that is its wall time."""
    best = float("inf")
    for _ in range(repeats):
        start = cpu_of_children()
        subprocess.run(arguments, check=True, capture_output=True)
        best = min(best, cpu_of_children() - start)
    return best


def answer_of(code: str) -> str:
    """Run Python code in a fresh interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()
