"""The waist of the hourglass: predictions reduced to errors and uncertainty.

All further code works on `Records` (what all systems share) and `Scored` (errors and uncertainty of one system),
whatever their origin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench import check, measures
from shiftbench.assessment import camps
from shiftbench.assessment.source import Source
from shiftbench.check import Flags, Vector
from shiftbench.ensembles import Categorical, Ensemble, Gaussian, Means, Quantiles
from shiftbench.errors import ArrayError, SettingsError, counted, quoted
from shiftbench.metrics import classification as classes_of
from shiftbench.metrics import conformal
from shiftbench.metrics import quantiles as quantiles_of
from shiftbench.metrics import regression as regression_of
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.ranking import Index
from shiftbench.scores.resampling import SetTerms, Terms
from shiftbench.scores.score import Role, System, Text, require_role

Labels = npt.NDArray[np.str_]
Texts = Callable[[Index], Sequence[tuple[Text, ...]]]
AnyNumbers = Gaussian | Quantiles | Means
MOST_NAMED = 5
NO_DATA_UNCERTAINTY = (
    "the members give no variances, so the uncertainty is their spread alone: noise in the data is not part of it, and "
    "there is no NLL"
)


@dataclass(frozen=True)
class Records:
    """N records of a split, shared by all systems that are scored on it.

    shifted: [N] flags (or 0 and 1), or None if unknown. clusters: [N] codes or names, which become codes, of what is
        resampled together, or None. slices: column → [N] group names.
    part: whether these are a subset of a split with both sides of the shift, so that one side may be empty here.
    calendar: slices whose groups are periods of time, which may be absent from a split.
    source: the rows of a table that they were made from, if any.
    identity: [N] numbers that tell records apart whatever the systems (hashes of ids), or None: the draws of resampling
        follow them, so that intervals of a system do not depend on the systems beside it.
    ids: [N] of the records, to make sure that none is here twice; None if whoever made them has checked. Not kept in
        selections.

    Raises:
        ArrayError: for another number of values than records, flags other than 0 and 1, and repeated ids.
    """

    n: int
    split: str = "all"
    shifted: Flags | None = None
    clusters: Index | None = None
    slices: Mapping[str, Labels] = field(default_factory=dict)
    part: bool = False
    calendar: frozenset[str] = frozenset()
    source: Source | None = None
    identity: npt.NDArray[Any] | None = None
    ids: Sequence[Any] | npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if self.shifted is not None and getattr(self.shifted, "dtype", None) != np.bool_:
            object.__setattr__(self, "shifted", check.flags(f"{self.prefix}shifted", self.shifted))
        if self.clusters is not None and getattr(getattr(self.clusters, "dtype", None), "kind", "O") not in "iu":
            object.__setattr__(self, "clusters", check.codes(f"{self.prefix}clusters", self.clusters))
        sizes = {"shifted": self.shifted, "clusters": self.clusters, "source": self.source, "identity": self.identity,
                 "ids": self.ids, **self.slices}  # fmt: skip
        wrong = [
            f"{name}: expected {self.n:,} records, found {len(values):,}."
            for name, values in sizes.items()
            if values is not None and len(values) != self.n
        ]
        if wrong:
            raise ArrayError(*wrong)
        require_unique(() if self.ids is None else self.ids, where=self.prefix)

    def select(self, member: Any) -> Records:
        """The records selected by the mask or the positions `member`, in their order."""
        return Records(
            len(np.arange(self.n)[member]),
            self.split,
            None if self.shifted is None else self.shifted[member],
            None if self.clusters is None else self.clusters[member],
            {column: labels[member] for column, labels in self.slices.items()},
            part=self.part or self.two_sided,
            calendar=self.calendar,
            source=self.source and self.source.select(member),
            identity=None if self.identity is None else self.identity[member],
        )

    @property
    def prefix(self) -> str:
        """The beginning of a message about the split; "" if there is only one split."""
        return "" if self.split == "all" else f"{self.split}: "

    @property
    def two_sided(self) -> bool:
        """Whether there are both in-domain and shifted records."""
        return self.shifted is not None and 0 < int(np.count_nonzero(self.shifted)) < self.n

    def subsets(self) -> dict[str, Flags]:
        """Subset → [N] flags: in, shifted and full; only full if the shift is unknown or a split has one side."""
        everything = np.ones(self.n, dtype=np.bool_)
        if self.shifted is None or not (self.two_sided or self.part):
            return {"full": everything}
        sides = {"in": ~self.shifted, "shifted": self.shifted}
        return {name: member for name, member in sides.items() if member.any()} | {"full": everything}


def require_unique(ids: Sequence[Any] | npt.NDArray[Any], *, where: str = "") -> None:
    """Refuse ids that are repeated; where: the beginning of the message.

    Raises:
        ArrayError: naming the first ones.
    """
    names = np.asarray(ids).tolist()
    if len({*names}) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        shown = ", ".join(map(quoted, twice[:MOST_NAMED])) + (", …" if len(twice) > MOST_NAMED else "")
        raise ArrayError(
            f"{where}ids: expected each record once, found {counted(len(twice), 'repeated id')} ({shown}). Give every "
            "record an id of its own, over all parts."
        )


def listed(counts: Mapping[str, int]) -> str:
    """The largest groups with their numbers of records, and the number of further groups."""
    order = sorted(counts, key=lambda name: (-counts[name], name))
    rest = len(order) - MOST_NAMED
    shown = ", ".join(f"{name} ({counts[name]:,})" for name in order[:MOST_NAMED])
    return shown + (f" and {counted(rest, 'other')}" if rest > 0 else "")


@dataclass(frozen=True)
class Singles:
    """The models of an ensemble scored one by one, each on demand, since all at once may not fit into memory."""

    system: System
    count: int
    make: Callable[[int], Scored]

    def __iter__(self) -> Iterator[Scored]:
        return (self.make(k) for k in range(self.count))

    def select(self, member: Any) -> Singles:
        """The records selected by the mask or the positions `member`, in their order."""
        return replace(self, make=lambda k: self.make(k).select(member))

    def with_set(self, name: str, terms: Callable[[Scored], SetTerms]) -> Singles:
        """The same models with a further score of a set; see `Scored.with_set`."""
        return replace(self, make=lambda k: self.make(k).with_set(name, terms))

    def answering(self, answered: Flags) -> Singles:
        """The same models, restricted to the records flagged in `answered` [N]."""
        return replace(self, make=lambda k: self.make(k).answering(answered))


@dataclass(frozen=True)
class Drawn:
    """Values of a system that pictures show and no score uses.

    y: [N, P], of which a line shows the mean over records at x [P]; or [N], a point for each record at x [N].
    kind: of the curve. order: as of a curve; "" for what needs no uncertainty.
    """

    kind: str
    x: Vector
    y: npt.NDArray[np.float64]
    order: str = "uncertainty"

    def select(self, member: Any) -> Drawn:
        """That of the records selected by the mask or the positions `member`, in their order."""
        return replace(self, x=self.x if self.y.ndim > 1 else self.x[member], y=self.y[member])

    @property
    def line(self) -> tuple[Vector, Vector]:
        """x and y of the line, or of the points."""
        return self.x, self.y.mean(axis=0) if self.y.ndim > 1 else self.y


@dataclass(frozen=True)
class Scored:
    """One system on N records, or on those that it answers.

    errors: [N], >= 0. uncertainty: measure → [N], the headline measure first, higher is less certain; a constant named
        "" if a system has none: then scores that need it are left out.
    means: further scores that are means over records, [N] each (absolute errors, negative log-likelihoods).
    sets: further scores that are functions of sums over records, with their terms.
    root: whether RMSE, the root of the mean error, is a score (the errors are squared errors).
    pit: [N] probability integral transforms; confidence: [N] of the answered class: both for calibration.
    answers: [N] numbers, or names of classes; None if they are not known.
    notes: what a report must warn of. cautions: what of that changes how the scores are read.
    drawn: further curves for pictures.
    regions: intervals or sets of classes that conformal rules calibrate, if the predictions give any.
    by_group: slice column → means that replace those of the same name in slices by this column, [N] each.
    most: the upper ends of scores that have one here, though not everywhere: sets hold at most all of the classes.
    singles: the single models, for mean ± standard deviation; None if there is only one.
    texts: (positions [K] in the arrays) the texts of these records, for those that a report lists.
    length: [N], at least 0, of each record (tokens, words): its measures are checked for it.
    answered: [N] whether it answers a record (a forecast may have gaps); the arrays, and those of the single models,
        hold only these records. None if it answers all.
    ids: of the records in the arrays, as the predictions name them: a report refuses others than `Records.ids`. None if
        whoever made it has lined them up. Not kept in selections.
    """

    system: System
    errors: Vector
    uncertainty: Mapping[str, Vector]
    means: dict[str, Vector] = field(default_factory=dict)
    root: bool = False
    sets: Mapping[str, SetTerms] = field(default_factory=dict)
    pit: Vector | None = None
    confidence: Vector | None = None
    regions: conformal.Regions | None = None
    by_group: Mapping[str, Mapping[str, Vector]] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    singles: Singles | None = None
    answered: Flags | None = None
    answers: npt.NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    cautions: tuple[camps.Caution, ...] = ()
    drawn: tuple[Drawn, ...] = ()
    texts: Texts | None = None
    length: Vector | None = None
    ids: Sequence[Any] | npt.NDArray[Any] | None = None

    @property
    def measure(self) -> str:
        """The headline measure."""
        return self.system.measure

    def range_of(self, metric: Metric, *, classes: bool = False) -> tuple[float, float]:
        """The range of a score of this system; `classes`: whether errors are 0 or 1."""
        least, most = metric.range(classes=classes)
        return least, min(most, self.most.get(metric.name, most))

    def select(self, member: Any) -> Scored:
        """The records selected by the mask or the positions `member`, in their order."""
        answered, own = None, member
        if self.answered is not None:
            answered = self.answered[member]
            own = (np.cumsum(self.answered) - 1)[member][answered]  # positions in the arrays
        return replace(
            self,
            errors=self.errors[own],
            uncertainty={name: values[own] for name, values in self.uncertainty.items()},
            means={name: values[own] for name, values in self.means.items()},
            sets={name: terms.select(own) for name, terms in self.sets.items()},
            pit=None if self.pit is None else self.pit[own],
            confidence=None if self.confidence is None else self.confidence[own],
            regions=None if self.regions is None else self.regions.select(own),
            by_group={
                column: {name: values[own] for name, values in means.items()} for column, means in self.by_group.items()
            },
            singles=self.singles and self.singles.select(member),
            answers=None if self.answers is None else self.answers[own],
            answered=None if answered is None or answered.all() else answered,
            drawn=tuple(each.select(own) for each in self.drawn),
            texts=self.texts and _of_selected(self.texts, np.arange(len(self.errors))[own]),
            length=None if self.length is None else self.length[own],
            ids=None,
        )

    def with_set(self, name: str, terms: Callable[[Scored], SetTerms]) -> Scored:
        """This system and its single models with a further score of a set.

        Args:
            name: of a metric with `of_sums`.
            terms: says what the records of a system, this one or a single model, add to the sums.

        Raises:
            SettingsError: if there is no such metric, or not the `area` that it names.
            ArrayError: if the terms are not those of these records.
        """
        _require_known("score of a set", name)
        if METRICS[name].of_sums is None:
            raise SettingsError(f"score of a set: expected a metric with `of_sums`, found {name!r}, which has none.")
        if area := METRICS[name].area:
            _require_known(f"area of the metric {name!r}", area)
        found = terms(self)
        if not isinstance(found, SetTerms):
            raise ArrayError(f"metric {name!r}: expected SetTerms, found {type(found).__name__}.")
        each = {"found": found.found, **({} if found.ideal is None else {"ideal": found.ideal})}
        if problems := [problem for part, own in each.items() for problem in own.problems(len(self.errors), part)]:
            raise ArrayError(*(f"metric {name!r}: {problem}" for problem in problems))
        singles = self.singles and self.singles.with_set(name, terms)
        return replace(self, sets={**self.sets, name: found}, singles=singles)

    def with_retention(self) -> list[tuple[Metric, SetTerms]]:
        """The scores of sets that have a retention curve, by name."""
        found = ((METRICS[name], self.sets[name]) for name in sorted(self.sets))
        return [(metric, terms) for metric, terms in found if metric.area and terms.ideal is not None]

    def answering(self, answered: Flags) -> Scored:
        """The same system, restricted to the records flagged in `answered` [N]."""
        if answered.all():
            return self
        singles = self.singles and self.singles.answering(answered)
        return replace(self.select(answered), singles=singles, answered=answered)


def _require_known(what: str, name: str) -> None:
    if METRICS.get(name) is None:
        raise SettingsError(
            f"{what}: expected a metric that is known, found {name!r}. Register it, or name it as an entry point of "
            f"{METRICS.group} in your package and install that again."
        )


def _of_selected(texts: Texts, own: Index) -> Texts:
    return lambda places: texts(own[places])


def given(name: str, errors: Any, uncertainty: Mapping[str, Any], *, root: bool = False) -> Scored:
    """A system given by its errors and uncertainties only; the problems of all arrays are reported together."""
    if not uncertainty:
        raise ArrayError("uncertainty: expected at least one array, found none.")
    named = {
        f"uncertainty {key!r}" if len(uncertainty) > 1 else "uncertainty": value for key, value in uncertainty.items()
    }
    arrays = check.vectors(nonnegative=("errors",), advice=check.LOSSES, errors=errors, **named)
    measure = next(iter(uncertainty))
    return Scored(
        System(name, "model", measure, tuple(uncertainty)),
        arrays[0],
        dict(zip(uncertainty, arrays[1:], strict=True)),
        root=root,
    )


def regression(name: str, ensemble: Gaussian, targets: Any, *, role: Role = "ensemble", about: str = "") -> Scored:
    """Squared errors of the ensemble's mean, its uncertainties, and the scores of its mixture.

    Args:
        name: of the system in tables.
        ensemble: means and variances [M, N].
        targets: [N], in the target's unit.
        role: a "baseline" or one "model" is shown alone; for an "ensemble" the members are scored, too.
        about: a sentence for the report.

    Source: squared error, absolute error as in Shifts 1.0, Section 3; mixture likelihood and CRPS in `metrics`.
    """
    truth = check.vector("targets", targets, length=ensemble.records)
    found = _of_numbers(_system(name, ensemble, role, about), ensemble, truth)
    pit = regression_of.pit(truth, ensemble)
    means = found.means | {
        "nll": regression_of.nll_per_record(truth, ensemble),
        "crps": regression_of.crps_per_record(truth, ensemble),
        **regression_of.inside(pit),
        **regression_of.widths(ensemble),
    }
    singles = _singles(name, ensemble, truth, regression) if role == "ensemble" else None
    return replace(found, means=means, pit=pit, singles=singles)


def quantiles(name: str, ensemble: Quantiles, targets: Any, *, role: Role = "model", about: str = "") -> Scored:
    """Squared errors of a forecast's medians, its width as uncertainty, pinball losses, coverage and widths.

    Args:
        name, role, about: as in `regression`; the report also says what the answers are if there is no median.
        ensemble: quantiles [M, N, L].
        targets: [N], in the target's unit.
    """
    truth = check.vector("targets", targets, length=ensemble.records)
    system = _system(name, ensemble, role, about or f"answers with {ensemble.answered_by}")
    found = _of_numbers(system, ensemble, truth)
    singles = _singles(name, ensemble, truth, quantiles) if role == "ensemble" else None
    return replace(found, means=found.means | quantiles_of.scores(truth, ensemble), singles=singles)


def means(name: str, ensemble: Means, targets: Any, *, role: Role = "ensemble", about: str = "") -> Scored:
    """Squared errors of the mean of members without variances, the spread between them as uncertainty, and CRPS.

    Coverage and widths are those of intervals between members, if these are enough; see `metrics.quantiles`.

    Args:
        name, role, about: as in `regression`.
        ensemble: means [M, N].
        targets: [N], in the target's unit.
    """
    truth = check.vector("targets", targets, length=ensemble.records)
    system = _system(name, ensemble, role, about)
    if ensemble.members > 1:
        about = about or f"{ensemble.members} members without variances"
        system = replace(system, about=about, caution=NO_DATA_UNCERTAINTY)
    found = _of_numbers(system, ensemble, truth)
    singles = _singles(name, ensemble, truth, means) if role == "ensemble" else None
    return replace(found, means=found.means | quantiles_of.member_scores(truth, ensemble), singles=singles)


def _of_numbers(system: System, ensemble: AnyNumbers, truth: Vector) -> Scored:
    """Squared and absolute errors of an ensemble's answers, with its uncertainties."""
    answers = ensemble.answers()
    with np.errstate(over="ignore"):
        residual = answers - truth
        if problems := check.difference_problems("differences of targets and answers", residual):
            raise ArrayError(*problems)
        errors = check.vector("squared errors", residual**2, nonnegative=True)
    found = {"mae": np.abs(residual)}
    if truth.min() > check.SMALLEST:  # percentages are meaningful only for positive quantities
        found["mape"] = found["mae"] / truth
    uncertainty = {measure: measures.uncertainty(ensemble, measure) for measure in system.measures}
    regions = conformal.Intervals(np.abs(residual), _spread(ensemble))
    apart = () if isinstance(ensemble, Quantiles) else tuple(camps.cautions(system.name, ensemble, errors))
    return Scored(system, errors, uncertainty, means=found, root=True, regions=regions, answers=answers, cautions=apart)


