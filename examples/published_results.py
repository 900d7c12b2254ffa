"""The results printed in the papers, beside each other: error in-domain and shifted, model by model.

Run it anywhere: `python examples/published_results.py [track metric dataset]`, for instance `power rmse eval`.
"""

from __future__ import annotations

import sys

from rich import print
from rich.table import Table

from shiftbench.track import published

track, metric, dataset = (*sys.argv[1:], *("weather", "rmse", "eval")[len(sys.argv) - 1 :])
rows = published.results(track=track, metric=metric, dataset=dataset)

# One cell a model, ensemble, setting and source; the subsets side by side, as printed.
wide = rows.pivot(
    on="subset", index=["model", "ensemble", "source", "setting", "unit"], values="printed", aggregate_function="first"
)
subsets = [name for name in ("in", "shifted", "full") if name in wide.columns]
shown = Table("model", "ensemble", *subsets, "unit", "source", "setting", title=f"{track}: {metric} on {dataset}")
for row in wide.sort("model", "ensemble", "source").iter_rows(named=True):
    shown.add_row(*(row[name] or "–" for name in ("model", "ensemble", *subsets, "unit", "source", "setting")))
print(shown)
for code, meaning in published.flags().items():
    if rows["flag"].str.split(";").list.contains(code).any():
        print(f"flagged in some cell: {meaning}")
