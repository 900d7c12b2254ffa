"""The command that hosts a challenge."""

from __future__ import annotations

import getpass
import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli.terminal import note, say
from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError

if TYPE_CHECKING:
    from shiftbench.challenge import client
    from shiftbench.challenge.store.ledger import Ledger
    from shiftbench.challenge.store.records import CommandLine
    from shiftbench.challenge.web.server import Server

Folder = Annotated[Path, typer.Argument(help="The challenge's folder.", show_default=False)]
State = Annotated[Path | None, typer.Option("--state", help="Folder of accounts and submissions [FOLDER.state].")]
DatabaseUrl = Annotated[
    str,
    typer.Option(
        "--database", envvar="SHIFTBENCH_DATABASE", show_default=False, show_envvar=False,
        help="URL of a PostgreSQL database [$SHIFTBENCH_DATABASE, or a file in the state].",
    ),
]  # fmt: skip
Host = Annotated[str, typer.Option("--host", help="Address to listen at; 0.0.0.0 is everywhere.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen at; 0 takes a free one.")]
Workers = Annotated[int, typer.Option("--workers", min=0, max=64, help="Processes that score; 0: none here.")]
Proxy = Annotated[
    str,
    typer.Option(
        "--proxy", help="Addresses of reverse proxies that say where visitors come from (X-Forwarded-For), with commas."
    ),
]
LINK_LASTS = 86_400_000_000  # microseconds: a day


@dataclass(frozen=True, kw_only=True)
class Where:
    """The options that name what a server remembers."""

    state: State = None
    database: DatabaseUrl = ""

    def of(self, folder: Path) -> Path:
        """The folder of the state, absolute: readers of strangers' files work elsewhere."""
        if self.state is not None:
            return self.state.absolute()
        return folder.absolute().with_name(f"{folder.absolute().name}.state")

    def served(self, folder: Path) -> bool:
        """Whether a challenge has a server's state already."""
        return bool(self.database) or (self.of(folder) / "server.sqlite").exists()

    def ledger(self, folder: Path) -> Ledger:
        """What the server of a challenge remembers.

        Raises:
            SettingsError: if there is no server's state.
        """
        with extra():
            from shiftbench.challenge.store.ledger import Ledger
            from shiftbench.challenge.web.server import DATABASE, clock
        path = self.of(folder) / DATABASE
        if not self.served(folder):
            raise SettingsError(
                f"{path}: expected the state of a server, found none. Name it with --state, or begin one with "
                f"`shiftbench serve {folder}`."
            )
        return Ledger(self.database or path, clock=clock)


def command_line() -> CommandLine:
    """In whose name the command line acts: whoever can read the state of a server is its host."""
    from shiftbench.challenge.store.records import CommandLine

    try:
        return CommandLine(getpass.getuser())
    except (KeyError, OSError):  # an account without a name, as in some containers
        return CommandLine(f"user {os.getuid()}")


