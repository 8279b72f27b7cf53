"""Places inside a file, and errors that name them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from migopt.errors import InputError

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def path_of(parts: Iterable[str | int]) -> str:
    """Return a path such as ``jobs[3].rates["A100-40GB"]["1g.5gb"]``."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN.fullmatch(part):
            path += f".{part}" if path else part
        else:
            path += f"[{json.dumps(part if len(part) <= 60 else part[:57] + '…')}]"
    return path


@contextmanager
def placed(where: str = "", source: str = "") -> Iterator[None]:
    """Add a place and a file to an InputError from within, where it has none yet."""
    try:
        yield
    except InputError as error:
        error.where = error.where or where
        error.source = error.source or source
        place = ": ".join(part for part in (error.source, error.where) if part)
        error.args = (f"{place}: {error.message}" if place else error.message,)
        raise
