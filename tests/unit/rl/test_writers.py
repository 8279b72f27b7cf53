"""Learning curves: CSV without a line twice after a resume, TensorBoard where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from migopt.rl.points import Point
from migopt.rl.writers import CsvWriter, TensorBoardWriter

POINTS = [Point(100 * n, n, 0.5, 0.1, 1.5, 2.0, 3.0 - n, 3.0 - n) for n in (1, 2, 3)]


def test_csv_begins_with_the_points_before_a_resume(tmp_path: Path) -> None:
    """Points written after the last save are dropped when the run is resumed, and then come again."""
    writer = CsvWriter(tmp_path, [])
    for point in POINTS:
        writer.write(point)
    whole = (tmp_path / "curve.csv").read_text()
    assert whole.splitlines()[0].startswith("steps,updates,epsilon")
    assert whole.splitlines()[2] == "200,2,0.5,0.1,1.5,2.0,1.0,1.0"
    again = CsvWriter(tmp_path, POINTS[:1])
    for point in POINTS[1:]:
        again.write(point)
    assert (tmp_path / "curve.csv").read_text() == whole


def test_tensorboard_gets_every_figure(tmp_path: Path) -> None:
    """Each figure of each point is in the event file, at its step."""
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    writer = TensorBoardWriter(tmp_path, 0)
    for point in POINTS:
        writer.write(point)
    writer.file.close()
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    found = [(item.step, item.value) for item in events.Scalars("validation_cost")]
    assert found == [(100, 2.0), (200, 1.0), (300, 0.0)]
    assert len(events.Tags()["scalars"]) == 7
