"""The settings of a run: one TOML file with everything that its numbers depend on."""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from shiftbench import check
from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.io import files
from shiftbench.io.output import final
from shiftbench.methods.settings import TASKS
from shiftbench.partition import Rules
from shiftbench.partition.settings import value_problems
from shiftbench.scores import intervals
from shiftbench.scores.retention import checked_rule

HEADER = "# Settings of a shiftbench run; `shiftbench run --config THIS --out FOLDER` repeats it.\n"
KINDS = {int: "a whole number", float: "a number such as 0.95", str: "text"}
PLAIN = {
    "table": str,
    "target": str,
    "title": str,
    "unit": str,
    "preset": str,
    "table_sha256": str,
    "allow_leaks": bool,
    "cut_clusters": bool,
}
LISTS = ("clusters", "slices", "baselines", "drop", "keep", "classes")
DEFAULT_METHOD = "boosting"
SPLITS = ("dev", "eval", "all")  # reserved names that test sets cannot have


@dataclass(frozen=True)
class Assessment:
    """Settings for scoring predictions: see `shiftbench.assess.Options` and `shiftbench.scores.intervals.Settings`."""

    rule: str = "published"
    replicates: int = 1000
    level: float = 0.95
    kind: str = "auto"

    def __post_init__(self) -> None:
        checked_rule(self.rule)
        self.intervals(0, 1)

    def intervals(self, seed: int, cores: int) -> intervals.Settings:
        """The corresponding interval settings."""
        return intervals.Settings(self.replicates, self.level, self.kind, seed, cores)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Settings:
    """The settings of `shiftbench run`.

    table: path of the table, or of a folder of partitions (in a TOML file: relative to that file).
    target: the column to predict. unit: of the target.
    task: "regression" or "classification"; None: by the target's type.
    title: of the report; default: target and table.
    threshold: the largest acceptable error (squared error in a regression).
    clusters: columns whose combinations are resampled together, and kept on one side of train, dev and eval.
    cut_clusters: allow clusters on several sides; in-domain scores are then too good for unseen clusters.
    slices: columns to break scores down by.
    baselines: columns that are forecasts themselves. drop, keep: names or globs of columns that must not, or must, be
    features. allow_leaks: continue even if a column reveals the target.
    classes: all classes of a classification, in the order of the probabilities; default: those of the table, sorted.
    methods: to fit, each a table with the method's `name`, the `title` of the system in the report (default: the name)
    and the method's own settings; a file may hold one as `[method]` instead of `[[methods]]`.
    preset: a named list of methods (`shiftbench.methods.presets`) instead of `methods`.
    members: of every ensemble among the methods, overriding their own settings.
    partition: the table of this name (`shiftbench.partition.Rules`); empty if `table` is a folder of partitions.
    test_sets: further tables to score, by name, each as a whole, since no shift is known inside it. Columns are
    those of the table; paths in a TOML file are relative to that file.
    track: the recipe's entry on a benchmark's track: name, origin of the data, …
    table_sha256, test_sets_sha256: expected hashes of the tables; written by a run, checked when it is repeated.
    """

    table: str = ""
    target: str = ""
    task: str | None = None
    title: str = ""
    unit: str = ""
    threshold: float | None = None
    clusters: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    allow_leaks: bool = False
    cut_clusters: bool = False
    seed: int = 0
    table_sha256: str = ""
    preset: str = ""
    partition: Mapping[str, Any] = field(default_factory=dict)
    methods: tuple[Mapping[str, Any], ...] = ()
    members: int | None = None
    test_sets: Mapping[str, str] = field(default_factory=dict)
    test_sets_sha256: Mapping[str, str] = field(default_factory=dict)
    track: Mapping[str, Any] = field(default_factory=dict)
    assessment: Assessment = field(default_factory=Assessment)

    def __post_init__(self) -> None:
        problems = [
            f"{name}: expected {'text' if kind is str else 'true or false'}, found {getattr(self, name)!r}."
            for name, kind in PLAIN.items()
            if not isinstance(getattr(self, name), kind)
        ]
        if not self.table:
            problems.append("table: expected the path of a table, found none.")
        if not self.target:
            problems.append("target: expected the column to predict, found none. Name it with --target.")
        if self.task not in (None, *TASKS):
            problems.append(f"task: expected one of {', '.join(TASKS)}, found {self.task!r}.")
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or self.seed < 0:
            problems.append(f"seed: expected a whole number >= 0, found {self.seed!r}.")
        if self.members is not None and (not isinstance(self.members, int) or isinstance(self.members, bool)):
            problems.append(f"members: expected a whole number >= 1, found {self.members!r}.")
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if self.threshold is not None and not (number and 0.0 <= self.threshold < float("inf")):
            problems.append(f"threshold: expected a finite number >= 0, found {self.threshold!r}. {check.THRESHOLD}")
        if self.preset and self.methods:
            problems.append(f"expected methods or a preset, found both (preset {self.preset!r}). Drop one.")
        problems += _method_problems(self.methods)
        problems += _test_set_problems(self.test_sets)
        if problems:
            raise SettingsError(*problems)


