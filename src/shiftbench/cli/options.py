"""The options of the command line, each declared once."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from shiftbench.errors import SettingsError

JOINED = {"--cluster": "+,"}  # what separates the names of an option where it is not a comma alone


def _filled(param: typer.CallbackParam, value: Any) -> Any:
    """The value as given; an empty name, alone or in a list, is refused rather than passed over."""
    word = max(param.opts, key=len)
    for given in value if isinstance(value, list) else [value]:
        names = [given]
        for separator in JOINED.get(word, ",") if isinstance(value, list) else "":
            names = [part for name in names for part in name.split(separator)]
        if given is not None and not all(name.strip() for name in names):
            raise SettingsError(
                f"{word}: expected {'names' if len(names) > 1 else 'a name'}, found {given!r}. "
                "Name something, or leave the option out."
            )
    return value


_named = partial(typer.Option, callback=_filled)  # an option whose value is a name, a list of names or a condition

Table = Annotated[Path, typer.Argument(help="CSV, Parquet, NPZ, Arrow or JSON-lines file.", show_default=False)]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Where to write; default: shiftbench-… here.")]
Config = Annotated[Path | None, typer.Option("--config", "-c", help="TOML file of settings; options given here win.")]
Cores = Annotated[int, typer.Option("--cores", min=0, help="Processor cores to use; 0: all there are.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of everything random.")]
Many = list[str] | None

Target = Annotated[str | None, _named("--target", "-t", help="Column of the target.")]
Task = Annotated[
    str | None,
    _named("--task", help="regression or classification; default: as the target's type."),
]
IdColumn = Annotated[
    str | None,
    _named("--id", help="Column of unique ids [id where there is one, else row numbers from 1]."),
]
Time = Annotated[str | None, _named("--time", help="Column of dates or times to cut by.")]
Fractions = Annotated[
    str | None,
    _named("--fractions", help="In-domain, gap, dev_out, eval_out windows of the time [60/10/15/15]."),
]
Gap = Annotated[
    str | None,
    _named("--gap", help="Least time between in-domain and shifted records, such as 7d."),
]
Group = Annotated[str | None, _named("--group", help="Column of groups, some of them shifted.")]
Shifted = Annotated[Many, _named("--shifted", help="Group values that are the shifted domain (repeat or a,b).")]
InDomain = Annotated[Many, _named("--in-domain", help="Group values that are the training domain.")]
ShiftedIf = Annotated[str | None, _named("--shifted-if", help="Condition of shifted records: 'wind >= 19'.")]
By = Annotated[str | None, _named("--by", help="Column whose groups stay whole when in-domain is sampled.")]
Shares = Annotated[
    str | None,
    _named("--shares", help="Shares of train, dev_in, eval_in in-domain [70/10/20]."),
]
Cluster = Annotated[
    Many,
    _named("--cluster", help="Column(s) of records that resemble each other; a+b takes their combination."),
]
CutClusters = Annotated[
    bool, typer.Option("--cut-clusters", help="Let records of a cluster lie in train, dev and eval alike.")
]
Slice = Annotated[
    Many,
    _named(
        "--slice", help="Column to break scores down by: values, fifths of numbers, months of dates (repeat or a,b)."
    ),
]
Drop = Annotated[Many, _named("--drop", help="Columns that are no features: names or globs (repeat or a,b).")]
Keep = Annotated[Many, _named("--keep", help="Columns that are features whatever else is said.")]
Threshold = Annotated[
    float | None, typer.Option("--threshold", help="Largest acceptable error (squared error in a regression).")
]
TestSet = Annotated[
    Many, typer.Option("--test-set", help="Further table to be scored on as a whole: NAME=FILE (repeat).")
]
Unit = Annotated[str | None, typer.Option("--unit", help="Unit of the target, such as °C.")]
Rule = Annotated[str | None, _named("--rule", help="published, exact or mixed; see the documentation.")]
Replicates = Annotated[int | None, typer.Option("--replicates", help="Bootstrap replicates [1000].")]
Intervals = Annotated[str | None, _named("--intervals", help="auto, studentised, percentile, bca or normal.")]
Baseline = Annotated[
    list[str] | None,
    _named("--baseline", help="Column that is itself a forecast of the target."),
]
AllowLeaks = Annotated[bool, typer.Option("--allow-leaks", help="Go on where a feature gives the target away.")]
Method = Annotated[str | None, _named("--method", help="Method to fit [boosting], or package.module:NAME.")]
Methods = Annotated[
    Many,
    _named(
        "--method", help="Method(s) to fit (repeat or a,b), also package.module:NAME; of a track's preset, only these."
    ),
]
Preset = Annotated[
    str | None,
    _named("--preset", help="A named list of methods: quick (minutes), full (hours); of a track: quick, paper."),
]
Members = Annotated[int | None, typer.Option("--members", min=1, help="Members of each ensemble.")]
ErrorColumn = Annotated[str | None, _named("--error", help="Column of errors >= 0 [error].")]
Answer = Annotated[str | None, _named("--answer", help="Column of answers, with --target instead of --error.")]
Uncertainty = Annotated[
    list[str] | None,
    _named("--uncertainty", help="Column(s) of uncertainty, higher is less certain [uncertainty*]."),
]
ShiftedColumn = Annotated[str | None, _named("--shifted", help="Column that is 1 for shifted records [shifted].")]
Title = Annotated[str | None, typer.Option("--title", help="Title of the report.")]
