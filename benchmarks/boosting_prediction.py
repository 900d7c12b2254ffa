"""Prediction with an ensemble of ten CatBoost models on a table as large as the evaluation part of the weather track,
against ten calls of CatBoost's own `predict`, one after the other, that share one pool made beforehand.

The models are small, so that what is not CatBoost's own work shows.
"""

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

ROWS, COLUMNS = 1_137_731, 123
MEMBERS = 10
ROUNDS = 3


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    """Numeric columns as float32 and a target."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({f"x_{place}": rng.standard_normal(rows, np.float32) for place in range(COLUMNS)})
    noise = pl.Series(rng.standard_normal(rows))
    return frame.with_columns(y=pl.sum_horizontal(frame.columns[:5]) + noise * (pl.col("x_5") / 2).exp())


def own_predict(frame: pl.DataFrame, chosen: Features, models: list[catboost.CatBoost]) -> None:
    """Ten models, ten sequential calls, on one pool in the fastest form that CatBoost takes."""
    inputs = features.matrix(frame, chosen)
    rows = catboost.Pool(catboost.FeaturesData(inputs.numeric, num_feature_names=list(inputs.numeric_names)))
    for model in models:
        model.predict(rows, prediction_type="RMSEWithUncertainty")


def seconds(act: Callable[[], object]) -> float:
    """The wall time of one call."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def ratios() -> list[tuple[str, float, float | None]]:
    """Name, measured ratio, and bound; the two sides are timed in turn in one run."""
    frame = table(ROWS)
    chosen = features.choose(frame.head(10_000), target="y")
    settings = boosting.Settings("regression", members=MEMBERS, iterations=100)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        boosting.fit(frame.head(1000), frame[1000:1300], features=chosen, target="y", settings=settings, folder=folder)
        models = [catboost.CatBoost().load_model(str(path)) for path in sorted(folder.glob("member_*.cbm"))]
        boosting.predict(frame, folder=folder)  # memory touched for the first time takes seconds of its own
        own_predict(frame, chosen, models)
        pairs = [
            (
                seconds(lambda: boosting.predict(frame, folder=folder)),
                seconds(lambda: own_predict(frame, chosen, models)),
            )
            for _ in range(ROUNDS)
        ]
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    return [(f"predict with {MEMBERS} models on {ROWS:,} rows x {COLUMNS} / {MEMBERS} CatBoost calls", ratio, 1.1)]


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.2f} (bound {bound})")
