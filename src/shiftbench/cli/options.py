"""The options of the command line, each declared once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Formatter
from typing import Annotated, Any

import typer

from shiftbench.errors import SettingsError

JOINED = {"--cluster": "+,", "--calibration": "\0"}  # separators of names in an option, if not only a comma


def _filled(param: typer.CallbackParam, value: Any) -> Any:
    """The given value; an empty name, alone or in a list, is refused rather than ignored."""
    word = max(param.opts, key=len)
    for given in value if isinstance(value, list) else [value]:
        names = separated(given, JOINED.get(word, ",")) if given and isinstance(value, list) else [given]
        if given is not None and not all(name.strip() for name in names):
            raise SettingsError(
                f"{word}: expected {'names' if len(names) > 1 else 'a name'}, found {given!r}. "
                "Give a name, or leave the option out."
            )
    return value


def separated(text: str, separators: str = ",") -> list[str]:
    """The names in a text: `a,b`. As in a CSV, one with separators stands in double quotes: `"wind, m/s",b`."""
    name = re.compile(rf'\s*"((?:[^"]|"")*)"\s*(?:[{separators}]|($))|([^{separators}]*)(?:[{separators}]|($))')
    names, place, last = list[str](), 0, False
    while not last:
        found = name.match(text, place)
        assert found is not None  # any text matches the second form
        quoted, end, plain, plain_end = found.groups()
        names.append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        place, last = found.end(), end is not None or plain_end is not None
    return names


def starting(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What a shell completes: the names that start as the word does, or as its part after the last comma."""

    def complete(incomplete: str) -> list[str]:
        before, comma, word = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(word)]

    return complete


def _methods() -> Iterable[str]:
    from shiftbench import methods

    return methods.names("regression", "classification")


def _presets() -> Iterable[str]:
    from shiftbench.methods.presets import PRESETS

    return PRESETS


def track_names() -> Sequence[str]:
    """The names of the tracks, none of them loaded."""
    from shiftbench import tracks

    return tracks.names()


named = partial(typer.Option, callback=_filled)  # an option whose value is a name, a list of names or a condition

Table = Annotated[Path, typer.Argument(help="CSV, Parquet, NPZ, Arrow or JSON-lines file.", show_default=False)]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Output path.")]  # each command tells its default


OUTS = {  # command → its default output path
    "run": "shiftbench-{table}-{target}", "run TRACK": "shiftbench-{track}", "example": "{example}",
    "prepare": "shiftbench-{track}-data", "import": "shiftbench-{format}", "show": "shiftbench-show",
    "partition": "shiftbench-{table}-partition", "fit": "{folder}-{method}", "predict": "{table}-predictions.parquet",
    "assess": "shiftbench-{file}-report", "compare": "shiftbench-comparison", "tables": "shiftbench-{track}-tables",
}  # fmt: skip


def out_path(command: str, **names: str) -> Path:
    """Where a command writes if --out is not given."""
    return Path(OUTS[command].format(**names))


def out_option(command: str, **names: str) -> Any:
    """The option --out with its default; names that are not known yet stand in capitals."""
    parts = {name for _, name, _, _ in Formatter().parse(OUTS[command]) if name}
    default = out_path(command, **{part: part.upper() for part in parts} | names)
    return Annotated[Path | None, typer.Option("--out", "-o", help=f"Output path; default: {default}.")]


