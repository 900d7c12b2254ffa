"""The features whose distribution moved most from the in-domain to the shifted records of a split."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from shiftbench.assessment.scored import Records
from shiftbench.assessment.source import Source
from shiftbench.check import Vector
from shiftbench.errors import counted
from shiftbench.metrics.shift import kolmogorov_smirnov, total_variation
from shiftbench.partition.features import category_texts
from shiftbench.report.ticks import YEARS, tick_text
from shiftbench.scores.score import FeatureShift

MOST = 20_000  # records of each side, drawn with the seed
SHOWN = 10  # features in reports
BINS = 24
CATEGORIES = 8  # of a picture; the others are one more
LONGEST = 60  # characters of a category
RARE = 0.05  # if no category has this share of the records, they are names
DAY = 86_400e6  # microseconds
ISO = r"^\d{4}-\d{2}-\d{2}$"
NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d+)?")


def moved(records: Records, *, seed: int) -> list[FeatureShift]:
    """The features that moved most, the furthest first; none without features, or with one side of the shift only."""
    source, shifted = records.source, records.shifted
    if source is None or shifted is None or not records.two_sided:
        return []
    sides = [source.select(member).drawn(MOST, seed=seed) for member in (~shifted, shifted)]
    found = [
        each
        for kind, names in (
            ("number", source.features.numeric),
            ("date", source.features.dates),
            ("category", source.features.categorical),
        )
        for each in _moved(records.split, kind, names, sides)
    ]
    return sorted(found, key=lambda each: (-each.distance, each.feature))[:SHOWN]


def _moved(split: str, kind: str, names: Sequence[str], sides: Sequence[Source]) -> Iterator[FeatureShift]:
    """Each feature of a kind; one column at a time, since all at once may not fit into memory."""
    for name in names:
        pair = [side.take(columns=[name])[name] for side in sides]
        missing = [float(_absent(column).mean() or 0.0) for column in pair]  # type: ignore[arg-type]
        days = _days(pair) if kind == "category" else None
        make = _of_categories if kind == "category" and not days else _of_numbers
        held = "date" if days else kind
        distance, words, bins = make(days or pair, held)
        yield FeatureShift(split, name, held, distance, missing[0], missing[1], words[0], words[1], **bins)


def _absent(column: pl.Series) -> pl.Series:
    return column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()


# --- numbers and dates ------------------------------------------------------------------------------------------------


def _of_numbers(pair: Sequence[pl.Series], kind: str) -> tuple[float, list[str], dict[str, Any]]:
    values = [_numbers(column, kind) for column in pair]
    known = [each[~np.isnan(each)] for each in values]
    if kind == "number" and all(map(len, known)) and {*np.unique(np.concatenate(known))} == {0.0, 1.0}:  # yes or no
        ones = [float(each.mean()) for each in known]
        words = [f"{100 * share:.0f} % are 1" for share in ones]
        bins = {name: (1.0 - share, share) for name, share in zip(("shares_in", "shares_shifted"), ones, strict=True)}
        return kolmogorov_smirnov(*values), words, {**bins, "labels": ("0", "1")}
    words = [_range(each) if kind == "date" else _middle(each) for each in known]
    return kolmogorov_smirnov(*values), words, _histogram(known)


def _numbers(column: pl.Series, kind: str) -> Vector:
    if kind == "date":
        return column.cast(pl.Datetime("us")).dt.timestamp("us").cast(pl.Float64).fill_null(np.nan).to_numpy() / DAY
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _days(pair: Sequence[pl.Series]) -> list[pl.Series] | None:
    """Texts that all are ISO dates, as tables of other libraries hold them, as dates; None for others."""
    texts = [column.cast(pl.String, strict=False) for column in pair]
    days = [text.str.to_date("%Y-%m-%d", strict=False) for text in texts]
    alike = (text.str.contains(ISO).fill_null(True).all() for text in texts)
    read = all(day.null_count() == text.null_count() < len(text) for day, text in zip(days, texts, strict=True))
    return days if read and all(alike) else None


def _range(values: Vector) -> str:
    """The first and the last day."""
    if not len(values):
        return "no values"
    ends = [math.floor(end) for end in (values.min(), values.max())]
    days = pl.Series(ends).cast(pl.Int32).cast(pl.Date)  # has years that Python's dates lack
    return " to ".join(dict.fromkeys(days.dt.strftime("%Y-%m-%d")))


def _middle(values: Vector) -> str:
    """The median in words; of years without a separator."""
    if not len(values):
        return "no values"
    years = values.min() >= YEARS[0] and values.max() <= YEARS[1] and not (values % 1).any()
    return f"median {np.median(values):.0f}" if years else f"median {_number(float(np.median(values)))}"


def _number(value: float) -> str:
    """Four digits, or all before the point."""
    if abs(value) >= 1000:
        return tick_text(value) if abs(value) >= 1e9 else f"{value:,.0f}".replace("-", "−")
    return tick_text(float(f"{value:.4g}"))


def _histogram(known: Sequence[Vector]) -> dict[str, tuple[float, ...]]:
    """Shares of the values in bins of equal width over all but the outermost; these count to the last bins."""
    if not all(map(len, known)):
        return {}
    ends = [np.quantile(each, [0.005, 0.995]) for each in known]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    if not (np.isfinite([low, high, high - low]).all() and low < high):
        return {}
    edges = np.linspace(low, high, BINS + 1)
    if not (np.diff(edges) > 0).all():  # fewer numbers than bins lie between the ends
        return {}
    shares = [np.histogram(np.clip(each, low, high), edges)[0] / len(each) for each in known]
    return {"shares_in": _floats(shares[0]), "shares_shifted": _floats(shares[1]), "edges": _floats(edges)}


def _floats(values: Vector) -> tuple[float, ...]:
    return tuple(map(float, values))


# --- categories -------------------------------------------------------------------------------------------------------


def _of_categories(pair: Sequence[pl.Series], _kind: str) -> tuple[float, list[str], dict[str, Any]]:
    shares = [_shares(column) for column in pair]
    names = sorted({*shares[0], *shares[1]}, key=lambda name: (-_change(shares, name), name))
    if max(0.0, *shares[0].values(), *shares[1].values()) < RARE:  # names: no single one says anything
        words = [f"{len(each):,} categories" for each in shares]
    else:
        words = _of_most_moved(shares, names)
    most = CATEGORIES + (len(names) == CATEGORIES + 1)  # one alone needs no other name
    shown = sorted(names[:most], key=lambda name: (-shares[0].get(name, 0.0), name))
    if all(map(NUMBER.fullmatch, shown)):  # such as years: in their own order
        shown = sorted(shown, key=float)
    heights = [tuple(each.get(name, 0.0) for name in shown) for each in shares]
    labels = tuple(name[:LONGEST] for name in shown)
    if len(names) > most:
        heights = [(*each, max(1.0 - sum(each), 0.0)) for each in heights]
        labels += (counted(len(names) - most, "other"),)
    bins = {"shares_in": heights[0], "shares_shifted": heights[1], "labels": labels}
    return total_variation(*shares), words, bins


def _of_most_moved(shares: Sequence[dict[str, float]], names: Sequence[str]) -> list[str]:
    """The share on each side of the category that moved most; of several, the one that grew."""
    first = max(names, key=lambda name: (round(_change(shares, name), 9), shares[1].get(name, 0.0)))
    parts = [100 * each.get(first, 0.0) for each in shares]
    decimals = int(f"{parts[0]:.0f}" == f"{parts[1]:.0f}" and f"{parts[0]:.1f}" != f"{parts[1]:.1f}")
    return [f"{part:.{decimals}f} % {first[:LONGEST]}" for part in parts]


def _shares(column: pl.Series) -> dict[str, float]:
    counts = category_texts(column).value_counts()
    return {name: count / len(column) for name, count in counts.iter_rows()}


def _change(shares: Sequence[dict[str, float]], name: str) -> float:
    return abs(shares[0].get(name, 0.0) - shares[1].get(name, 0.0))
