"""The content of a report: plain values whose only behaviour is reading and writing JSON.

`shiftbench.assess` fills it; the renderers in this package only read it. Nothing here knows a model or a track.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from shiftbench import argument
from shiftbench.errors import MissingExtraError, TableError, UnknownNameError, quoted
from shiftbench.io import files
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import (
    SUBSETS,
    Comparison,
    Cost,
    Count,
    Curve,
    FeatureShift,
    Leak,
    Notable,
    Part,
    Rank,
    Role,
    Score,
    Separation,
    Slice,
    SliceScore,
    System,
    Text,
)

if TYPE_CHECKING:
    import polars as pl

# How a report shows itself, `text`, `first_screen`, `html`, `rows`: set by the package, since renderers read this.
RENDERERS: dict[str, Callable[[Report], Any]] = {}
FORMAT = "shiftbench report 1"
LONGEST_TEXT = 1_000  # characters of a title, a unit or a name; warnings may be longer


@dataclass(frozen=True, repr=False)
class Report:
    """The whole content of a report. `recipe` records how each number was made; `warnings` are for the reader."""

    title: str
    task: str  # "regression", "classification" or "errors"
    rule: str
    threshold: float | None
    target_unit: str = ""
    error_unit: str = ""
    error_name: str = "error"
    records_name: str = "records"  # a plural, such as "patients"
    systems: tuple[System, ...] = ()
    counts: tuple[Count, ...] = ()
    scores: tuple[Score, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    ranks: tuple[Rank, ...] = ()
    curves: tuple[Curve, ...] = ()
    slices: tuple[Slice, ...] = ()
    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()
    recipe: dict[str, Any] = field(default_factory=dict)
    leaks: tuple[Leak, ...] = ()
    notable: tuple[Notable, ...] = ()
    costs: tuple[Cost, ...] = ()  # in a file of their own, since times differ from run to run
    slice_scores: tuple[SliceScore, ...] = ()
    shifts: tuple[FeatureShift, ...] = ()
    separations: tuple[Separation, ...] = ()

    def __repr__(self) -> str:
        """One line: the title, and what is in it."""
        found = (("system", self.systems), ("split", self.splits), ("score", self.scores), ("warning", self.warnings))
        counts = ", ".join(f"{len(rows):,} {name}{'s' * (len(rows) != 1)}" for name, rows in found)
        return f"<shiftbench report {self.title!r}: {counts}>"

    def __str__(self) -> str:
        """The first screen as plain text of 80 columns: what `print(report)` shows."""
        text: str = RENDERERS["text"](self)
        return text

    def _repr_html_(self) -> str:
        """The first screen, for notebooks."""
        html: str = RENDERERS["first_screen"](self)
        return html

    def to_html(self) -> str:
        """The report as one self-contained HTML page; `shiftbench.report.write` writes it with all other formats."""
        html: str = RENDERERS["html"](self)
        return html

    def to_polars(self) -> pl.DataFrame:
        """All scores as a polars table: columns as in `report.csv`, without the recipe; percentages are shares of 1."""
        import polars as pl

        return pl.DataFrame(RENDERERS["rows"](self), infer_schema_length=None)

    def to_pandas(self) -> Any:
        """The same as a pandas table.

        Raises:
            MissingExtraError: if pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise MissingExtraError(
                f"to_pandas: expected pandas, found: {error}. Install it: pip install pandas. Or use to_polars()."
            ) from None
        return pandas.DataFrame(RENDERERS["rows"](self))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits scored, in order."""
        return tuple(dict.fromkeys(count.split for count in self.counts))

    def score(self, metric: str, *, system: str, split: str, subset: str, measure: str | None = None) -> Score:
        """The score with these names.

        Raises:
            UnknownNameError: if this report has no such score; the message suggests the closest one.
        """
        for name in (metric, system, split, subset, "" if measure is None else measure):
            if not isinstance(name, str):
                raise UnknownNameError("score", name, {score.metric for score in self.scores})
        place, measures = (metric, system, split, subset), ("", self.measure_of(system) if measure is None else measure)
        known = [(score.metric, score.system, score.split, score.subset) for score in self.scores]
        for score, own in zip(self.scores, known, strict=True):
            if own == place and score.measure in measures:
                return score
        raise UnknownNameError("score", " / ".join(map(str, place)), set(map(" / ".join, known)))

    def measure_of(self, system: str) -> str:
        """The measure behind a system's headline scores."""
        return next((entry.measure for entry in self.systems if isinstance(system, str) and entry.name == system), "")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, without costs; NaN and infinity become null."""
        plain = _plain(self)
        del plain["costs"]
        return {"format": FORMAT, **plain}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Report:
        """The report that `to_json` wrote.

        Raises:
            TableError: if the value is not a report of this format; lists all unknown metrics, subsets, roles and
                systems, and all parts of the recipe that have the wrong type.
        """
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            found = value.get("format") if isinstance(value, dict) else type(value).__name__
            raise TableError(
                f"expected a report ({FORMAT!r}), found {found!r}. Was the file written by another version?"
            )
        known = {entry.name for entry in dataclasses.fields(cls)} - {"costs"}
        try:
            plain = {key: entry for key, entry in value.items() if key in known}
            for name, kind in _ROWS.items():
                entries = value.get(name, []) if name in _LATER else value[name]
                plain[name] = tuple(_row(kind, entry) for entry in _listed(name, entries))
            plain["warnings"] = tuple(_listed("warnings", value["warnings"]))
            _require_fields(cls, plain)
            _require_kinds(cls, plain)
            report = cls(**plain)
        except (KeyError, TypeError, ValueError) as error:
            raise TableError(f"expected a complete report, found a damaged one ({error}). Write it again.") from None
        if problems := [*_unknown_names(report), *_odd_recipe(report.recipe)]:
            raise TableError(*problems)
        return report

    def save(self, path: str | Path) -> Path:
        """Write the report as JSON, whole or not at all; costs, if any, into a file beside it, `NAME-cost.json`.

        Raises:
            TableError: if a text in it is too long to be read again, or no Unicode.
        """
        goal, value = argument.path(path, error=TableError), self.to_json()
        if problems := sorted(set(_unwritable(value))):  # `load` would refuse it
            raise TableError(*(f"{path}: {problem}" for problem in problems))
        written = files.write_json(goal, value, sort_keys=False)  # keeps the order of the recipe
        if self.costs:
            costs = [_plain(each) for each in self.costs]
            files.write_json(_beside(written), {"report": files.sha256(written), "costs": costs}, sort_keys=False)
        return written

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Read a report written by `save`, with the costs beside it that were saved with this very report.

        Raises:
            TableError: naming the file, if it cannot be read or is not a report of this format.
        """
        file = argument.path(path, error=TableError)
        try:
            value = json.loads(files.read_text(file))
            if problems := sorted(set(_unwritable(value))):
                raise TableError(*problems)
            return dataclasses.replace(cls.from_json(value), costs=_costs(file))
        except TableError as error:
            raise TableError(*(f"{path}: {problem}" for problem in error.problems)) from None
        except OSError as error:
            raise TableError(f"{path}: expected a report as JSON, found: {error.strerror}. {NAME_IT}") from None
        except (ValueError, RecursionError):
            raise TableError(
                f"{path}: expected a report as JSON, found another file or a damaged one. {NAME_IT}"
            ) from None


