"""The printed results of the Shifts papers, one value per row, for comparison with your own.

Shifts 1.0 is Malinin et al. (2021, arXiv:2107.07455), in its first version and as the full paper; Shifts 2.0
is Malinin et al. (2022, arXiv:2206.15407). A few values come from figures and from the outputs saved in the
public notebooks.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import polars as pl

from shiftbench import argument
from shiftbench.errors import UnknownNameError
from shiftbench.scores.metric import METRICS


def results(**where: str | None) -> pl.DataFrame:
    """The printed values with the given values in these columns, in the order of the papers.

    `results(track="weather", metric="r_auc", subset="full")`. Every column can be filtered by; None means no filter:

    - `track`, `task`, `dataset` (dev, eval, …), `subset` (in, shifted, full), `model`,
      `ensemble` (single, ensemble, mcdp, …), `metric` (see `metrics`);
    - `value` and `std` as numbers, `printed` and `printed_std` as the text in print ("0.960"), in `unit`;
    - `source` (paper and table), `setting` (more conditions as key=value;…), `readings` (see `sources`);
    - columns that only some tables have: `measure` (tvar: total variance, mvar: mean of the variances, varm:
      variance of the means, mi and rmi: mutual information and its reverse, …), `measure_type`, `members`,
      `samples`, `backbone`, `method`, `aggregation`, `k`, `experiment`, `training_set`, sites and others;
    - `flag`: codes, joined by `;`, of known problems of a value (see `flags`); missing without any.

    If two versions of a paper print different values for one cell, both are included with their `source`.

    Raises:
        UnknownNameError: if a column or a value of it does not exist.
    """
    every = chosen = _results()
    for column, value in where.items():
        if column not in every.columns:
            raise UnknownNameError("column of the published results", column, every.columns)
        if value is None:
            continue
        texts = pl.col(column).cast(pl.String)
        known = every.select(texts).to_series().drop_nulls().unique()
        argument.choice(column, value, known.to_list())
        chosen = chosen.filter(texts == value)
    return chosen


def tracks() -> tuple[str, ...]:
    """The tracks that have printed results, in the order of the papers."""
    return tuple(_results()["track"].unique(maintain_order=True))


def metrics() -> pl.DataFrame:
    """The meaning of each `metric` (`name`), which direction is `better` (min, max, none), and a `note`."""
    frame = _read("metrics.csv")
    better = [METRICS[name].better if name in METRICS else own for name, own in frame.select("metric", "better").rows()]
    return frame.with_columns(better=pl.Series(better))


def sources() -> pl.DataFrame:
    """The texts that values were taken from: `reading`, the paper (`name`) and the part of it (`content`)."""
    return _read("sources.csv")


def flags() -> dict[str, str]:
    """The meaning of each code in the column `flag`."""
    return dict(_read("flags.csv").iter_rows())


@cache
def _results() -> pl.DataFrame:
    frame = _read("results.csv.gz").rename({"value": "printed", "std": "printed_std"})
    value, std = (pl.col(name).cast(pl.Float64) for name in ("printed", "printed_std"))
    return frame.with_columns(value=value, std=std)


def _read(name: str) -> pl.DataFrame:
    return pl.read_csv(resources.files(__name__).joinpath(name).read_bytes(), infer_schema=False, glob=False)
