"""The rows behind records: taken as asked, drawn by their ids."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shiftbench.assessment.scored import Records
from shiftbench.assessment.source import Source
from shiftbench.errors import ArrayError


def source(order: np.ndarray) -> Source:
    frame = pl.DataFrame({"value": order * 10, "name": [f"n{row}" for row in order]})
    return Source(frame, pl.Series(order), np.arange(len(order)))


def test_selected_records_take_their_own_rows_in_their_order():
    found = source(np.arange(6)).select([4, 1, 5]).select(np.array([True, False, True]))
    assert found.take()["value"].to_list() == [40, 50]
    assert found.take([1], ["name"]).rows() == [("n5",)]


def test_selected_records_keep_their_rows():
    records = Records(6, shifted=np.arange(6) > 2, source=source(np.arange(6)))
    assert records.select([5, 0]).source.take()["value"].to_list() == [50, 0]


def test_a_source_of_other_records_is_refused():
    with pytest.raises(ArrayError, match="source: expected 5 records, found 6"):
        Records(5, source=source(np.arange(6)))


def test_the_order_of_the_rows_does_not_matter_for_what_is_drawn(rng):
    order = rng.permutation(500)
    first, other = source(np.arange(500)), source(order)
    drawn = [each.drawn(40, seed=3).take()["value"].to_list() for each in (first, other)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 40
    assert drawn[0] != first.drawn(40, seed=4).take()["value"].to_list()
    assert np.array_equal(first.folds(5, seed=3)[order], other.folds(5, seed=3))
    assert np.bincount(first.folds(5, seed=3)).min() > 60