@contextmanager
def extra() -> Iterator[None]:
    """Tell which extra to install where a library is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("shiftbench"):
            raise
        raise MissingExtraError(
            f"expected {error.name} for a server, found none. Install it: pip install 'shiftbench[server]'."
        ) from None


def serve(
    folder: Folder, *, where: Where, host: Host = "127.0.0.1", port: Port = 8000, workers: Workers = 1,
    proxy: Proxy = "127.0.0.1,::1",
) -> None:  # fmt: skip
    """Host a challenge: pages, accounts, teams, uploads, scores and leaderboards. Ctrl-C ends it."""
    with extra():
        import uvicorn

        from shiftbench.challenge import manifest, references
        from shiftbench.challenge.web.application import application
        from shiftbench.challenge.web.server import opened
        from shiftbench.challenge.workers import Workers as Processes

    if problems := [*_wrong_proxies(proxy), *manifest.check(folder)]:
        raise SettingsError(*problems)
    state = where.of(folder)
    server = opened(folder, state, database=where.database)
    listening = _listening(host, port)
    references.queue(folder, state, server.challenge, server.ledger)
    address = f"http://{host}:{listening.getsockname()[1]}"
    _say_missing_key(server, state)
    _say_layers(scores=workers > 0)
    say(f"open:   {address}/")
    if link := _admin_link(server, address):
        say(f"admin:  {link} (once, within a day)")
    config = uvicorn.Config(
        application(server), access_log=False, log_level="warning", server_header=False, timeout_graceful_shutdown=10,
        proxy_headers=True, forwarded_allow_ips=proxy,
    )  # fmt: skip
    processes = Processes(state, folder, where.database, workers)
    try:
        uvicorn.Server(config).run([listening])
    except KeyboardInterrupt:
        say("ended")
    finally:
        processes.close()


def _say_missing_key(server: Server, state: Path) -> None:
    """Warn where the log was signed by a key that is not here, as after a move to another database."""
    from shiftbench.challenge import archive, receipts

    if not (state / receipts.KEY).exists() and (entries := server.ledger.log_size()):
        note(
            f"warning: the log is {entries:,} long, and {state} has no {receipts.KEY}: the first receipt makes another "
            f"key, and those of before fail. End this server, and copy {', '.join(archive.KEPT)} from the old state."
        )


def _wrong_proxies(text: str) -> list[str]:
    """What is no address of a proxy, nor a network of them: whoever is believed can be anybody."""
    problems = []
    for each in text.split(","):
        try:
            ipaddress.ip_network(each.strip())
        except ValueError:
            problems.append(f"--proxy: expected addresses or networks such as 192.0.2.7, found {each!r}. Correct it.")
    return problems


def _say_layers(*, scores: bool) -> None:
    """Tell what keeps strangers' files apart from the labels on this machine.

    Raises:
        SettingsError: if this machine is to score, and a file could read the labels here.
    """
    from shiftbench.challenge import sandbox, worker

    found: dict[str, Any] = dict(sandbox.layers())
    active = [name for name, value in found.items() if value is True or str(value).startswith("version ")]
    say(f"layers: {'; '.join(active) or 'none'}")
    for name, value in found.items():
        if name not in active:
            note(f"warning: not on this machine: {name}{f' ({value})' if value else ''}; see the page on threats")
    if scores and os.environ.get(worker.WEAK) != "1":
        sandbox.require(found)


def _admin_link(server: Server, address: str) -> str | None:
    """A link that makes the admin of a new server; None if it has one."""
    if server.ledger.has_admin():
        return None
    server.ledger.noted("made a link for the first admin", "printed by `shiftbench serve`", command_line())
    return f"{address}/once/{server.ledger.issue('link', None, lasts=LINK_LASTS)}"


def _listening(host: str, port: int) -> socket.socket:
    """A socket at an address.

    Raises:
        SettingsError: if the address is not of this machine, or in use.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(1024)  # visitors of the first second wait for the server to start
    except OSError as error:
        raise SettingsError(
            f"expected a free address of this machine, found {host}:{port}: {error.strerror or error}. "
            "Choose another with --host or --port."
        ) from None
    return found


@dataclass(frozen=True, kw_only=True)
class Destination:
    """What a file is handed in for."""

    board: Annotated[str | None, typer.Option("--board", help="Which board [the only one].")] = None
    phase: Annotated[str | None, typer.Option("--phase", help="Which phase [the one that is open].")] = None
    team: Annotated[str | None, typer.Option("--for", help="Hand in for this team; for organisers.")] = None


@dataclass(frozen=True, kw_only=True)
class Uploads:
    """The options about uploads that broke off; each takes one submission of the day until it ends by itself."""

    unfinished: Annotated[bool, typer.Option("--unfinished", help="List uploads that broke off.")] = False
    resume: Annotated[str, typer.Option("--resume", help="Send the rest of FILE to this upload.")] = ""
    drop: Annotated[str, typer.Option("--drop", help="Give up this upload.")] = ""

    def require(self, file: Path | None) -> None:
        """Refuse options that do not go together, and a file that is none.

        Raises:
            SettingsError: naming what is missing or too much.
        """
        alone = self.unfinished or bool(self.drop)
        if file is None and (self.resume or not alone):
            raise SettingsError("expected FILE, predictions to hand in, found none. --unfinished lists what broke off.")
        if file is not None and alone:
            raise SettingsError("--unfinished, --drop: expected them without FILE, found one. Leave it out.")
        if file is not None and not file.is_file():
            raise SettingsError(f"{file}: expected a file of predictions, found none. Check the path.")

    def list_or_drop(self, server: client.Server) -> None:
        """Give up the upload of `drop`; list what is left."""
        from shiftbench.challenge import client

        if self.drop:
            server.give_up(self.drop)
            say(f"dropped: {self.drop}")
        if not self.unfinished:
            return
        if not (found := client.unfinished(server)):
            say("no unfinished uploads")
            return
        for each in found:
            say(f"{each.id}  {each.name}: {each.received:,} of {each.size:,} bytes for {each.board}, {each.phase} by "
                f"{each.team}, until {_moment(each.ends)}")  # fmt: skip
        note("each takes one submission of the day. Go on: shiftbench submit FILE --to … --resume ID; or --drop ID")

    def begun(self, server: client.Server, file: Path) -> client.Unfinished:
        """The upload of `resume`, if it may be of a file.

        Raises:
            SettingsError: if there is none, or it is of another size.
        """
        from shiftbench.challenge import client

        found = next((each for each in client.unfinished(server) if each.id == self.resume), None)
        if found is None:
            raise SettingsError(
                f"--resume: expected an unfinished upload, found {self.resume!r}. --unfinished has all."
            )
        if (size := file.stat().st_size) != found.size:
            raise SettingsError(
                f"{file}: expected {found.size:,} bytes as {found.name} that broke off, found {size:,}. Name that file."
            )
        return found


