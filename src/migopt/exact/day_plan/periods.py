"""Gap by busy period: which stretch of the day the difference between plan and bound comes from.

The schedule's cost is split at the moments when it holds no job that is released and not done. The
bound is split the same way: its job parts by job, its GPU part by interval. The shares of the bound
are a diagnosis; what is proven is their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from migopt.bounds.split.bound import SplitResult
from migopt.bounds.split.evaluate import Evaluator
from migopt.metrics import Steps, power_profile
from migopt.model import Instance, Schedule
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN


@dataclass(frozen=True)
class Period:
    """One busy period.

    Attributes
    ----------
    start_ms, end_ms : int
        From the release of its first job to the last completion before the system is empty again.
    jobs : int
    energy, tardiness : float
        Cost above idle of the schedule in this period, by kind.
    lower : float or None
        The bound's share, None when no bound was given.
    """

    start_ms: int
    end_ms: int
    jobs: int
    energy: float
    tardiness: float
    lower: float | None = None

    @property
    def upper(self) -> float:
        """Cost of the schedule above idle."""
        return self.energy + self.tardiness

    @property
    def gap(self) -> float | None:
        """Upper minus lower share, in units of cost."""
        return None if self.lower is None else self.upper - self.lower

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self) | {"upper": self.upper, "gap": self.gap}


def busy_periods(instance: Instance, schedule: Schedule) -> list[tuple[int, int, list[int]]]:
    """Return (start, end, positions of jobs) of the maximal stretches with some job released and not done."""
    done = schedule.completions_ms()
    spans = sorted(
        (job.release_ms, done.get(job.id, job.release_ms), at)
        for at, job in enumerate(instance.jobs)
    )
    found: list[tuple[int, int, list[int]]] = []
    for start, end, at in spans:
        if found and start < found[-1][1]:
            begin, last, jobs = found[-1]
            found[-1] = (begin, max(last, end), [*jobs, at])
        else:
            found.append((start, end, [at]))
    return found


def gap_by_period(
    instance: Instance, schedule: Schedule, bound: SplitResult | None = None
) -> list[Period]:
    """Return the periods in order of time, with their costs and the bound's shares."""
    spans = busy_periods(instance, schedule)
    a = instance.weight_a
    done = schedule.completions_ms()
    steps = power_profile(instance, schedule)
    energy = [_energy_cost(instance, steps, start, end) for start, end, _ in spans]
    lower = _shares(bound, spans) if bound is not None else [None] * len(spans)
    per_ms = float(1 / ((a + 1) * instance.total_weight * MS_PER_MINUTE))
    out = []
    for (start, end, jobs), joules, share in zip(spans, energy, lower, strict=True):
        late = sum(
            instance.jobs[j].weight
            * max(0, done.get(instance.jobs[j].id, 0) - instance.jobs[j].due_ms)
            for j in jobs
        )
        out.append(Period(start, end, len(jobs), joules, late * per_ms, share))
    return out


def _energy_cost(
    instance: Instance, profiles: Sequence[Steps | None], start: int, end: int
) -> float:
    total = 0
    for model, steps in zip(instance.gpus, profiles, strict=True):
        if steps is None:
            continue
        idle = instance.power[model.key].idle_mw
        for at, (time, power) in enumerate(steps):
            until = steps[at + 1][0] if at + 1 < len(steps) else time
            both = min(until, end) - max(time, start)
            if both > 0:
                total += both * (power - idle)
    a = instance.weight_a
    return float(a * total / UJ_PER_WMIN / (a + 1))


def _shares(bound: SplitResult, spans: Sequence[tuple[int, int, list[int]]]) -> list[float]:
    evaluator = Evaluator(bound.problem)
    evaluator(bound.prices)
    grid = bound.problem.grid_ms
    earned = np.concatenate(([0.0], np.cumsum(evaluator.interval_value)))
    # Each period answers for the time up to the start of the next one.
    cuts = [0, *(start for start, _, _ in spans[1:]), int(grid[-1])]
    upto = np.interp(np.minimum(cuts, grid[-1]), grid, earned)
    return [
        float(evaluator.job_value[jobs].sum() - (upto[n + 1] - upto[n]))
        for n, (_, _, jobs) in enumerate(spans)
    ]


SIZES = ((1, 1), (2, 3), (4, 8), (9, 15), (16, 10**9))


