"""What a report holds: plain values, no behaviour but reading and writing themselves as JSON.

`shiftbench.assess` fills it; the renderers beside this file only read it. Nothing here knows a model or a track.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from shiftbench import files
from shiftbench.errors import TableError, UnknownNameError

FORMAT = "shiftbench report 1"
LONGEST_TEXT = 1_000  # characters of a title, a unit or a name; warnings list more

Better = Literal["min", "max"]
Scale = Literal["percent", "fraction", "target", "error", "plain"]
Role = Literal["ensemble", "single", "baseline", "model"]


@dataclass(frozen=True)
class Metric:
    """How a score is called, which direction is better, and in what it is measured."""

    name: str
    title: str
    better: Better
    scale: Scale
    uses_uncertainty: bool = False
    least: float = 0.0  # the range of the score, which its intervals keep
    most: float = math.inf
    ranked: bool = True  # whether systems are ranked by it: doing as badly on both sides of a shift is no merit


# fraction: 0…1, shown so; percent: held as 0…1, shown × 100; target, error: in the units of the target, of the error.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("mean_error", "Mean error", "min", "error"),
        Metric("rmse", "RMSE", "min", "target"),
        Metric("mae", "MAE", "min", "target"),
        Metric("mape", "MAPE", "min", "percent"),
        Metric("nll", "NLL", "min", "plain", least=-math.inf),
        Metric("crps", "CRPS", "min", "target"),
        Metric("accuracy", "Accuracy", "max", "percent", most=1.0),
        Metric("macro_f1", "Macro-F1", "max", "percent", most=1.0),
        Metric("brier", "Brier score", "min", "plain", most=2.0),
        Metric("ece", "Calibration error (ECE)", "min", "percent", most=1.0),
        Metric("acceptable", "Acceptable", "max", "percent", most=1.0),
        Metric("cnll", "cNLL", "min", "plain"),
        Metric("min_ade", "minADE", "min", "target"),
        Metric("avg_ade", "avgADE", "min", "target"),
        Metric("top1_ade", "top1ADE", "min", "target"),
        Metric("weighted_ade", "weightedADE", "min", "target"),
        Metric("min_fde", "minFDE", "min", "target"),
        Metric("avg_fde", "avgFDE", "min", "target"),
        Metric("top1_fde", "top1FDE", "min", "target"),
        Metric("weighted_fde", "weightedFDE", "min", "target"),
        Metric("shift_ratio", "Error, shifted / in-domain", "min", "plain", ranked=False),
        Metric("r_auc", "R-AUC", "min", "error", uses_uncertainty=True),
        Metric("f1_auc", "F1-AUC", "max", "fraction", uses_uncertainty=True, most=1.0),
        Metric(
            "f1_auc_normalised",
            "F1-AUC (normalised)",
            "max",
            "fraction",
            uses_uncertainty=True,
            least=-math.inf,
            most=1.0,
        ),
        Metric("f1_at_95", "F1@95%", "max", "percent", uses_uncertainty=True, most=1.0),
        # The opposite of the best order loses as much as that gains.
        Metric("rejection_ratio", "Rejection ratio", "max", "percent", uses_uncertainty=True, least=-1.0, most=1.0),
        Metric("roc_auc", "ROC-AUC (shift)", "max", "percent", uses_uncertainty=True, most=1.0),
        Metric("pr_auc", "PR-AUC (shift)", "max", "percent", uses_uncertainty=True, most=1.0),
    )
}

SUBSETS = {"in": "In-domain", "shifted": "Shifted", "full": "Full"}


@dataclass(frozen=True)
class System:
    """One row of the tables: an ensemble, its single models, a baseline, or a model somebody else made."""

    name: str
    role: Role
    measure: str = ""  # the uncertainty behind its headline scores
    measures: tuple[str, ...] = ()
    about: str = ""
    caution: str = ""  # what makes its scores doubtful, in a sentence for the verdict


@dataclass(frozen=True)
class Score:
    """One number: of a system, on a split ("dev", "eval", "all") and subset ("in", "shifted", "full")."""

    system: str
    split: str
    subset: str
    metric: str
    value: float
    n: int
    measure: str = ""
    std: float | None = None  # over single models
    each: tuple[float, ...] = ()  # of the single models, in their order
    low: float | None = None  # confidence interval
    high: float | None = None
    no_interval: str = ""  # why there is none, where one was wanted: "too few clusters"


@dataclass(frozen=True)
class Curve:
    """A line to draw. x and y are thinned to a few hundred points; scores never come from these.

    kind: "error_retention", "f1_retention" (x = retention 0…1), "roc" (x = false positive rate),
    "coverage" (x = nominal, y = observed), "reliability" (x = confidence, y = accuracy),
    "error_by_uncertainty" (x = mean uncertainty of a bin, y = mean error), "density" (x = uncertainty, y = density).
    order: "uncertainty", "random" or "optimal".
    """

    system: str
    split: str
    subset: str
    kind: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    measure: str = ""
    order: str = "uncertainty"
    log_x: bool = False


@dataclass(frozen=True)
class Slice:
    """The scores of the records that share a value of a column, with the interval of the mean error."""

    system: str
    split: str
    column: str
    group: str
    n: int
    shifted_share: float | None
    mean_error: float
    low: float | None
    high: float | None
    r_auc: float
    acceptable: float | None = None
    no_interval: str = ""  # as of a score


@dataclass(frozen=True)
class Part:
    """One additive part of an R-AUC; the parts of a system and split sum to its R-AUC on the full subset."""

    system: str
    split: str
    name: str  # "level_in", "level_shift", "ranking_in", "ranking_shifted", "ranking_between"
    value: float


@dataclass(frozen=True)
class Comparison:
    """A paired comparison on the same records: difference = a - b of a metric, with interval and p-values."""

    split: str
    subset: str
    metric: str
    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    no_interval: str = ""  # as of a score; then there is no p-value either
    n: int | None = None  # the records that both systems have an answer for
    adjusted_by: str = "Holm"  # or "Romano-Wolf", where there are too many pairs for the replicates of Holm's method


@dataclass(frozen=True)
class Rank:
    """A system's rank by a metric: 1 + the number of systems that an adjusted paired test finds better."""

    split: str
    subset: str
    metric: str
    system: str
    rank: int


