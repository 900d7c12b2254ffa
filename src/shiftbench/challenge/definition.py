"""What the organiser of a challenge decides: boards, their phases and quotas, in one TOML file."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from shiftbench.errors import SettingsError, UnknownNameError, every
from shiftbench.io import files

FILE = "challenge.toml"
T = TypeVar("T")
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Phase:
    """When submissions are taken and how many of a team; moments are microseconds since 1970 UTC."""

    name: str
    split: str
    starts: int
    ends: int | None = None
    per_day: int = 5
    failures_per_hour: int = 20

    def open(self, now: int) -> bool:
        """Whether a submission whose first byte came at `now` counts."""
        return self.starts <= now and (self.ends is None or now < self.ends)


@dataclass(frozen=True)
class Board:
    """One table with hidden targets and one headline score; scores are shown at once."""

    slug: str
    title: str
    metric: str
    phases: tuple[Phase, ...]

    def phase(self, name: str) -> Phase:
        """The phase of this name."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        raise UnknownNameError("phase", name, (phase.name for phase in self.phases))


@dataclass(frozen=True)
class Challenge:
    """Several boards under one title."""

    slug: str
    title: str
    about: str
    boards: tuple[Board, ...]

    def board(self, slug: str) -> Board:
        """The board of this name."""
        for board in self.boards:
            if board.slug == slug:
                return board
        raise UnknownNameError("board", slug, (board.slug for board in self.boards))


def moment(microseconds: int) -> datetime.datetime:
    """The moment in UTC."""
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(microseconds=microseconds)


def microseconds(when: datetime.datetime) -> int:
    """Microseconds since 1970 UTC of a moment with an offset."""
    return (when - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1)


def write(path: Path, challenge: Challenge) -> Path:
    """Write the TOML file; phases without end have no `ends`."""

    def dated(phase: dict[str, Any]) -> dict[str, Any]:
        times = {key: moment(phase[key]) for key in ("starts", "ends") if phase[key] is not None}
        return {key: value for key, value in phase.items() if value is not None} | times

    plain = asdict(challenge)
    boards = [board | {"phases": [dated(phase) for phase in board["phases"]]} for board in plain["boards"]]
    return files.write_text(path, tomli_w.dumps(plain | {"boards": boards}))


def read(path: Path) -> Challenge:
    """Read the TOML file of a challenge.

    Raises:
        SettingsError: naming everything that is wrong.
    """
    try:
        plain = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise SettingsError(
            f"expected a challenge, found no {path}. Make one with `shiftbench challenge new`."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: expected TOML, found: {error}. Correct the file.") from None
    entry = _Entry(plain, str(path))
    return entry.made(
        Challenge,
        slug=entry.slug("slug"), title=entry.text("title"), about=entry.text("about"),
        boards=entry.each("boards", _board),
    )  # fmt: skip


def _board(entry: _Entry) -> Board:
    return entry.made(
        Board,
        slug=entry.slug("slug"), title=entry.text("title"), metric=entry.text("metric"),
        phases=entry.each("phases", _phase),
    )  # fmt: skip


def _phase(entry: _Entry) -> Phase:
    phase = entry.made(
        Phase,
        name=entry.slug("name"), split=entry.text("split"), starts=entry.time("starts"),
        ends=entry.time("ends", optional=True), per_day=entry.count("per_day"),
        failures_per_hour=entry.count("failures_per_hour"),
    )  # fmt: skip
    if phase.ends is not None and phase.ends <= phase.starts:
        raise SettingsError(f"{entry.where}: expected `ends` after `starts`. Correct the dates.")
    return phase


@dataclass(frozen=True)
class _Entry:
    """A table of the TOML file and where it stands."""

    plain: Mapping[str, Any]
    where: str

    def made(self, kind: type[T], **readers: Callable[[], Any]) -> T:
        unknown = [f"{self.where}: unknown key {key!r}. Remove it." for key in self.plain.keys() - readers.keys()]

        def known() -> None:
            if unknown:
                raise SettingsError(*sorted(unknown))

        found = every({**readers, "": known}, SettingsError)
        return kind(**{name: found[name] for name in readers})

    def _value(self, key: str, kind: type, expected: str, *, optional: bool = False) -> Any:
        value = self.plain.get(key)
        if (value is None and not optional) or (value is not None and type(value) is not kind):
            raise SettingsError(f"{self.where}: expected {key} = {expected}, found {value!r}. Correct it.")
        return value

    def text(self, key: str) -> Callable[[], str]:
        return lambda: str(self._value(key, str, "a text"))

    def count(self, key: str) -> Callable[[], int]:
        def read() -> int:
            if (value := int(self._value(key, int, "a whole number from 1"))) < 1:
                raise SettingsError(f"{self.where}: expected {key} from 1, found {value}. Correct it.")
            return value

        return read

    def slug(self, key: str) -> Callable[[], str]:
        def read() -> str:
            value = str(self._value(key, str, "a short name"))
            if not SLUG.fullmatch(value):
                raise SettingsError(
                    f"{self.where}: expected {key} of up to 40 small letters, digits and hyphens, found {value!r}. "
                    "Rename it."
                )
            return value

        return read

    def time(self, key: str, *, optional: bool = False) -> Callable[[], int | None]:
        def read() -> int | None:
            expected = "a date with time and offset, such as 2027-01-31T12:00:00Z"
            value = self._value(key, datetime.datetime, expected, optional=optional)
            if value is not None and value.tzinfo is None:
                raise SettingsError(f"{self.where}: expected {key} = {expected}, found no offset. Add it.")
            return None if value is None else microseconds(value)

        return read

    def each(self, key: str, reader: Callable[[_Entry], T]) -> Callable[[], tuple[T, ...]]:
        def read() -> tuple[T, ...]:
            rows = self._value(key, list, "a list of tables")
            if not rows or not all(isinstance(row, dict) for row in rows):
                raise SettingsError(f"{self.where}: expected one or more [[{key}]], found none. Add one.")
            entries = {f"{self.where}: {key} {n}": row for n, row in enumerate(rows, 1)}
            readers = {where: (lambda w=where, r=row: reader(_Entry(r, w))) for where, row in entries.items()}
            found = tuple(every(readers, SettingsError).values())
            names = [getattr(value, "slug", None) or getattr(value, "name", None) for value in found]
            if len(set(names)) < len(names):
                raise SettingsError(f"{self.where}: expected different names of {key}, found {names}. Rename one.")
            return found

        return read
