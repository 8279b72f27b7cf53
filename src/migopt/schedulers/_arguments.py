"""Reading of rule arguments."""

from __future__ import annotations

from collections.abc import Mapping

from migopt.errors import InputError, nearest_hint


def no_argument(rule: str, argument: str) -> None:
    """Refuse an argument for a rule that has none."""
    if argument:
        raise InputError(f"{rule} takes no argument, not {argument!r}")


def whole_number(rule: str, what: str, text: str, least: int, most: int | None = None) -> int:
    """Read a whole number of at least ``least`` and at most ``most``."""
    try:
        value = int(text)
    except ValueError:
        raise InputError(f"{rule}: {what} must be a whole number, not {text!r}") from None
    if value < least:
        raise InputError(f"{rule}: {what} must be at least {least}, not {value}")
    if most is not None and value > most:
        raise InputError(f"{rule}: {what} must be at most {most}, not {value}")
    return value


def real_number(rule: str, what: str, text: str, least: float, most: float) -> float:
    """Read a number from ``least`` to ``most``."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{rule}: {what} must be a number, not {text!r}") from None
    if not least <= value <= most:
        raise InputError(f"{rule}: {what} must be from {least:g} to {most:g}, not {text}")
    return value


def named(rule: str, argument: str, known: Mapping[str, str]) -> dict[str, str]:
    """Read ``name=value,name=value``; names that are not given keep their default, none is given twice.

    Parameters
    ----------
    known : Mapping
        Names and their defaults, as text.
    """
    values, given = dict(known), set()
    for item in filter(None, argument.split(",")):
        name, equals, text = item.partition("=")
        if name not in known or not equals:
            hint = nearest_hint(name, known)
            raise InputError(
                f"{rule} takes {', '.join(f'{n}=…' for n in known)}, not {item!r}{hint}"
            )
        if name in given:
            raise InputError(f"{rule}: {name} is given twice")
        given.add(name)
        values[name] = text
    return values
