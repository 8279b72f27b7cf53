"""Matplotlib figures as SVG that sits inside a page: themed by CSS, no foreign resources."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

#: Colours that matplotlib draws and the page replaces by a CSS variable, so that they follow the
#: reader's light or dark mode.
INK = "#010203"
FAINT = "#040506"
PAPER = "#070809"
_VARIABLES = {INK: "var(--ink)", FAINT: "var(--faint)", PAPER: "var(--paper)"}

#: Okabe and Ito's colours, told apart by people with any colour vision, on light and dark.
BLUE, ORANGE, GREEN, RED, PURPLE = "#3d8fd1", "#e69f00", "#1a9e77", "#d55e00", "#b172b5"
GREY = "#9a9a9a"

#: Widest display of a figure; 9 points then are 12.5 pixels high.
_PX_PER_INCH = 100


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure for the page.

    Attributes
    ----------
    name : str
        Unique within the page.
    title, caption : str
        What it shows, and how to read it; the caption also says it to people who cannot see it.
    svg : str
        The ``<svg>`` element.
    wide : bool
        Whether it may scroll sideways on a phone rather than shrink.
    """

    name: str
    title: str
    caption: str
    svg: str
    wide: bool = False


@contextmanager
def style() -> Iterator[Any]:
    """Give matplotlib's object interface with the report's look; touches no global state after."""
    import matplotlib

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "migopt",
        "font.size": 9.0,
        "font.family": "sans-serif",
        "text.color": INK,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "axes.titlesize": 10.0,
        "axes.titlelocation": "left",
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.grid.axis": "x",
        "axes.axisbelow": True,
        "grid.color": FAINT,
        "grid.alpha": 0.35,
        "grid.linewidth": 0.6,
        "xtick.color": FAINT,
        "xtick.labelcolor": INK,
        "ytick.color": FAINT,
        "ytick.labelcolor": INK,
        "figure.facecolor": "none",
        "legend.frameon": False,
        "hatch.linewidth": 0.6,
        "figure.dpi": 72.0,
    }
    with matplotlib.rc_context(settings):
        yield matplotlib


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, inches, that belongs to no window system."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def to_svg(figure: Any, name: str, title: str) -> str:
    """Return the figure as one ``<svg>`` element whose ids start with ``name``."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Matplotlib's own style rule would apply to the whole page.
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    # A hundredth of a point is finer than any screen.
    text = re.sub(r'(?<= d=")[^"]*', lambda path: _shorten(path[0]), text)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r' id="', f' id="{name}-', text)
    text = text.replace("url(#", f"url(#{name}-").replace('href="#', f'href="#{name}-')
    head = f'<svg role="img" aria-label="{escape(title)}"'
    width = figure.get_size_inches()[0] * _PX_PER_INCH
    return text.replace("<svg", f'{head} style="--width: {width:.0f}px"', 1).strip()


def _shorten(path: str) -> str:
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", path).replace("\n", "")
