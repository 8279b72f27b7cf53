"""Live bounds on standard error."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from migopt.cli._common import percent

#: Seconds between two lines where standard error is no terminal.
QUIET_S = 5.0


def cost(value: float | None) -> str:
    """Return a cost in six significant digits; small cases have small costs."""
    return "–" if value is None else f"{value:.6g}"


class LiveLine:
    """Progress on standard error: one line that changes on a terminal, else a line now and then."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.last, self.stage, self.width = 0.0, "", 0

    def __call__(self, state: Any) -> None:
        now = time.perf_counter()
        wait = 0.1 if self.terminal else QUIET_S
        if now - self.last < wait and state.stage == self.stage:
            return
        self.last, self.stage = now, state.stage
        text = (
            f"{state.wall_s:7.1f} s  {state.stage:<14} upper {cost(state.upper)}  "
            f"lower {cost(state.lower)}  active gap {percent(state.active_gap)}"
            f"{f'  {state.note}' if state.note else ''}"
        )
        if self.terminal:
            click.echo("\r" + text.ljust(self.width), err=True, nl=False)
            self.width = len(text)
        else:
            click.echo(text, err=True)

    def close(self) -> None:
        """End the line."""
        if self.terminal and self.width:
            click.echo("", err=True)
