"""One patient as a figure: axial, sagittal and coronal planes with the outlines of truth and prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench.measures import MEASURES
from shiftbench.report import canvas
from shiftbench.report.style import short
from shiftbench.tracks.lesions.picture.view import PLANES, Plane, View, numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH, ANSWER, INK, CROSS = "#00d18f", "#ff9d1f", "#f2f2f2", "#5ec8ff"
HEAT = "inferno"
FADED = 0.3  # of the highest uncertainty: below it maps fade into the scan
WINDOW = (1.0, 99.7)  # percentiles of the brain that are black and white
SCALE_MM = 20
MOST_NUMBERS = 8  # of lesions in a plane, the largest there
FONT = 7.5  # points, of these numbers
WIDTH = 10.5  # inches
ARM_MM, GAP_MM = 12.0, 2.0  # of crosshairs: their arms, and how far these end from the lesion that they mark


Box = tuple[float, float, float, float]


class Numbers(NamedTuple):
    """The numbers of lesions [X, Y, Z], 0 elsewhere, the LSU of each or none, and how many mm are a point of print."""

    labels: npt.NDArray[np.int32]
    structural: list[float]
    mm_a_point: float


def patient_figure(view: View, *, title: str, measure: str = "") -> Figure:
    """Three planes of a patient; below them the same with a map of uncertainty, if the prediction has one.

    Args:
        view: what is seen; its planes meet at `view.at`.
        title: above the planes.
        measure: the voxel measure that is drawn; by default the first one.
    """
    seen = view.cropped()
    maps = {} if seen.prediction is None else seen.prediction.maps
    name = measure or next(iter(maps), "")
    rows = 1 + (name in maps)
    sizes = [_size(plane, seen) for plane in PLANES]
    widths = [size[0] for size in sizes]
    tallest = max(size[1] for size in sizes) * WIDTH / sum(widths)
    with canvas.settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, rows * (tallest + 0.1) + 0.95), layout="constrained")
        grid: Any = figure.subplots(rows, 3, squeeze=False, width_ratios=widths)
        numbers = Numbers(*numbered(seen), sum(widths) / WIDTH / 72)
        for column, plane in enumerate(PLANES):
            _anatomy(grid[0][column], seen, plane, numbers)
            grid[0][column].set_title(f"{plane.title}, {_where(seen, view, plane)}", fontsize=8.5)
            if rows > 1:
                drawn = _heat(grid[1][column], seen, plane, maps[name])
        if rows > 1:
            bar = figure.colorbar(
                drawn, ax=grid[1].tolist(), location="bottom", shrink=0.4, aspect=40, pad=0.01, panchor=False
            )
            bar.set_label(MEASURES[name].title if name in MEASURES else name, fontsize=8)
        figure.suptitle(short(title, 110), fontsize=10, x=0.01, ha="left")
        handles = _handles(seen, bool(numbers.structural))
        canvas.legend(figure, handles, len(handles) if len(handles) < 4 else 2)
    return figure


def _size(plane: Plane, view: View) -> tuple[float, float]:
    """Width and height of a plane in mm."""
    wide, high = plane.across([size * side for size, side in zip(view.shape, view.spacing, strict=True)])
    return float(wide), float(high)


def _where(seen: View, whole: View, plane: Plane) -> str:
    """The slice in the numbers of the scan, from 1."""
    return f"slice {whole.at[plane.axis] + 1} of {whole.shape[plane.axis]}"


# --- panels ----------------------------------------------------------------------------------------------------------


def _anatomy(axes: Any, view: View, plane: Plane, numbers: Numbers) -> None:
    _ground(axes, view, plane)
    place = view.at[plane.axis]
    if view.truth is not None:
        _outline(axes, plane.cut(view.truth, place), view, plane, TRUTH, 2.4)
    if view.prediction is not None:
        _outline(axes, plane.cut(view.prediction.mask, place), view, plane, ANSWER, 1.0)
        _number(axes, plane.cut(numbers.labels, place), view, plane, numbers)
    _crosshair(axes, view, plane)
    _marks(axes, view, plane)


def _heat(axes: Any, view: View, plane: Plane, uncertainty: Any) -> Any:
    _ground(axes, view, plane)
    place = view.at[plane.axis]
    values = plane.cut(uncertainty, place)
    most = float(uncertainty[view.brain].max(initial=0.0)) or 1.0
    drawn = axes.imshow(
        values, cmap=HEAT, vmin=0, vmax=most, alpha=np.clip(values / (FADED * most), 0, 0.9), origin="lower",
        extent=_extent(view, plane), interpolation="nearest",
    )  # fmt: skip
    if view.truth is not None:
        _outline(axes, plane.cut(view.truth, place), view, plane, TRUTH, 1.0)
    _crosshair(axes, view, plane)
    _marks(axes, view, plane)
    return drawn


def _ground(axes: Any, view: View, plane: Plane) -> None:
    """The scan in grey, or the brain where there is no scan."""
    axes.set_facecolor("black")
    axes.set_anchor("N")
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    place = view.at[plane.axis]
    if view.image is None:
        ground, low, high = plane.cut(view.brain, place).astype(float), 0.0, 3.0
    else:
        inside = view.image[view.brain] if view.brain.any() else view.image.ravel()
        low, high = (float(end) for end in np.percentile(inside, WINDOW))
        ground = plane.cut(view.image, place)
    axes.imshow(
        ground, cmap="gray", vmin=low, vmax=max(high, low + 1e-6), origin="lower", extent=_extent(view, plane),
        interpolation="nearest",
    )  # fmt: skip


def _extent(view: View, plane: Plane) -> tuple[float, float, float, float]:
    wide, high = _size(plane, view)
    return 0.0, wide, 0.0, high


def _outline(axes: Any, mask: Any, view: View, plane: Plane, color: str, width: float) -> None:
    """The boundary of a mask along the sides of its voxels."""
    if not mask.any():
        return
    wide, high = plane.across(view.spacing)
    segments = [*_sides(mask, 0), *_sides(mask, 1)]
    from matplotlib.collections import LineCollection

    scaled = [[(x * wide, y * high) for x, y in segment] for segment in segments]
    axes.add_collection(LineCollection(scaled, colors=color, linewidths=width))


def _sides(mask: Any, axis: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The sides between voxels of a mask [rows, columns] and others, of one direction, as (column, row) pairs."""
    padded = np.pad(mask.astype(np.int8), 1)
    edges = np.argwhere(np.diff(padded, axis=axis))
    found = []
    for row, column in edges.tolist():
        if axis == 0:  # between rows: a horizontal side
            found.append(((column - 1, row), (column, row)))
        else:
            found.append(((column, row - 1), (column, row)))
    return found


