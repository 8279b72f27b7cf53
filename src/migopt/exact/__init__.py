"""Exact models: one formulation per folder or file."""

from __future__ import annotations

from typing import Any

__all__ = ["CpSat"]


def __getattr__(name: str) -> Any:
    if name == "CpSat":
        from migopt.exact.cpsat import CpSat

        return CpSat
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
