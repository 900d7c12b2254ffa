"""Lines of text files, plain or packed with gzip, one after the other; and problems of lines, collected."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

from shiftbench.errors import SettingsError, TableError, quoted
from shiftbench.io import files
from shiftbench.io.tables import problem
from shiftbench.progress import Progress, silent

SEVERAL = ("reference", "uncertainty")  # keys that several columns may hold together
LONGEST = 1 << 26  # bytes of a line
LONGEST_TEXT = 250_000  # characters of a sentence or an answer
GZIP = b"\x1f\x8b"
MOST_SHOWN = 40  # characters of a value in a message
REPORT_EVERY = 5_000  # lines between two progress reports


class Problems:
    """Problems of a file, as they are found: of each kind the first few, and the number of the rest."""

    def __init__(self, path: Path, other: Path | None = None) -> None:
        """`other`: a second file, whose lines belong to those of the first."""
        self.path = path
        self._name = f"{path}" if other is None else f"{path} and {other.name}"
        self._kept: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._kept)

    def add(self, where: object, what: str, *, kind: str = "", more: int = 0) -> None:
        """Note a problem; those of a kind (or that read alike) are abbreviated, `more` of them are only counted."""
        key = kind or what
        self._counts[key] = self._counts.get(key, 0) + 1 + more
        if len(self._kept.setdefault(key, [])) < problem.MOST_LISTED:
            self._kept[key].append(f"{self._name}: {where}: {what}" if str(where) else f"{self._name}: {what}")

    def include(self, problems: Sequence[str]) -> None:
        """Note problems that name their file."""
        for each in problems:
            self._kept[each], self._counts[each] = [each], 1

    def listed(self) -> list[str]:
        """All that were noted, in the order of their kinds."""
        found = []
        for key, shown in self._kept.items():
            rest = self._counts[key] - len(shown)
            found += shown + ([f"{self._name}: … and {rest:,} more like these."] if rest else [])
        return found

    def require_none(self) -> None:
        """Refuse the file if there are any.

        Raises:
            TableError: with all of them.
        """
        if self:
            raise TableError(*self.listed())


@dataclass(frozen=True)
class Names:
    """What a file calls keys or columns: key that is expected → names in the file, only `SEVERAL` have more than one.

    met: where names may be missing since another file has them: the keys that were found; None where all must be there.
    """

    of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    met: set[str] | None = None

    @classmethod
    def checked(cls, names: Any) -> Names:
        """A mapping of keys to names, or to sequences of names.

        Raises:
            SettingsError: if it is no such mapping, or has several names for what there is one of.
        """
        if isinstance(names, Names):
            return names
        if not isinstance(names, Mapping | None):
            raise SettingsError(f"names: expected a mapping of texts to texts, found {quoted(names)}.")
        found = {key: (own,) if isinstance(own, str) else own for key, own in (names or {}).items()}
        for key, own in found.items():
            texts = isinstance(own, tuple | list) and all(isinstance(each, str) for each in (key, *own)) and own
            if not texts or (len(own) > 1 and key not in SEVERAL):
                wanted = f"a text, or several of {' or '.join(SEVERAL)}"
                raise SettingsError(f"names: expected {wanted}, found {quoted(own)} of {quoted(key)}.")
        return cls({"hypothesis" if key == "text" else key: tuple(own) for key, own in found.items()})

    def __iter__(self) -> Iterator[str]:
        """All names in the file."""
        return (name for own in self.of.values() for name in own)

    def among(self, header: Collection[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
        """The keys whose names are all in a header, noted as found; and the first missing name of the others."""
        lacking = {key: next((name for name in own if name not in header), None) for key, own in self.of.items()}
        missing = {key: name for key, name in lacking.items() if name is not None}
        there = {key: own for key, own in self.of.items() if key not in missing}
        if self.met is None:
            return there, missing
        self.met.update(there)
        return there, {}


def suffix(path: Path) -> str:
    """The suffix of a file's name, in lower case, without .gz."""
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def opened(path: Path) -> BufferedReader | gzip.GzipFile:
    """A file as bytes, unpacked if it is packed with gzip.

    Raises:
        OSError: if it cannot be opened, or is no regular file.
    """
    files.require_regular(path)
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
    return gzip.open(path) if packed else path.open("rb")


def of(path: Path, *, progress: Progress = silent) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, from 1, without line ends; a last line without one counts, too.

    Only LF ends a line (CR before it belongs to the end), so that a sentence keeps every other character.

    progress: called with "read", the number of lines so far, and 0.

    Raises:
        TableError: if there is no such file, it cannot be read, or a line is longer than `LONGEST`.
    """
    try:
        with opened(path) as file:
            number = 0
            while line := file.readline(LONGEST + 1):
                number += 1
                if len(line) > LONGEST:
                    raise TableError(
                        f"{path}: line {number:,}: expected at most {LONGEST:,} bytes, found more. Is it one record a "
                        "line? Split it."
                    )
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if number % REPORT_EVERY == 0:
                    progress("read", number, 0)
                yield number, line.removesuffix(b"\n").removesuffix(b"\r")
    except FileNotFoundError:
        raise TableError(f"{path}: expected a file, found nothing there. Check the path.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{path}: expected a readable text file, found: {error}. It may be cut off or damaged: write or fetch it "
            "again."
        ) from None


def text(problems: Problems, number: int, line: bytes) -> str:
    """A line as text; bytes that are not UTF-8 are noted as a problem and replaced."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        found = f"byte 0x{line[error.start]:02x} at byte {error.start + 1:,}"
        problems.add(f"line {number:,}", f"expected UTF-8, found {found}. Convert the file.", kind="UTF-8")
        return line.decode(errors="replace")


def kind(value: object) -> str:
    """What a value is in JSON, for messages."""
    if value is None or isinstance(value, bool):
        return shown(value)
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "a text"), ((int, float), "a number"), ((list, tuple), "a list"), (dict, "an object"),
    )  # fmt: skip
    return next((name for own, name in kinds if isinstance(value, own)), type(value).__name__)


def shown(value: object) -> str:
    """The beginning of a value as JSON writes it, for messages; texts and numbers as all messages quote them."""
    if not isinstance(value, list | dict | bool | None):
        return quoted(value)
    try:
        return json.dumps(value[:MOST_SHOWN] if isinstance(value, list) else value, ensure_ascii=False)[:MOST_SHOWN]
    except (TypeError, ValueError, RecursionError):
        return quoted(value)


def text_fault(text: object) -> str:
    """What is wrong with a text, as the end of a sentence; "" if nothing is."""
    if not isinstance(text, str):
        return f"a text, found {kind(text)}"
    if len(text) > LONGEST_TEXT:
        return f"at most {LONGEST_TEXT:,} characters, found {len(text):,}. Split it into sentences"
    return ""
