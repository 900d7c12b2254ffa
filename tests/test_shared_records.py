"""Records of the evaluation that models have seen in train are a caution of the first screen where they are many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import CAREFUL
from shiftbench.partition import Rules
from shiftbench.pipeline.partitioning import divide


@pytest.mark.parametrize(("copies", "whole", "told"), [(300, False, True), (6, False, False), (300, True, False)])
def test_many_records_that_are_also_in_train_are_a_caution(
    tmp_path: Path, copies: int, whole: bool, told: bool
) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([own := rng.normal(size=600), own[:copies]])
    frame = pl.DataFrame({"x": np.round(x) if whole else x})  # whole numbers with gaps are often stored as floats
    source = tmp_path / "t.csv"
    frame.write_csv(source)
    ids = pl.Series("id", [str(row) for row in range(frame.height)])
    notes = divide(frame, Rules(where={"shifted": "x > 1"}), tmp_path / "p", ids=ids, source=source).notes
    cautions = [note for note in notes if note.startswith(CAREFUL)]
    assert bool(cautions) is told
    for each in cautions:
        assert " % of the evaluated in-domain records have exactly the features of a record in train, so " in each
