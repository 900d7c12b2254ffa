"""The public records of a phase from its server, with which a file is compared before it is handed in."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from urllib.parse import quote

from shiftbench.challenge import client
from shiftbench.challenge.client import Server, ServerError
from shiftbench.challenge.definition import Board
from shiftbench.track.public_records import FILE, PublicRecords

MOST = 2**28  # bytes


def of_phase(server: Server, board: Board, phase: str) -> PublicRecords | None:
    """What everybody may know of the records of a phase, by default of the one that is open now.

    None if the server does not say, as one of an earlier version does.

    Raises:
        ServerError: if it stays away.
        TableError: if it sends something else.
    """
    place = phase or _open(board)
    address = f"{server.address}/boards/{quote(board.slug)}/files/{quote(place)}/{FILE}"
    body = client.patiently(lambda: _body(address), server.sleep)
    return None if body is None else PublicRecords.parse(body, f"{board.slug}, {place}: {FILE}")


def _open(board: Board) -> str:
    """The phase to which the server gives a file that names none."""
    now = time.time_ns() // 1_000
    begun = [each for each in board.phases if each.starts <= now]
    return next((each for each in begun if each.open(now)), (begun or board.phases[:1])[-1]).name


def _body(address: str) -> bytes | None:
    try:
        with urllib.request.urlopen(address, timeout=client.TIMEOUT_S) as answer:
            body: bytes = answer.read(MOST + 1)
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (401, 403, 404):
                return None
            raise ServerError(
                f"{address}: expected a file, found the answer {error.code}.", status=error.code
            ) from None
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(
            f"{address}: expected an answer, found: {getattr(error, 'reason', error)}. Check the network."
        ) from None
    if len(body) > MOST:
        raise ServerError(f"{address}: expected at most {MOST:,} bytes, found more.", status=413)
    return body
