"""Where learning curves go: CSV always, TensorBoard where it is installed."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Protocol

from migopt.rl.points import Point


class Writer(Protocol):
    """Takes the points of a learning curve as they come."""

    def write(self, point: Point) -> None:
        """Take one point."""
        ...


class CsvWriter:
    """Rewrites ``curve.csv`` from what was there before the resumed step, then adds a line per point."""

    def __init__(self, folder: Path, earlier: Sequence[Point]) -> None:
        self.path = folder / "curve.csv"
        names = [item.name for item in fields(Point)]
        text = io.StringIO()
        table = csv.DictWriter(text, names, lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(point) for point in earlier)
        self.path.write_text(text.getvalue(), encoding="utf-8")

    def write(self, point: Point) -> None:
        """Append one line."""
        with self.path.open("a", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(asdict(point).values())


class TensorBoardWriter:
    """Event files in ``tensorboard/``; a resumed run writes a new one from its step on."""

    def __init__(self, folder: Path, first_step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        where = str(folder / "tensorboard")
        self.file: Any = SummaryWriter(where, purge_step=first_step)

    def write(self, point: Point) -> None:
        """Write every figure of a point under its name."""
        for name, value in asdict(point).items():
            if name != "steps":
                self.file.add_scalar(name, value, point.steps)
        self.file.flush()


def writers(folder: Path, earlier: Sequence[Point]) -> list[Writer]:
    """Return the writers that can be had here."""
    found: list[Writer] = [CsvWriter(folder, earlier)]
    # Without TensorBoard the curve is complete, too.
    with contextlib.suppress(ImportError):
        found.append(TensorBoardWriter(folder, earlier[-1].steps if earlier else 0))
    return found