NAME_IT = "Name the report.json in a folder that `assess` or `run` wrote, or write it again."
_ROWS: dict[str, type[Any]] = {
    "systems": System, "counts": Count, "scores": Score, "comparisons": Comparison, "ranks": Rank,
    "curves": Curve, "slices": Slice, "parts": Part, "leaks": Leak, "notable": Notable, "shifts": FeatureShift,
    "separations": Separation, "slice_scores": SliceScore,
}  # fmt: skip
HALF = re.compile("[\ud800-\udfff]")  # of a character
MARK = 20  # characters that are added to names: " (single)"
_LATER = ("leaks", "notable", "shifts", "separations", "slice_scores")  # rows that reports of earlier versions lack


def _beside(report: Path) -> Path:
    return report.with_name(f"{report.stem}-cost.json")


def _costs(report: Path) -> tuple[Cost, ...]:
    """The costs saved with a report; none if they are missing, damaged or another report's."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        value = json.loads(files.read_text(_beside(report)))
        if value["report"] == files.sha256(report):
            return tuple(_row(Cost, entry) for entry in value["costs"])
    return ()


def _unwritable(value: Any) -> Iterator[str]:
    """Problems of JSON values that can be read, but neither displayed nor written again."""
    held: dict[int, set[Any]] = {}  # what is no container, by how long texts may be; most of it occurs many times
    waiting = [(value, LONGEST_TEXT)]
    while waiting:
        entry, longest = waiting.pop()
        if isinstance(entry, dict):
            held.setdefault(LONGEST_TEXT, set()).update(entry)
            waiting += [(each, 10 * LONGEST_TEXT if name in ("warnings", "recipe") else longest)
                        for name, each in entry.items() if isinstance(each, (dict, list))]  # fmt: skip
            entry = [each for each in entry.values() if not isinstance(each, (dict, list))]
        elif isinstance(entry, list):
            waiting += [(each, longest) for each in entry if isinstance(each, (dict, list))]
            entry = [each for each in entry if not isinstance(each, (dict, list))]
        else:
            entry = [entry]
        held.setdefault(longest, set()).update(entry)
    for longest, entries in held.items():
        for each in entries:
            yield from _odd_value(each, longest)


def _odd_value(value: Any, longest: int) -> Iterator[str]:
    if isinstance(value, str) and HALF.search(value):
        yield f"expected text in Unicode, found half of a character in {value!r}. Write the report again."
    elif isinstance(value, str) and len(value) > longest + MARK:
        yield f"expected texts of at most {longest:,} characters, found one of {len(value):,}. Shorten it."
    elif isinstance(value, int) and abs(value) > sys.float_info.max:
        yield "expected numbers that fit into a float, found an integer beyond them. Write the report again."


@functools.cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass; none of any other type."""
    return tuple(each.name for each in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()


def _plain(value: Any) -> Any:
    if names := _names(value.__class__):
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "item"):
        return _plain(value.item())
    return value


