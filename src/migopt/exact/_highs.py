"""HiGHS without its banner: a model made here writes nothing to standard output."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from typing import Any

_warm: list[bool] = []


def new_highs(**options: Any) -> Any:
    """Return a silent ``highspy.Highs`` on one thread, with further options set by name.

    The first engine of a process prints a banner from C before any option can be set; standard
    output is closed to it for that moment.
    """
    import highspy as module

    highspy: Any = module
    if _warm:
        highs = highspy.Highs()
    else:
        highs = _first(highspy)
        _warm.append(True)
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        highs.setOptionValue(name, value)
    return highs


def _first(highspy: Any) -> Any:
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # no standard output at all
        return highspy.Highs()
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        highs = highspy.Highs()
        with contextlib.suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(sink)
    return highs


def engine_name() -> str:
    """Return ``HiGHS`` and its version."""
    import importlib.metadata

    return f"HiGHS {importlib.metadata.version('highspy')}"
