"""Drawings as SVG: one file that stands alone, or markup for a page, where panels flow and follow its colours.

Both have the same elements: shapes with plain colours, which style sheets may replace, and texts as texts. A panel with
named lines carries what the page's script needs to tell their values: the box of the panel and the ends of its axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from shiftbench.report.drawing import (
    Box,
    Drawing,
    Drawn,
    Marks,
    Panel,
    Primitive,
    Stroke,
    Words,
    panels,
    sample,
)
from shiftbench.report.style import INK, dashes

FONTS = "DejaVu Sans, Verdana, Arial, sans-serif"
NARROW = 250.0  # pixels of panels of which more than two fit side by side on a page of middle width
BROADEST = 1218.0  # pixels of a picture on the widest page
SHRUNK, GROWN = 0.83, 1.25  # how far a panel on a page may leave its size to fill a row
DIAGONAL = math.sqrt(0.5)


def svg(drawing: Drawing, name: str) -> str:
    """A drawing as a file that stands alone, on white; `name` begins its ids."""
    whole = drawing.whole
    paper = f'<rect width="{_number(whole.width)}" height="{_number(whole.height)}" fill="#ffffff"/>'
    return _svg(whole, name, paper, ' xmlns="http://www.w3.org/2000/svg"') + "\n"


def markup(drawing: Drawing, name: str) -> str:
    """A drawing as markup for a page: panels that flow, and the legend as text."""
    drawn = panels(drawing)
    shown = [
        _svg(panel, f"{name}-{place}", space=f' style="max-width:{GROWN * panel.width:.0f}px"')
        for place, panel in enumerate(drawn, 1)
    ]
    least = SHRUNK * min((panel.width for panel in drawn), default=0.0)
    most = max(1, int(BROADEST // least)) if drawn else 1
    columns = math.ceil(len(drawn) / math.ceil(len(drawn) / most)) if drawn else 1  # five are three and two
    keys = [f"<span>{_svg(sample(entry))} <bdi>{escape(entry.text)}</bdi></span>" for entry in drawing.legend]
    legend = f'\n<div class="legend">{"".join(keys)}</div>' if keys else ""
    wide = " wide" if least > NARROW else ""
    return f'<div class="panels{wide}" style="--least:{least:.0f}px;--columns:{columns}">{"".join(shown)}</div>{legend}'


def _svg(drawn: Drawn, name: str = "", paper: str = "", space: str = "") -> str:
    width, height = _number(drawn.width), _number(drawn.height)
    clips = {frame: f"{name}-clip-{place}" for place, (frame, _) in enumerate(drawn.frames, 1)}
    used = {item.clip for item in drawn.items if isinstance(item, Stroke)}
    defs = "".join(_clip(frame, clips[frame]) for frame in clips if frame in used)
    names = "".join(_frame(frame, panel) for frame, panel in drawn.frames if any(line.name for line in panel.lines))
    body = "".join(_element(item, clips) for item in drawn.items)
    return (
        f'<svg{space} viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="{FONTS}" '
        f'font-size="11" fill="none">{paper}{defs}{body}{names}</svg>'
    )


def _clip(box: Box, name: str) -> str:
    return f'<clipPath id="{name}">{_rect(box)}</clipPath>'


def _rect(box: Box, attributes: str = "") -> str:
    left, top, right, bottom = box
    place = f'x="{_number(left)}" y="{_number(top)}" width="{_number(right - left)}" height="{_number(bottom - top)}"'
    return f"<rect {place}{attributes}/>"


def _frame(box: Box, panel: Panel) -> str:
    """An invisible box over the panel with the ends of its axes."""
    axes = ((name, axis) for name, axis in (("x", panel.x), ("y", panel.y)))
    texts = "".join(
        f' data-{name}="{axis.low:.6g} {axis.high:.6g}{" log" if axis.log else ""}" '
        f'data-{name}-title="{escape(axis.title)}"'
        for name, axis in axes
    )
    return _rect(box, texts)


def _element(item: Primitive, clips: dict[Box, str]) -> str:
    if isinstance(item, Words):
        return _text(item)
    if isinstance(item, Marks):
        path = "".join(_marker(item.marker, x, y, item.size) for x, y in item.points)
        return f'<path d="{path}" stroke="{item.color}" fill="{item.hollow or item.color}"/>'
    return _stroke(item, f' clip-path="url(#{clips[item.clip]})"' if item.clip else "")


def _stroke(item: Stroke, clip: str) -> str:
    path = "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in _thinned(item))
    line = f' stroke="{item.color}" stroke-width="{_number(item.width)}"' if item.color else ""
    pattern = [_number(part * item.width) for part in dashes(item.dash)]
    broken = f' stroke-dasharray="{" ".join(pattern)}"' if pattern else ""
    faint = f' fill-opacity="{item.opacity:g}"' if item.opacity < 1 else ""
    area = f' fill="{item.fill}"{faint}' if item.fill else ""
    name = f' data-name="{escape(item.name)}"' if item.name else ""
    return f'<path d="{path}"{line}{broken}{area}{clip}{name}/>'


def _thinned(item: Stroke) -> Iterator[tuple[float, float]]:
    """Points without those that lie on the same spot as the one before."""
    before = None
    for x, y in item.points:
        spot = (_number(x), _number(y))
        if spot != before:
            yield x, y
        before = spot


def _text(item: Words) -> str:
    turned = f' transform="rotate(-90 {_number(item.x)} {_number(item.y)})"' if item.turned else ""
    size = f' font-size="{_number(item.size)}"' if item.size != 11 else ""
    bold = ' font-weight="bold"' if item.bold else ""
    anchor = f' text-anchor="{item.anchor}"' if item.anchor != "start" else ""
    halo = ' stroke="#ffffff" stroke-width="3" stroke-linejoin="round" paint-order="stroke"' if item.halo else ""
    place = f'x="{_number(item.x)}" y="{_number(item.y)}"'
    return f'<text {place} fill="{item.color or INK}"{anchor}{size}{bold}{turned}{halo}>{escape(item.text)}</text>'


def _marker(marker: str, x: float, y: float, size: float) -> str:
    """The outline of a marker around a place."""
    r = size / 2
    if marker == "o":
        return f"M{_number(x - r)} {_number(y)}a{r} {r} 0 1 0 {size} 0a{r} {r} 0 1 0 {-size} 0z"
    outline = [(_number(x + r * across), _number(y + r * down)) for across, down in MARKERS[marker]]
    return "M" + "L".join(f"{across} {down}" for across, down in outline) + "z"


def _polar(*angles: float) -> tuple[tuple[float, float], ...]:
    return tuple((1.15 * math.cos(math.radians(angle)), 1.15 * math.sin(math.radians(angle))) for angle in angles)


_PLUS = ((1, 3), (1, 1), (3, 1), (3, -1), (1, -1), (1, -3), (-1, -3), (-1, -1), (-3, -1), (-3, 1), (-1, 1), (-1, 3))
MARKERS = {
    "s": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "D": _polar(0, 90, 180, 270),
    "^": _polar(-90, 30, 150),
    "v": _polar(90, 210, 330),
    "<": _polar(180, 300, 60),
    ">": _polar(0, 120, 240),
    "P": tuple((x / 2.8, y / 2.8) for x, y in _PLUS),
    "X": tuple(((x - y) * DIAGONAL / 2.8, (x + y) * DIAGONAL / 2.8) for x, y in _PLUS),
}


def _number(value: float) -> str:
    """A number with one decimal, as short as possible."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text