def gap_table(periods: Sequence[Period], worst: int = 8) -> str:
    """Return a text table: the gap by size of period, then the worst periods."""
    whole = sum(p.gap or 0.0 for p in periods)
    lines = ["jobs in period  periods  upper      lower      gap        share of gap"]
    for low, high in SIZES:
        own = [p for p in periods if low <= p.jobs <= high]
        if own:
            lines.append(
                _row(f"{low}" if low == high else f"{low}-{max(p.jobs for p in own)}", own, whole)
            )
    lines += [
        _row("all", periods, whole),
        "",
        "worst periods   jobs     upper      lower      gap        share of gap",
    ]
    ranked = sorted(periods, key=lambda p: -(p.gap or 0.0))[:worst]
    for p in ranked:
        name = f"{_clock(p.start_ms)}-{_clock(p.end_ms)}"
        lines.append(_row(name, [p], whole, count=p.jobs))
    return "\n".join(lines) + "\n"


def _row(name: str, own: Sequence[Period], whole: float, count: int | None = None) -> str:
    upper = sum(p.upper for p in own)
    lower = sum(p.lower or 0.0 for p in own)
    part = f"{100 * (upper - lower) / whole:5.1f} %" if whole else "-"
    number = len(own) if count is None else count
    return f"{name:15} {number:7d}  {upper:.3e}  {lower:.3e}  {upper - lower:+.2e}  {part}"


def _clock(ms: int) -> str:
    minute = ms // MS_PER_MINUTE
    return f"{minute // 60:02d}:{minute % 60:02d}"


#: Steps of the time axis in minutes; the first that gives at most MOST_TICKS is taken.
TICK_MINUTES, MOST_TICKS = (1, 2, 5, 10, 30, 60, 120, 240, 720, 1440), 14
#: Periods that hold at least this share of the gap are marked with it.
MARKED = 0.05


def gap_svg(periods: Sequence[Period], *, width: int = 900, height: int = 280) -> str:
    """Return a drawing: one bar per busy period over the day, the bound's share in it, and the gap."""
    if not periods:
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"/>'
    end = max(p.end_ms for p in periods)
    top = max(max(p.upper, p.lower or 0.0) for p in periods) or 1.0
    left, base, tall = 70, height - 40, height - 90
    scale = (width - left - 20) / end
    whole = sum(p.gap or 0.0 for p in periods)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        "<title>Cost above idle by busy period: schedule and bound</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for part in (0.0, 0.5, 1.0):
        y = base - part * tall
        parts.append(
            f'<line x1="{left}" y1="{y:.1f}" x2="{width - 20}" y2="{y:.1f}" stroke="#bbb"/>'
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{part * top:.2g}</text>'
        )
    minutes = end / MS_PER_MINUTE
    step = next((m for m in TICK_MINUTES if minutes / m <= MOST_TICKS), TICK_MINUTES[-1])
    for minute in range(0, int(minutes) + 1, step):
        x = left + minute * MS_PER_MINUTE * scale
        clock = _clock(minute * MS_PER_MINUTE)
        parts.append(f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle">{clock}</text>')
    parts += [_bar(p, left, base, tall / top, scale, whole) for p in periods]
    parts.append(
        f'<text x="{left}" y="18">Cost above idle of each busy period: '
        '<tspan fill="#30638e">share of the lower bound</tspan> and '
        '<tspan fill="#d1495b">gap</tspan>, with its part of the whole gap where that is '
        f"{MARKED:.0%} or more</text>"
        f'<text x="{(left + width - 20) / 2:.0f}" y="{height - 6}" text-anchor="middle">'
        "time (h:min)</text></svg>"
    )
    return "".join(parts)


def _bar(p: Period, left: float, base: float, per_cost: float, per_ms: float, whole: float) -> str:
    x, w = left + p.start_ms * per_ms, max(1.0, (p.end_ms - p.start_ms) * per_ms)
    upper = per_cost * p.upper
    lower = per_cost * max(0.0, min(p.lower or 0.0, p.upper))
    label = f"{_clock(p.start_ms)} to {_clock(p.end_ms)}, {p.jobs} jobs, cost {p.upper:.3e}"
    mark = ""
    if p.gap is not None:
        label += f", gap {p.gap:.1e}"
        if whole > 0 and p.gap >= MARKED * whole:
            mark = (
                f'<text x="{x + w / 2:.1f}" y="{base - upper - 4:.1f}" text-anchor="middle">'
                f"{p.gap / whole:.0%}</text>"
            )
    return (
        f'<g><title>{label}</title><rect x="{x:.1f}" y="{base - upper:.1f}" width="{w:.1f}" '
        f'height="{upper:.1f}" fill="#d1495b"/><rect x="{x:.1f}" y="{base - lower:.1f}" '
        f'width="{w:.1f}" height="{lower:.1f}" fill="#30638e"/>{mark}</g>'
    )
