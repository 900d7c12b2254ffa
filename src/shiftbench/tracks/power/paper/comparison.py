"""Compares a run's ranking of the models, and their degradation under shift, with the paper's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from shiftbench.report.digits import digits_of
from shiftbench.report.view import duel, finite, split_title
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import Score
from shiftbench.track import published
from shiftbench.track.paper.run import origins
from shiftbench.track.paper.table import UNITS, Row, Table
from shiftbench.tracks.power.paper.systems import MODELS, REAL, SOURCE, SPLIT_NAMES, Run
from shiftbench.tracks.power.schema import TRACK

Place = tuple[str, str]  # dataset, subset

# A shifted set, and the in-domain set it is compared with.
SHIFTS: tuple[tuple[Place, Place], ...] = (
    (("dev", "shifted"), ("dev", "in")),
    (("eval", "shifted"), ("eval", "in")),
    (("generalization", "full"), ("eval", "in")),
)
HARDEST: dict[str, Place] = {"synthetic": ("generalization", "full"), REAL: ("eval", "shifted")}
RANKED = {"rmse": UNITS["kW"], "r_auc": UNITS["1e5 kW^2"]}  # and the printed unit, with the factor to it


@dataclass(frozen=True)
class Finding:
    """One statement: its subject, our result and the printed one as text, and whether they agree."""

    about: str
    ours: str
    theirs: str
    agreement: str


def tables(run: Run) -> list[Table]:
    """The findings of a run as a table; no table if it has fewer than two of the paper's ensembles."""
    found = findings(run)
    if not found:
        return []
    table = Table(
        number="Summary",
        paper=SOURCE,
        title=f"Ranking and degradation ({run.name})",
        caption=f"Ensembles only, best first; ≈ between two that cannot be told apart. {origins([run])}",
        label="What",
        rows=tuple(Row(entry.about) for entry in found),
        heads=("Ours", "Printed", "Agreement"),
        words=tuple((entry.ours, entry.theirs, entry.agreement) for entry in found),
        notes=(
            "Degradation is RMSE on a shifted set over RMSE in-domain; 1.00 is no change. Two models stand in the "
            "same order if here and in print the same one is lower; only rankings are tested, ratios are not.",
        ),
    )
    return [table]


def findings(run: Run) -> list[Finding]:
    """The ranking on the hardest set by RMSE and by R-AUC, and the degradation by each shift, if known."""
    return [*_rankings(run), *_degradations(run)]


def _rankings(run: Run) -> Iterator[Finding]:
    place = HARDEST[run.kind]
    for metric, (unit, factor) in RANKED.items():
        scores, theirs = _scores(run, place, metric), _printed(run.kind, place, metric)
        names = [name for name in scores if name in theirs]
        if len(names) > 1:
            ours = {name: scores[name].value * factor for name in names}
            distinct = {
                frozenset(pair): duel(run.report, scores[pair[0]], scores[pair[1]]).winner is not None
                for pair in combinations(names, 2)
            }
            about = f"Ranking by {METRICS[metric].title} on {_set(place)}{f', {unit}' if run.comparable else ''}"
            print_ = {name: theirs[name] for name in names}
            yield Finding(about, _order(ours, distinct), _order(print_), _alike(ours, print_, distinct))


def _degradations(run: Run) -> Iterator[Finding]:
    costs: dict[str, tuple[dict[str, float], dict[str, float]]] = {}
    for shifted, inside in SHIFTS:
        ours = _ratios({p: {n: s.value for n, s in _scores(run, p, "rmse").items()} for p in (shifted, inside)})
        theirs = _ratios({place: _printed(run.kind, place, "rmse") for place in (shifted, inside)})
        names = [name for name in ours if name in theirs]
        if names:
            pair = ({name: ours[name] for name in names}, {name: theirs[name] for name in names})
            costs[_set(shifted)] = pair
            same = sum(_turn(pair[0][name]) == _turn(pair[1][name]) for name in names)
            agreement = f"{same} of {len(names)} in the same direction"
            agreement += f"; {_alike(*pair)}" if len(names) > 1 else ""
            about = f"Degradation, {_set(shifted)} over {_set(inside)}"
            yield Finding(about, _order(pair[0], decimals=2), _order(pair[1], decimals=2), agreement)
    if len(costs) > 1:
        yield _dearest(costs)


