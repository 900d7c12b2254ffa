"""The main job: partition data, fit methods to the train part, and report how they do elsewhere.

`study` is the pipeline for every kind of data; `table_study` runs it on tables. Every step is also available on its
own (`divide`, `fit_parts`, `predict_table`).
"""

from shiftbench.pipeline.partitioning import divide, kept_apart, own_ids, rules_of
from shiftbench.pipeline.steps import fit_job, fit_parts, predict_table
from shiftbench.pipeline.table_data import Opened
from shiftbench.pipeline.table_study import Outcome, require_valid, run

__all__ = [
    "Opened",
    "Outcome",
    "divide",
    "fit_job",
    "fit_parts",
    "kept_apart",
    "own_ids",
    "predict_table",
    "require_valid",
    "rules_of",
    "run",
]
