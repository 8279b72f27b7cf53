"""Progress: time left from what entries took so far, plain lines without a terminal, a bar with one."""

from __future__ import annotations

import io

import pytest

from migopt.bench.progress import TimeLeft, describe, duration, progress
from migopt.bench.spec import InstanceSpec, RunSpec
from migopt.records import Status
from record_factory import make_record


def runs(**counts: int) -> list[RunSpec]:
    """Return runs by entry."""
    instance = InstanceSpec("i", "c", "generator", "g")
    return [
        RunSpec(f"i/{seed}/{entry}/1s", "s", instance, seed, entry, entry, 1.0)
        for entry, count in counts.items()
        for seed in range(count)
    ]


def test_time_left_knows_that_entries_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 slow runs of 10 s and 4 quick ones of 1 s left on two workers: 24 s of work, 12 s left."""
    clock = [0.0]
    monkeypatch.setattr("migopt.bench.progress.time.monotonic", lambda: clock[0])
    left = TimeLeft(runs(slow=3, quick=5), jobs=2)
    assert left.seconds() is None
    clock[0] = 5.5  # two workers were busy all the time: no overhead beside the runs
    left.record(make_record("slow", wall_s=10.0))
    left.record(make_record("quick", wall_s=1.0))
    assert left.seconds() == pytest.approx(12.0)


def test_time_left_counts_overhead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building and checking take time too: one run of 1 s that cost 3 s in all leaves 3 s for one."""
    clock = [0.0]
    monkeypatch.setattr("migopt.bench.progress.time.monotonic", lambda: clock[0])
    left = TimeLeft(runs(rule=2), jobs=1)
    clock[0] = 3.0
    left.record(make_record("rule", wall_s=1.0))
    assert left.seconds() == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "unknown time"), (0.2, "0 s"), (89, "89 s"), (150, "2 min"), (3900, "65 min"),
     (11_100, "3 h 05 min")],
)  # fmt: skip
def test_durations(seconds: float | None, text: str) -> None:
    """Time spans are said in the unit that people would use."""
    assert duration(seconds) == text


def test_lines_without_a_terminal() -> None:
    """A log gets one line per run, with its place, its numbers and the time left."""
    out = io.StringIO()
    with progress(runs(rule=2), 1, out) as show:
        show(make_record("rule", 1, upper=5.0, lower=3.0))
        show(make_record("rule", 2, status=Status.FAILED, reason="died"))
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("[1/2] day/1/rule/10s ok in 0.50 s: cost 5, lower 3; ")
    assert lines[0].endswith(" s left")
    assert lines[1] == "[2/2] day/2/rule/10s failed in 0.50 s: died"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def test_a_bar_on_a_terminal() -> None:
    """The bar counts runs and shows the time left; a loss is said on a line of its own."""
    out = Terminal()
    with progress(runs(rule=2), 1, out) as show:
        show(make_record("rule", 1, upper=5.0))
        show(make_record("rule", 2, status=Status.SKIPPED, reason="[too big] for it"))
    text = out.getvalue()
    assert "2/2" in text
    assert "left" in text
    assert "skipped in 0.50 s: [too big] for it" in text.replace("\n", " ")


def test_describe_a_bound() -> None:
    """A run that has only a bound says it."""
    assert describe(make_record("b", lower=3.0)).endswith("ok in 0.50 s: lower 3")
