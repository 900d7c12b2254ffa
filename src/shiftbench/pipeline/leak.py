"""Clusters that train shares with in-domain evaluation: how many records are affected, and by how much scores gain.

The gain is estimated on train alone with quickly trained boosted trees: records of a third of the clusters are
predicted twice, by trees that were trained without these clusters, and by trees that were trained on as many records,
among them other records of the same clusters. Both losses are of the same records, so their ratio measures the leak.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.check import Vector
from shiftbench.errors import MissingExtraError
from shiftbench.io import tables
from shiftbench.methods.boosting import model as boosted
from shiftbench.partition import Partition, features, keys
from shiftbench.partition.features import Features, Inputs
from shiftbench.partition.hashing import below, keyed_hash
from shiftbench.partition.sampling import whole_groups
from shiftbench.partition.settings import SPLITS
from shiftbench.pipeline.partitioning import shared
from shiftbench.pipeline.settings import Settings
from shiftbench.scores.score import Leak

NOTABLE = 0.01  # of the in-domain records of a split
RECORDS = 5_000  # that the quick trees see at most
CLUSTERS = 200  # the least number of clusters examined, if there are so many
FEWEST_CLUSTERS = 10
FOLDS = 3
KNOWN = 0.7  # share of a cluster's records in training if the cluster is not held out
TREES = 200  # for a regression; with C classes a tree costs as much as C of these, so there are fewer
FEWEST_TREES = 40
PACE = 20  # learning rate times number of trees
FEATURES = 16  # drawn at each level of a tree
EARLY_STOPPING = ("use_best_model", "od_type")  # CatBoost's own, which would need further records
STAGES = 10  # numbers of trees tried; the best is used, with and without the cluster, in place of early stopping
REPLICATES = 1000

Rows = npt.NDArray[np.intp]


def leaks(parts: Partition, clusters: Sequence[str], chosen: Features, settings: Settings) -> tuple[Leak, ...]:
    """A leak for each split in which a notable share of the in-domain records also have their cluster in train."""
    if not clusters:
        return ()
    named = parts.table.select(clusters)
    learnt, found = named.filter(parts.assignment == "train"), {}
    for split, (inside, _) in SPLITS.items():
        own = named.filter(parts.assignment == inside)
        count = shared(learnt, own, clusters)
        if count and count >= NOTABLE * own.height:
            found[split] = (count, own.height)
    if not found:
        return ()
    values = keys.combined(parts.table, clusters).cast(pl.String)
    train = (parts.assignment == "train").fill_null(value=False).arg_true()
    rows = _whole_clusters(parts.ids.gather(train), values.gather(train), settings.seed)
    factor, why = _factor(parts, values, train.to_numpy()[rows].astype(np.intp), chosen, settings)
    name = "+".join(clusters)
    return tuple(Leak(split, name, *counts, *factor, why=why) for split, counts in found.items())


@dataclass(frozen=True)
class _Sample:
    """Records of train for fitting and testing the quick trees: inputs, targets, clusters and ids, each [N]."""

    inputs: Inputs
    targets: npt.NDArray[Any]
    clusters: pl.Series
    ids: pl.Series
    regression: bool
    seed: int


Factor = tuple[float | None, float | None, float | None]


def _factor(
    parts: Partition, clusters: pl.Series, rows: Rows, chosen: Features, settings: Settings
) -> tuple[Factor, str]:
    """The ratio of the losses without and with the cluster and its 95 % interval over clusters; or why it is missing.

    clusters: [N] of the whole table. rows: the records of train to use.
    """
    if (count := clusters.gather(rows).n_unique()) < FEWEST_CLUSTERS:
        return (None, None, None), f"train has only {count} of them"
    frame, regression = parts.table[rows], settings.task != "classification"
    targets = (
        tables.numbers(frame, settings.target, where="train")
        if regression
        else frame[settings.target].cast(pl.String).to_numpy().astype(str)
    )
    sample = _Sample(
        features.matrix(frame, chosen),
        targets,
        clusters.gather(rows),
        parts.ids.gather(rows),
        regression,
        settings.seed,
    )
    if len(np.unique(targets)) < 2:
        return (None, None, None), "the target never varies"
    try:
        folds = list(_losses(sample))
    except MissingExtraError as error:
        return (None, None, None), str(error).rstrip(".")
    if not folds:
        return (None, None, None), "too few records of train share a cluster"
    losses = np.concatenate(folds, axis=-1)
    best = losses.sum(axis=-1).argmin(axis=-1)
    return _ratio(losses[[0, 1], best], regression=regression, seed=settings.seed)


def _whole_clusters(ids: pl.Series, clusters: pl.Series, seed: int) -> Rows:
    """Records [K] of sufficiently many whole clusters, thinned by a hash of the id if these are very large."""
    counted = clusters.alias("cluster").value_counts(name="records")
    ordered = counted.with_columns(hash=keyed_hash(counted["cluster"], seed=seed)).sort("hash", "cluster")
    reached = ordered["records"].cum_sum()
    wanted = max(int((reached <= RECORDS).sum()), min(CLUSTERS, len(ordered)))
    rows = clusters.is_in(ordered["cluster"].head(wanted).implode()).arg_true().to_numpy().astype(np.intp)
    texts = ids.gather(rows).cast(pl.String)
    hashes = keyed_hash(texts, seed=seed)
    order = pl.DataFrame({"hash": hashes, "id": texts}).with_row_index().sort("hash", "id")["index"].to_numpy()
    taken: Rows = rows[order[:RECORDS] if len(rows) > 2 * RECORDS else order]
    return taken


def _losses(sample: _Sample) -> Iterator[Vector]:
    """For each fold [2, S, C]: the losses of held-out clusters, with their cluster and without, after each stage."""
    folds = whole_groups(sample.clusters, {str(fold): 1 / FOLDS for fold in range(FOLDS)}, seed=sample.seed)
    known = below(keyed_hash(sample.ids.cast(pl.String) + "?", seed=sample.seed), KNOWN)  # independent of the partition
    for fold in folds.values():
        held = np.zeros(len(known), np.bool_)
        held[fold] = True
        tried, mates, others = np.flatnonzero(held & ~known), np.flatnonzero(held & known), np.flatnonzero(~held)
        if not len(tried) or not len(mates) or len(others) <= len(mates):
            continue
        exposed = np.concatenate((others[len(mates) :], mates))
        each = np.stack([_tried(sample, learnt, tried) for learnt in (exposed, others)])
        _, codes = np.unique(sample.clusters.gather(tried).to_numpy().astype(str), return_inverse=True)
        yield np.stack([[np.bincount(codes, weights=row) for row in stages] for stages in each])


def _tried(sample: _Sample, learnt: Rows, tried: Rows) -> Vector:
    """The loss of each record in `tried` by trees trained on `learnt`, after each stage: [S, K]."""
    learnt = np.sort(learnt)
    truth = sample.targets[tried]
    values = len(np.unique(sample.targets[learnt]))
    if values < 2:
        predicted = np.repeat(sample.targets[learnt[:1]], len(tried))
        return np.stack([_loss(predicted, truth, regression=sample.regression)] * STAGES)
    trees = TREES if sample.regression else max(FEWEST_TREES, 2 * TREES // values // STAGES * STAGES)
    model = boosted.library().CatBoost(
        {
            **{name: value for name, value in boosted.FIXED.items() if name not in EARLY_STOPPING},
            "iterations": trees,
            "learning_rate": PACE / trees,
            "depth": 6,
            "rsm": min(1.0, FEATURES / (sample.inputs.numeric.shape[1] + len(sample.inputs.categorical))),
            "loss_function": "RMSE" if sample.regression else "MultiClass",
            "random_seed": 0,
        }
    )
    model.fit(_pool(sample, learnt))
    kind = "RawFormulaVal" if sample.regression else "Class"
    staged = model.staged_predict(_pool(sample, tried), prediction_type=kind, eval_period=trees // STAGES)
    return np.stack(
        [_loss(np.asarray(predicted).reshape(-1), truth, regression=sample.regression) for predicted in staged]
    )


def _loss(predicted: npt.NDArray[Any], truth: npt.NDArray[Any], *, regression: bool) -> Vector:
    wrong: npt.NDArray[Any] = (predicted - truth) ** 2 if regression else predicted.astype(str) != truth
    return wrong.astype(np.float64)


def _pool(sample: _Sample, rows: Rows) -> Any:
    inputs = sample.inputs
    texts = [np.array([str(text).encode() for text in column[rows]], object) for column in inputs.categorical]
    data = boosted.library().FeaturesData(
        num_feature_data=np.ascontiguousarray(inputs.numeric[rows]) if inputs.numeric.shape[1] else None,
        cat_feature_data=np.column_stack(texts) if texts else None,
    )
    return boosted.library().Pool(data, label=sample.targets[rows])


def _ratio(losses: Vector, *, regression: bool, seed: int) -> tuple[Factor, str]:
    """The ratio of two rows of losses [2, C], of their roots in a regression, with its interval over the clusters."""
    with_mates, without = losses
    if not with_mates.sum() > 0:
        return (None, None, None), "quick boosted trees make no errors on known clusters"
    rng = np.random.default_rng([seed, len(with_mates)])
    drawn = rng.multinomial(len(with_mates), np.full(len(with_mates), 1 / len(with_mates)), size=REPLICATES)
    below_line = np.maximum(drawn @ with_mates, np.finfo(np.float64).tiny)
    power = 0.5 if regression else 1.0
    low, high = np.quantile((drawn @ without / below_line) ** power, (0.025, 0.975))
    return (float((without.sum() / with_mates.sum()) ** power), float(low), float(high)), ""
