"""Drawings of a report as plain values: panels of lines, dots, bars and texts, with axes and a legend.

A drawing becomes SVG text (`svg`) or a PNG (`canvas.png`) by way of a few primitives in pixels, so that a report needs
no plotting library for its page, and both files show the same. y points down, as on paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from shiftbench.report.style import GREY, GRID, INK, Dash, Look, fitted
from shiftbench.report.ticks import log_ticks, ticks

SIZE = 11.0  # of texts, pixels
NARROW = {1.0: "mwMW%@", 0.8: "ABCDEFGHKNOPQRSTUVXYZ#&+<=>~−→×", 0.42: " ,.;:!'()[]|/-ijlItfr°²"}
BOLD = 1.12  # times as wide as other letters
FARTHEST = 1e5  # pixels: what lies far outside of a panel stays a number that every viewer reads
HEAD, FOOT, TITLE, EDGE = (
    20.0,
    20.0,
    17.0,
    12.0,
)  # space for a panel's title, its ticks, an axis title, and at the right

Points = tuple[tuple[float, float], ...]
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Axis:
    """What an axis shows, from `low` (left, below) to `high`, which may be less; unticked, it has no line."""

    title: str
    low: float
    high: float
    log: bool = False
    ticked: bool = True

    @cached_property
    def ticks(self) -> list[tuple[float, str]]:
        """Places of ticks and their texts."""
        if not self.ticked or not self._length:
            return []
        return (log_ticks if self.log else ticks)(self.low, self.high)

    def share(self, value: float) -> float:
        """The position of a value: 0 at the low end, 1 at the high one; the middle of an axis without length."""
        return (self._scaled(value) - self._scaled(self.low)) / self._length if self._length else 0.5

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    @cached_property
    def _length(self) -> float:
        """The length in scaled units, or 0 if that is no number to divide by."""
        length = self._scaled(self.high) - self._scaled(self.low)
        return length if 1e-300 < abs(length) < math.inf else 0.0


@dataclass(frozen=True)
class Line:
    """A line through points in data coordinates; a line with a name tells its values on the page.

    marks: the places of the points with a marker, all of them if None. area: the opacity of the area below the line.
    """

    x: Sequence[float]
    y: Sequence[float]
    look: Look
    name: str = ""
    marks: Sequence[int] | None = ()
    hollow: bool = False
    area: float = 0.0

    @property
    def points(self) -> list[tuple[float, float]]:
        """The points whose coordinates are finite."""
        return [(x, y) for x, y in zip(self.x, self.y, strict=True) if math.isfinite(x) and math.isfinite(y)]


@dataclass(frozen=True)
class Bar:
    """A horizontal bar in data coordinates, `height` high around y; never thinner than a line."""

    ends: tuple[float, float]
    y: float
    color: str
    height: float = 0.6
    hollow: bool = False


@dataclass(frozen=True)
class Label:
    """A text at a share of the panel's width (0 left, 1 right) and y in data coordinates."""

    text: str
    share: float
    y: float
    anchor: str = "start"
    color: str = INK
    size: float = SIZE


@dataclass(frozen=True)
class Panel:
    """One panel. guides: vertical lines at values of x, with a text above them."""

    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()
    labels: tuple[Label, ...] = ()
    guides: tuple[tuple[float, str], ...] = ()
    width: float = 360.0
    height: float = 260.0


@dataclass(frozen=True)
class Entry:
    """One entry of a legend."""

    text: str
    look: Look
    hollow: bool = False


@dataclass(frozen=True)
class Drawing:
    """Panels, `across` side by side, above one legend."""

    panels: tuple[Panel, ...]
    legend: tuple[Entry, ...] = ()
    across: int = 3
    title: str = ""

    @cached_property
    def whole(self) -> Drawn:
        """All panels and the legend in pixels."""
        return laid_out(self)


