"""The command that hosts a challenge."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli.terminal import say
from shiftbench.errors import MissingExtraError, SettingsError

if TYPE_CHECKING:
    from shiftbench.challenge.web.server import Server

Folder = Annotated[Path, typer.Argument(help="The challenge's folder.", show_default=False)]
State = Annotated[Path | None, typer.Option("--state", help="Folder of accounts and submissions [FOLDER.state].")]
Host = Annotated[str, typer.Option("--host", help="Address to listen at; 0.0.0.0 is everywhere.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen at; 0 takes a free one.")]
LINK_LASTS = 86_400_000_000  # microseconds: a day


def serve(folder: Folder, state: State = None, host: Host = "127.0.0.1", port: Port = 8000) -> None:
    """Host a challenge: accounts, teams, uploads and leaderboards, in one process."""
    try:
        import uvicorn

        from shiftbench.challenge.web.application import application
        from shiftbench.challenge.web.server import opened
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"expected {error.name} for a server, found none. Install it: pip install 'shiftbench[server]'."
        ) from None

    server = opened(folder, state or folder.with_name(f"{folder.name}.state"))
    listening = _listening(host, port)
    address = f"http://{host}:{listening.getsockname()[1]}"
    say(f"open:   {address}/")
    if link := _admin_link(server, address):
        say(f"admin:  {link} (once, within a day)")
    config = uvicorn.Config(
        application(server), access_log=False, log_level="warning", server_header=False, timeout_graceful_shutdown=10
    )
    uvicorn.Server(config).run([listening])


def _admin_link(server: Server, address: str) -> str | None:
    """A link that makes the admin of a new server; None if it has one."""
    if server.ledger.has_admin():
        return None
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
    except OSError as error:
        raise SettingsError(
            f"expected a free address of this machine, found {host}:{port}: {error.strerror or error}. "
            "Choose another with --host or --port."
        ) from None
    return found
