"""The partitions of a schedule as bars of slices, one bar per partition in the order they were in force."""

from __future__ import annotations

import re
from html import escape

from migopt.model import GpuModel, Instance, Partition, Placement, Schedule
from migopt.placement.draw import bars_svg
from migopt.report.svg import Picture
from migopt.units import MS_PER_HOUR, MS_PER_MINUTE

#: GPUs drawn, and bars of each; the caption says when there are more.
MOST_GPUS = 4
MOST_BARS = 12

Row = tuple[GpuModel, str, Partition, tuple[Placement, ...]]


def bars_picture(instance: Instance, schedule: Schedule, name: str, title: str) -> Picture:
    """Draw which slices each of the first GPUs had, and from when on.

    Parameters
    ----------
    instance, schedule : Instance, Schedule
        What to draw; nothing is computed but the order of changes.
    name, title : str
        Id and title of the picture.
    """
    rows: list[Row] = []
    hidden = 0
    for gpu, model in enumerate(instance.gpus[:MOST_GPUS]):
        changes = [item for item in schedule.reconfigurations if item.gpu == gpu]
        prefix = f"GPU {gpu}, " if len(instance.gpus) > 1 else ""
        rows.append((model, f"{prefix}at first", schedule.initial[gpu], ()))
        shown = changes[: MOST_BARS - 1]
        hidden += len(changes) - len(shown)
        before = set(schedule.initial[gpu])
        for change in shown:
            made = tuple(place for place in change.new if place not in before)
            rows.append((model, f"{prefix}{_clock(change.end_ms)}", change.new, made))
            before = set(change.new)
    text = bars_svg(rows)
    width = re.search(r'width="(\d+)"', text)
    assert width is not None
    # The page scales the picture, and its text must be readable in light and dark.
    text = re.sub(
        r' width="[\d.]+" height="[\d.]+"', f' style="--width: {width[1]}px"', text, count=1
    )
    text = re.sub(r'(<text [^>]*)fill="#767676"', r'\1fill="var(--faint)"', text)
    text = text.replace('role="img"', f'role="img" aria-label="{escape(title)}"', 1)
    return Picture(name, title, _caption(instance, hidden), text.strip(), wide=True)


def _clock(time_ms: int) -> str:
    minutes, rest = divmod(time_ms % MS_PER_HOUR, MS_PER_MINUTE)
    return f"{time_ms // MS_PER_HOUR}:{minutes:02}:{rest // 1000:02}"


def _caption(instance: Instance, hidden: int) -> str:
    parts = [
        "Each bar is a GPU's memory, unit 0 on the left, cut into the slices in force from the hour given "
        "(hours:minutes:seconds, after the repartition); strong frames are slices that are new, "
        "dashed units belong to no slice."
    ]
    if len(instance.gpus) > MOST_GPUS:
        parts.append(f"GPUs 0 to {MOST_GPUS - 1} of {len(instance.gpus)} are drawn.")
    if hidden:
        parts.append(f"{hidden} later changes are not drawn.")
    return " ".join(parts)
