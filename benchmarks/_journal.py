"""Long comparisons: cases in parallel, a journal beside the output, so that an ended run goes on."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from migopt.api import show_versions
from migopt.bench.environment import commit


def run_all(
    run: Callable[[Any], dict[str, Any]],
    tasks: Iterable[Any],
    key: Callable[[dict[str, Any]], Any],
    journal: Path,
    processes: int,
) -> list[dict[str, Any]]:
    """Return the row of every task, those in the journal first; ``key`` gives the task of a row."""
    rows = []
    if journal.exists():
        lines = journal.read_text(encoding="utf-8").splitlines()
        rows = list({key(row): row for row in map(json.loads, lines)}.values())
    known = {key(row) for row in rows}
    left = [task for task in tasks if task not in known]
    with (
        multiprocessing.get_context("spawn").Pool(processes) as pool,
        journal.open("a", encoding="utf-8") as file,
    ):
        for row in pool.imap_unordered(run, left):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
    return rows


def write(out: Path, journal: Path, document: dict[str, Any]) -> None:
    """Write the table under command, commit, machine and versions; the journal is done with."""
    head = {
        "command": "python " + " ".join(sys.argv),
        "commit": commit(Path(__file__).resolve()),
        "machine": f"{os.cpu_count()} cores",
        "versions": show_versions(),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(head | document, indent=1) + "\n", encoding="utf-8")
    journal.unlink()
