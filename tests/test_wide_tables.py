"""Tables of very many short columns are typed as each column would be alone."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shiftbench.errors import ShiftbenchWarning
from shiftbench.io.tables import dtypes, read_table, require
from shiftbench.partition.features import Features, leaks

WORDS = (
    "1", "2", "-3", "+4", "007", "00", "0", "1.5", "1,5", "nan", "NaN", "inf", "1e3", "99999999999999999999", "", " ",
    "NA", "n/a", "?", "true", "False", "TRUE", "x", " 5", "5 ", "2021-01-31", "2021-01-31T10:00",
    "2021-01-31 10:00:00Z", "31.1.2021", "1/2/2021", "20210131", "01012021", "2021-13-01", None,
)  # fmt: skip


def hostile(columns: int, rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    table = {}
    for k in range(columns):
        few = rng.integers(0, len(WORDS), int(rng.integers(1, 4)))
        table[f"c{k}"] = pl.Series([WORDS[place] for place in rng.choice(few, rows)], dtype=pl.String)
    table["id"] = pl.Series([1.0] * rows)
    return pl.DataFrame(table)


@pytest.mark.parametrize("comma", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_many_short_columns_are_typed_as_each_is_alone(monkeypatch: pytest.MonkeyPatch, rows: int, comma: bool) -> None:
    table = hostile(300, rows, seed=2 * rows + comma)
    told, frames = [], []
    for wide in (10, 10**9):
        monkeypatch.setattr(dtypes, "WIDE", wide)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            frames.append((dtypes.typed(table, decimal_comma=comma), dtypes.with_times(table)))
        told.append([str(warning.message) for warning in caught])
    for together, alone in zip(*frames, strict=True):
        assert_frame_equal(together, alone)
    assert told[0] == told[1]
    assert len(set(frames[0][0].dtypes)) >= 5


def test_a_hundred_thousand_columns_are_read_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    row, last = (",".join(["1", "1.5", "x", word] * 25_000) for word in ("NA", "3"))
    path.write_text("\n".join([",".join(f"c{k}" for k in range(100_000)), *[row] * 5, last, ""]))
    start = time.process_time()
    with pytest.warns(ShiftbenchWarning, match=r"'NA' \(125,000 in c3, .* and 24,995 other columns\)"):
        table = read_table(path)
    assert table.shape == (6, 100_000)
    assert time.process_time() - start < 30


def test_names_are_sought_once_among_very_many_columns() -> None:
    names = [f"c{k}" for k in range(40_000)]
    frame = pl.DataFrame(np.random.default_rng(0).random((12, len(names))), schema=names)
    start = time.process_time()
    require(frame, names, where="here")
    chosen = Features(numeric=tuple(names[1:]), categorical=(), dates=(), times=(), timestamps=(), left_out={})
    assert not leaks(frame, target="c0", features=chosen, task="regression")
    assert time.process_time() - start < 15
