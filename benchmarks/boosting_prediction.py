"""Prediction with ensembles of ten CatBoost members on a table as large as the evaluation part of the weather track,
against a call of CatBoost's own `predict` for each model, one after the other, that share one pool made beforehand.
Members of `likelihood_boosting` are one model each, those of `boosting` two, and every other one adds a linear start.

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

from shiftbench.methods import method
from shiftbench.partition import features
from shiftbench.partition.features import Features

ROWS, COLUMNS = 1_137_731, 123
MEMBERS = 10
ROUNDS = 3
METHODS = ("likelihood_boosting", "boosting")
BOTH = "RMSEWithUncertainty"  # a mean and a variance; asked for by another model's predict, CatBoost crashes


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    """Numeric columns as float32 and a target."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({f"x_{place}": rng.standard_normal(rows, np.float32) for place in range(COLUMNS)})
    noise = pl.Series(rng.standard_normal(rows))
    return frame.with_columns(y=pl.sum_horizontal(frame.columns[:5]) + noise * (pl.col("x_5") / 2).exp())


def own_predict(frame: pl.DataFrame, chosen: Features, models: list[catboost.CatBoost]) -> None:
    """As many sequential calls as models, on one pool in the fastest form that CatBoost takes."""
    inputs = features.matrix(frame, chosen)
    rows = catboost.Pool(catboost.FeaturesData(inputs.numeric, num_feature_names=list(inputs.numeric_names)))
    for model in models:
        loss = str(model.get_all_params()["loss_function"])
        model.predict(rows, prediction_type=BOTH if loss.startswith(BOTH) else "RawFormulaVal")


def seconds(act: Callable[[], object]) -> float:
    """The wall time of one call."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def ratios() -> list[tuple[str, float, float | None]]:
    """Name, measured ratio, and bound; the two sides are timed in turn in one run."""
    frame = table(ROWS)
    chosen = features.choose(frame.head(10_000), target="y")
    return [measured(name, frame, chosen) for name in METHODS]


def measured(name: str, frame: pl.DataFrame, chosen: Features) -> tuple[str, float, float | None]:
    """The ratio of one method, with what it is of and the bound it must keep."""
    module = method(name)
    settings = module.Settings.from_dict({"task": "regression", "members": MEMBERS, "iterations": 100})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        module.fit(frame.head(1000), frame[1000:1300], features=chosen, target="y", settings=settings, folder=folder)
        models = [catboost.CatBoost().load_model(str(path)) for path in sorted(folder.glob("member_*.cbm"))]
        module.predict(frame, folder=folder)  # memory touched for the first time takes seconds of its own
        own_predict(frame, chosen, models)
        pairs = [
            (seconds(lambda: module.predict(frame, folder=folder)), seconds(lambda: own_predict(frame, chosen, models)))
            for _ in range(ROUNDS)
        ]
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    what = f"{name}: {MEMBERS} members on {ROWS:,} rows x {COLUMNS} / {len(models)} CatBoost calls"
    return what, ratio, 1.1 if name == METHODS[0] else None