def _test_set_problems(test_sets: Mapping[str, str]) -> list[str]:
    return [
        f"test_sets: expected a name of letters, digits, dashes and underscores (not {', '.join(SPLITS)}) with the "
        f"path of a table, found {name!r} = {path!r}."
        for name, path in test_sets.items()
        if name in SPLITS or not re.fullmatch(r"[\w-]{1,64}", name) or not isinstance(path, str) or not path
    ]


def _method_problems(methods: Sequence[Mapping[str, Any]]) -> list[str]:
    problems = [
        f"methods: expected a {what} as text, found {entry[what]!r}."
        for entry in methods
        for what in ("name", "title")
        if what in entry and not (isinstance(entry[what], str) and entry[what].strip())
    ]
    if problems:
        return problems
    titles = [title(entry) for entry in methods]
    twice = sorted({one for one in titles if titles.count(one) > 1})
    return [f"methods: expected different titles, found {one!r} more than once. Give each a title." for one in twice]


def title(method: Mapping[str, Any]) -> str:
    """The name of a method's system."""
    return str(method.get("title") or method.get("name", DEFAULT_METHOD))


def from_dict(values: Mapping[str, Any]) -> Settings:
    """Settings from plain values.

    Raises:
        SettingsError: naming every unknown key (with the closest known one) and every value of the wrong type.
    """
    plain, problems = _formed(values)
    if problems:
        raise SettingsError(*problems)
    try:
        assessment = Assessment(**plain.pop("assessment", {}))
    except ShiftbenchError as error:
        problems, assessment = [*error.problems], Assessment()
    try:
        settings = Settings(**plain, assessment=assessment)
    except SettingsError as error:
        problems += error.problems
    if problems:
        raise SettingsError(*problems)
    return settings


def read_checked(path: str | Path) -> dict[str, Any]:
    """Like `read`, with the checks that are possible before other values override those of the file.

    Raises:
        SettingsError: also naming every unknown key, and every invalid value.
    """
    values = read(path)
    problems = [f"[partition] {problem}" for problem in value_problems(values.get("partition", {}))]
    try:
        from_dict({"table": "given later", "target": "given later", **values})
    except SettingsError as error:
        problems = [*error.problems, *problems]
    if problems:
        raise SettingsError(*(f"{path}: {problem}" for problem in problems))
    return values


RULES = {place.name for place in fields(Rules)}


