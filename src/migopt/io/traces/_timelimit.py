"""Deadlines from time limits, for the formats that have them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from migopt.io.traces._clock import ZonedOptions


class TimelimitOptions(ZonedOptions):
    """Options of formats whose rows state a time limit."""

    deadline: Literal["slack", "timelimit"] = Field(
        "slack",
        description="due = arrival + slack x run time, or arrival + time limit (a loose stand-in)",
    )


def limit_notes(options: TimelimitOptions, limited: int, unlimited: int) -> list[str]:
    """Return the warning that goes with deadlines from limits, and what became of jobs without.

    Users of the RICC log (Parallel Workloads Archive, 2010) ask for a median of 60 times the run
    time, and 1.6 % of the jobs still run longer.
    """
    if options.deadline != "timelimit":
        return []
    notes = [
        f"warning: {limited} deadlines are time limits, which are no deadlines: in the RICC log of "
        "2010 users ask for a median of 60 times the run time"
    ]
    if unlimited:
        notes.append(f"{unlimited} jobs without a time limit have deadlines by slack")
    return notes
