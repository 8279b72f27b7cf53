"""Busy periods over the day: what each costs, how much of it the bound covers, and where the gap adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from migopt.metrics.periods import Period
from migopt.report.svg import BLUE, RED, Picture
from migopt.report.tables import number, percent
from migopt.units import MS_PER_HOUR, MS_PER_MINUTE

#: Steps of the time axis in seconds; the first that gives at most MOST_TICKS is taken.
TICK_SECONDS = (1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400)
MOST_TICKS = 14
#: The worst periods are marked with their rank, if they hold at least this share of the gap.
MARKED, MOST_MARKS = 0.02, 8
#: Days shorter than this are labelled with seconds.
SHORT_MS = 30 * MS_PER_MINUTE
WIDTH, HEIGHT = 900, 430
_LEFT, _RIGHT = 78, 20
#: Top and bottom of the three panels: costs, gaps, and the gap added up.
_COST, _GAP, _SUM = (28, 188), (220, 290), (322, 380)
#: Width of a character, in units of the font size.
_CHARACTER = 0.5
_LIGHT = {"var(--ink)": "#1c1f23", "var(--faint)": "#8b929b", "var(--paper)": "#ffffff"}


def period_picture(periods: Sequence[Period], name: str, title: str, note: str = "") -> Picture:
    """Return the drawing for a page, with what a reader must know below it."""
    caption = (
        "Each busy period is as wide as it lasts. Top: its cost above idle; blue is the share of the "
        "lower bound, red the gap, a dashed frame a share above the cost. Middle: the gap alone, with "
        "the ranks of the worst periods. Bottom: the gap added up over the day. Point at a period for "
        "its figures. "
    )
    text = _document(periods, escape(title)).replace(
        "<svg ", f'<svg style="--width: {WIDTH}px" ', 1
    )
    return Picture(name, title, caption + note, text, wide=True)


def period_svg(periods: Sequence[Period], title: str = "Gap by busy period") -> str:
    """Return the drawing as a file of its own, dark on white."""
    text = _document(periods, escape(title))
    for variable, colour in _LIGHT.items():
        text = text.replace(variable, colour)
    head, middle, rest = text.partition(">")
    size = head.replace("<svg ", f'<svg width="{WIDTH}" height="{HEIGHT}" ', 1)
    return f'{size}{middle}<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{rest}\n'


def clock(ms: int, *, seconds: bool = False) -> str:
    """Return a time of day; hours go on beyond 24."""
    text = f"{ms // MS_PER_HOUR:02d}:{ms % MS_PER_HOUR // MS_PER_MINUTE:02d}"
    return f"{text}:{ms % MS_PER_MINUTE // 1000:02d}" if seconds else text


def span_text(period: Period, *, seconds: bool = False) -> str:
    """Return start and end of a period."""
    return f"{clock(period.start_ms, seconds=seconds)}–{clock(period.end_ms, seconds=seconds)}"


def in_seconds(periods: Sequence[Period]) -> bool:
    """Return whether times of these periods need seconds."""
    return max((period.end_ms for period in periods), default=0) < SHORT_MS


def ranked(periods: Sequence[Period]) -> list[Period]:
    """Return the periods by what they add to the gap, the most first."""
    return sorted(periods, key=lambda period: (-(period.gap or 0.0), period.start_ms))


@dataclass(frozen=True)
class _Scale:
    """From times and values of one panel to coordinates."""

    end_ms: int
    low: float
    high: float
    panel: tuple[int, int]

    def x(self, ms: float) -> float:
        """Return the place of a time."""
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * ms / self.end_ms

    def y(self, value: float) -> float:
        """Return the height of a value."""
        top, base = self.panel
        return base - (base - top) * (value - self.low) / (self.high - self.low)

    def bars(self, bars: Sequence[tuple[Period, float, float]], look: str) -> str:
        """Return bars from one value to another as one path, which keeps a day's picture small."""
        boxes = []
        for period, start, end in bars:
            x, width = self.x(period.start_ms), self.x(period.end_ms) - self.x(period.start_ms)
            y, tall = self.y(end), self.y(start) - self.y(end)
            width = max(width, 1.5)
            boxes.append(f"M{x:.1f},{y:.1f}h{width:.1f}v{tall:.1f}h{-width:.1f}z")
        return f'<path d="{"".join(boxes)}" {look}/>' if boxes else ""


def _scale(periods: Sequence[Period], values: Sequence[float], panel: tuple[int, int]) -> _Scale:
    end = max((p.end_ms for p in periods), default=0) or 1
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    return _Scale(end, low, high if high > low else low + 1.0, panel)


def _document(periods: Sequence[Period], title: str) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="var(--ink)">',
        *_costs(periods),
        *_gaps(periods),
        *_cumulated(periods),
        *_time_axis(periods),
        *_hovers(periods),
        "</svg>",
    ]
    return "".join(parts)