def _spread(ensemble: AnyNumbers) -> Vector:
    """The predicted spread [N] that conformal intervals are scaled by: a standard deviation or the width of an
    interval; 1 where members have no variances, since the spread between them leaves out that of the data."""
    if isinstance(ensemble, Gaussian):
        return np.sqrt(measures.uncertainty(ensemble, "total_variance"))
    return (
        measures.uncertainty(ensemble, "interval_width")
        if isinstance(ensemble, Quantiles)
        else np.ones(ensemble.records)
    )


def classification(
    name: str, ensemble: Categorical, targets: Any, *, role: Role = "ensemble", about: str = ""
) -> Scored:
    """0/1 errors of the most probable class, the ensemble's uncertainties, and proper scores of its mean.

    Args:
        name, role, about: as in `regression`.
        ensemble: probabilities [M, N, C].
        targets: [N] class indices 0 … C-1.
    """
    truth = np.asarray(targets, dtype=np.int64)
    probabilities = ensemble.answers()
    labels, classes = probabilities.argmax(axis=1), probabilities.shape[1]
    errors, confidence = (labels != truth).astype(np.float64), probabilities.max(axis=1)
    system = _system(name, ensemble, role, about)
    return Scored(
        system,
        errors,
        {measure: measures.uncertainty(ensemble, measure) for measure in system.measures},
        means={
            "accuracy": 1.0 - errors,
            "overconfidence": confidence - (1.0 - errors),
            "nll": classes_of.nll_per_record(truth, probabilities),
            "brier": classes_of.brier_per_record(truth, probabilities),
        },
        sets={"macro_f1": SetTerms(*(Terms((truth, each), (classes, classes)) for each in (labels, truth)))},
        confidence=confidence,
        answers=None if ensemble.classes is None else np.array(ensemble.classes, dtype=object)[labels],
        regions=conformal.Sets(probabilities, truth),
        notes=tuple(_never_seen(ensemble)),
        cautions=tuple(camps.cautions(name, ensemble, errors)),
        singles=_singles(name, ensemble, truth, classification) if role == "ensemble" else None,
    )