def _number(axes: Any, labels: Any, view: View, plane: Plane, numbers: Numbers) -> None:
    """The numbers of the largest lesions of a plane beside them, with their structural uncertainty; where there is no
    room for a number, there is none."""
    from matplotlib.patheffects import withStroke

    wide, high = plane.across(view.spacing)
    names, sizes = np.unique(labels[labels > 0], return_counts=True)
    taken: list[Box] = []
    marked = numbers.labels[view.at] if view.marked else 0
    for name in names[np.lexsort((-sizes, names != marked))][:MOST_NUMBERS].tolist():
        rows, columns = np.nonzero(labels == name)
        text = f"{name}" + (f": {numbers.structural[name - 1]:.2f}" if numbers.structural else "")
        width, height = (size * FONT * numbers.mm_a_point for size in (0.7 * len(text) + 0.3, 1.35))
        sides = ((columns.max() + 1.5) * wide, (columns.min() - 0.5) * wide - width)
        ends = ((rows.max() + 1.0) * high, rows.min() * high - height)
        places = [(across, up, across + width, up + height) for across in sides for up in ends]
        free = next((place for place in places if _is_free(place, taken, _size(plane, view))), None)
        if free is not None:
            taken.append(free)
            drawn = axes.text(*free[:2], text, color=ANSWER, fontsize=FONT, fontweight="bold", va="bottom")
            drawn.set_path_effects([withStroke(linewidth=2, foreground="black")])  # readable on any tissue


def _is_free(box: Box, taken: list[Box], size: tuple[float, float]) -> bool:
    """Whether a box (left, bottom, right, top) lies in the plane and apart from others."""
    left, bottom, right, top = box
    if left < 0 or bottom < 0 or right > size[0] or top > size[1]:
        return False
    return not any(left < other[2] and other[0] < right and bottom < other[3] and other[1] < top for other in taken)


def _crosshair(axes: Any, view: View, plane: Plane) -> None:
    """Four arms around the marked lesion, which they leave clear."""
    if not view.marked:
        return
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    wide, high = plane.across(view.spacing)
    rows, columns = np.nonzero(plane.cut(view.lesion(), view.at[plane.axis]))
    if not rows.size:
        return
    left, right = columns.min() * wide - GAP_MM, (columns.max() + 1) * wide + GAP_MM
    bottom, top = rows.min() * high - GAP_MM, (rows.max() + 1) * high + GAP_MM
    across, up = (left + right) / 2, (bottom + top) / 2
    arms = [
        [(left - ARM_MM, up), (left, up)], [(right, up), (right + ARM_MM, up)],
        [(across, bottom - ARM_MM), (across, bottom)], [(across, top), (across, top + ARM_MM)],
    ]  # fmt: skip
    drawn = LineCollection(arms, colors=CROSS, linewidths=1.2)
    drawn.set_path_effects([withStroke(linewidth=2.0, foreground="black")])
    axes.add_collection(drawn)


def _marks(axes: Any, view: View, plane: Plane) -> None:
    """Directions at the edges, and a bar of 20 mm."""
    wide, high = _size(plane, view)
    left, right, top, bottom = plane.letters
    look = {"color": INK, "fontsize": 8, "fontweight": "bold"}
    axes.text(2, high / 2, left, ha="left", va="center", **look)
    axes.text(wide - 2, high / 2, right, ha="right", va="center", **look)
    axes.text(wide / 2, high - 2, top, ha="center", va="top", **look)
    axes.text(wide / 2, 2, bottom, ha="center", va="bottom", **look)
    axes.plot([5, 5 + SCALE_MM], [5, 5], color=INK, linewidth=2, solid_capstyle="butt")
    axes.text(5 + SCALE_MM / 2, 7, f"{SCALE_MM} mm", color=INK, fontsize=6.5, ha="center", va="bottom")
    axes.set_xlim(0, wide)
    axes.set_ylim(0, high)


def _handles(view: View, structural: bool) -> list[Any]:
    handles = []
    if view.truth is not None:
        handles.append(canvas.handle("truth", color=TRUTH, linewidth=2.4))
    if view.prediction is not None:
        beside = "number: structural uncertainty" if structural else "numbered, the largest first"
        handles.append(canvas.handle(f"prediction ({beside})", color=ANSWER, linewidth=1.0))
    if view.marked:
        handles.append(canvas.handle(f"crosshairs: the {view.marked}", color=CROSS, linewidth=1.0))
    handles.append(canvas.handle("R right, L left, A front, P back, S top, I bottom of the patient", linestyle=""))
    return handles