def _costs(periods: Sequence[Period]) -> list[str]:
    """Draw the cost of each period, and how much of it the bound covers."""
    scale = _scale(periods, [max(p.upper, p.lower or 0.0) for p in periods], _COST)
    shares = [(p, max(0.0, p.lower or 0.0)) for p in periods]
    parts = [_text(_LEFT, 16, "cost above idle of each busy period:", "start")]
    x = _LEFT + 222.0
    for colour, label in ((BLUE, "share of the lower bound"), (RED, "gap")):
        parts.append(f'<rect x="{x:g}" y="7" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(x + 15, 16, label, "start"))
        x += 30 + 12 * _CHARACTER * len(label)
    return [
        *parts,
        *_levels(scale, (0.0, scale.high / 2, scale.high)),
        scale.bars([(p, 0.0, min(p.upper, share)) for p, share in shares], f'fill="{BLUE}"'),
        scale.bars([(p, s, p.upper) for p, s in shares if p.upper > s], f'fill="{RED}"'),
        scale.bars(
            [(p, p.upper, s) for p, s in shares if scale.y(p.upper) - scale.y(s) > 0.5],
            'fill="none" stroke="var(--ink)" stroke-dasharray="2 2"',
        ),
    ]


def _gaps(periods: Sequence[Period]) -> list[str]:
    """Draw the gap of each period on a scale of its own, and mark the worst."""
    gaps = [(p, p.gap or 0.0) for p in periods]
    scale = _scale(periods, [gap for _, gap in gaps], _GAP)
    whole = sum(gap for _, gap in gaps)
    bars = [(p, min(0.0, gap), max(0.0, gap)) for p, gap in gaps if gap]
    parts = [
        _text(_LEFT, _GAP[0] - 12, "gap of each busy period", "start"),
        *_levels(scale, (0.0, scale.high)),
        scale.bars(bars, f'fill="{RED}"'),
    ]
    taken: list[tuple[float, float]] = []
    for rank, p in enumerate(ranked(periods)[:MOST_MARKS], 1):
        gap = p.gap or 0.0
        if whole <= 0 or gap < MARKED * whole:
            break
        x, y = scale.x((p.start_ms + p.end_ms) / 2), scale.y(gap) - 3
        if any(abs(x - other) < 14 and abs(y - height) < 12 for other, height in taken):
            continue  # a better one stands there
        taken.append((x, y))
        parts.append(_text(x, y, str(rank), "middle", 'font-weight="600"'))
    return parts


def _cumulated(periods: Sequence[Period]) -> list[str]:
    """Draw what share of the gap has come together, rising from the start to the end of each period."""
    whole = sum(p.gap or 0.0 for p in periods)
    parts = [_text(_LEFT, _SUM[0] - 12, "share of the whole gap, added up", "start")]
    if whole <= 0:
        return [*parts, _text(_LEFT + 8, sum(_SUM) / 2, "no gap", "start")]
    points, total = [(0, 0.0)], 0.0
    for p in periods:
        points.append((p.start_ms, total))
        total += (p.gap or 0.0) / whole
        points.append((p.end_ms, total))
    scale = _scale(periods, [1.0, *(value for _, value in points)], _SUM)
    line = " ".join(f"{scale.x(ms):.1f},{scale.y(value):.1f}" for ms, value in points)
    base = f"{scale.y(0.0):.1f}"
    area = f"{scale.x(0):.1f},{base} {line} {scale.x(points[-1][0]):.1f},{base}"
    return [
        *parts,
        *_levels(scale, (0.0, 0.5, 1.0), "{:.0%}"),
        f'<polygon points="{area}" fill="{RED}" fill-opacity="0.25"/>',
        f'<polyline points="{line}" fill="none" stroke="{RED}" stroke-width="1.6"/>',
    ]


def _levels(scale: _Scale, values: Sequence[float], form: str = "{:.2g}") -> list[str]:
    parts = []
    for value in values:
        y = scale.y(value)
        parts += [_line(_LEFT, y, WIDTH - _RIGHT, y)]
        parts += [_text(_LEFT - 6, y + 4, form.format(value), "end")]
    return parts


def _time_axis(periods: Sequence[Period]) -> list[str]:
    scale, seconds = _scale(periods, (), _SUM), in_seconds(periods)
    steps = [1000 * step for step in TICK_SECONDS]
    step = next((ms for ms in steps if scale.end_ms / ms <= MOST_TICKS), steps[-1])
    base, parts = _SUM[1], []
    for ms in range(0, scale.end_ms + 1, step):
        x = scale.x(ms)
        parts.append(_line(x, base, x, base + 4))
        parts.append(_text(x, base + 17, clock(ms, seconds=seconds), "middle"))
    unit = "h:min:s" if seconds else "h:min"
    return [*parts, _text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 10, f"time, {unit}", "middle")]


def _hovers(periods: Sequence[Period]) -> list[str]:
    """Lay a column over each period that says its figures when pointed at; narrow ones last, on top."""
    scale = _scale(periods, (), (_COST[0], _SUM[1]))
    whole = sum(p.gap or 0.0 for p in periods)
    rank = {id(p): place for place, p in enumerate(ranked(periods), 1)}
    seconds, parts = in_seconds(periods), []
    for p in sorted(periods, key=lambda item: item.start_ms - item.end_ms):
        width = max(4.0, scale.x(p.end_ms) - scale.x(p.start_ms))
        x = scale.x((p.start_ms + p.end_ms) / 2) - width / 2
        share = f", {percent(p.gap / whole)} of the gap" if p.gap is not None and whole > 0 else ""
        told = (
            f"{span_text(p, seconds=seconds)}, {p.jobs} job{'s' * (p.jobs != 1)}, rank {rank[id(p)]}\n"
            f"cost {number(p.upper)} (energy {number(p.energy)}, tardiness {number(p.tardiness)})\n"
            f"lower share {number(p.lower)}, gap {number(p.gap)}{share}"
        )
        top, base = scale.panel
        box = f'x="{x:.1f}" y="{top}" width="{width:.1f}" height="{base - top}"'
        parts.append(f'<rect {box} fill-opacity="0"><title>{escape(told)}</title></rect>')
    return parts


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    gap = f" {more}" if more else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{gap}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="var(--faint)" stroke-opacity="0.5"/>'
