"""Keeps clusters on one side: all records of a cluster go to train, or to dev (dev_in, dev_out), or to eval.

A cluster with in-domain records goes to the side drawn for these, so that the shares hold; of its shifted records only
those that fit this side are used. A cluster with only shifted records goes to dev or eval, with probabilities
proportional to the records that fit each. Clusters are laid out along a line as in `sampling.whole_groups`, with one
line each for clusters of in-domain, of mixed, and of shifted records, so that the shares hold for each kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import PartitionError
from shiftbench.partition import keys
from shiftbench.partition.axes import BIT, Bits
from shiftbench.partition.hashing import keyed_hash
from shiftbench.partition.rules import Rules
from shiftbench.partition.sampling import Draw
from shiftbench.partition.settings import IN_DOMAIN, SHIFTED

SIDES = ("dev", "eval", "train")  # in the order of the line
SIDE = {"train": "train", "dev_in": "dev", "dev_out": "dev", "eval_in": "eval", "eval_out": "eval"}
"""Partition → its side."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sided:
    """The partition of the records of whole clusters.

    drawn: the partitions. left: the number of records that fit only another side than their cluster's, by reason.
    """

    drawn: Draw
    left: Mapping[str, int]


def one_side(frame: pl.DataFrame, rules: Rules, fits: Bits, own: Mapping[str, Flags]) -> Sided:
    """Divide the records of a table [N] so that every cluster of `rules.apart` lies on one side.

    fits: the populations that each record fits. own: in-domain partition → the in-domain records [N] that meet its
    own condition; the others are sampled into the partitions without one.

    Raises:
        PartitionError: if the groups of `by` and the clusters overlap without one containing the other.
    """
    values = _units(frame, rules)
    eligible = _eligible(rules, fits, own)
    counts = _counts(values, eligible)
    sides = _sides(counts, rules)
    codes = {side: code for code, side in enumerate(SIDES)}
    side = values.replace_strict(counts["cluster"], pl.Series(sides), return_dtype=pl.Int8).to_numpy()
    drawn: Draw = {}
    placed = np.zeros(len(side), np.bool_)
    for name, place in SIDE.items():
        member = eligible[name] & (side == codes[place])
        drawn[name] = np.flatnonzero(member)
        placed |= member
    left = np.logical_or.reduce(list(eligible.values())) & ~placed
    what = {"in-domain": (fits & BIT["in_domain"]).view(np.bool_), "shifted": fits > BIT["in_domain"]}
    found = {
        f"{kind}, but its {rules.apart} is in {place}": int(np.count_nonzero(left & member & (side == codes[place])))
        for kind, member in what.items()
        for place in SIDES
    }
    return Sided(drawn, {reason: count for reason, count in found.items() if count})


def _units(frame: pl.DataFrame, rules: Rules) -> pl.Series:
    """The units that stay whole, as text [N]: the clusters, or the groups of `by` if these are unions of clusters."""
    assert rules.apart is not None
    clusters = keys.key(frame, rules.apart).cast(pl.String).alias("cluster")
    if rules.by in (None, rules.apart):
        return clusters
    assert rules.by is not None
    groups = keys.key(frame, rules.by).cast(pl.String).alias("group")
    pairs = pl.DataFrame([clusters, groups]).n_unique()
    if pairs == groups.n_unique():
        return clusters
    if pairs == clusters.n_unique():
        return groups.alias("cluster")
    raise PartitionError(
        f"by={rules.by!r}, apart={rules.apart!r}: expected the groups of one to lie within those of the other, found "
        "some that cut each other, so both cannot stay whole. Drop --by, or allow clusters on both sides with "
        "--cut-clusters."
    )


def _eligible(rules: Rules, fits: Bits, own: Mapping[str, Flags]) -> dict[str, Flags]:
    """Partition → the records [N] that may be in it if their cluster is on its side."""
    in_domain = (fits & BIT["in_domain"]).view(np.bool_)
    free = in_domain & ~np.logical_or.reduce([*own.values(), np.zeros(len(fits), np.bool_)])
    total = sum(rules.shares[name] for name in IN_DOMAIN if name not in own)
    eligible = {
        name: own.get(name, free if total and rules.shares[name] else np.zeros_like(free)) for name in IN_DOMAIN
    }
    return eligible | {name: ~in_domain & (fits & BIT[name] > 0) for name in SHIFTED}


def _counts(values: pl.Series, eligible: Mapping[str, Flags]) -> pl.DataFrame:
    """For each cluster, sorted by name, the number of its records that fit each set of partitions [C, …]."""
    code = np.zeros(len(values), np.uint8)
    for place, member in enumerate(eligible.values()):
        code |= member.astype(np.uint8) << np.uint8(place)
    present = np.unique(code)
    frame = pl.DataFrame([values, pl.Series("code", code)])
    counted = frame.group_by("cluster").agg((pl.col("code") == one).sum().alias(str(one)) for one in present.tolist())
    return counted.sort("cluster")


def _sides(counts: pl.DataFrame, rules: Rules) -> npt.NDArray[np.int8]:
    """The side of each cluster as an index into `SIDES`, [C]."""
    inside, outside = (np.zeros((len(counts), len(SIDES))) for _ in range(2))
    for name in counts.columns[1:]:
        weights, shifted = _weights(int(name), rules)
        (outside if shifted else inside)[:] += counts[name].to_numpy()[:, None] * weights
    clusters = counts["cluster"]
    order = pl.DataFrame([clusters, pl.Series("hash", keyed_hash(clusters, seed=rules.seed))]).with_row_index()
    ranked = order.sort("hash", "cluster")["index"].to_numpy()
    sides = np.zeros(len(counts), np.int8)
    has_inside, has_outside = (weights.sum(axis=1) > 0 for weights in (inside, outside))
    for kind in (has_inside & ~has_outside, has_inside & has_outside, ~has_inside & has_outside):
        rows = ranked[kind[ranked]]
        weights = (inside if has_inside[rows].any() else outside)[rows]
        records = weights.sum(axis=1)
        middles = (np.cumsum(records) - records / 2) / records.sum() if len(rows) else records
        edges = np.cumsum(weights, axis=1) / records[:, None]
        sides[rows] = (middles[:, None] >= edges[:, :-1]).sum(axis=1)
    return sides


def _weights(code: int, rules: Rules) -> tuple[npt.NDArray[np.float64], bool]:
    """The probability of each side for a record that fits a set of partitions, and whether it is a shifted record."""
    names = [name for place, name in enumerate((*IN_DOMAIN, *SHIFTED)) if code >> place & 1]
    shifted = any(name in SHIFTED for name in names)
    shares = {**rules.shares, "dev_out": rules.dev_share, "eval_out": 1 - rules.dev_share}
    alone = len(names) == 1
    total = sum(shares[name] for name in names)
    weights = np.zeros(len(SIDES))
    for name in names:
        weights[SIDES.index(SIDE[name])] = 1.0 if alone else shares[name] / total
    return weights, shifted
