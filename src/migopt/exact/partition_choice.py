"""The parameter ``partition`` of entries: free, one, or a number of the catalogue."""

from __future__ import annotations

from migopt.errors import InputError


def partition_choice(entry: str, given: str | int) -> str | int:
    """Return ``free``, ``one`` or a number (1-based) from what a user wrote.

    Raises
    ------
    InputError
        It is none of these.
    """
    text = str(given)
    if text in ("free", "one"):
        return text
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise InputError(f"{entry}: partition must be free, one or a number from 1, not {given!r}")
