"""Scenario S0 with slack: due = release + U(2, 4) x duration on 7g."""

from __future__ import annotations

from pydantic import Field

from migopt.io.generators._s0 import S0Parameters, Workload

__all__ = ["Parameters", "Workload"]


class Parameters(S0Parameters):
    """Parameters of ``s0-slack``."""

    due_low: float = Field(2.0, ge=0, le=1_000_000, description="least due factor")
    due_high: float = Field(
        4.0,
        ge=0,
        le=1_000_000,
        description="greatest due factor; due = release + U(low, high) x duration on 7g",
    )
