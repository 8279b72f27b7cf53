"""How numerical code is compiled, and where the compiled code is kept between runs.

Numba's own file cache looks at the time stamp of the file that holds a function, not at those of
the functions it calls: an edit there would go unnoticed. The cache folder is therefore named by a
digest of every source that uses this module in the same part of the package (``sim``, ``bounds``),
the numba version and the CPU. A source of constants takes part by naming ``migopt.compiled``.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np

#: A one-dimensional array of 64-bit integers.
Ints = np.ndarray[Any, np.dtype[np.int64]]
PACKAGE = Path(__file__).parent
#: Parts whose compiled functions another part calls.
BORROWED = {"exact": ("bounds",), "schedulers": ("bounds", "exact", "sim")}


@cache
def cache_folder(part: str) -> str:
    """Return the folder for compiled code of a part; ``MIGOPT_CACHE_DIR`` overrides its parent."""
    digest = hashlib.sha256()
    parts = (part, *BORROWED.get(part, ()))
    sources = [path for name in parts for path in sorted((PACKAGE / name).rglob("*.py"))]
    for path in [Path(__file__), *sources]:
        content = path.read_bytes()
        if b"migopt.compiled" in content:
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + content)
    for text in (
        str(PACKAGE),
        numba.__version__,
        llvmlite.binding.get_host_cpu_name(),
        llvmlite.binding.get_host_cpu_features().flatten(),
    ):
        digest.update(text.encode() + b"\0")
    return str(_parent() / f"{part}-{digest.hexdigest()[:16]}")


def _parent() -> Path:
    given = os.environ.get("MIGOPT_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(given) if given else Path(home).expanduser() / "migopt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        # A home that cannot be written to must not stop a computation.
        return Path(tempfile.gettempdir()) / f"migopt-{os.getuid() if hasattr(os, 'getuid') else 0}"


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function: cached on disk, without the interpreter lock, no check of array bounds."""
    return _compile(function)


def lean(function: Callable[..., Any]) -> Any:
    """Compile likewise a function that creates no arrays, with all that it calls: it counts no references.

    Counting took a third of the time of small functions that pass arrays on.
    """
    return _compile(function, _nrt=False)


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    settings: Any = numba.config
    before = settings.CACHE_DIR
    source = Path(function.__code__.co_filename).resolve()
    # Numba reads the folder once, when the function is decorated.
    settings.CACHE_DIR = cache_folder(source.relative_to(PACKAGE.resolve()).parts[0])
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    finally:
        settings.CACHE_DIR = before
