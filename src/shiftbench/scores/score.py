"""Results about systems as plain values: scores, curves, slices, comparisons. A report collects them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from shiftbench.errors import SettingsError, quoted

Role = Literal["ensemble", "single", "baseline", "model"]


def require_role(name: str, role: object) -> None:
    """Refuse a system or a method of this name with an unknown role.

    Raises:
        SettingsError: naming the known roles.
    """
    if role not in (known := get_args(Role)):
        raise SettingsError(f"{quoted(name)}: role: expected {', '.join(known)}, found {quoted(role)}. Choose one.")


SUBSETS = {"in": "In-domain", "shifted": "Shifted", "full": "Full"}


@dataclass(frozen=True)
class System:
    """One row of the tables: an ensemble, its single models, a baseline, or an external model."""

    name: str
    role: Role
    measure: str = ""  # the uncertainty behind its headline scores
    measures: tuple[str, ...] = ()
    about: str = ""
    caution: str = ""  # a sentence for the verdict if its scores are doubtful


@dataclass(frozen=True)
class Score:
    """One number: of a system, on a split ("dev", "eval", "all") and subset ("in", "shifted", "full")."""

    system: str
    split: str
    subset: str
    metric: str
    value: float
    n: int
    measure: str = ""
    std: float | None = None  # over single models
    each: tuple[float, ...] = ()  # of the single models, in their order
    low: float | None = None  # confidence interval
    high: float | None = None
    no_interval: str = ""  # the reason for a missing interval: "too few clusters"


@dataclass(frozen=True)
class Curve:
    """A line to draw. x and y are thinned to a few hundred points; scores never come from these.

    kind: "error_retention", "f1_retention" or that of a score of a set, "macro_f1_retention" (x = retention 0…1),
    "roc" (x = false positive rate),
    "coverage" (x = nominal, y = observed), "reliability" (x = confidence, y = accuracy),
    "error_by_uncertainty" (x = mean uncertainty of a bin, y = mean error), "density" (x = uncertainty, y = density),
    or another that only pictures of a track know.
    order: "uncertainty", "random" or "optimal"; "" for points that need no uncertainty.
    """

    system: str
    split: str
    subset: str
    kind: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    measure: str = ""
    order: str = "uncertainty"
    log_x: bool = False


@dataclass(frozen=True)
class Slice:
    """The scores of the records that share a value of a column, with the interval of the mean error."""

    system: str
    split: str
    column: str
    group: str
    n: int
    shifted_share: float | None
    mean_error: float
    low: float | None
    high: float | None
    r_auc: float
    acceptable: float | None = None
    no_interval: str = ""  # as of a score


@dataclass(frozen=True)
class SliceScore:
    """A further score of the records that share a value of a column: of intervals or sets; infinite sizes are inf."""

    system: str
    split: str
    column: str
    group: str
    metric: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    no_interval: str = ""  # as of a score


@dataclass(frozen=True)
class Part:
    """One additive part of an R-AUC; the parts of a system and split sum to its R-AUC on the full subset."""

    system: str
    split: str
    name: str  # "level_in", "level_shift", "ranking_in", "ranking_shifted", "ranking_between"
    value: float


@dataclass(frozen=True)
class Comparison:
    """A paired comparison on the same records: difference = a - b of a metric, with interval and p-values."""

    split: str
    subset: str
    metric: str
    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    no_interval: str = ""  # as of a score; then there is no p-value either
    n: int | None = None  # the number of records that both systems answer
    adjusted_by: str = "Holm"  # or "Romano-Wolf", if there are too many pairs for Holm's method


@dataclass(frozen=True)
class Rank:
    """A system's rank by a metric: 1 + the number of systems that an adjusted paired test finds better."""

    split: str
    subset: str
    metric: str
    system: str
    rank: int


@dataclass(frozen=True)
class Count:
    """The number of records, and of clusters if there are any, in a subset of a split."""

    split: str
    subset: str
    records: int
    clusters: int | None = None


@dataclass(frozen=True)
class Leak:
    """In-domain records of a split whose cluster is also in train, and the effect on scores.

    clusters: the columns. records: the number that share a cluster with train, `of` all in-domain records. factor: the
    estimated ratio of the loss on unseen clusters to that on seen ones, with its interval; None if unknown, and `why`.
    """

    split: str
    clusters: str
    records: int
    of: int
    factor: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Text:
    """A text of a record under a label, in pieces that belong together without a gap.

    shades: 0 … 1 for each piece, higher is less certain; NaN for pieces without one; empty for a text without any.
    """

    label: str
    pieces: tuple[str, ...]
    shades: tuple[float, ...] = ()


@dataclass(frozen=True)
class Notable:
    """A record worth looking at, in one of the lists of a system on a split.

    kind: "worst" (largest error), "confident" (wrong with confidence) or "uncertain" (highest uncertainty); place: in
    that list, from 1. shifted, target, answer: None if unknown. columns: of its row in the table; long text is cut.
    texts: to read, where records are texts.
    """

    system: str
    split: str
    kind: str
    place: int
    id: str
    error: float
    uncertainty: float
    shifted: bool | None = None
    target: str | float | None = None
    answer: str | float | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    texts: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Cost:
    """The cost of fitting a system and of its predictions; None where that was not measured.

    seconds: by the clock; cpu_seconds: over all threads, processes and jobs; bytes: the most memory held at once, and
    how much of it was added since the work began. predicted: records, over all splits and test sets.
    """

    system: str
    fit_seconds: float | None
    fit_cpu_seconds: float | None
    fit_bytes: int | None
    fit_added: int | None
    predict_seconds: float | None
    predict_cpu_seconds: float | None
    predict_bytes: int | None
    predict_added: int | None
    predicted: int


@dataclass(frozen=True)
class Separation:
    """How far the records of a subset lie from those that conformal thresholds are found on (dev_in).

    roc_auc: of a classifier of features that tells the two apart: 0.5 is not at all, 1 perfectly. effective: the
    effective number of the `records` calibration records after weighting. clipped: the share of the subset's records
    whose weight was limited. endless: the share of them whose weighted regions of 90 % have no ends; NaN if unknown.
    """

    split: str
    subset: str
    roc_auc: float
    effective: float
    records: int
    clipped: float
    endless: float = math.nan


@dataclass(frozen=True)
class FeatureShift:
    """How far the distribution of a feature moved from the in-domain to the shifted records of a split.

    kind: "number", "date" or "category". distance: 0 … 1; the Kolmogorov-Smirnov distance of numbers and dates, the
    total variation of categories, missing values included. missing_in, missing_shifted: their shares.
    inside, shifted: typical values as text. labels: of the bins of the picture; shares_in, shares_shifted: of each
    bin, of all records with a value; edges: of the bins of numbers.
    """

    split: str
    feature: str
    kind: str
    distance: float
    missing_in: float
    missing_shifted: float
    inside: str
    shifted: str
    shares_in: tuple[float, ...] = ()
    shares_shifted: tuple[float, ...] = ()
    edges: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