@dataclass(frozen=True)
class Count:
    """How many records, and clusters where there are any, a subset of a split has."""

    split: str
    subset: str
    records: int
    clusters: int | None = None


@dataclass(frozen=True)
class Leak:
    """In-domain records of a split whose cluster train has, too, and how much better scores are for it.

    clusters: the columns. records: so many share theirs, `of` all in-domain records. factor: the loss on clusters never
    seen over that on clusters seen, as estimated, with its interval; None where it was not, and `why`.
    """

    split: str
    clusters: str
    records: int
    of: int
    factor: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Report:
    """Everything a report says. `recipe` tells how each number was made; `warnings` what to know about them."""

    title: str
    task: str  # "regression", "classification" or "errors"
    rule: str
    threshold: float | None
    target_unit: str = ""
    error_unit: str = ""
    error_name: str = "error"
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

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits scored, in order."""
        return tuple(dict.fromkeys(count.split for count in self.counts))

    def score(self, metric: str, *, system: str, split: str, subset: str, measure: str | None = None) -> Score:
        """The one score asked for.

        Raises:
            UnknownNameError: if this report holds no such score; the message names the nearest it holds.
        """
        wanted = self.measure_of(system) if measure is None else measure
        for score in self.scores:
            if (score.metric, score.system, score.split, score.subset) == (
                metric,
                system,
                split,
                subset,
            ) and (not score.measure or score.measure == wanted):
                return score
        known = {" / ".join((s.metric, s.system, s.split, s.subset)) for s in self.scores}
        raise UnknownNameError("score", " / ".join((metric, system, split, subset)), known)

    def measure_of(self, system: str) -> str:
        """The measure behind a system's headline scores."""
        return next((entry.measure for entry in self.systems if entry.name == system), "")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; NaN and infinity become null."""
        return {"format": FORMAT, **_plain(dataclasses.asdict(self))}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Report:
        """The report that `to_json` wrote.

        Raises:
            TableError: if the value is not a report of this format; naming every metric, subset, role and system that
                is not known, and every part of the recipe of another kind.
        """
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            found = value.get("format") if isinstance(value, dict) else type(value).__name__
            raise TableError(
                f"expected a report ({FORMAT!r}), found {found!r}. Was the file written by another version?"
            )
        known = {entry.name for entry in dataclasses.fields(cls)}
        try:
            plain = {key: entry for key, entry in value.items() if key in known}
            for name, kind in _ROWS.items():  # reports of 0.6 and before have no leaks
                entries = value.get(name, []) if name == "leaks" else value[name]
                plain[name] = tuple(_row(kind, entry) for entry in entries)
            plain["warnings"] = tuple(value["warnings"])
            _require_kinds(cls, plain)
            report = cls(**plain)
        except (KeyError, TypeError, ValueError) as error:
            raise TableError(f"expected a complete report, found a damaged one ({error}). Write it again.") from None
        if problems := [*_unknown_names(report), *_odd_recipe(report.recipe)]:
            raise TableError(*problems)
        return report

    def save(self, path: str | Path) -> Path:
        """Write the report as JSON, whole or not at all."""
        return files.write_json(path, self.to_json(), sort_keys=False)  # a recipe reads in its own order

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Read a report written by `save`.

        Raises:
            TableError: naming the file, if it cannot be read or is no report of this format.
        """
        try:
            value = json.loads(files.read_text(path))
            if problems := sorted(set(_unwritable(value))):
                raise TableError(*problems)
            return cls.from_json(value)
        except TableError as error:
            raise TableError(*(f"{path}: {problem}" for problem in error.problems)) from None
        except (OSError, ValueError, RecursionError) as error:
            raise TableError(f"{path}: expected a report as JSON, found: {error}.") from None


