"""An option of a command for one track: declared by the track, shown and checked by the command line."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from pathlib import Path

from shiftbench.errors import SettingsError, quoted

TYPES = (str, int, float, bool, Path)


def written(name: str) -> str:
    """The option of a keyword argument of this name, as written on the command line."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class Option:
    """An option declared by a track. If given, its value is passed to the track's function as a keyword argument.

    name: of the keyword argument, and with dashes of the option. type: of the value; a `bool` is a switch with its
    opposite (`--gif`, `--no-gif`). help: its purpose, one sentence. default: the behaviour without it, as text.
    repeatable: whether it may be given several times; the value is then a tuple. metavar: of the value in the help.
    choices: the allowed values. least: the smallest allowed number. flag: the option itself, if it is not named after
    the argument.

    Raises:
        SettingsError: if any of these is invalid.
    """

    name: str
    type: type
    help: str
    default: str = ""
    repeatable: bool = False
    metavar: str = ""
    choices: tuple[str, ...] = ()
    least: int | None = None
    flag: str = ""

    def __post_init__(self) -> None:
        problems = []
        if not self.name.isidentifier() or keyword.iskeyword(self.name):
            problems.append(f"option {self.name!r}: expected the name of a keyword argument.")
        if self.type not in TYPES:
            known = ", ".join(each.__name__ for each in TYPES)
            problems.append(f"option {self.name!r}: expected one of the types {known}, found {self.type!r}.")
        if not self.help.strip():
            problems.append(f"option {self.name!r}: expected help, found none. Describe its purpose.")
        if self.flag and not re.fullmatch("--[A-Za-z0-9][A-Za-z0-9-]*", self.flag):
            problems.append(f"option {self.name!r}: flag: expected one such as --what, found {quoted(self.flag)}.")
        if not isinstance(self.default, str):
            problems.append(
                f"option {self.name!r}: default: expected text for the help, found {quoted(self.default)}. Write it as "
                "text; the value itself is the default of your function's argument."
            )
        if problems:
            raise SettingsError(*problems)

    @property
    def word(self) -> str:
        """The option as written on the command line."""
        return self.flag or written(self.name)

    @property
    def words(self) -> tuple[str, ...]:
        """The option, and the opposite of a switch."""
        return (self.word, f"--no-{self.word[2:]}") if self.type is bool else (self.word,)

    @property
    def explained(self) -> str:
        """The help, with choices and default."""
        known = f": {', '.join(self.choices)}" if self.choices else ""
        default = f" [{self.default}]" if self.default else ""
        return f"{self.help.rstrip('.')}{known}{default}."
