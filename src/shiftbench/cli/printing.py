"""The command tables: results printed in the papers; with runs, the papers' tables with both side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli import options as o
from shiftbench.cli.terminal import say, screen
from shiftbench.errors import SettingsError, UnknownNameError
from shiftbench.io.output import adding

if TYPE_CHECKING:
    import polars as pl
    import rich.table

MOST_ROWS = 32  # that are printed unless --full is given
COLUMNS = (
    "task", "dataset", "subset", "model", "ensemble", "setting", "metric", "value", "std", "unit", "source",
)  # fmt: skip


def _published() -> Sequence[str]:
    from shiftbench.track import published

    return published.tracks()


@dataclass(frozen=True)
class Printed:
    """The options that choose some of the printed results."""

    task: Annotated[str | None, typer.Option("--task", help="Only this task of the track.")] = None
    metric: Annotated[str | None, typer.Option("--metric", help="Only this metric.")] = None
    model: Annotated[str | None, typer.Option("--model", help="Only this model.")] = None
    subset: Annotated[str | None, typer.Option("--subset", help="in, shifted or full.")] = None


def tables(
    track: Annotated[
        str | None,
        typer.Argument(help="A track; without one, all are listed.", autocompletion=o.starting(_published)),
    ] = None,
    runs: Annotated[list[Path] | None, typer.Argument(help="Runs to show beside the printed results.")] = None,
    *,
    only: Printed,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Also write them to this file; with runs, tables and figures to a folder [shiftbench-TRACK-tables].",
        ),
    ] = None,
    overwrite: o.Overwrite = False,
    full: Annotated[bool, typer.Option("--full", help="Print every table, not only a summary.")] = False,
) -> None:
    """Results printed in the papers of the Shifts benchmark; with runs, the papers' tables with both side by side."""
    from shiftbench.io.tables import single_file, write_table
    from shiftbench.track import published

    if track is None:
        if out or full or any(asdict(only).values()):
            raise SettingsError("expected a track beside the options, found none. Name it: `shiftbench tables TRACK`.")
        for name in published.tracks():
            say(f"{name:12} {published.results(track=name).height:>6,} results")
        return
    if runs:
        if any(asdict(only).values()):
            raise SettingsError("expected runs, or --task, --metric, --model and --subset, found both. Drop one.")
        _beside_runs(track, runs, out, full=full)
        return
    if track not in published.tracks():
        if track in o.track_names():
            raise SettingsError(
                f"{track}: expected a track with printed results, found one without any. Name runs: `shiftbench tables "
                f"{track} FOLDER`."
            )
        raise UnknownNameError("track", track, published.tracks())
    found = published.results(track=track, **asdict(only))
    if out:
        with single_file.replacing(out, f"tables {track}", overwrite=overwrite):
            write_table(found, out)
    if full or found.height <= MOST_ROWS:
        shown = [name for name in COLUMNS if name != "setting" or found["setting"].str.len_chars().sum()]
        screen(usual=140, least=100).print(_listed(found.select(shown)))
    else:
        _summarise(found)


def _summarise(found: pl.DataFrame) -> None:
    """Print how many results there are of each metric of each task."""
    import polars as pl

    by = found.group_by("task", "metric", maintain_order=True).agg(
        pl.len().alias("results"),
        pl.col("model").n_unique().alias("models"),
        pl.col("source").n_unique().alias("sources"),
    )
    screen().print(_listed(by.head(MOST_ROWS)))
    more = f"{by.height - MOST_ROWS:,} more metrics; " if by.height > MOST_ROWS else ""
    say(f"{more}every result: --full, --out FILE, or some of them: --task, --metric, --model, --subset")


def _listed(frame: pl.DataFrame) -> rich.table.Table:
    from rich.table import Table

    table = Table(*frame.columns)
    for row in frame.iter_rows():
        # "method=deep;K=1" cannot be wrapped, and would be truncated.
        table.add_row(*("" if value is None else str(value).replace(";", "; ").replace("=", " ") for value in row))
    return table


def _beside_runs(name: str, runs: list[Path], out: Path | None, *, full: bool) -> None:
    """`shiftbench tables TRACK RUN…`: the paper's tables and figures, with runs beside the printed results."""
    from shiftbench.report import finding
    from shiftbench.tracks import track

    chosen = track(name)
    if chosen.paper is None:
        raise SettingsError(f"{name} does not support tables of runs: it has no paper. Name no runs.")
    reports = finding.load(runs)
    if full:
        screen(usual=140, least=100).print(chosen.paper.shown(reports))
    else:
        screen().print(chosen.paper.summary(reports))
    folder = out or o.out_path("tables", track=name)
    with adding(folder, "tables") as place:
        written = chosen.paper.write(reports, place)["html"].relative_to(place)
    if not full:
        say("\nevery table: --full, or the page; beside it tables.md, tables.csv and figures")
    say(f"written: {folder / written}")
