"""Near-duplicates are found exactly: what a comparison of all pairs finds, in tables of every shape and width."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.partition import Partition, Rules, leakage, near_duplicates
from shiftbench.partition.near_duplicates import Twins

Rows = npt.NDArray[np.intp]


def found(frame: pl.DataFrame, train: Rows, others: Rows) -> Twins:
    return near_duplicates.near(frame, train, others, known=near_duplicates.equal(frame, train, others))


def slow(frame: pl.DataFrame, train: Rows, others: Rows) -> list[int]:
    """All pairs compared, as the definition says."""
    close = np.ones((len(others), len(train)), np.bool_)
    for column in frame:
        if not column.dtype.is_numeric():
            values = np.array([repr(value) for value in column])
            close &= values[others][:, None] == values[train]
            continue
        values = column.cast(pl.Float64).fill_null(math.nan).to_numpy()
        known = values[np.concatenate([train, others])]
        known = known[np.isfinite(known)]
        largest = np.abs(known).max(initial=0.0) or 1.0
        tolerance = 0.01 * (known / largest).std(ddof=1) * largest if len(known) > 1 else 0.0
        here, there = values[others][:, None], values[train]
        with np.errstate(invalid="ignore"):
            near = np.abs(here - there) <= tolerance
        close &= near | (here == there) | (np.isnan(here) & np.isnan(there))
    return sorted(others[close.any(axis=1)].tolist())


def halves(n: int, *, rng: np.random.Generator) -> tuple[Rows, Rows]:
    order = rng.permutation(n)
    return np.sort(order[: n // 2]), np.sort(order[n // 2 :])


@pytest.mark.parametrize("distance", [0.0005, 0.005, 0.00999])
@pytest.mark.parametrize("columns", [5, 50, 120, 200])
def test_every_near_duplicate_is_found_however_many_columns(columns: int, distance: float) -> None:
    rng = np.random.default_rng(columns)
    values = rng.normal(size=(600, columns))
    values[300:360] = values[:60]
    moves = distance * rng.uniform(-1, 1, size=(60, columns))
    moves[:, 0] = distance
    values[300:360] += moves * values.std(axis=0, ddof=1) * 0.999  # moving records moves the deviation a little
    frame = pl.DataFrame(values, schema=[f"f{place}" for place in range(columns)], orient="row")
    train, others = np.arange(300), np.arange(300, 600)
    twins = found(frame, train, others)
    assert twins.complete
    assert twins.rows.tolist() == slow(frame, train, others) == list(range(300, 360))
    assert twins.twins.tolist() == list(range(60))


def test_what_lies_just_beyond_the_tolerance_in_one_column_is_not_called_near() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(1_000, 30))
    values[500:] = values[:500]
    values[500:, 7] += 0.0101 * values[:, 7].std(ddof=1)
    frame = pl.DataFrame(values, orient="row")
    train, others = np.arange(500), np.arange(500, 1_000)
    assert found(frame, train, others).rows.tolist() == slow(frame, train, others) == []


@pytest.mark.parametrize("few_pairs", [0, 4])
@pytest.mark.parametrize("seed", range(12))
def test_any_table_gives_what_comparing_all_pairs_gives(
    seed: int, few_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dense and sparse, correlated, constant, heavy-tailed, missing, infinite, with text; every step is forced."""
    monkeypatch.setattr(near_duplicates, "FEW_PAIRS", few_pairs)
    monkeypatch.setattr(near_duplicates, "PAIRS_AT_ONCE", 1_000 if few_pairs else 99)
    rng = np.random.default_rng(seed)
    n = 200
    common = rng.normal(size=n)
    columns = {
        "normal": rng.normal(size=n),
        "uniform": rng.uniform(size=n),
        "correlated": common,
        "copy": 2 * common + 1e-4 * rng.normal(size=n),
        "cauchy": rng.standard_cauchy(n),
        "spikes": np.where(rng.random(n) < 0.01, 1e12, rng.normal(size=n)),
        "whole": rng.integers(0, 4, n),
        "constant": np.full(n, 0.1),
        "huge": 1e300 * rng.normal(size=n),
        "offset": 1.6e9 + rng.normal(size=n),
        "single": rng.normal(size=n).astype(np.float32),
        "missing": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        "infinite": np.where(rng.random(n) < 0.3, rng.choice([np.inf, -np.inf], n), rng.integers(0, 2, n)),
        "kind": rng.choice(["a", "b", None], n),
        "flag": rng.random(n) < 0.5,
    }
    chosen = rng.choice(list(columns), size=int(rng.integers(1, 5)), replace=False)
    frame = pl.DataFrame({name: columns[name] for name in chosen}, strict=False)
    moved = frame[rng.integers(0, n, n)].with_columns(
        pl.col(pl.Float64) + pl.col(pl.Float64).std().fill_nan(0) * 0.012 * float(rng.uniform())
    )
    frame = pl.concat([frame, moved])
    train, others = halves(2 * n, rng=rng)
    assert found(frame, train, others).rows.tolist() == slow(frame, train, others)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(), st.integers(-3, 3).map(float)),
            st.one_of(st.none(), st.integers(-(2**53), 2**53)),
            st.one_of(st.none(), st.sampled_from(["a", "b"])),
        ),
        min_size=2,
        max_size=40,
    )
)
def test_any_values_give_what_comparing_all_pairs_gives(rows: list[tuple[float, int, str]]) -> None:
    frame = pl.DataFrame(rows, schema={"x": pl.Float64, "n": pl.Int64, "t": pl.String}, orient="row")
    half = len(rows) // 2
    train, others = np.arange(half), np.arange(half, len(rows))
    with np.errstate(over="ignore"):
        expected = slow(frame, train, others)
    assert found(frame, train, others).rows.tolist() == expected


def test_records_that_all_resemble_each_other_are_compared_up_to_a_limit_and_a_note_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(near_duplicates, "MOST_PAIRS", 1_000)
    monkeypatch.setattr(near_duplicates, "FEW_PAIRS", 0)
    monkeypatch.setattr(near_duplicates, "PAIRS_AT_ONCE", 100)
    rng = np.random.default_rng(0)
    values = 0.02 * rng.normal(size=(600, 12))  # within few cells, but hardly any within the tolerance
    values[::100] = 10.0 * rng.normal(size=(6, 12))
    frame = pl.DataFrame(values, orient="row")
    sides = pl.Series(["train", "eval_in"] * 300)
    parts = Partition(frame, pl.int_range(600, eager=True).cast(pl.String), sides)
    notes = [each.what for each in leakage(frame, parts, Rules()).findings if each.kind == "note"]
    assert notes == [
        "more than 1,000 pairs of records are similar, and not all of them were compared: "
        "there may be more near-duplicates."
    ]
