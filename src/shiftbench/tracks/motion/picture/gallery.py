"""The requests of an evaluation that are worth a look, as figures of small scenes for its report."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ArrayError, SettingsError
from shiftbench.report import canvas
from shiftbench.report.picture import Picture
from shiftbench.report.style import short
from shiftbench.report.view import clean
from shiftbench.tracks.motion.picture import look
from shiftbench.tracks.motion.picture.figure import Panel
from shiftbench.tracks.motion.picture.forecast import Forecast, forecasts
from shiftbench.tracks.motion.picture.paths import weight_handles
from shiftbench.tracks.motion.picture.view import NEAR_M, View, request_view
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.submissions.submitted import Submission

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Lookup = Callable[[str], Scene]

KINDS = {
    "largest_errors": ("Largest errors", "the requests with the largest error, the largest first"),
    "least_certain": ("Least certain", "the requests with the highest uncertainty, the highest first"),
    "confidently_wrong": (
        "Confidently wrong",
        "of the quarter of requests with the largest errors, those of at most the median uncertainty, the most certain "
        "first",
    ),
}
MOST = 12
_WIDTH, _HEIGHT = 3.05, 3.6  # of a small picture with its lines, in inches
_LONGEST = 50  # signs of a line above a small picture
_LONGEST_NAME = 50  # of a file, before what tells a picture from the others of its gallery
_WORST = 4  # one in so many has a large error


def to_look_at(errors: npt.ArrayLike, uncertainty: npt.ArrayLike, *, count: int = 6) -> dict[str, list[int]]:
    """Places of the requests worth a look, by the kinds of `KINDS`; of equals the first.

    Args:
        errors: [N], >= 0.
        uncertainty: [N], higher is less certain.
        count: how many of each kind, 1 to 12; fewer where there are fewer requests.

    Raises:
        ArrayError: if these are not as long as each other, or not finite.
        SettingsError: for another count.
    """
    wrong, unsure = (np.asarray(values, dtype=np.float64) for values in (errors, uncertainty))
    if wrong.ndim != 1 or wrong.shape != unsure.shape or not wrong.size:
        raise ArrayError(f"expected errors and uncertainty [N], found shapes {wrong.shape} and {unsure.shape}.")
    if not (np.isfinite(wrong).all() and np.isfinite(unsure).all()):
        raise ArrayError("expected finite errors and uncertainty, found NaN or infinity. Leave these requests out.")
    if not 1 <= count <= MOST:
        raise SettingsError(f"count: expected 1 to {MOST} requests in a picture, found {count}.")
    by_error, by_uncertainty = np.argsort(-wrong, kind="stable"), np.argsort(-unsure, kind="stable")
    worst = by_error[: -(-len(wrong) // _WORST)]
    sure = worst[np.argsort(unsure[worst], kind="stable")]
    sure = sure[unsure[sure] <= np.median(unsure)]
    found = {"largest_errors": by_error, "least_certain": by_uncertainty, "confidently_wrong": sure}
    return {kind: places[:count].tolist() for kind, places in found.items() if len(places)}


def gallery(
    scenes: Lookup, submission: Submission, errors: npt.ArrayLike, *, error: tuple[str, str] = ("cNLL", "nats"),
    frame: str = "agent", count: int = 6, system: str = "",
) -> list[Picture]:  # fmt: skip
    """Pictures of the requests of the largest errors, the highest uncertainty, and those that are confidently wrong.

    Args:
        scenes: gives the scene of an id; it is asked once for each scene in a picture.
        submission: what was predicted, N requests.
        errors: [N], of each request.
        error: their name and unit.
        frame: that of the trajectories, "agent" or "global".
        count: how many requests a picture has, at most.
        system: whose predictions these are, for the captions.

    Raises:
        ArrayError, SettingsError: as `to_look_at`.
        ShiftbenchError: as `forecasts`, and whatever `scenes` raises.
    """
    wrong = np.asarray(errors, dtype=np.float64)
    chosen = to_look_at(wrong, submission.uncertainty, count=count)
    known: dict[str, Scene] = {}
    for place in (place for places in chosen.values() for place in places):
        scene_id = str(submission.scene_ids[place])
        if scene_id not in known:
            known[scene_id] = scenes(scene_id)
    pictures = []
    for kind, places in chosen.items():
        shown = [_Shown(known[str(submission.scene_ids[place])], submission.select([place]), frame) for place in places]
        words = [_words(each, wrong[place], error) for each, place in zip(shown, places, strict=True)]
        title, about = KINDS[kind]
        caption = f"{_of(system)}{about}. {_reading()} {_listed(shown, words)}"
        pictures.append(Picture(kind, title, caption, _figure(shown, words), few_colours=True))
    return pictures


class _Shown:
    """One request of a gallery: its scene, its track, what was foreseen, and how it is seen."""

    def __init__(self, scene: Scene, submission: Submission, frame: str) -> None:
        self.scene, self.track = scene, int(submission.track_ids[0])
        self.uncertainty = float(submission.uncertainty[0])
        self.forecasts: Mapping[int, Forecast] = forecasts(submission, scene, frame=frame)
        column = scene.vehicles.column(self.track)
        ways = [] if column is None else [scene.vehicles.position[:, column, :2]]
        fits = [*ways, self.forecasts[self.track].trajectories]
        self.view: View = request_view(scene, self.track, reach=NEAR_M, fits=fits)


def _words(shown: _Shown, error: float, name: tuple[str, str]) -> str:
    unit = f" {name[1]}" if name[1] else ""
    return f"{name[0]} {_number(error)}{unit}, uncertainty {_number(shown.uncertainty)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _of(system: str) -> str:
    return f"{clean(system)}: " if system else ""


def _reading() -> str:
    return (
        "Each is seen in its own frame, forwards up: the requested vehicle in blue, where it went in black (a dot each "
        "second), the forecasts in purple, wider where the weight is higher."
    )


def _listed(shown: list[_Shown], words: list[str]) -> str:
    texts = [
        f"{number}: {', '.join(filter(None, (_name(each, 60), look.tag_text(each.scene, brief=True), text)))}"
        for number, (each, text) in enumerate(zip(shown, words, strict=True), 1)
    ]
    return clean("; ".join(texts)) + "."


def _name(shown: _Shown, longest: int) -> str:
    """Scene and track; of a long id the middle gives way."""
    text, tail = clean(shown.scene.id), (longest - 1) // 2
    scene = text if len(text) <= longest else f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return f"{scene}/{shown.track}"


def _figure(shown: list[_Shown], words: list[str]) -> Figure:
    with canvas.settings():
        figure, panels = canvas.panels(len(shown), width=_WIDTH, height=_HEIGHT, below=0)
        entries: dict[str, Any] = {}
        for number, (axes, each, text) in enumerate(zip(panels, shown, words, strict=True), 1):
            panel = Panel(axes, each.scene, each.view, [each.track], each.forecasts)
            panel.show_now()
            panel.measure()
            place = look.tag_text(each.scene, brief=True)
            head = short(f"{number}. {_name(each, 18)}" + (f", {place}" if place else ""), _LONGEST)
            axes.set_title(f"{head}\n{short(text, _LONGEST)}", loc="left", fontsize=7.5)
            entries |= {handle.get_label(): handle for handle in panel.handles()}
        handles = [*entries.values(), *weight_handles()]
        columns, below = canvas.legend_grid([handle.get_label() for handle in handles], figure.get_figwidth())
        figure.set_figheight(figure.get_figheight() + below)
        canvas.legend(figure, handles, columns)
    return figure


def galleries(
    scenes: Lookup, systems: Iterable[tuple[str, Submission, npt.ArrayLike]], *, error: tuple[str, str], split: str
) -> list[Picture]:
    """The galleries of several systems on a split, as a report carries them: each picture has a name of its own.

    Args:
        scenes, error: as `gallery`.
        systems: name, what was predicted for N requests, and the error [N] of each.
        split: what the requests are of, for names and captions.

    Raises:
        ShiftbenchError: as `gallery`.
    """
    found, taken = list[Picture](), set[str]()
    for name, submission, errors in systems:
        prefix = _free(f"{split}-{name}", taken)
        made = gallery(scenes, submission, errors, error=error, system=f"{name}, {split}")
        found += [replace(each, name=f"{prefix}-{each.name}", title=f"{each.title}: {name}") for each in made]
    return found


def _free(text: str, taken: set[str]) -> str:
    """A text as the beginning of a file's name that is not taken yet; some disks do not tell A from a."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", text).lstrip("_-")[:_LONGEST_NAME] or "systems"
    numbers = itertools.count(2)
    name = plain
    while name.lower() in taken:
        name = f"{plain}-{next(numbers)}"
    taken.add(name.lower())
    return name
