"""Arguments of any other type are refused by the public functions of this track."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.tracks.weather import example, partitions
from shiftbench.tracks.weather.climate import Grid, climates
from tests.public_calls import Call, mistakes

RECORDS = example.table(3_000, seed=1)
CELLS = {
    "longitude": np.array([24.75, 25.25]), "latitude": np.array([60.25, 60.25]), "types": np.array([3, 2], np.uint8),
    "source": "cells",
}  # fmt: skip
MADE = {"rows": 1_000, "seed": 1}
CALLS = {
    "table": Call(example.table, MADE),
    "truth": Call(example.truth, MADE),
    "blocks": Call(lambda **made: next(iter(example.blocks(**made))), {**MADE, "size": 500}),
    "write": Call(example.write, {"path": "made.csv", **MADE, "progress": None}),
    "canonical_rules": Call(
        partitions.canonical_rules,
        {
            "time": "fact_time", "group": "climate", "id": "id", "in_domain": ("dry",), "shifted_dev": ("snow",),
            "shifted_eval": ("snow",), "seed": 1,
        },
    ),
    "split": Call(
        partitions.split, {"frame": RECORDS, "experiment": "A", "rules": partitions.canonical_rules()}
    ),
    "official": Call(partitions.official, {"counts": {}}),
    "Grid": Call(Grid, CELLS),
    "climates": Call(climates, {"latitude": [60.2], "longitude": [24.9], "grid": Grid(**CELLS), "rule": "published"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_given_in_place_of_an_argument_is_used_or_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mistakes(CALLS[name]) == []
