"""Scores of resampled records without resampling them: a replicate is a count per record (or per cluster).

A replicate in which record i was drawn w_i times has exactly the score of a table with w_i copies of row i: copies have
equal uncertainty, so they form a tie group. Sorting once and summing over groups in closed form makes a replicate a few
passes over the data instead of a sort.

Each statistic has two methods. `values(counts)` gives its scores [S] under the counts [U] of the units (records or
clusters). `linearised(counts)` gives the scores and their influence [S, U], the derivative of each score by each count,
from which standard errors within a replicate follow (the infinitesimal jackknife; Efron & Tibshirani 1993, Chapter 21).
"""

from shiftbench.scores.resampling.detection import Detection
from shiftbench.scores.resampling.means import GroupMeans, Means
from shiftbench.scores.resampling.order import canonical_order
from shiftbench.scores.resampling.rank_correlation import RankCorrelations
from shiftbench.scores.resampling.resampler import Resampler
from shiftbench.scores.resampling.retention import Retention
from shiftbench.scores.resampling.scale import DIFFERENCE, PLAIN, Scale, scale_between
from shiftbench.scores.resampling.sets import (
    REPLICATE_POINTS,
    SetRetention,
    SetScore,
    SetTerms,
    Terms,
    set_area,
    set_curve,
)
from shiftbench.scores.resampling.statistic import (
    Joined,
    OfOrder,
    Ranked,
    Ratio,
    Root,
    SameOrder,
    Statistic,
    parts_of,
)

__all__ = [
    "DIFFERENCE",
    "PLAIN",
    "REPLICATE_POINTS",
    "Detection",
    "GroupMeans",
    "Joined",
    "Means",
    "OfOrder",
    "RankCorrelations",
    "Ranked",
    "Ratio",
    "Resampler",
    "Retention",
    "Root",
    "SameOrder",
    "Scale",
    "SetRetention",
    "SetScore",
    "SetTerms",
    "Statistic",
    "Terms",
    "canonical_order",
    "parts_of",
    "scale_between",
    "set_area",
    "set_curve",
]