Config = Annotated[Path | None, typer.Option("--config", "-c", help="TOML file of settings; options override it.")]
Cores = Annotated[int, typer.Option("--cores", min=0, help="Processor cores to use; 0: all.")]
Executor = Annotated[
    str,
    named(
        "--executor", help="Where members train and predict: serial, processes, ray, ray=HOST:PORT, ray=local or slurm."
    ),
]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Jobs at a time [all cores, or a cluster's].")]
Gpus = Annotated[int, typer.Option("--gpus", min=0, help="Number of GPUs reserved for each job.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result of this command.")]
Full = Annotated[bool, typer.Option("--full", help="Print every score, not only the first screen.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of all random numbers.")]
Many = list[str] | None

Target = Annotated[str | None, named("--target", "-t", help="Column of the target.")]
Task = Annotated[
    str | None,
    named(
        "--task", help="regression or classification; default: by the target's type.",
        autocompletion=starting(lambda: ("regression", "classification")),
    ),
]  # fmt: skip
IdColumn = Annotated[
    str | None, named("--id", help="Column of unique ids [the column id, if there is one, else row numbers from 1].")
]
Time = Annotated[str | None, named("--time", help="Column of dates or times to partition by.")]
Fractions = Annotated[
    str | None, named("--fractions", help="In-domain, gap, dev_out, eval_out windows of the time [60/10/15/15].")
]
ShiftedFrom = Annotated[
    str | None,
    named("--shifted-from", help="Cut-off: records at this --time or later are shifted, such as 2021-06-30."),
]
Gap = Annotated[str | None, named("--gap", help="Minimum time between in-domain and shifted records, such as 7d.")]
Group = Annotated[str | None, named("--group", help="Column of groups, some of them shifted.")]
Shifted = Annotated[Many, named("--shifted", help="Group values that are the shifted domain (repeat or a,b).")]
InDomain = Annotated[Many, named("--in-domain", help="Group values that are the training domain.")]
ShiftedIf = Annotated[str | None, named("--shifted-if", help="Condition of shifted records: 'wind >= 19'.")]
By = Annotated[str | None, named("--by", help="Column whose groups stay whole when in-domain records are sampled.")]
Shares = Annotated[str | None, named("--shares", help="Shares of train, dev_in, eval_in in-domain [70/10/20].")]
Cluster = Annotated[
    Many, named("--cluster", help="Column(s) of records that resemble each other; a+b takes their combination.")
]
CutClusters = Annotated[
    bool, typer.Option("--cut-clusters", help="Allow records of a cluster in train, dev and eval alike.")
]
Slice = Annotated[
    Many,
    named(
        "--slice", help="Column to break scores down by: values, fifths of numbers, months of dates (repeat or a,b)."
    ),
]
Drop = Annotated[Many, named("--drop", help="Columns that are not features: names or globs (repeat or a,b).")]
Keep = Annotated[Many, named("--keep", help="Columns that are features in any case.")]
Threshold = Annotated[
    float | None, typer.Option("--threshold", help="Largest acceptable error (squared error in a regression).")
]
TestSet = Annotated[
    Many, typer.Option("--test-set", help="Further table that is scored as a whole: NAME=FILE (repeat).")
]
Unit = Annotated[str | None, typer.Option("--unit", help="Unit of the target, such as °C.")]
Rule = Annotated[
    str | None,
    named(
        "--rule", help="published, exact or mixed; see the documentation.",
        autocompletion=starting(lambda: ("published", "exact", "mixed")),
    ),
]  # fmt: skip
Replicates = Annotated[int | None, typer.Option("--replicates", help="Bootstrap replicates [1000].")]
Intervals = Annotated[
    str | None,
    named(
        "--intervals", help="auto, studentised, percentile, bca or normal.",
        autocompletion=starting(lambda: ("auto", "studentised", "percentile", "bca", "normal")),
    ),
]  # fmt: skip
Baseline = Annotated[list[str] | None, named("--baseline", help="Column that is itself a forecast of the target.")]
AllowLeaks = Annotated[bool, typer.Option("--allow-leaks", help="Continue even if a feature reveals the target.")]
Method = Annotated[
    str | None,
    named("--method", help="Method to fit [boosting], or package.module:NAME.", autocompletion=starting(_methods)),
]
Methods = Annotated[
    Many,
    named(
        "--method",
        help="Method(s) to fit (repeat or a,b), also package.module:NAME; of a track's preset, only these.",
        autocompletion=starting(_methods),
    ),
]
Preset = Annotated[
    str | None,
    named(
        "--preset", help="A named list of methods: quick (minutes), full (hours); of a track: quick, paper.",
        autocompletion=starting(_presets),
    ),
]  # fmt: skip
Members = Annotated[int | None, typer.Option("--members", min=1, help="Members of each ensemble.")]
ErrorColumn = Annotated[str | None, named("--error", help="Column of errors >= 0 [error].")]
Answer = Annotated[str | None, named("--answer", help="Column of answers, with --target instead of --error.")]
Uncertainty = Annotated[
    list[str] | None, named("--uncertainty", help="Column(s) of uncertainty, higher is less certain [uncertainty*].")
]
Quantile = Annotated[
    Many, named("--quantile", help="LEVEL=COLUMN of a quantile, or lower_90=COLUMN of an interval [q0.05, lower_90 …].")
]
Member = Annotated[Many, named("--member", help="Columns of members' predictions: names or globs [mean_1, mean_2 …].")]
Mean = Annotated[str | None, named("--mean", help="Column of means of normal distributions [mean].")]
Std = Annotated[str | None, named("--std", help="Column of their standard deviations [std, or variance].")]
Probability = Annotated[Many, named("--probability", help="CLASS=COLUMN of a class's probability [probability_CLASS].")]
ShiftedColumn = Annotated[
    str | None,
    named("--shifted", help="Column that is 1 for shifted records, or 'part == \"test\"' [shifted]."),
]
Calibration = Annotated[
    Many,
    named(
        "--calibration",
        help="Records that calibrate conformal intervals, not scored: a 0/1 column, 'part == \"dev\"', or a file "
        "(for each FILE: repeat).",
    ),
]
Length = Annotated[
    str | None, named("--length", help="Column of lengths, such as tokens: is the uncertainty more than these?")
]
Column = Annotated[
    Many,
    typer.Option("--column", metavar="KEY=NAME", help="With --track: what FILE calls a column of the track (repeat)."),
]
Title = Annotated[str | None, typer.Option("--title", help="Title of the report.")]


def listed(values: list[str] | None, separators: str = ",") -> tuple[str, ...]:
    """Values of an option that may be repeated or separated: ["a,b", "c"] → a, b, c."""
    found = (part for value in values or [] for part in separated(value, separators))
    return tuple(dict.fromkeys(value for value in found if value))


@dataclass(frozen=True)
class Partitioning:
    """Options for dividing a table into partitions."""

    time: Time = None
    group: Group = None
    shifted: Shifted = None
    in_domain: InDomain = None
    shifted_if: ShiftedIf = None
    shifted_from: ShiftedFrom = None
    fractions: Fractions = None
    gap: Gap = None
    by: By = None
    shares: Shares = None
    id_column: IdColumn = None
    cluster: Cluster = None
    cut_clusters: CutClusters = False

    @property
    def clusters(self) -> tuple[str, ...]:
        """The columns of clusters."""
        return listed(self.cluster, "+,")

    @property
    def rules(self) -> dict[str, Any]:
        """The rules by their names in a settings file; None or empty if not given."""
        return {
            "id": self.id_column, "time": self.time, "fractions": self.fractions, "gap": _number_or_text(self.gap),
            "shifted_from": _number_or_text(self.shifted_from), "group": self.group, "shifted": listed(self.shifted),
            "in_domain": listed(self.in_domain), "where": {"shifted": self.shifted_if}, "by": self.by,
            "shares": self.shares,
        }  # fmt: skip


def _number_or_text(value: str | None) -> str | float | None:
    """A duration ("7d") or a time ("2021-01-31"), or a number if time is numeric."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return value


@dataclass(frozen=True)
class Computing:
    """Options for cores and executors."""

    cores: Cores = 0
    executor: Executor = "processes"
    workers: Workers = None
    gpus: Gpus = 0


@dataclass(frozen=True)
class Learning:
    """Options for the columns that a model may see."""

    drop: Drop = None
    keep: Keep = None
    allow_leaks: AllowLeaks = False

    @property
    def settings(self) -> dict[str, Any]:
        """These options by their names in a settings file."""
        return {"drop": listed(self.drop), "keep": listed(self.keep), "allow_leaks": self.allow_leaks or None}


@dataclass(frozen=True)
class Scoring:
    """Options for scoring predictions, and for how much of the scores is printed."""

    rule: Rule = None
    replicates: Replicates = None
    intervals: Intervals = None
    seed: Seed = None
    full: Full = False

    @property
    def settings(self) -> dict[str, Any]:
        """Those of them that a settings file has, by their names there, without the seed."""
        return {"rule": self.rule, "replicates": self.replicates, "kind": self.intervals}


def test_sets(values: Sequence[str] | None) -> dict[str, str]:
    """Test sets by name, from NAME=FILE.

    Raises:
        SettingsError: naming each value in another form, and duplicate names.
    """
    pairs = [value.partition("=") for value in values or ()]
    wrong = [
        f"--test-set: expected NAME=FILE, found {value!r}."
        for value, (_, sign, _) in zip(values or (), pairs, strict=True)
        if not sign
    ]
    names = [name for name, _, _ in pairs]
    wrong += [
        f"--test-set: expected different names, found {name!r} {names.count(name)} times."
        for name in sorted(set(names))
        if names.count(name) > 1
    ]
    if wrong:
        raise SettingsError(*wrong)
    return {name: path for name, _, path in pairs}
