"""The one part of a file that is free in form, its origin: any JSON, but JSON."""

from __future__ import annotations

import math
from typing import Any

from migopt.errors import InputError
from migopt.io._place import path_of
from migopt.io.limits import shown

#: Levels of objects and lists within it.
MAX_DEPTH = 50


def check_free_form(value: Any, place: tuple[str | int, ...] = ()) -> None:
    """Raise InputError, with the place, for what JSON or UTF-8 cannot hold."""
    todo: list[tuple[Any, tuple[Any, ...]]] = [(value, place)]
    while todo:
        value, place = todo.pop()
        if len(place) > MAX_DEPTH:
            raise InputError("is nested too deeply", where=path_of(place[:3]))
        if isinstance(value, dict):
            for key in value:
                _check_leaf(key, place)
                if not isinstance(key, str):
                    raise InputError(f"keys are text, not {shown(key)}", where=path_of(place))
            todo += [(item, (*place, key)) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            todo += [(item, (*place, index)) for index, item in enumerate(value)]
        else:
            _check_leaf(value, place)


def _check_leaf(value: Any, place: tuple[Any, ...]) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"must be a finite number, not {shown(value)}", where=path_of(place))
    if isinstance(value, str) and not is_text(value):
        raise InputError("must be text without half surrogate pairs", where=path_of(place))
    if value is not None and not isinstance(value, bool | int | float | str):
        message = f"must be something JSON knows, not {type(value).__name__}"
        raise InputError(message, where=path_of(place))


def is_text(value: object) -> bool:
    """Return whether a value is a string that UTF-8 can hold."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