def _dearest(costs: dict[str, tuple[dict[str, float], dict[str, float]]]) -> Finding:
    """The set on which each model degrades most."""
    names = [name for name in next(iter(costs.values()))[0] if all(name in pair[0] for pair in costs.values())]
    ours, theirs = ({name: max(costs, key=lambda place: costs[place][side][name]) for name in names} for side in (0, 1))
    same = sum(ours[name] == theirs[name] for name in names)
    return Finding("Costs most", _listed(ours), _listed(theirs), f"{same} of {len(names)} the same")


def _listed(places: dict[str, str]) -> str:
    """The sets, each with the models that degrade most on it."""
    return "; ".join(
        f"{place}: {', '.join(name for name, found in places.items() if found == place)}"
        for place in dict.fromkeys(places.values())
    )


def _ratios(values: dict[Place, dict[str, float]]) -> dict[str, float]:
    above, below = values.values()
    return {name: value / below[name] for name, value in above.items() if below.get(name)}


def _turn(ratio: float) -> int:
    """Whether a ratio, rounded to two decimals, is above, below or equal to 1."""
    return (round(ratio, 2) > 1) - (round(ratio, 2) < 1)


def _alike(ours: dict[str, float], theirs: dict[str, float], distinct: dict[frozenset[str], bool] | None = None) -> str:
    """The number of pairs of models in the same order; pairs that cannot be distinct apart are not counted."""
    pairs = list(combinations(ours, 2))
    sure = [pair for pair in pairs if distinct is None or distinct[frozenset(pair)]]
    same = sum((ours[a] < ours[b]) == (theirs[a] < theirs[b]) for a, b in sure)
    if same == len(pairs):
        return f"the same order ({same} of {len(pairs)} pairs)"
    undecided = f", {len(pairs) - len(sure)} undecided" if len(sure) < len(pairs) else ""
    return f"{same} of {len(pairs)} pairs in the same order{undecided}"


def _order(
    values: dict[str, float], distinct: dict[frozenset[str], bool] | None = None, *, decimals: int | None = None
) -> str:
    """Models from the lowest value on: `Symbolic 1204 < DNN 1427 ≈ VI 1431`."""
    digits = digits_of(values.values()) if decimals is None else None
    names = sorted(values, key=lambda name: values[name])
    text = ""
    for place, name in enumerate(names):
        if place:
            sure = distinct is None or distinct[frozenset((names[place - 1], name))]
            text += " < " if sure else " ≈ "
        number = digits.text(values[name]) if digits is not None else f"{values[name]:.{decimals}f}"
        text += f"{name} {number}"
    return text


def _scores(run: Run, place: Place, metric: str) -> dict[str, Score]:
    """The score of each model's ensemble; the first, if a model has several."""
    found = {}
    for model in MODELS:
        for name in run.named(model.ensemble)[:1]:
            score = run.score(name, (*place, metric))
            if score is not None and finite(score.value) and score.value > 0:
                found[model.name] = score
    return found


@cache
def _everything(kind: str) -> dict[tuple[str, ...], float]:
    frame = published.results(track=TRACK, task=kind)
    frame = frame.filter(frame["source"].str.starts_with(f"{SOURCE}, "))
    axes = ("model", "ensemble", "dataset", "subset", "metric")
    return {tuple(SPLIT_NAMES.get(row[axis], row[axis]) for axis in axes): row["value"] for row in frame.to_dicts()}


def _printed(kind: str, place: Place, metric: str) -> dict[str, float]:
    """The printed score of each model's ensemble, in the printed unit."""
    every = _everything(kind)
    keys = {model.name: (model.ensemble.model, model.ensemble.ensemble, *place, metric) for model in MODELS}
    return {name: every[key] for name, key in keys.items() if key in every}


def _set(place: Place) -> str:
    dataset, subset = place
    words = {"in": "in-domain", "shifted": "shifted", "full": ""}
    return " ".join(filter(None, (split_title(dataset), words[subset])))