# --- Primitives -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stroke:
    """A line or, with `fill`, an area, in pixels; clipped to `clip`, if any."""

    points: Points
    color: str = ""
    width: float = 1.0
    dash: Dash = "-"
    fill: str = ""
    opacity: float = 1.0
    clip: Box | None = None
    name: str = ""


@dataclass(frozen=True)
class Marks:
    """The same marker at several places, `size` pixels across."""

    points: Points
    marker: str
    color: str
    size: float = 6.5
    hollow: str = ""  # the colour inside of a hollow marker


@dataclass(frozen=True)
class Words:
    """A text; its anchor is `start`, `middle` or `end` of its base line, which `turned` turns upwards."""

    x: float
    y: float
    text: str
    anchor: str = "middle"
    size: float = SIZE
    color: str = INK
    bold: bool = False
    turned: bool = False
    halo: bool = False  # on a rim of paper, so that lines behind it do not strike it through


Primitive = Stroke | Marks | Words


@dataclass(frozen=True)
class Drawn:
    """A panel or a whole drawing in pixels. frames: the boxes of the panels in it."""

    width: float
    height: float
    items: tuple[Primitive, ...]
    frames: tuple[tuple[Box, Panel], ...] = field(default=())


def text_width(text: str, size: float = SIZE) -> float:
    """The width of a text in pixels, in a wide font (others are narrower)."""
    shares = (next((share for share, chars in NARROW.items() if char in chars), 0.63) for char in text)
    return size * sum(1.0 if ord(char) > 0x2E7F else share for char, share in zip(text, shares, strict=True))


def _within(text: str, width: float) -> str:
    """A text shortened in its middle to a width in pixels."""
    longest = len(text)
    while longest > 1 and text_width(fitted(text, longest)) > width:
        longest -= 1
    return fitted(text, longest)


def laid_out(drawing: Drawing) -> Drawn:
    """A whole drawing: its panels in a grid, and the legend below them."""
    across = min(drawing.across, len(drawing.panels))
    items: list[Primitive] = []
    frames: list[tuple[Box, Panel]] = []
    top = 0.0
    width = max((panel.width for panel in drawing.panels), default=0.0) * across
    if drawing.title:
        top = HEAD
        items.append(Words(width / 2, 14, _within(drawing.title, (width - EDGE) / BOLD), bold=True))
    for start in range(0, len(drawing.panels), across or 1):
        row = drawing.panels[start : start + across]
        for place, drawn in enumerate(panels(replace(drawing, panels=row))):
            left = place * width / across
            items += (_moved(item, left, top) for item in drawn.items)
            frames += ((_moved_box(box, left, top), panel) for box, panel in drawn.frames)
        top += max(panel.height for panel in row)
    rows = _legend_rows(drawing.legend, width)
    for place, entries in enumerate(rows):
        items += _legend(entries, width, top + 14 + 18 * place)
    return Drawn(width, top + (18 * len(rows) + 8 if rows else 0), tuple(items), tuple(frames))


def panels(drawing: Drawing) -> list[Drawn]:
    """The panels of a drawing one by one, with left edges that fit each other."""
    left = max((_left(panel) for panel in drawing.panels), default=0.0)
    return [_panel(panel, left) for panel in drawing.panels]


def sample(entry: Entry) -> Drawn:
    """The line and marker of an entry of a legend."""
    return Drawn(34, 12, tuple(_sample(entry, 2, 6)))


def _left(panel: Panel) -> float:
    widest = max((text_width(text) for _, text in panel.y.ticks), default=0.0)
    return max(widest + 8 * bool(panel.y.ticks) + TITLE * bool(panel.y.title), EDGE)


