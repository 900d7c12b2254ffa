"""The options of the command line, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Table = Annotated[Path, typer.Argument(help="CSV, Parquet, NPZ, Arrow or JSON-lines file.", show_default=False)]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Where to write; default: shiftbench-… here.")]
Config = Annotated[Path | None, typer.Option("--config", "-c", help="TOML file of settings; options given here win.")]
Cores = Annotated[int, typer.Option("--cores", min=0, help="Processor cores to use; 0: all there are.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of everything random.")]
Many = list[str] | None

Target = Annotated[str | None, typer.Option("--target", "-t", help="Column of the target.")]
Task = Annotated[
    str | None, typer.Option("--task", help="regression or classification; default: as the target's type.")
]
IdColumn = Annotated[
    str | None,
    typer.Option("--id", help="Column of unique ids [id in reports of files, else row numbers]."),
]
Time = Annotated[str | None, typer.Option("--time", help="Column of dates or times to cut by.")]
Fractions = Annotated[
    str | None, typer.Option("--fractions", help="In-domain, gap, dev_out, eval_out windows of the time [60/10/15/15].")
]
Gap = Annotated[str | None, typer.Option("--gap", help="Least time between in-domain and shifted records, such as 7d.")]
Group = Annotated[str | None, typer.Option("--group", help="Column of groups, some of them shifted.")]
Shifted = Annotated[Many, typer.Option("--shifted", help="Group values that are the shifted domain (repeat or a,b).")]
InDomain = Annotated[Many, typer.Option("--in-domain", help="Group values that are the training domain.")]
ShiftedIf = Annotated[str | None, typer.Option("--shifted-if", help="Condition of shifted records: 'wind >= 19'.")]
By = Annotated[str | None, typer.Option("--by", help="Column whose groups stay whole when in-domain is sampled.")]
Shares = Annotated[str | None, typer.Option("--shares", help="Shares of train, dev_in, eval_in in-domain [70/10/20].")]
Cluster = Annotated[
    Many, typer.Option("--cluster", help="Column(s) of records that resemble each other; a+b takes their combination.")
]
Slice = Annotated[Many, typer.Option("--slice", help="Column to break scores down by (repeat or a,b).")]
Drop = Annotated[Many, typer.Option("--drop", help="Columns that are no features: names or globs (repeat or a,b).")]
Keep = Annotated[Many, typer.Option("--keep", help="Columns that are features whatever else is said.")]
Threshold = Annotated[
    float | None, typer.Option("--threshold", help="Largest acceptable error (squared error in a regression).")
]
TestSet = Annotated[
    Many, typer.Option("--test-set", help="Further table to be scored on as a whole: NAME=FILE (repeat).")
]
Unit = Annotated[str | None, typer.Option("--unit", help="Unit of the target, such as °C.")]
Rule = Annotated[str | None, typer.Option("--rule", help="published, exact or mixed; see the documentation.")]
Replicates = Annotated[int | None, typer.Option("--replicates", help="Bootstrap replicates [1000].")]
Intervals = Annotated[str | None, typer.Option("--intervals", help="auto, studentised, percentile, bca or normal.")]
Baseline = Annotated[
    list[str] | None, typer.Option("--baseline", help="Column that is itself a forecast of the target.")
]
AllowLeaks = Annotated[bool, typer.Option("--allow-leaks", help="Go on where a feature gives the target away.")]
Method = Annotated[str | None, typer.Option("--method", help="Method to fit [boosting].")]
Methods = Annotated[
    Many, typer.Option("--method", help="Method(s) to fit (repeat or a,b); of a track's preset, only these.")
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", help="A named list of methods: quick (minutes), full (hours); of a track: quick, paper."),
]
Members = Annotated[int | None, typer.Option("--members", min=1, help="Members of each ensemble.")]
ErrorColumn = Annotated[str | None, typer.Option("--error", help="Column of errors >= 0 [error].")]
Answer = Annotated[str | None, typer.Option("--answer", help="Column of answers, with --target instead of --error.")]
Uncertainty = Annotated[
    list[str] | None,
    typer.Option("--uncertainty", help="Column(s) of uncertainty, higher is less certain [uncertainty*]."),
]
ShiftedColumn = Annotated[str | None, typer.Option("--shifted", help="Column that is 1 for shifted records [shifted].")]
Title = Annotated[str | None, typer.Option("--title", help="Title of the report.")]
