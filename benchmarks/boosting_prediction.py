"""Prediction with an ensemble of ten CatBoost models against ten calls of CatBoost's own `predict`, one by one."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import catboost
import numpy as np
import polars as pl

from shiftbench import features
from shiftbench.features import Features
from shiftbench.methods import boosting

ROWS = 200_000
MEMBERS = 10
ROUNDS = 3


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    """Twenty numeric columns, two of text, and a target."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(20, rows))
    text = {f"text_{place}": rng.choice([f"kind {kind}" for kind in range(12)], rows) for place in range(2)}
    y = values[:5].sum(axis=0) + rng.normal(size=rows) * np.exp(values[5] / 2)
    return pl.DataFrame({f"x_{place}": column for place, column in enumerate(values)} | text | {"y": y})


def own_predict(frame: pl.DataFrame, chosen: Features, folder: Path) -> None:
    """Ten models, ten sequential calls, each handed the same data in the fastest form that CatBoost takes."""
    inputs = features.matrix(frame, chosen)
    text = np.column_stack([column.astype("S").astype(object) for column in inputs.categorical])
    rows = catboost.FeaturesData(inputs.numeric, text, list(inputs.numeric_names), list(inputs.categorical_names))
    for path in sorted(folder.glob("member_*.cbm")):
        catboost.CatBoost().load_model(str(path)).predict(rows, prediction_type="RMSEWithUncertainty")


def seconds(act: Callable[[], object]) -> float:
    """The wall time of one call."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def ratios() -> list[tuple[str, float, float | None]]:
    """Name, measured ratio, and bound; the two sides are timed in turn in one run."""
    frame = table(ROWS)
    chosen = features.choose(frame, target="y")
    settings = boosting.Settings("regression", members=MEMBERS, iterations=200)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        boosting.fit(frame.head(5000), frame[5000:6000], features=chosen, target="y", settings=settings, folder=folder)
        pairs = [
            (
                seconds(lambda: boosting.predict(frame, folder=folder)),
                seconds(lambda: own_predict(frame, chosen, folder)),
            )
            for _ in range(ROUNDS)
        ]
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    return [(f"predict with {MEMBERS} models on {ROWS:,} rows / {MEMBERS} CatBoost calls", ratio, 1.1)]


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.2f} (bound {bound})")
