"""Hostile forecasts: quantiles, intervals, members and class probabilities with odd names, levels and values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tests.hostile import bases
from tests.hostile.mutations import NAMES, TOKENS, Rng, damaged, edited, pick, retyped

LEVELS = (
    "0.05",
    "0.5",
    "0.95",
    "0",
    "1",
    "1.5",
    "5",
    "95",
    "0.0000000001",
    "0.99999999999",
    "-0.1",
    "1e-3",
    "nan",
    "²",
)
FORMS = {
    "quantiles": ("q0.05", "q0.5", "q0.95"),
    "intervals": ("lower_90", "lower_50", "upper_50", "upper_90"),
    "members": ("mean_1", "mean_2", "mean_3"),
    "normal": ("mean", "std"),
    "probabilities": ("probability_clear", "probability_cloud", "probability_rain"),
}
ODD = (None, float("nan"), float("inf"), -1e308, 1e308, 1e150, 1e-320, 0.0, -1.0)
OPTIONS = ("--quantile", "--member", "--probability", "--answer", "--uncertainty", "--task", "--target", "--slice")


def frame(form: str, rng: Rng) -> pl.DataFrame:
    """A small table with predictions of a form that are in order."""
    table = bases.table().head(int(rng.choice([1, 3, 20, bases.ROWS]))).select("id", "target", "sky", "shifted")
    names = FORMS[form]
    values = np.sort(rng.normal(size=(table.height, len(names))), axis=1)
    if form == "normal":
        values[:, 1] = np.abs(values[:, 1]) + 0.1
    if form == "probabilities":
        values = rng.dirichlet(np.ones(len(names)), table.height)
        table = table.with_columns(target=pl.col("sky"))
    return table.with_columns(*(pl.Series(name, values[:, k]) for k, name in enumerate(names)))


def _renamed(table: pl.DataFrame, rng: Rng) -> pl.DataFrame:
    """With a column called otherwise: another level, another form's name, no name at all."""
    others = [name for names in FORMS.values() for name in names] + [f"q{level}" for level in LEVELS]
    others += [f"{end}_{level}" for end in ("lower", "upper", "quantile", "variance") for level in LEVELS]
    old, new = pick(rng, *table.columns), pick(rng, *others, *NAMES)
    return table.rename({old: new}) if new not in table.columns else table


def _spoilt(table: pl.DataFrame, rng: Rng) -> pl.DataFrame:
    """With odd numbers in some places of a column."""
    column = pick(rng, *[name for name in table.columns if table[name].dtype == pl.Float64] or ["id"])
    odd = ODD[rng.integers(len(ODD))]
    places = pl.Series(rng.random(table.height) < rng.choice([0.05, 1.0]))
    value = pl.when(places).then(pl.lit(odd, dtype=pl.Float64)).otherwise(pl.col(column).cast(pl.Float64, strict=False))
    return table.with_columns(value.alias(column))


def make(whole: Path, here: Path, rng: Rng) -> list[str]:
    """Write a table of forecasts; returns the command that assesses it."""
    table = frame(pick(rng, *FORMS), rng)
    for _ in range(int(rng.integers(0, 3))):
        table = (_renamed, _spoilt, retyped)[rng.integers(3)](table, rng)
    try:
        table.write_parquet(here / "f.parquet")
        name = "f.parquet"
        if rng.random() < 0.4:
            data = table.write_csv().encode()
            (here / "f.csv").write_bytes(edited(data, rng) if rng.random() < 0.5 else damaged(data, rng))
            name = "f.csv"
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError):
        (here / "f.parquet").write_bytes(damaged(b"PAR1", rng))
        name = "f.parquet"
    words = ["assess", name, "--out", "out", "--replicates", "5", "--cores", "1"]
    if rng.random() < 0.5:
        token = TOKENS[rng.integers(len(TOKENS))].decode("utf-8", "replace").replace("\0", "")
        column = pick(rng, *table.columns).replace("\0", "")
        words += [pick(rng, *OPTIONS), pick(rng, column, token, f"{pick(rng, *LEVELS)}={column}", f"{token}={column}")]
    return words
