"""The description of an archive: its address and licence, and possibly its size and hash."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from shiftbench.errors import FetchError

SCHEMES = ("http", "https")


@dataclass(frozen=True)
class Licence:
    """The licence of data: its name, its address, and its conditions in a sentence."""

    name: str
    url: str
    asks: str


def share_alike(authors: str) -> Licence:
    """CC BY-NC-SA 4.0 for data by these authors."""
    return Licence(
        "CC BY-NC-SA 4.0",
        "https://creativecommons.org/licenses/by-nc-sa/4.0/",
        f"name the authors ({authors}), use it for no commercial purpose, and pass on what you make of it under the "
        "same licence.",
    )


@dataclass(frozen=True)
class Archive:
    """One file that can be fetched.

    Attributes:
        name: of the archive on the command line.
        url: its address, http or https.
        file: the local file name; its extension (.tar, .tar.gz, .tgz, .zip) determines the expected format.
        licence: must be accepted before it is fetched.
        about: a description of its contents.
        size: in bytes, if published.
        sha256: in hexadecimal, if published; otherwise it is recorded on first use.
        then: the command that uses the file, with {path} and {folder} as placeholders.
        unpacked: whether `then` needs it unpacked.
        agreement: the page on which an agreement is to be signed first; such a file is put into the folder by hand.

    Raises:
        FetchError: if `url` is not an http(s) address or `file` is not a plain name.
    """

    name: str
    url: str
    file: str
    licence: Licence
    about: str
    size: int | None = None
    sha256: str | None = None
    then: str | None = None
    unpacked: bool = False
    agreement: str | None = None

    def __post_init__(self) -> None:
        problems = []
        if not _is_address(self.url):
            problems.append(
                f"{self.url!r}: expected an address such as https://host/archive.tar (http or https; spaces and other "
                "characters outside ASCII written as %20), found another. Correct the address."
            )
        if not re.fullmatch(r"\w[\w.+-]*", self.file, re.ASCII):
            problems.append(
                f"{self.file!r}: expected a plain file name (letters, digits, '.', '-', '+'), found another. "
                "Rename the file."
            )
        if self.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            problems.append(f"{self.sha256!r}: expected a SHA-256 as 64 hexadecimal digits in lower case. Correct it.")
        if problems:
            raise FetchError(*problems)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return False
    return parts.scheme in SCHEMES and bool(parts.hostname) and re.fullmatch(r"[!-~]+", url) is not None