def _listed(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{name} is {quoted(value)}")
    return value


def _require_fields(kind: type[Any], values: dict[str, Any]) -> None:
    """Check that the values are those of all fields without a default, and of no other."""
    fields = dataclasses.fields(kind)
    needed = {each.name for each in fields if each.default is each.default_factory is dataclasses.MISSING}
    if odd := sorted((needed - values.keys()) | (values.keys() - {each.name for each in fields})):
        raise TypeError(f"missing or unknown in {kind.__name__}: {', '.join(odd)}")


def _row(kind: type[Any], entry: Any) -> Any:
    if not isinstance(entry, dict):
        raise TypeError(f"{kind.__name__} is {quoted(entry)}")
    values = dict(entry)
    for place in dataclasses.fields(kind):
        if place.name not in values and place.default is not dataclasses.MISSING:
            continue  # an earlier version did not write it
        if str(place.type).startswith("float"):
            number = values.get(place.name)
            if place.name not in values or not isinstance(number, (int, float, type(None))):
                raise TypeError(f"{kind.__name__}.{place.name} is {number!r}")
            if number is not None or place.type == "float":
                values[place.name] = _float(number)
        elif place.type == "tuple[Text, ...]":
            values[place.name] = tuple(_row(Text, item) for item in _listed(place.name, values.get(place.name, [])))
        elif str(place.type).startswith("tuple") and place.name in values:
            values[place.name] = tuple(_float(item) for item in _listed(place.name, values[place.name]))
    _require_fields(kind, values)
    _require_kinds(kind, values)
    return kind(**values)


def _float(item: Any) -> Any:
    """NaN for null; an integer of more than 53 bits, which NumPy would hold as an object, as a float; else the item."""
    if item is None:
        return math.nan
    return float(item) if isinstance(item, int) and abs(item) > 2**sys.float_info.mant_dig else item


_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,), "Role": (str,),
    "int": (int,), "bool": (bool,), "float": (int, float), "None": (type(None),), "dict": (dict,),
}  # fmt: skip


def _require_kinds(kind: type[Any], values: dict[str, Any]) -> None:
    """Check that fields of plain types, and items of tuples of these, have their declared types."""
    for place in dataclasses.fields(kind):
        declared = str(place.type)
        items = declared.startswith("tuple[")
        named = declared.removeprefix("tuple[").removesuffix(", ...]").split(" | ")
        kinds = [known for name in named for known in _KINDS.get(name.partition("[")[0], ())]
        if place.name not in values or not kinds:
            continue
        held = values[place.name] if items else (values[place.name],)
        wrong = [item for item in held if not isinstance(item, tuple(kinds))]
        if wrong:
            raise TypeError(f"{kind.__name__}.{place.name} is {str(wrong[0])[:60]!r}")
    if kind is Curve and len(values["x"]) != len(values["y"]):
        raise ValueError(f"a curve has {len(values['x'])} x and {len(values['y'])} y")
    if kind is Text and len(values.get("shades", ())) not in (0, len(values["pieces"])):
        raise ValueError(f"a text has {len(values['pieces'])} pieces and {len(values['shades'])} shades")


def _unknown_names(report: Report) -> Iterator[str]:
    """Problems of unknown metrics, subsets, roles and systems; each name once for each kind of row."""
    systems = {system.name for system in report.systems}
    known: dict[str, Collection[str]] = {"metric": METRICS, "subset": SUBSETS, "role": get_args(Role)}
    known |= dict.fromkeys(("system", "a", "b"), systems)
    for rows, kind in _ROWS.items():
        for key in (place.name for place in dataclasses.fields(kind) if place.name in known):
            found: dict[str, int] = {}
            for place, row in enumerate(getattr(report, rows)):
                found.setdefault(getattr(row, key), place)
            what = "system" if key in ("a", "b") else key
            for name, place in found.items():
                if name not in known[key]:
                    yield f"{rows}[{place}].{key}: {UnknownNameError(what, name, known[key])}"


def _odd_recipe(recipe: dict[str, Any]) -> Iterator[str]:
    """Problems of the parts of a recipe that this package reads."""
    intervals = recipe.get("intervals", {})
    used = intervals.get("used", {}) if isinstance(intervals, dict) else {}
    parts = {"intervals": intervals, "intervals.used": used, "versions": recipe.get("versions", {})}
    for name, part in parts.items():
        if not isinstance(part, dict):
            yield f"recipe.{name}: expected a JSON object, found {str(part)[:60]!r}."
