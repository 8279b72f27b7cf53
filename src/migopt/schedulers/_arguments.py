"""Reading of rule arguments."""

from __future__ import annotations

from migopt.errors import InputError


def no_argument(rule: str, argument: str) -> None:
    """Refuse an argument for a rule that has none."""
    if argument:
        raise InputError(f"{rule} takes no argument, not {argument!r}")


def whole_number(rule: str, what: str, text: str, least: int) -> int:
    """Read a whole number of at least ``least``."""
    try:
        value = int(text)
    except ValueError:
        raise InputError(f"{rule}: {what} must be a whole number, not {text!r}") from None
    if value < least:
        raise InputError(f"{rule}: {what} must be at least {least}, not {value}")
    return value