def without_probabilities(found: Scored) -> Scored:
    """Classes that were given without probabilities: what needs these, or an uncertainty, is left out."""
    system = replace(found.system, measure="", measures=())
    means = {"accuracy": found.means["accuracy"]}
    nothing = {"": np.zeros(len(found.errors))}
    return replace(
        found, system=system, uncertainty=nothing, means=means, confidence=None, regions=None, notes=(), cautions=()
    )


def _never_seen(ensemble: Categorical) -> Iterator[str]:
    """A note on classes to which some members, but not all, give probability 0 for every record."""
    zero = np.asarray(~ensemble.probabilities.any(axis=1))  # [M, C]
    names = ensemble.classes or tuple(range(zero.shape[1]))
    found = {str(name): int(own.sum()) for name, own in zip(names, zero.T, strict=True) if 0 < own.sum() < len(zero)}
    if found:
        named = ", ".join(f"{name!r} by {count:,}" for name, count in [*found.items()][:MOST_NAMED])
        rest = f" and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
        yield (
            f"classes with probability 0 for every record from some of {ensemble.members:,} members, which may never "
            f"have seen them: {named}{rest}; the likelihood of such a member is 0 there"
        )


SCORERS: Mapping[type[Ensemble], Callable[..., Scored]] = {
    Gaussian: regression,
    Quantiles: quantiles,
    Means: means,
    Categorical: classification,
}
"""What scores each kind of prediction against targets."""


