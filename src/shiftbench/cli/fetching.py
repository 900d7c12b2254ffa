"""The command that downloads a track's official archives."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli.terminal import note, say
from shiftbench.errors import SettingsError
from shiftbench.progress import Progress

if TYPE_CHECKING:
    from shiftbench.io.fetch import Archive
    from shiftbench.track import Option, Track

To = Annotated[
    Path | None, typer.Option("--to", help="Folder for it; default: TRACK in $SHIFTBENCH_DATA or the user's cache.")
]
Accept = Annotated[bool, typer.Option("--accept-licence", help="You have read the licence and accept it.")]
Url = Annotated[str | None, typer.Option("--url", help="Download the archive from this address.")]
Listing = Annotated[bool, typer.Option("--list", help="Only list the archives, their addresses and their licence.")]
Verify = Annotated[bool, typer.Option("--verify", help="Hash an existing file again.")]
Unpack = Annotated[bool, typer.Option("--unpack", help="Also unpack it into a folder beside it.")]


def options(track: Track) -> tuple[Option, ...]:
    """The options of `fetch` for a track: the names of its archives."""
    from shiftbench.track import Option

    known = tuple(archive.name for archive in track.archives)
    return (Option("archive", str, "Which archive", default=known[0], choices=known, flag="--what"),) if known else ()


def arguments(track: Track) -> dict[str, Any]:
    """The option --to of `fetch` with its default for a track."""
    about = f"Folder for it; default: {_folder(track)} ($SHIFTBENCH_DATA or the user's cache)."
    return {"to": Annotated[Path | None, typer.Option("--to", help=about)]}


def fetch(
    track: Track,
    to: To = None,
    accept_licence: Accept = False,
    url: Url = None,
    listing: Listing = False,
    verify: Verify = False,
    unpack: Unpack = False,
    **own: Any,
) -> None:
    """Download an official archive of a track; an interrupted download is resumed."""
    from shiftbench.io import fetch as fetching

    archives = track.archives
    if not archives:
        raise SettingsError(f"{track.name} does not support fetch: it has no archives.")
    if listing:
        _list(archives)
        return
    archive = next(each for each in archives if each.name == own.get("archive", archives[0].name))
    if url is not None:
        archive = replace(archive, url=url, agreement=None)
    folder = to or _folder(track)
    there = not archive.agreement or (folder / archive.file).exists()
    accepted = accept_licence or fetching.accepted(archive, folder) or (there and _accepts(archive))
    with _bytes_bar() as progress:
        fetched = fetching.fetch(archive, folder, accept_licence=accepted, verify=verify, progress=progress)
    known = "recorded now, for later comparison" if fetched.new else "as recorded"
    say(f"file:   {fetched.path}\nsize:   {fetched.size:,} bytes\nsha256: {fetched.sha256} ({known})")
    if unpack:
        place = folder / archive.file.split(".")[0]
        with _bytes_bar() as progress:
            fetching.unpack(fetched.path, place, progress=progress)
        say(f"folder: {place}")
    for other in archives:
        if other.agreement and other.name != archive.name and not (folder / other.file).exists():
            say(f"more:   {other.about}: `shiftbench fetch {track.name} --what {other.name}` says how to get them")
    if archive.then:
        unpacks = f"shiftbench fetch {track.name} --what {archive.name} --to {{folder}} --unpack"
        then = archive.then if unpack or not archive.unpacked else unpacks
        say(f"next:   {then.format(path=shlex.quote(str(fetched.path)), folder=shlex.quote(str(folder)))}")


def _folder(track: Track) -> Path:
    from shiftbench.io import fetch as fetching

    return fetching.default_folder() / track.name


def _list(archives: tuple[Archive, ...]) -> None:
    width = max(len(archive.name) for archive in archives)
    for archive in archives:
        address = f"sign at {archive.agreement}" if archive.agreement else archive.url
        facts = (archive.about, address, _terms(archive), f"asks you to {archive.licence.asks}")
        say("\n".join(f"{archive.name if line == 0 else '':{width}}  {text}" for line, text in enumerate(facts)))


def _terms(archive: Archive) -> str:
    return f"licence {archive.licence.name}, {archive.licence.url}"


def _accepts(archive: Archive) -> bool:
    """Show the licence and ask for acceptance; false if there is no terminal."""
    if not sys.stdin.isatty():
        return False
    note(f"{archive.name}: {archive.about}\n{_terms(archive)}\nIt asks you to {archive.licence.asks}")
    return typer.confirm("Do you accept it?", err=True)


@contextmanager
def _bytes_bar() -> Iterator[Progress]:
    """A bar of bytes, speed and remaining time on stderr; silent if stderr is not a terminal."""
    from rich import progress as bar
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        bar.TextColumn("{task.description}"), bar.BarColumn(), bar.DownloadColumn(), bar.TransferSpeedColumn(),
        bar.TimeRemainingColumn(),
    )  # fmt: skip
    with bar.Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        rows: dict[str, bar.TaskID] = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in rows:  # bytes downloaded earlier count as done, but not towards the speed
                rows[stage] = bars.add_task(stage, total=total or None, completed=done)
            bars.update(rows[stage], completed=done, total=total or None)

        yield progress
