"""Partitions drawn as the familiar bar of slices: SVG text, from the standard library alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from html import escape

from migopt.errors import InputError
from migopt.model import GpuModel, Partition, Placement

_UNIT_SPAN = 640
_ROW, _GAP, _AXIS, _TITLE = 34, 8, 26, 22
#: Fill by compute slices; all light enough for dark text. The name in the slice says the same.
_FILLS = {1: "#cde3f5", 2: "#b9e0cf", 3: "#f7e3ab", 4: "#f4c7a8", 7: "#d6c7ea"}
_OTHER_FILL = "#dddddd"
_INK, _FAINT = "#1a1a1a", "#767676"
_CHARACTER = 0.62  # width of a character in units of the font size


def partition_svg(
    model: GpuModel,
    partition: Partition,
    *,
    title: str = "",
    busy: Collection[Placement] = (),
) -> str:
    """Return one partition as an SVG document.

    Parameters
    ----------
    busy : collection of Placement
        Slices drawn with a strong frame.

    Raises
    ------
    InputError
        If the GPU does not accept the partition.
    """
    return _document(model, [("", partition)], title, busy)


def partitions_svg(
    model: GpuModel, rows: Iterable[tuple[str, Partition]], *, title: str = ""
) -> str:
    """Return several partitions of one GPU below each other, each with a label on its left.

    Raises InputError if the GPU does not accept one of them.
    """
    return _document(model, list(rows), title, ())


def bars_svg(
    rows: Iterable[tuple[GpuModel, str, Partition, Collection[Placement]]], *, title: str = ""
) -> str:
    """Return partitions of several GPUs below each other: (GPU, label, partition, busy slices).

    An axis of memory units follows the rows of each GPU model. Raises InputError as
    ``partitions_svg`` does.
    """
    rows = list(rows)
    margin = 12 + max((round(8 * len(label)) for _, label, _, _ in rows), default=0)
    y: float = _TITLE if title else 4
    name = title or "; ".join(f"{model.key}: {partition}" for model, _, partition, _ in rows)
    body = [_text(margin, 14, title, 13, anchor="start", ink=_FAINT)] if title else []
    for i, (model, label, partition, busy) in enumerate(rows):
        body.append(_text(margin - 6, y + _ROW / 2 + 4, label, 13, anchor="end", ink=_FAINT))
        body += _bar(model, partition, margin, y, busy)
        y += _ROW + _GAP
        if i + 1 == len(rows) or rows[i + 1][0] != model:
            body += _axis(model, margin, y)
            y += _AXIS
    width, height = margin + _UNIT_SPAN + 4, y
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" '
            f'width="{width}" height="{height:g}" role="img" font-family="sans-serif">',
            f"<title>{escape(name)}</title>",
            *body,
            "</svg>\n",
        ]
    )


def _document(
    model: GpuModel, rows: list[tuple[str, Partition]], title: str, busy: Collection[Placement]
) -> str:
    return bars_svg([(model, label, partition, busy) for label, partition in rows], title=title)


def _bar(
    model: GpuModel, partition: Partition, left: float, y: float, busy: Collection[Placement]
) -> list[str]:
    unit = _UNIT_SPAN / model.memory_units
    if partition.is_off:
        return _box(left, y, _UNIT_SPAN, "MIG off", _OTHER_FILL, stroke=1)
    reason = model.why_invalid(partition)
    if reason is not None:
        raise InputError(f"cannot draw {partition}: {reason}")
    covered = {u for placement in partition for u in model.units(placement)}
    out = [
        f'<rect x="{left + u * unit + 1:g}" y="{y:g}" width="{unit - 2:g}" height="{_ROW}" rx="4" '
        f'fill="none" stroke="{_FAINT}" stroke-dasharray="3 3"/>'
        for u in range(model.memory_units)
        if u not in covered
    ]
    for placement in partition:
        profile = model.profile(placement.profile)
        out += _box(
            left + placement.start * unit,
            y,
            profile.memory_units * unit,
            profile.name,
            _FILLS.get(profile.compute_slices, _OTHER_FILL),
            stroke=3 if placement in busy else 1,
        )
    return out


def _box(x: float, y: float, width: float, name: str, fill: str, *, stroke: int) -> list[str]:
    size = min(14.0, (width - 8) / (_CHARACTER * len(name)))
    return [
        f'<rect x="{x + 1:g}" y="{y:g}" width="{width - 2:g}" height="{_ROW}" rx="4" '
        f'fill="{fill}" stroke="{_INK}" stroke-width="{stroke}"/>',
        _text(x + width / 2, y + _ROW / 2 + size * 0.35, name, size),
    ]


def _axis(model: GpuModel, left: float, y: float) -> list[str]:
    unit = _UNIT_SPAN / model.memory_units
    return [
        _text(left + (u + 0.5) * unit, y + 10, str(u), 11, ink=_FAINT)
        for u in range(model.memory_units)
    ]


def _text(
    x: float, y: float, text: str, size: float, *, anchor: str = "middle", ink: str = _INK
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:.3g}" text-anchor="{anchor}" '
        f'fill="{ink}">{escape(text)}</text>'
    )