def _panel(panel: Panel, left: float) -> Drawn:
    top = HEAD if panel.title or any(text for _, text in panel.guides) else 8.0
    box = (left, top, panel.width - EDGE, panel.height - FOOT - TITLE * bool(panel.x.title))
    items = [*_axes(panel, box), *_guides(panel, box)]
    for bar in panel.bars:
        items += _bar(panel, box, bar)
    for line in panel.lines:
        items += _line(panel, box, line)
    for label in panel.labels:
        x, (_, y) = box[0] + label.share * (box[2] - box[0]), _pixel(panel, box, panel.x.low, label.y)
        items.append(Words(x, y + 0.36 * label.size, label.text, label.anchor, label.size, label.color, halo=True))
    if panel.title:
        items.append(Words((box[0] + box[2]) / 2, top - 7, panel.title, bold=True))
    return Drawn(panel.width, panel.height, tuple(items), ((box, panel),))


def _pixel(panel: Panel, box: Box, x: float, y: float) -> tuple[float, float]:
    left, top, right, bottom = box
    across, up = left + panel.x.share(x) * (right - left), bottom - panel.y.share(y) * (bottom - top)
    return max(min(across, FARTHEST), -FARTHEST), max(min(up, FARTHEST), -FARTHEST)


def _axes(panel: Panel, box: Box) -> Iterator[Primitive]:
    left, top, right, bottom = box
    across = [(_pixel(panel, box, value, panel.y.low)[0], text) for value, text in panel.x.ticks]
    yield from (Stroke(((x, top), (x, bottom)), GRID, 0.7) for x, _ in across)
    yield from (Words(x, bottom + 14, text) for x, text in _apart(across, panel))
    for value, text in panel.y.ticks:
        _, y = _pixel(panel, box, panel.x.low, value)
        yield Stroke(((left, y), (right, y)), GRID, 0.7)
        yield Words(left - 5, y + 4, text, "end")
    corner = ((left, top), (left, bottom), (right, bottom)) if panel.y.ticked else ((left, bottom), (right, bottom))
    yield Stroke(corner, INK, 0.9)
    if panel.x.title:
        yield Words((left + right) / 2, panel.height - 6, panel.x.title)
    if panel.y.title:
        yield Words(SIZE, (top + bottom) / 2, panel.y.title, turned=True)


def _apart(across: Sequence[tuple[float, str]], panel: Panel) -> list[tuple[float, str]]:
    """The labels of ticks that do not run into each other: of a linear axis every first, second, … one."""
    halves = [text_width(text) / 2 + 1 for _, text in across]
    placed = [(max(min(x, panel.width - half), half), half) for (x, _), half in zip(across, halves, strict=True)]
    kept = list[int]()
    for place in range(len(placed)):
        if _fit(placed, (*kept[-1:], place)):
            kept.append(place)
    steps = {later - earlier for earlier, later in pairwise(kept)}
    if len(steps) > 1 and not panel.x.log:
        count = len(placed)
        runs = (list(range(first, count, step)) for step in range(2, count) for first in range(step))
        kept = max((run for run in runs if _fit(placed, run)), key=len, default=kept)
    return [(placed[place][0], across[place][1]) for place in kept]


def _fit(placed: Sequence[tuple[float, float]], run: Sequence[int]) -> bool:
    """Whether these texts, each with its middle and half its width, do not run into each other."""
    return all(placed[later][0] - placed[later][1] >= sum(placed[earlier]) for earlier, later in pairwise(run))


def _guides(panel: Panel, box: Box) -> Iterator[Primitive]:
    for value, text in panel.guides:
        x, _ = _pixel(panel, box, value, panel.y.low)
        for low, high in _free(panel, box, x):
            yield Stroke(((x, low), (x, high)), GREY, 0.9, "-" if text else ":")
        yield from [Words(x, box[1] - 3, text, size=8.5, color=GREY)] if text else []


