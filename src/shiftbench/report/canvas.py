"""Pictures by matplotlib, which is imported inside the functions: settings, panels, legends, axes, PNG and SVG.

A paper's pictures and those of records are drawn with it; a report's own are drawings, which become PNG here.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import numpy as np
import numpy.typing as npt

from shiftbench.report.drawing import Drawing, Marks, Primitive, Words
from shiftbench.report.style import DPI, SETTINGS, SUBSET_LOOKS, short
from shiftbench.report.ticks import LONG, tick_text
from shiftbench.scores.score import SUBSETS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ACROSS = 3
PIXELS = 96  # of a drawing, an inch


@contextmanager
def settings() -> Iterator[None]:
    """Draw with this package's settings instead of the user's own, which are restored afterwards."""
    import matplotlib.style

    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes; the tables have the text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def write_png(figure: Figure, target: Path | BinaryIO) -> None:
    """Write a figure as PNG (150 dpi), as `Figure.savefig` does, which would draw it twice."""
    with _drawing(figure) as drawing:
        drawing.print_png(target, metadata={"Software": None})


def pixels(figure: Figure) -> npt.NDArray[np.uint8]:
    """What `write_png` would write, as an array of bytes [H, W, 4]."""
    with _drawing(figure) as drawing:
        drawing.draw()
        return np.asarray(drawing.buffer_rgba())


@contextmanager
def _drawing(figure: Figure) -> Iterator[Any]:
    """A figure's canvas at 150 dpi."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    usual = figure.dpi
    try:
        figure.set_dpi(DPI)
        with settings():
            yield FigureCanvasAgg(figure)
    finally:
        figure.set_dpi(usual)


def write_svg(figure: Figure, target: TextIO) -> None:
    """Write a figure as SVG without a date, as `Figure.savefig` does, which would draw it twice."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with settings():
        drawing: Any = FigureCanvasSVG(figure)
        drawing.print_svg(target, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))


def svg(figure: Figure, name: str) -> str:
    """A figure as SVG text: no date, and ids that begin with its name, unique within a page of pictures."""
    buffer = io.StringIO()
    write_svg(figure, buffer)
    text = buffer.getvalue()
    return re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\g<1>{name}-", text[text.index("<svg") :])


def figure_of(drawing: Drawing) -> Figure:
    """A drawing as a figure, for `write_png`."""
    from matplotlib.figure import Figure
    from matplotlib.transforms import Affine2D

    drawn = drawing.whole
    figure = Figure(figsize=(drawn.width / PIXELS, drawn.height / PIXELS))
    place = Affine2D().scale(1 / drawn.width, -1 / drawn.height).translate(0, 1) + figure.transFigure
    for item in drawn.items:
        _add(figure, item, place)
    return figure


def _add(figure: Any, item: Primitive, place: Any) -> None:
    """Add a primitive to a figure. `place` takes pixels of the drawing to those of the figure."""
    from matplotlib import lines, patches, patheffects

    artist: Any = lines.Line2D
    points = 72 / PIXELS
    if isinstance(item, Words):
        side = {"start": "left", "middle": "center", "end": "right"}[item.anchor]
        text = figure.text(item.x, item.y, item.text, ha=side, transform=place, parse_math=False, color=item.color)
        text.set(size=item.size * points, weight="bold" if item.bold else "normal")
        text.set(rotation=90 if item.turned else 0, rotation_mode="anchor")
        if item.halo:
            text.set_path_effects([patheffects.withStroke(linewidth=3 * points, foreground="#ffffff")])
        return
    if isinstance(item, Marks):
        line = artist(*zip(*item.points, strict=True), color=item.color, linestyle="", transform=place)
        line.set(marker=item.marker, markersize=item.size * points, markerfacecolor=item.hollow or item.color)
        figure.add_artist(line)
        return
    if item.fill:
        area = patches.Polygon(item.points, color=item.fill, alpha=item.opacity, linewidth=0, transform=place)
        figure.add_artist(area)
    if item.color:
        line = artist(*zip(*item.points, strict=True), color=item.color, linestyle=item.dash, transform=place)
        line.set(linewidth=item.width * points, solid_capstyle="butt")
        figure.add_artist(line)
        if item.clip is not None:
            left, top, right, bottom = item.clip
            line.set_clip_path(patches.Rectangle((left, top), right - left, bottom - top, transform=place))


def panels(count: int, *, width: float, height: float, below: float) -> tuple[Figure, list[Any]]:
    """A figure with `count` panels of the given size in inches, and a strip of `below` inches for the legend."""
    from matplotlib.figure import Figure

    across = min(count, MOST_ACROSS)
    down = math.ceil(count / across)
    size = (max(width * across, 5.5), height * down + below)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def legend_grid(texts: Sequence[str], width: float) -> tuple[int, float]:
    """The number of columns of a legend below panels of `width` inches, and its height in inches."""
    longest = max((len(text) for text in texts), default=1)
    across = max(1, min(len(texts), int(width / (0.085 * longest + 0.65))))
    return across, 0.2 * math.ceil(len(texts) / across) + 0.15


def legend(figure: Figure, handles: list[Any], columns: int) -> None:
    """Add a legend below all panels, where it covers no data."""
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def handle(label: str, **look: Any) -> Any:
    """One entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


def subset_handles(subsets: Sequence[str], *, marker: bool) -> list[Any]:
    """Legend entries of subsets in their styles."""
    return [
        handle(SUBSETS[subset], color=color, linestyle=dash, marker=shape if marker else "")
        for subset in subsets
        for color, dash, shape in [SUBSET_LOOKS[subset]]
    ]


def unit_text(unit: str) -> str:
    """A unit in brackets, or nothing."""
    return f" ({short(unit)})" if unit else ""


def log_axis(axis: Any, values: Sequence[float]) -> None:
    """Make an axis logarithmic, with plain numbers at as many ticks as the range of the values needs."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.axes.set_xscale("log")
    span = max(values) / min(values)
    # Long numbers need more space between them.
    between: tuple[int, ...] = (1, 2, 5) if max(values) < LONG or span < 10 else (1, 3)
    axis.set_major_locator(LogLocator(subs=between if span < 300 else (1,), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))
    axis.set_minor_formatter(NullFormatter())
