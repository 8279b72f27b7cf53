"""What every command shares: options, errors on one line, JSON output, number formats."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

EXIT_NEGATIVE = 1
EXIT_UNUSABLE = 2
EXIT_INTERRUPTED = 130


def json_option(function: F) -> F:
    """Add ``--json``: print one JSON document on stdout instead of text."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
    )(function)


class Seconds(click.FloatRange):
    """A number of seconds above 0; ``inf`` is no limit, ``nan`` is refused."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number, or fail like any other option."""
        seconds: float = super().convert(value, param, ctx)
        if seconds != seconds:
            self.fail("nan is no number of seconds above 0.", param, ctx)
        return seconds


def fail(error: Exception | str) -> NoReturn:
    """Print ``error: …`` on stderr and leave with exit code 2."""
    click.echo(f"error: {error}", err=True)
    sys.exit(EXIT_UNUSABLE)


def emit_json(document: Any) -> None:
    """Print a JSON document; numbers that JSON does not know (NaN, infinity) are a bug and raise."""
    click.echo(json.dumps(document, indent=2, allow_nan=False, default=str))


def number(value: float | None, digits: int = 4) -> str:
    """Format a number for a table; a dash when there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """Format a share as per cent; a dash when there is none."""
    return "–" if value is None else f"{100 * value:.2f} %"


def count(number_of: int, what: str) -> str:
    """Return ``1 GPU`` or ``2 GPUs``."""
    return f"{number_of} {what}" if number_of == 1 else f"{number_of} {what}s"
