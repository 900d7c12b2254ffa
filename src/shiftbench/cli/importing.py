"""The command that converts data of other benchmarks to a track's format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli import options as o
from shiftbench.cli.preparing import require_executor
from shiftbench.cli.terminal import note, progress_bar, say
from shiftbench.errors import ShiftbenchError
from shiftbench.io.output import require_outside, writing

if TYPE_CHECKING:
    from shiftbench.track import Import

Source = Annotated[Path, typer.Argument(help="A file, or a folder of many at any depth.", show_default=False)]


def import_data(form: Import, source: Source, out: o.Out = None, overwrite: o.Overwrite = False, **own: Any) -> None:
    """Convert data of another benchmark to a track's format; an interrupted import is resumed."""
    folder = out or Path(f"shiftbench-{form.name}")
    require_outside(source, folder)
    require_executor(own)
    damaged: ShiftbenchError | None = None
    lines: list[str] = []
    with (
        writing(folder, f"import {form.name}", overwrite=overwrite, resumes=True, tell=note) as place,
        progress_bar() as progress,
    ):
        try:
            lines += form.write(source, place, progress=progress, **own)
        except ShiftbenchError as error:
            if type(error) is not ShiftbenchError or overwrite:  # otherwise the result is complete
                raise
            damaged = error
    if damaged:
        raise damaged
    for line in lines:
        say(line)
    say(f"data: {folder} ({form.about})")