def _formed(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The values in the form of `Settings`, and the problems of their names and types."""
    known = {name: value for name, value in values.items() if name != "method"}
    problems = [
        f"{problem} It belongs in [partition]." if name in RULES else problem
        for name in known
        for problem in _unknown("setting", {name: None}, Settings)
    ]
    problems += _unknown("setting in [assessment]", values.get("assessment", {}), Assessment)
    problems += _unknown("setting in [partition]", values.get("partition", {}), Rules)
    plain = dict(values)
    for name in LISTS:
        given = names(plain.get(name, ()))
        if not isinstance(given, (list, tuple)) or not all(isinstance(entry, str) and entry.strip() for entry in given):
            problems.append(f"{name}: expected a list of names, found {given!r}.")
            given = ()
        plain[name] = tuple(given)
    problems += _one_or_many_methods(plain)
    for name in ("partition", "track", "assessment", "test_sets", "test_sets_sha256"):
        if not isinstance(plain.get(name, {}), Mapping):
            problems.append(f"{name}: expected a table [{name}], found {plain.pop(name)!r}.")
    for name, kind in (("replicates", int), ("level", float), ("rule", str), ("kind", str)):
        value = plain.get("assessment", {}).get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            problems.append(f"assessment.{name}: expected {KINDS[kind]}, found {value!r}.")
    return plain, problems


def _one_or_many_methods(plain: dict[str, Any]) -> list[str]:
    """Add `[method]` to `[[methods]]`; returns the problems of both."""
    one, many = plain.pop("method", None), plain.get("methods", ())
    problems = []
    if one is not None and not isinstance(one, Mapping):
        problems.append(f"method: expected a table [method], found {one!r}.")
    if not isinstance(many, (list, tuple)) or not all(isinstance(entry, Mapping) for entry in many):
        problems.append(f"methods: expected tables [[methods]], found {many!r}.")
    if one and many:
        problems.append("expected one [method] or several [[methods]], found both. Drop one.")
    plain["methods"] = () if problems else tuple(dict(entry) for entry in ([one] if one else many))
    return problems


def names(value: Any) -> Any:
    """A list of names; a single name need not be in brackets."""
    return (value,) if isinstance(value, str) else value


def _unknown(kind: str, values: Any, of: type[Any]) -> list[str]:
    known = [place.name for place in fields(of)]
    names = values if isinstance(values, Mapping) else {}
    return [str(UnknownNameError(kind, name, known)) for name in names if name not in known]


def to_dict(settings: Settings) -> dict[str, Any]:
    """Plain values for TOML, without empty ones."""
    return _filled(dataclasses.asdict(settings))


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        plain = _filled(value) if isinstance(value, Mapping) else value
        if isinstance(plain, (list, tuple)):
            plain = [_filled(entry) if isinstance(entry, Mapping) else entry for entry in plain]
        if plain not in (None, "", [], {}):
            found[name] = plain
    return found


def read(path: str | Path) -> dict[str, Any]:
    """The plain values of a settings file, with paths of tables taken relative to the file.

    Raises:
        SettingsError: no such file, or invalid TOML.
    """
    file = Path(path)
    try:
        values = tomllib.loads(files.read_text(file, "utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{path}: expected a settings file, found none ({error.strerror}).") from None
    except RecursionError:
        raise SettingsError(f"{path}: expected TOML, found tables or lists nested too deeply to be read.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: expected TOML in UTF-8, found another encoding. Save it as UTF-8.") from None
    except ValueError as error:  # TOML, endless digits
        raise SettingsError(f"{path}: expected TOML, found: {error}. Correct that line.") from None
    if isinstance(values.get("table"), str):
        values["table"] = str(file.parent / values["table"])  # an absolute path is unchanged
    if isinstance(sets := values.get("test_sets"), dict):
        sets |= {name: str(file.parent / path) for name, path in sets.items() if isinstance(path, str)}
    return values


def write(settings: Settings, path: str | Path) -> Path:
    """Write settings as TOML, with paths of tables relative to the file (at its final place) if possible."""
    import tomli_w

    file = Path(path)
    placed = replace(
        settings,
        table=_relative(settings.table, file),
        test_sets={name: _relative(table, file) for name, table in settings.test_sets.items()},
    )
    return files.write_text(file, HEADER + tomli_w.dumps(to_dict(placed)))


def _relative(table: str, file: Path) -> str:
    there = final(Path(table))
    try:
        return Path(os.path.relpath(there, final(file).parent)).as_posix()
    except ValueError:  # another drive
        return str(there)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` overridden by `over`, table by table; None and empty values in `over` have no effect."""
    merged = dict(base)
    for name, value in over.items():
        below = base.get(name, {})
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[name] = merge(below, value)
        elif isinstance(value, Mapping):
            merged[name] = below  # invalid; reported by `from_dict`
        elif value not in (None, (), []):
            merged[name] = value
    return merged
