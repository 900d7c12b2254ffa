"""What all pictures share: settings, panels, legends and axes. matplotlib is imported inside the functions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from shiftbench.report.content import Report
from shiftbench.report.digits import SUPERSCRIPTS
from shiftbench.report.style import DPI, SETTINGS, SUBSET_LOOKS, labels, looks, short
from shiftbench.report.view import answered
from shiftbench.scores.score import SUBSETS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ACROSS = 3
LONG = 100_000  # numbers of this size and above are written with a power of ten


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
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    usual = figure.dpi
    try:
        figure.set_dpi(DPI)
        with settings():
            drawing: Any = FigureCanvasAgg(figure)
            drawing.print_png(target, metadata={"Software": None})
    finally:
        figure.set_dpi(usual)


def write_svg(figure: Figure, target: TextIO) -> None:
    """Write a figure as SVG without a date, as `Figure.savefig` does, which would draw it twice."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with settings():
        drawing: Any = FigureCanvasSVG(figure)
        drawing.print_svg(target, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))


def panels(count: int, *, width: float, height: float, below: float, square: bool = False) -> tuple[Figure, list[Any]]:
    """A figure with `count` panels of the given size in inches, and a strip of `below` inches for the legend."""
    from matplotlib.figure import Figure

    across = min(count, MOST_ACROSS)
    down = math.ceil(count / across)
    size = (max(width * across, 5.5), height * down + below)
    figure = Figure(figsize=size, layout="compressed" if square else "constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for spare in axes[count:]:
        spare.set_axis_off()
    if square:
        for panel in axes[:count]:
            panel.set(aspect="equal", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
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


def system_handles(report: Report, names: Sequence[str], split: str) -> list[Any]:
    """Legend entries of systems in their styles; a system with gaps has its number of records in the split."""
    texts, every = labels(report), looks(report)
    return [
        handle(
            texts[name] + answered(report, split, name),
            color=look.color,
            linestyle=look.linestyle,
            marker=look.marker,
            linewidth=look.width,
        )
        for name in names
        for look in [every[name]]
    ]


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


def tick_text(value: float) -> str:
    """A tick label: a plain number, or from 100,000 on a form such as 3×10⁶."""
    if value < LONG:
        return f"{value:,g}"
    power = math.floor(math.log10(value) + 1e-9)
    factor = f"{value / 10**power:.3g}"
    return ("" if factor == "1" else f"{factor}×") + f"10{str(power).translate(SUPERSCRIPTS)}"
