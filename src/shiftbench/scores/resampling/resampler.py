"""Drawing of replicates."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.scores.grouping import distinct
from shiftbench.scores.ranking import Index


class Resampler:
    """Draws replicates: units (records, or clusters of them) with replacement, within each stratum separately.

    Clusters are drawn whole. If a cluster lies in two strata (a day with shifted and in-domain records), its records
    resemble each other across strata, and drawing the strata separately would treat them as independent (intervals of
    the mean error too short, of the ROC-AUC too long): then all clusters are drawn together, without strata.

    Args:
        records: N.
        clusters: [N] cluster codes, or None to draw single records.
        strata: [N] codes; each stratum keeps its number of units, unless clusters lie in several.

    Attributes:
        unit: [N] the unit of each record. stratum: [U] the stratum of each unit. units: U.
        fewest: units with records in the smallest stratum, which limits the quality of an interval.
        noun: "clusters" or "records".
    """

    def __init__(self, records: int, *, clusters: Index | None = None, strata: Index | None = None) -> None:
        self.noun = "records" if clusters is None else "clusters"
        groups = np.zeros(records, dtype=np.int64) if strata is None else strata.astype(np.int64)
        if clusters is None:
            self.unit: Index = np.arange(records)
            self.stratum: Index = groups
        else:
            names, self.unit = distinct(clusters)
            self.stratum = np.empty(len(names), dtype=groups.dtype)
            self.stratum[self.unit] = groups  # that of any record of a cluster, as the next line makes sure
            if (self.stratum[self.unit] != groups).any():
                self.stratum = np.zeros_like(self.stratum)
        self.units = len(self.stratum)
        self.members = [np.flatnonzero(self.stratum == code) for code in np.unique(self.stratum)]
        self.fewest = min(self.units_of(groups == code) for code in np.unique(groups))

    def units_of(self, member: Flags) -> int:
        """The number of units with any record selected by `member` [N]."""
        return int(np.count_nonzero(np.bincount(self.unit[member])))

    def draw(self, seed: int, replicate: int) -> Vector:
        """How often each unit is drawn in a replicate, [U]; depends only on the seed and the replicate's number."""
        rng = np.random.default_rng([seed, replicate])
        counts = np.empty(self.units)
        for members in self.members:
            size = len(members)
            counts[members] = np.bincount(rng.integers(0, size, size), minlength=size)
        return counts

    def standard_errors(self, influence: Vector, counts: Vector) -> Vector:
        """Standard errors [..., S] from influences [..., S, U]: the stratified sum of squares about each stratum's
        mean."""
        variance = np.zeros(influence.shape[:-1])
        for members in self.members:
            size = len(members)
            drawn = counts[members]
            own = influence[..., members]  # a copy
            own -= (own @ drawn / size)[..., None]
            np.square(own, out=own)
            variance += (own @ drawn) * (size / max(size - 1, 1))
        return np.sqrt(variance)

    def jackknife_errors(self, without: Vector) -> Vector:
        """Standard errors [S] from scores [U, S] that leave out each unit: the stratified delete-one jackknife."""
        variance = np.zeros(without.shape[1])
        for members in self.members:
            part, size = without[members], len(members)
            variance += ((part - part.mean(axis=0)) ** 2).sum(axis=0) * (size - 1) / size
        return np.sqrt(variance)
