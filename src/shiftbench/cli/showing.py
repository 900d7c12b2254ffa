"""The command that draws one file of a track's data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli import options as o
from shiftbench.cli.terminal import progress_bar, say
from shiftbench.errors import SettingsError, TableError
from shiftbench.io.output import adding

if TYPE_CHECKING:
    from shiftbench.track import Option, Track

Source = Annotated[Path, typer.Argument(metavar="FILE", help="A file of the track's data.", show_default=False)]


def options(track: Track) -> tuple[Option, ...]:
    """The options of `show` for a track."""
    return track.options.get("show", ())


def arguments(track: Track) -> dict[str, Any]:
    """The name of the argument of `show` for a track."""
    if track.show is None:
        return {}
    told = typer.Argument(metavar=track.show.metavar, help=track.show.about, show_default=False)
    return {"source": Annotated[Path, told]}


def show(track: Track, source: Source, out: o.Out = None, **own: Any) -> None:
    """Draw a file of a track's data; earlier pictures of the same file are replaced."""
    if track.show is None:
        raise SettingsError(f"{track.name} does not support show: its data cannot be drawn.")
    if not source.is_file():
        raise TableError(f"{source}: expected a file, found {'a folder' if source.is_dir() else 'nothing'} there.")
    folder = out or Path("shiftbench-show")
    with adding(folder, "show", prunes=False) as place, progress_bar() as progress:
        paths = track.show.draw(source, place, progress=progress, **own)
    for what, path in paths.items():
        say(f"{what + ':':12} {folder / path.relative_to(place)}")
