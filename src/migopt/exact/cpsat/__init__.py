"""Non-preemptive schedules of one GPU, exactly, by CP-SAT: partition given or chosen.

``case`` (a partition in integers), ``variables``, ``constraints``, ``objective`` and ``decode`` make the
model; ``start``, ``progress`` and ``solver`` run it. Statement and proofs: docs/exact/cpsat.md.
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
