"""The command that makes data of other benchmarks into data of a track."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli import options as o
from shiftbench.cli.preparing import Workers
from shiftbench.cli.terminal import note, progress_bar, say
from shiftbench.errors import ShiftbenchError, UnknownNameError
from shiftbench.output import require_outside, writing

FORMATS = ("argoverse2",)

Format = Annotated[str, typer.Argument(metavar="FORMAT", help=f"Whose data: {', '.join(FORMATS)}.", show_default=False)]
Source = Annotated[
    Path, typer.Argument(help="A recording's folder, or a folder of many at any depth.", show_default=False)
]
Executor = Annotated[
    str | None,
    typer.Option(
        "--executor", help="Where recordings are imported: serial, processes, ray, ray=HOST:PORT or slurm [processes]."
    ),
]


def import_data(
    form: Format,
    source: Source,
    out: o.Out = None,
    executor: Executor = None,
    workers: Workers = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Make recordings of another benchmark into scenes of the motion track; goes on where it was stopped."""
    from shiftbench.executor import Executor as Where
    from shiftbench.tracks.motion.argoverse2 import import_scenes

    if form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS)
    Where.of(executor or "processes")
    folder = out or Path(f"shiftbench-{form}")
    require_outside(source, folder)
    damaged: ShiftbenchError | None = None
    with (
        writing(folder, f"import {form}", overwrite=overwrite, resumes=True, tell=note) as place,
        progress_bar() as progress,
    ):
        try:
            imported = import_scenes(
                source, place, progress=progress, executor=executor or "processes", workers=workers
            )
        except ShiftbenchError as error:
            if type(error) is not ShiftbenchError or overwrite:  # else the recordings that are whole are there
                raise
            damaged = error
    if damaged:
        raise damaged
    say(f"recordings {imported.recordings:>10,}\nscenes     {imported.scenes:>10,}")
    say(f"requests   {imported.requests:>10,}")
    for reason, count in imported.left_out.items():
        say(f"left out   {count:>10,}  {reason}")
    say(f"data: {folder} (a test set: its cities and weather are in no partition)")
