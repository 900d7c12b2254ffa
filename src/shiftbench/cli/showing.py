"""The command that draws one file of a track's data."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli import options as o
from shiftbench.cli.terminal import progress_bar, say
from shiftbench.errors import TableError, UnknownNameError
from shiftbench.output import adding

if TYPE_CHECKING:
    from types import ModuleType

ROOM = "picture"  # of a track that can be drawn

Source = Annotated[Path, typer.Argument(metavar="SCENE", help="File of the scene (.pb).", show_default=False)]
Request = Annotated[
    int | None, typer.Option("--request", min=0, help="One request, by its track, in its own frame [all of them].")
]
Predictions = Annotated[
    Path | None, typer.Option("--predictions", help="Submission (protobuf or Parquet) to draw what it foresees.")
]
Frame = Annotated[str, typer.Option("--frame", help="Frame of the predictions: agent or global.")]
Gif = Annotated[bool, typer.Option("--gif/--no-gif", help="Draw the animation as well.")]
FeatureMap = Annotated[bool, typer.Option("--feature-map", help="Draw the feature map of the request as well.")]


def show(
    name: Annotated[str, typer.Argument(metavar="TRACK", help="The track's name.", show_default=False)],
    source: Source,
    request: Request = None,
    predictions: Predictions = None,
    frame: Frame = "agent",
    out: o.Out = None,
    gif: Gif = True,
    feature_map: FeatureMap = False,
) -> None:
    """Draw a scene as a picture and as an animation; earlier ones of the same scene are replaced."""
    room = _room(name)
    for path in filter(None, (source, predictions)):
        if not path.is_file():
            raise TableError(f"{path}: expected a file, found {'a folder' if path.is_dir() else 'nothing'} there.")
    folder = out or Path("shiftbench-show")
    with adding(folder, "show", prunes=False) as place, progress_bar() as progress:
        paths = room.show(
            source, place, record=request, predictions=predictions, frame=frame, moving=gif, inputs=feature_map,
            progress=progress,
        )  # fmt: skip
    for what, path in paths.items():
        say(f"{what + ':':13}{folder / path.relative_to(place)}")


def _room(name: str) -> ModuleType:
    """What draws the data of a track."""
    from shiftbench import tracks

    names = [entry.name for entry in pkgutil.iter_modules(tracks.__path__) if entry.ispkg]
    drawn = [each for each in names if importlib.util.find_spec(f"{tracks.__name__}.{each}.{ROOM}")]
    if name not in drawn:
        raise UnknownNameError("track with pictures", name, drawn)
    return importlib.import_module(f"{tracks.__name__}.{name}.{ROOM}")