_ROWS: dict[str, type[Any]] = {
    "systems": System, "counts": Count, "scores": Score, "comparisons": Comparison, "ranks": Rank,
    "curves": Curve, "slices": Slice, "parts": Part, "leaks": Leak,
}  # fmt: skip


def _unwritable(value: Any, *, longest: int = LONGEST_TEXT) -> Iterator[str]:
    """What is wrong with JSON values that can be read, but neither shown nor written again."""
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from _unwritable(name)
            yield from _unwritable(entry, longest=10 * LONGEST_TEXT if name in ("warnings", "recipe") else longest)
    elif isinstance(value, list):
        for entry in value:
            yield from _unwritable(entry, longest=longest)
    elif isinstance(value, str) and any("\ud800" <= sign <= "\udfff" for sign in value):
        yield f"expected text in Unicode, found half of a character in {value!r}. Write the report again."
    elif isinstance(value, str) and len(value) > longest:
        yield f"expected texts of at most {longest:,} characters, found one of {len(value):,}. Shorten it."
    elif isinstance(value, int) and abs(value) > sys.float_info.max:
        yield "expected numbers that fit into a float, found an integer beyond them. Write the report again."


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "item"):
        return _plain(value.item())
    return value


def _row(kind: type[Any], entry: dict[str, Any]) -> Any:
    values = dict(entry)
    for place in dataclasses.fields(kind):
        if str(place.type).startswith("float"):
            number = values.get(place.name)
            if place.name not in values or not isinstance(number, (int, float, type(None))):
                raise TypeError(f"{kind.__name__}.{place.name} is {number!r}")
            if number is None and place.type == "float":
                values[place.name] = math.nan
        elif str(place.type).startswith("tuple") and place.name in values:
            values[place.name] = tuple(math.nan if item is None else item for item in values[place.name])
    _require_kinds(kind, values)
    return kind(**values)


_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,), "Role": (str,),
    "int": (int,), "bool": (bool,), "float": (int, float), "None": (type(None),), "dict": (dict,),
}  # fmt: skip


def _require_kinds(kind: type[Any], values: dict[str, Any]) -> None:
    """Make sure that fields of plain kinds, and the items of tuples of these, are what they are said to be."""
    for place in dataclasses.fields(kind):
        said = str(place.type)
        items = said.startswith("tuple[")
        named = said.removeprefix("tuple[").removesuffix(", ...]").split(" | ") if items else said.split(" | ")
        kinds = [known for name in named for known in _KINDS.get(name.partition("[")[0], ())]
        if place.name not in values or not kinds:
            continue
        held = values[place.name] if items else (values[place.name],)
        wrong = [item for item in held if not isinstance(item, tuple(kinds))]
        if wrong:
            raise TypeError(f"{kind.__name__}.{place.name} is {str(wrong[0])[:60]!r}")
    if kind is Curve and len(values["x"]) != len(values["y"]):
        raise ValueError(f"a curve has {len(values['x'])} x and {len(values['y'])} y")


def _unknown_names(report: Report) -> Iterator[str]:
    """The problems of metrics, subsets, roles and systems that are not known; each name once for each kind of rows."""
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
    """The problems of the parts of a recipe that are read."""
    intervals = recipe.get("intervals", {})
    used = intervals.get("used", {}) if isinstance(intervals, dict) else {}
    parts = {"intervals": intervals, "intervals.used": used, "versions": recipe.get("versions", {})}
    for name, part in parts.items():
        if not isinstance(part, dict):
            yield f"recipe.{name}: expected a JSON object, found {str(part)[:60]!r}."
