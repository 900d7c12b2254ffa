"""The main job: a table is partitioned, methods learn from its train part, and a report says how they do elsewhere.

Every step can be had alone (`partition`, `fit`, `predict`, `assess`); `run` only puts them in a row.
"""

from shiftbench.run.division import divide, kept_apart, own_ids, rules_of
from shiftbench.run.steps import fit_parts, predict_table
from shiftbench.run.whole import Outcome, run

__all__ = ["Outcome", "divide", "fit_parts", "kept_apart", "own_ids", "predict_table", "rules_of", "run"]