def submit(
    file: Annotated[Path | None, typer.Argument(help="Predictions.", show_default=False)] = None,
    *,
    to: Annotated[str, typer.Option("--to", help="Address of the server.", show_default=False)],
    destination: Destination,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="File with your token [$SHIFTBENCH_TOKEN or the user's own].")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Hand in a file anew that was handed in before.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait for the score.")] = False,
    uploads: Uploads,
) -> None:
    """Hand in predictions to a challenge: checked here first, sent in chunks that resume, then the score.

    The same command goes on with an upload that broke off.
    """
    from shiftbench.challenge import client
    from shiftbench.cli.terminal import progress_bar

    uploads.require(file)
    server = client.Server.of(to, client.token(token_file))
    if file is None:
        uploads.list_or_drop(server)
        return
    challenge = client.challenge(server)
    board, phase = destination.board, destination.phase
    if uploads.resume:
        begun = uploads.begun(server, file)
        board, phase = begun.board, begun.phase
    if board is None and len(challenge.boards) > 1:
        raise SettingsError(f"expected --board among {', '.join(b.slug for b in challenge.boards)}, found none.")
    chosen = challenge.board(board or challenge.boards[0].slug)
    if phase:
        chosen.phase(phase)
    _validate(server, chosen, phase or "", file)
    wanted = client.Wanted(file, chosen, phase or "", destination.team or "")
    if again:
        client.forget(server, wanted)
    known = list[int]()
    with progress_bar() as progress:
        number = client.submit(server, wanted, progress=progress, upload=uploads.resume, known=known.append)
    if known:
        note(f"handed in before, as submission {number}: nothing was sent. --again hands the same file in anew.")
    say(f"submission: {number}\npage:       {server.address}/submissions/{number}")
    if no_wait:
        return
    found = client.wait(server, number, tell=lambda state: note(f"{state} …" if state not in client.ENDS else state))
    if found["state"] != "scored":
        client.forget(server, wanted)  # the same command hands it in anew
    _say_score(found)


def _moment(microseconds: int) -> str:
    from shiftbench.challenge.definition import moment

    return f"{moment(microseconds):%Y-%m-%d %H:%M} UTC"


def _validate(server: client.Server, board: Any, phase: str, file: Path) -> None:
    """Refuse here what the server would refuse, by the same code."""
    from shiftbench.challenge import records_download, scoring

    if problems := scoring.validate(board, file, records_download.of_phase(server, board, phase)):
        raise ShiftbenchError(*problems)
    for remark in scoring.remarks(board, file):
        note(f"warning: {remark}")


def _say_score(found: dict[str, Any]) -> None:
    if found["state"] == "scored":
        score, low, high = (found.get(name) for name in ("score", "low", "high"))
        interval = f" (95 % interval {low:.6g} to {high:.6g})" if low is not None and high is not None else ""
        say(f"score:      {'undefined' if score is None else f'{score:.6g}{interval}'}")
        if found.get("climbed") is False:
            note("not better than your team's best by more than chance explains: the number is the one from before")
        return
    problems = [str(problem) for problem in found.get("problems") or ()] or [f"the submission is {found['state']}"]
    if found.get("fault") == "ours":
        problems.append("This is a fault of the server: it costs no quota. The organiser can score it again.")
    raise ShiftbenchError(*problems)


def verify(
    documents: Annotated[list[Path], typer.Argument(help="Receipts, checkpoints, proofs.", show_default=False)],
    key: Annotated[str, typer.Option("--key", help="The server's public key as published elsewhere.")] = "",
    file: Annotated[Path | None, typer.Option("--file", help="The predictions that the receipt is of.")] = None,
    log: Annotated[Path | None, typer.Option("--log", help="The whole log, as the server exports it.")] = None,
) -> None:
    """Verify receipts of scores against checkpoints and the log, without server and network."""
    with extra():
        from shiftbench.challenge import receipts
    from shiftbench.io import files

    found = [document for path in documents for document in receipts.read(path)]
    lines = files.read_text(log).splitlines() if log else []
    for sentence in receipts.verified(found, key=key, sha256=files.sha256(file) if file else "", log=lines):
        say(sentence)
