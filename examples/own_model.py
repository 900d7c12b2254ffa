"""A model of one's own, assessed: a bootstrap ensemble of linear regressions, written with numpy alone.

Run it anywhere: `python examples/own_model.py`. It writes own_model.json into the working directory.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from rich import print

import shiftbench
from shiftbench.pipeline import example

MEMBERS = 10

table = example.table(5_000, seed=1).drop_nulls("demand_mw")
north, late = (table["region"] == "north").to_numpy(), table["date"].rank("dense").to_numpy()
late = late > 0.7 * late.max()
train, shifted = ~north & ~late, north & late
scored = shifted | (~north & late)

# Demand relative to the base load, from the cold and the day: the response of the north is not in it.
frost = np.maximum(16 - table["temperature_c"].to_numpy(), 0)
weekend = (table["date"].dt.weekday() >= 6).to_numpy()
inputs = np.column_stack([np.ones(len(frost)), frost, weekend, table["holiday"].to_numpy(), table["solar"].to_numpy()])
base = table["base_mw"].to_numpy()
targets = table["demand_mw"].to_numpy()

rng = np.random.default_rng(0)
means, variances = [], []
for _ in range(MEMBERS):
    drawn = rng.choice(np.flatnonzero(train), train.sum())
    weights, *_ = np.linalg.lstsq(inputs[drawn], targets[drawn] / base[drawn], rcond=None)
    residuals = targets[drawn] / base[drawn] - inputs[drawn] @ weights
    means.append(inputs @ weights * base)
    variances.append(np.full(len(base), residuals.var()) * base**2)

ensemble = shiftbench.Gaussian(np.array(means)[:, scored], np.array(variances)[:, scored])
errors = (ensemble.answers() - targets[scored]) ** 2
names = ("total_variance", "knowledge_variance")
report = shiftbench.assess(
    errors,
    {name: shiftbench.uncertainty(ensemble, name) for name in names},
    shifted=shifted[scored],
    threshold=25.0,
    clusters=table.filter(pl.Series(scored))["station"].to_numpy(),
    name="bootstrap of linear regressions",
)
for metric in ("mean_error", "r_auc", "f1_auc"):
    for subset in ("in", "shifted", "full"):
        score = report.score(metric, system=report.systems[0].name, split="all", subset=subset)
        print(f"{metric:>10}  {subset:<8} {score.value:8.3f}  [{score.low:.3f}, {score.high:.3f}]")
print("written:", report.save("own_model.json"))