def predicted(name: str, ensemble: Ensemble, targets: Any, *, role: Role, about: str = "") -> Scored:
    """Predictions of any kind in `SCORERS` scored against targets [N]: numbers, or class indices of probabilities.

    Raises:
        ArrayError: for another kind, and as the scorer of the kind does.
    """
    if (scorer := SCORERS.get(type(ensemble))) is None:
        known = ", ".join(kind.__name__ for kind in SCORERS)
        raise ArrayError(f"predictions: expected one of {known}, found {type(ensemble).__name__}.")
    return scorer(name, ensemble, targets, role=role, about=about)


def _system(name: str, ensemble: Ensemble, role: Role, about: str = "") -> System:
    require_role(name, role)
    return System(name, role, measures.headline(ensemble), _shown(ensemble, role), about)


def _singles(name: str, ensemble: Any, truth: Any, score: Callable[..., Scored]) -> Singles | None:
    """The single models, if there are several."""
    if ensemble.models == 1:
        return None
    called = f"{name} (single)"
    system = _system(called, ensemble.model(0), "single")
    return Singles(system, ensemble.models, lambda k: score(called, ensemble.model(k), truth, role="single"))


def _shown(ensemble: Ensemble, role: Role) -> tuple[str, ...]:
    """The measures to show, headline first: only that for a baseline, none of disagreement for a single model."""
    headline = measures.headline(ensemble)
    if role == "baseline":
        return (headline,)
    return (headline, *(name for name in measures.measures_for(ensemble) if name != headline))
