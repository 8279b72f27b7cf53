"""A schedule as a picture: slices over time, with busy level and power below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migopt.metrics import busy_profile, power_profile
from migopt.model import OFF_PROFILE, GpuModel, Instance, Placement, Schedule, Segment
from migopt.report import svg
from migopt.report.svg import Picture
from migopt.units import MS_PER_HOUR, MS_PER_MINUTE

#: GPUs and segments drawn; a caption says when there are more.
MOST_GPUS = 4
MOST_SEGMENTS = 3000
_MOST_LABELS = 60


def gantt_picture(instance: Instance, schedule: Schedule, name: str, title: str) -> Picture:
    """Draw the schedule of the first GPUs: memory units as rows, busy level and power below each.

    Parameters
    ----------
    instance : Instance
        The problem; due dates and power come from it.
    schedule : Schedule
        What to draw.
    name, title : str
        Id and title of the picture.
    """
    gpus = range(min(len(instance.gpus), MOST_GPUS))
    until = _drawn_until(schedule)
    unit_ms, unit = (MS_PER_HOUR, "h") if until > 3 * MS_PER_HOUR else (MS_PER_MINUTE, "min")
    with svg.style():
        figure = svg.new_figure(9.6, 0.5 + 3.1 * len(gpus))
        axes = figure.subplots(
            3 * len(gpus), 1, sharex=True, squeeze=False, height_ratios=[3, 1, 1] * len(gpus)
        )[:, 0]
        drawing = _Drawing(instance, schedule, until, unit_ms)
        for gpu in gpus:
            drawing.slices(axes[3 * gpu], gpu)
            drawing.busy(axes[3 * gpu + 1], gpu)
            drawing.power(axes[3 * gpu + 2], gpu)
        axes[-1].set_xlabel(f"time, {unit}")
        axes[-1].set_xlim(0, until / unit_ms)
        figure.align_ylabels(list(axes))
        text = svg.to_svg(figure, name, title)
    return Picture(name, title, _caption(instance, schedule, until), text, wide=True)


def _drawn_until(schedule: Schedule) -> int:
    ends = [segment.end_ms for segment in schedule.segments[:MOST_SEGMENTS]]
    return max(ends, default=MS_PER_MINUTE)


def _caption(instance: Instance, schedule: Schedule, until: int) -> str:
    late = sum(
        end > instance.job_by_id[job].due_ms for job, end in schedule.completions_ms().items()
    )
    jobs, changes = len(instance.jobs), len(schedule.reconfigurations)
    parts = [
        f"{jobs} job{'s' * (jobs != 1)}, {late} late, {changes} repartition{'s' * (changes != 1)}. "
        "Height: memory units of the GPU; a frame is a slice of the partition in force, blue a "
        "part of a job that ends on time, orange of one that ends late, a hatched band a "
        "repartition. Below: busy compute slices, and power."
    ]
    if len(instance.gpus) > MOST_GPUS:
        parts.append(f"GPUs 0 to {MOST_GPUS - 1} of {len(instance.gpus)} are drawn.")
    if len(schedule.segments) > MOST_SEGMENTS:
        parts.append(
            f"Only the first {MOST_SEGMENTS} of {len(schedule.segments)} segments are drawn, "
            f"up to hour {until / MS_PER_HOUR:.1f}."
        )
    return " ".join(parts)


class _Drawing:
    """One schedule, drawn GPU by GPU on given axes."""

    def __init__(self, instance: Instance, schedule: Schedule, until: int, unit_ms: int) -> None:
        self.instance, self.schedule = instance, schedule
        self.until, self.unit_ms = until, unit_ms
        done = schedule.completions_ms()
        self.late = {job for job, end in done.items() if end > instance.job_by_id[job].due_ms}
        self.busy_steps = busy_profile(instance, schedule)
        self.power_steps = power_profile(instance, schedule)

    def slices(self, axes: Any, gpu: int) -> None:
        """Draw partitions, segments and repartitions."""
        model = self.instance.gpus[gpu]
        units = model.memory_units
        self._frames(axes, gpu, model)
        segments = [item for item in self.schedule.segments[:MOST_SEGMENTS] if item.gpu == gpu]
        for late, colour in ((False, svg.BLUE), (True, svg.ORANGE)):
            self._bars(axes, [s for s in segments if (s.job in self.late) == late], model, colour)
        if len(segments) <= _MOST_LABELS:
            self._labels(axes, segments, model)
        for change in self.schedule.reconfigurations:
            if change.gpu == gpu and change.start_ms < self.until:
                axes.axvspan(
                    self._x(change.start_ms),
                    self._x(change.end_ms),
                    facecolor="none",
                    edgecolor=svg.RED,
                    hatch="////",
                    linewidth=0.6,
                )
        axes.set_ylim(units, 0)
        axes.set_yticks(range(0, units + 1, 2))
        axes.set_ylabel("memory unit")
        axes.set_title(f"GPU {gpu}, {model.key}")

    def busy(self, axes: Any, gpu: int) -> None:
        """Draw the busy level as steps."""
        levels = self.instance.gpus[gpu].compute_slices
        self._steps(axes, self.busy_steps[gpu], svg.GREEN)
        axes.set_ylim(0, levels + 0.3)
        axes.set_yticks([0, levels])
        axes.set_ylabel("busy")

    def power(self, axes: Any, gpu: int) -> None:
        """Draw the power as steps, in watts."""
        axes.set_ylabel("W")
        steps = self.power_steps[gpu]
        if steps is None:
            axes.set_yticks([])
            axes.text(0.01, 0.4, "no power curve", transform=axes.transAxes)
            return
        watts = [(time, power / 1000) for time, power in steps]
        self._steps(axes, watts, svg.PURPLE)
        top = max(power for _, power in watts)
        axes.set_ylim(0, 1.08 * top or 1)
        axes.set_yticks([0, round(top)])

    def _x(self, time_ms: int) -> float:
        return time_ms / self.unit_ms

    def _frames(self, axes: Any, gpu: int, model: GpuModel) -> None:
        """Outline the slices of each partition for as long as it is in force."""
        changes = [item for item in self.schedule.reconfigurations if item.gpu == gpu]
        starts = [0, *(change.end_ms for change in changes)]
        ends = [*(change.start_ms for change in changes), self.until]
        partitions = [self.schedule.initial[gpu], *(change.new for change in changes)]
        boxes = []
        for start, end, partition in zip(starts, ends, partitions, strict=True):
            left, right = self._x(start), self._x(max(start, min(end, self.until)))
            for placement in partition:
                bottom, height = _extent(placement, model)
                boxes.append((left, bottom, right, bottom + height))
        _rectangles(axes, boxes, facecolor="none", edgecolor=svg.FAINT, linewidth=0.5)

    def _bars(self, axes: Any, segments: Sequence[Segment], model: GpuModel, colour: str) -> None:
        boxes = []
        for item in segments:
            bottom, height = _extent(item.placement, model)
            left, right = self._x(item.start_ms), self._x(item.end_ms)
            boxes.append((left, bottom + 0.08, right, bottom + height - 0.08))
        _rectangles(axes, boxes, facecolor=colour, edgecolor=svg.PAPER, linewidth=0.4)

    def _labels(self, axes: Any, segments: Sequence[Segment], model: GpuModel) -> None:
        for item in segments:
            if (item.end_ms - item.start_ms) * 60 < self.until:
                continue  # too narrow for a number
            bottom, height = _extent(item.placement, model)
            axes.text(
                self._x(item.start_ms + item.end_ms) / 2,
                bottom + height / 2,
                str(item.job),
                ha="center",
                va="center",
                fontsize=7,
                color="#000000",
                clip_on=True,
            )

    def _steps(self, axes: Any, steps: Sequence[tuple[int, float]], colour: str) -> None:
        points = [*steps, (max(self.until, steps[-1][0]), steps[-1][1])]
        times = [self._x(time) for time, _ in points]
        values = [value for _, value in points]
        axes.fill_between(times, values, step="post", color=colour, alpha=0.35, linewidth=0)
        axes.step(times, values, where="post", color=colour, linewidth=0.8)


def _rectangles(axes: Any, boxes: Sequence[tuple[float, float, float, float]], **look: Any) -> None:
    """Draw (left, bottom, right, top) boxes as one path, which keeps a day's picture small."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not boxes:
        return
    corners = [
        point
        for left, bottom, right, top in boxes
        for point in ((left, bottom), (right, bottom), (right, top), (left, top), (left, bottom))
    ]
    codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(boxes)
    axes.add_patch(PathPatch(Path(corners, codes), **look))


def _extent(placement: Placement, model: GpuModel) -> tuple[float, float]:
    """Return first memory unit and number of units."""
    if placement.profile == OFF_PROFILE:
        return 0, model.memory_units
    return placement.start, model.profile(placement.profile).memory_units
