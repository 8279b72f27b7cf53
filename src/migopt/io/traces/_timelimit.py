"""Deadlines from time limits, for the formats that have them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from migopt.io.traces._clock import ZonedOptions
from migopt.io.traces._import_options import ImportOptions
from migopt.io.traces.common import Record


class TimelimitOptions(ZonedOptions):
    """Options of formats whose rows state a time limit."""

    deadline: Literal["slack", "timelimit"] = Field(
        "slack",
        description="due = arrival + slack x run time, or arrival + time limit (a loose stand-in)",
    )


def limit_notes(options: ImportOptions, records: list[Record]) -> list[str]:
    """Return the warning that goes with deadlines from limits, and what became of jobs without.

    Users of the RICC log (Parallel Workloads Archive, 2010) ask for a median of 60 times the run
    time, and 1.6 % of the jobs still run longer.
    """
    if getattr(options, "deadline", "slack") != "timelimit":
        return []
    limited = sum(record.limit_s > 0 for record in records)
    unlimited = len(records) - limited
    notes = [
        f"warning: {limited} deadlines are time limits, which are no deadlines: in the RICC log of "
        "2010 users ask for a median of 60 times the run time"
    ]
    if unlimited:
        notes.append(f"{unlimited} jobs without a time limit have deadlines by slack")
    return notes
