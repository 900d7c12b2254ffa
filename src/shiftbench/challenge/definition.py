"""What the organiser of a challenge decides: boards, their phases and quotas, in one TOML file."""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import tomli_w

from shiftbench.errors import SettingsError, UnknownNameError, every, quoted
from shiftbench.io import files

FILE = "challenge.toml"
TABLE = "table"  # in place of a track: a table of the organiser's own
MOST = 1_000_000  # of any number of submissions, failures or members
Subset = Literal["full", "in", "shifted"]
T = TypeVar("T")
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Phase:
    """When submissions are taken and how many of a team; moments are microseconds since 1970 UTC.

    hidden: while the phase is open, a submission is answered with one number, through the Ladder; otherwise everything
    is shown at once. entries: how many submissions a team may choose for the final ranking; without a choice its best
    shown one counts.
    """

    name: str
    starts: int
    ends: int | None = None
    per_day: int = 5
    failures_per_hour: int = 20
    hidden: bool = False
    entries: int = 1

    def open(self, now: int) -> bool:
        """Whether a submission whose first byte came at `now` counts."""
        return self.starts <= now and (self.ends is None or now < self.ends)


@dataclass(frozen=True)
class Board:
    """One set of sealed labels and one headline score.

    track: `TABLE` for a table of the organiser's own, otherwise the name of a track, whose `task` is scored (empty: its
    only one). metric: a name in `METRICS`. subset: the records that the headline score is of. threshold: the largest
    acceptable error, where the metric needs one.
    """

    slug: str
    title: str
    metric: str
    phases: tuple[Phase, ...]
    track: str = TABLE
    task: str = ""
    subset: Subset = "full"
    threshold: float | None = None

    def phase(self, name: str) -> Phase:
        """The phase of this name."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        raise UnknownNameError("phase", name, (phase.name for phase in self.phases))


@dataclass(frozen=True)
class Challenge:
    """Several boards under one title.

    sign_up: whether anyone may make an account; otherwise by invitation only. team_size: the most members of a team.
    rules: shown to participants, with the licence of the data.
    """

    slug: str
    title: str
    about: str
    boards: tuple[Board, ...]
    sign_up: bool = True
    team_size: int = 10
    rules: str = ""

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


def text(challenge: Challenge) -> str:
    """The TOML of a challenge; what is not set (an `ends`, a threshold) is left out."""

    def present(values: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in values.items() if value is not None and (key, value) != ("task", "")}

    def dated(phase: dict[str, Any]) -> dict[str, Any]:
        return present(phase) | {key: moment(phase[key]) for key in ("starts", "ends") if phase[key] is not None}

    plain = asdict(challenge)
    boards = [present(board) | {"phases": [dated(phase) for phase in board["phases"]]} for board in plain["boards"]]
    return tomli_w.dumps({key: value for key, value in plain.items() if key != "boards"} | {"boards": boards})


def write(path: Path, challenge: Challenge) -> Path:
    """Write the TOML file."""
    return files.write_text(path, text(challenge))


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
    return of_plain(plain, str(path))


def of_plain(plain: Mapping[str, Any], where: str) -> Challenge:
    """The challenge of plain values with moments as dates; `where` they are from, for messages.

    Raises:
        SettingsError: naming everything that is wrong.
    """
    entry = _Entry(plain, where)
    return entry.made(
        Challenge,
        slug=entry.slug("slug"), title=entry.text("title"), about=entry.text("about"),
        boards=entry.each("boards", _board), sign_up=entry.flag("sign_up", True),
        team_size=entry.count("team_size", 10), rules=entry.text("rules", ""),
    )  # fmt: skip


def _board(entry: _Entry) -> Board:
    return entry.made(
        Board,
        slug=entry.slug("slug"), title=entry.text("title"), metric=entry.text("metric"),
        phases=entry.each("phases", _phase), track=entry.text("track", TABLE), task=entry.text("task", ""),
        subset=entry.choice("subset", get_args(Subset), "full"), threshold=entry.number("threshold"),
    )  # fmt: skip


def _phase(entry: _Entry) -> Phase:
    phase = entry.made(
        Phase,
        name=entry.slug("name"), starts=entry.time("starts"), ends=entry.time("ends", optional=True),
        per_day=entry.count("per_day", 5), failures_per_hour=entry.count("failures_per_hour", 20),
        hidden=entry.flag("hidden", False), entries=entry.count("entries", 1),
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

    def _value(self, key: str, kind: type, expected: str, default: Any = None, *, optional: bool = False) -> Any:
        value = self.plain.get(key, default)
        if (value is None and not optional) or (value is not None and type(value) is not kind):
            raise SettingsError(f"{self.where}: expected {key} = {expected}, found {quoted(value)}. Correct it.")
        return value

    def text(self, key: str, default: str | None = None) -> Callable[[], str]:
        return lambda: str(self._value(key, str, "a text", default))

    def flag(self, key: str, default: bool) -> Callable[[], bool]:
        return lambda: bool(self._value(key, bool, "true or false", default))

    def choice(self, key: str, choices: Sequence[str], default: str) -> Callable[[], str]:
        def read() -> str:
            if (value := str(self._value(key, str, "a text", default))) not in choices:
                known = ", ".join(choices)
                raise SettingsError(f"{self.where}: expected {key} among {known}, found {quoted(value)}. Choose one.")
            return value

        return read

    def count(self, key: str, default: int) -> Callable[[], int]:
        def read() -> int:
            value = int(self._value(key, int, "a whole number from 1", default))
            if not 1 <= value <= MOST:
                raise SettingsError(f"{self.where}: expected {key} from 1 to {MOST:,}, found {value}. Correct it.")
            return value

        return read

    def number(self, key: str) -> Callable[[], float | None]:
        def read() -> float | None:
            value = self.plain.get(key)
            if value is not None and (type(value) not in (int, float) or not 0 <= value < math.inf):
                raise SettingsError(
                    f"{self.where}: expected {key} = a number from 0, found {quoted(value)}. Correct it."
                )
            return None if value is None else float(value)

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
