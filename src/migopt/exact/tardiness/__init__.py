"""Total tardiness on the slices of one partition, without preemption, exactly and with no engine.

``problem`` (integers), ``local_search`` (first schedules), ``rules`` and ``dual`` (a Lagrangian bound, jobs
priced, one machine at a time), ``search`` (a dynamic program over sets of jobs, cut by that bound) and
``solver``. Statement and proofs: docs/exact/tardiness.md.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Tardiness"]


def __getattr__(name: str) -> Any:
    # Asking whether it applies needs no numerical library.
    if name == "Tardiness":
        from migopt.exact.tardiness.solver import Tardiness

        return Tardiness
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
