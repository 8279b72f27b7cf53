"""Non-preemptive schedules, exactly, by CP-SAT.

``case`` (a partition in integers), ``variables``, ``constraints``, ``objective`` and ``decode`` make the
model of one GPU that keeps one partition; ``start``, ``progress`` and ``solver`` run it. ``fleet`` is the model of
several GPUs and of partitions that change. Statement and proofs: docs/exact/cpsat.md.
"""

from __future__ import annotations

from typing import Any

__all__ = ["CpSat"]


def __getattr__(name: str) -> Any:
    # Loading the engine takes half a second; asking whether it applies does not need it.
    if name == "CpSat":
        from migopt.exact.cpsat.solver import CpSat

        return CpSat
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
