"""All commands; those about tracks are built for each track, with the options that it declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli import (
    assessing,
    benchmarking,
    challenging,
    fetching,
    fitting,
    listing,
    preparing,
    printing,
    serving,
)
from shiftbench.cli.command import Act, TrackCommand, by_track, flat
from shiftbench.cli.options import OUTS, out_option, starting, track_names
from shiftbench.errors import SettingsError, UnknownNameError

if TYPE_CHECKING:
    from shiftbench.track import Import, Option, Track

Options = Callable[["Track"], "tuple[Option, ...]"]

TRACK = Annotated[
    str,
    typer.Argument(
        metavar="TRACK", help="The track's name; TRACK --help lists its options.", show_default=False,
        autocompletion=starting(track_names),
    ),
]  # fmt: skip
FORMAT = Annotated[
    str,
    typer.Argument(
        metavar="FORMAT", help="Format of the data; FORMAT --help lists options.", show_default=False,
        autocompletion=starting(lambda: _imports()),
    ),
]  # fmt: skip


def commands() -> Iterator[tuple[str, Act, type[TrackCommand] | None]]:
    """Each command's name, its function without a track, and its class."""
    run = _by_track(
        benchmarking.run_of,
        benchmarking.run_options,
        lambda track: {"out": out_option("run TRACK", track=track.name)},
        listing=listing.of_track,
        otherwise="a table of your own",
    )
    yield "run", flat(fitting.run, listing=listing.of_runs, out=out_option("run")), run
    listings = {"assess": listing.of_assessments, "compare": listing.of_assessments, "fit": listing.of_fits}
    plain: tuple[Any, ...] = (
        assessing.assess, assessing.compare, fitting.partition, fitting.fit, fitting.predict, assessing.report,
        printing.tables,
    )  # fmt: skip
    for act in plain:
        name = act.__name__
        own = {"out": out_option(name)} if name in OUTS and name != "tables" else {}
        yield name, flat(act, listing=listings.get(name), **own), None
    example = _by_track(
        benchmarking.example_of,
        benchmarking.example_options,
        lambda track: {"out": out_option("example", example=track.example.name)},
        others=(benchmarking.TABLE,),
        otherwise=benchmarking.TABLE,
    )
    table = out_option("example", example=f"{benchmarking.TABLE}.parquet")
    yield "example", flat(benchmarking.example, out=table), example
    about_tracks: tuple[Any, ...] = (
        (fetching.fetch, fetching.options, fetching.arguments),
        (preparing.prepare, preparing.options, lambda track: {"out": out_option("prepare", track=track.name)}),
        (preparing.show, lambda track: track.options.get("show", ()), preparing.show_arguments),
    )
    for of_track, options, arguments in about_tracks:
        kind = _by_track(of_track, options, arguments, is_only=True)
        name = of_track.__name__
        yield name, flat(of_track, track=TRACK, **({"out": out_option(name)} if name in OUTS else {})), kind
    imports = by_track(
        _import, names=lambda: [*_imports()], is_only=True, noun="format", explain=staticmethod(_not_a_format)
    )
    yield "import", flat(preparing.import_data, form=FORMAT, out=out_option("import")), imports
    for act in (serving.serve, serving.submit, serving.verify):
        yield act.__name__, flat(act), None


def groups() -> Iterator[tuple[str, str, list[tuple[str, Act]]]]:
    """Each group of commands: its name, its help, and its commands by name."""
    yield "challenge", challenging.ABOUT, [(name, flat(act)) for name, act in challenging.commands()]


def _by_track(
    act: Act,
    options: Options,
    arguments: Callable[[Track], dict[str, Any]] | None = None,
    listing: Callable[[Track], None] | None = None,
    **others: Any,
) -> type[TrackCommand]:
    """The class of a command that runs `act`, with these options, for each track."""

    def form(name: str) -> Act:
        from shiftbench.tracks import track

        chosen = track(name)
        shown = partial(listing, chosen) if listing else None
        return flat(act, options(chosen), chosen, shown, **(arguments(chosen) if arguments else {}))

    return by_track(form, **others)


def _import(name: str) -> Act:
    track, form = _imports()[name]
    options = (*track.options.get("import", ()), *preparing.spreading(track, "import"))
    return flat(preparing.import_data, options, form, out=out_option("import", format=name))


def _not_a_format(name: str) -> None:
    """Say what a track imports, if this is the name of one."""
    if name in track_names():
        known = [form for form, (track, _) in _imports().items() if track.name == name]
        found = f"imports the data of {', '.join(known)}. Name the format" if known else "imports no data of others"
        raise SettingsError(f"{name}: expected a format of data to import, found a track, which {found}.")


def _imports() -> dict[str, tuple[Track, Import]]:
    """The formats that tracks import, by name."""
    from shiftbench import tracks

    found = {}
    for name in tracks.names():
        with suppress(UnknownNameError):  # of another package, and does not load: a warning has said so
            track = tracks.track(name)
            found.update({form.name: (track, form) for form in track.imports})
    return found
