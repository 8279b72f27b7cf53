"""Scenario S0 with tight deadlines: due = release + U(1, 1.5) x duration on 7g, SMART-MIG's rule."""

from __future__ import annotations

from pydantic import Field

from migopt.io.generators._s0 import S0Parameters, Workload

__all__ = ["Parameters", "Workload"]


class Parameters(S0Parameters):
    """Parameters of ``s0-tight``."""

    due_low: float = Field(1.0, ge=0, le=1_000_000, description="least due factor")
    due_high: float = Field(
        1.5,
        ge=0,
        le=1_000_000,
        description="greatest due factor; due = release + U(low, high) x duration on 7g",
    )