def _free(panel: Panel, box: Box, x: float) -> Iterator[tuple[float, float]]:
    """The parts of a vertical line from top to bottom that no text of the panel lies on."""
    top = box[1]
    for label in sorted(panel.labels, key=lambda label: panel.y.share(label.y), reverse=True):
        width = text_width(label.text, label.size)
        left = box[0] + label.share * (box[2] - box[0]) - {"start": 0.0, "middle": width / 2}.get(label.anchor, width)
        if left - 2 <= x <= left + width + 2:
            _, y = _pixel(panel, box, panel.x.low, label.y)
            if y - 0.6 * label.size > top:
                yield top, y - 0.6 * label.size
            top = y + 0.6 * label.size
    if top < box[3]:
        yield top, box[3]


def _bar(panel: Panel, box: Box, bar: Bar) -> Iterator[Primitive]:
    low, high = sorted(_pixel(panel, box, end, bar.y)[0] for end in bar.ends)
    if high - low < 2:  # a sliver would be invisible
        low, high = (low + high) / 2 - 1, (low + high) / 2 + 1
    over, under = (_pixel(panel, box, 0, bar.y + side * bar.height / 2)[1] for side in (-1, 1))
    corners = ((low, over), (high, over), (high, under), (low, under), (low, over))
    yield Stroke(corners, bar.color, 1.2, fill=bar.color, opacity=0.25 if bar.hollow else 1.0)


def _line(panel: Panel, box: Box, line: Line) -> Iterator[Primitive]:
    places = [_pixel(panel, box, x, y) for x, y in line.points]
    if not places:
        return
    look = line.look
    if line.area:
        ends = ((places[-1][0], box[3]), (places[0][0], box[3]))
        yield Stroke((*places, *ends), fill=look.color, opacity=line.area, clip=box)
    if look.linestyle and len(places) > 1:
        yield Stroke(tuple(places), look.color, look.width, look.linestyle, clip=box, name=line.name)
    marked = places if line.marks is None else [places[k] for k in line.marks if k < len(places)]
    if look.marker and marked:
        around = (box[0] - 6, box[1] - 6, box[2] + 6, box[3] + 6)
        inside = tuple((x, y) for x, y in marked if around[0] <= x <= around[2] and around[1] <= y <= around[3])
        yield from [Marks(inside, look.marker, look.color, hollow="#ffffff" if line.hollow else "")] * bool(inside)


# --- Legends --------------------------------------------------------------------------------------------------------


def _sample(entry: Entry, x: float, y: float) -> Iterator[Primitive]:
    if entry.look.linestyle:
        yield Stroke(((x, y), (x + 30, y)), entry.look.color, entry.look.width, entry.look.linestyle)
    if entry.look.marker:
        yield Marks(((x + 15, y),), entry.look.marker, entry.look.color, hollow="#ffffff" if entry.hollow else "")


def _legend_rows(entries: Sequence[Entry], width: float) -> list[list[Entry]]:
    rows: list[list[Entry]] = []
    room = 0.0
    for entry in entries:
        needed = _entry_width(entry)
        if not rows or needed > room:
            rows.append([])
            room = width
        rows[-1].append(entry)
        room -= needed
    return rows


def _entry_width(entry: Entry) -> float:
    return 36 + text_width(entry.text) + 18


def _legend(entries: Sequence[Entry], width: float, y: float) -> Iterator[Primitive]:
    x = max((width - sum(map(_entry_width, entries))) / 2, 4)
    for entry in entries:
        yield from _sample(entry, x, y - 4)
        yield Words(x + 36, y, entry.text, "start")
        x += _entry_width(entry)


def _moved(item: Primitive, left: float, top: float) -> Primitive:
    if isinstance(item, Words):
        return replace(item, x=item.x + left, y=item.y + top)
    points = tuple((x + left, y + top) for x, y in item.points)
    if isinstance(item, Marks):
        return replace(item, points=points)
    return replace(item, points=points, clip=item.clip and _moved_box(item.clip, left, top))


def _moved_box(box: Box, left: float, top: float) -> Box:
    return (box[0] + left, box[1] + top, box[2] + left, box[3] + top)
