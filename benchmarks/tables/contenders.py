"""Who is compared on the same rows: our methods with their defaults, and models of scikit-learn with theirs.

The forest and the linear model get categories as indicators and missing numbers as their median; histogram boosting
gets both as they are. For numbers they say one value without a variance: each gets one variance for all records, that
of its errors on dev_in. Of these only the forest ranks records, by the variance over its trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from benchmarks.tables.catalogue import PublicTable
from shiftbench import measures, methods
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.partition import Partition, features
from shiftbench.partition.features import Features

EVALUATED = ("dev_in", "dev_out", "eval_in", "eval_out")
MOST_CATEGORIES = 200  # of a column that histogram boosting tells from each other
FEWEST_RECORDS = 5  # of a category with an indicator of its own


@dataclass(frozen=True)
class Answer:
    """What a contender says of N records: its distributions, and by what they are ranked [N], if by anything."""

    ensemble: Gaussian | Categorical
    uncertainty: npt.NDArray[np.float64] | None


@dataclass(frozen=True)
class Case:
    """A table, its partitions, the columns that models may see, and a folder for what is learnt."""

    table: PublicTable
    parts: Partition
    features: Features
    folder: Path

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the whole table; none for numbers."""
        known = self.table.task == "classification"
        return tuple(sorted(self.parts.table[self.table.target].unique().to_list())) if known else ()

    def targets(self, part: str) -> npt.NDArray[Any]:
        """The targets of a part: numbers, or the places of the classes."""
        found = self.parts.frame(part)[self.table.target].to_numpy()
        return np.searchsorted(self.classes, found) if self.classes else found.astype(float)


Contender = Callable[[Case, Sequence[str]], Iterator[tuple[str, Answer]]]
"""Of a case and the names of parts: part by part, what is said of its records."""


def method(name: str, **settings: Any) -> Contender:
    """A method of ours; an interrupted fit goes on in its folder."""

    def answers(case: Case, parts: Sequence[str]) -> Iterator[tuple[str, Answer]]:
        module = methods.method(name)
        own: dict[str, Any] = {"task": case.table.task, **settings}
        own |= {"classes": case.classes} if case.classes else {}
        if "clusters" in module.Settings.__dataclass_fields__ and case.table.cluster:
            own["clusters"] = tuple(case.table.cluster.split("+"))
        place = module.fit(
            case.parts.frame("train"), case.parts.frame("dev_in"), features=case.features, target=case.table.target,
            settings=module.Settings.from_dict(own), folder=case.folder / name, cores=1,
        )  # fmt: skip
        for part in parts:
            ensemble = module.predict(case.parts.frame(part), folder=place, cores=1)
            yield part, Answer(ensemble, measures.uncertainty(ensemble, measures.headline(ensemble)))

    return answers


def scikit_learn(model: Callable[[Case], Any]) -> Contender:
    """A pipeline of scikit-learn."""

    def answers(case: Case, parts: Sequence[str]) -> Iterator[tuple[str, Answer]]:
        fitted = model(case).fit(_inputs(case, "train"), case.targets("train"))
        if case.classes:
            for part in parts:
                probabilities = np.zeros((1, len(case.targets(part)), len(case.classes)))
                probabilities[0, :, fitted.classes_] = fitted.predict_proba(_inputs(case, part)).T
                ensemble = Categorical(probabilities, classes=case.classes)
                yield part, Answer(ensemble, measures.uncertainty(ensemble, measures.headline(ensemble)))
            return
        variance = np.mean((fitted.predict(_inputs(case, "dev_in")) - case.targets("dev_in")) ** 2)
        for part in parts:
            inputs = _inputs(case, part)
            mean = fitted.predict(inputs)[None]
            yield part, Answer(Gaussian(mean, np.full_like(mean, variance)), _over_trees(fitted, inputs))

    return answers


def _over_trees(pipeline: Any, inputs: npt.NDArray[Any]) -> npt.NDArray[np.float64] | None:
    trees = pipeline[-1]
    if not isinstance(trees, RandomForestRegressor):
        return None
    seen = pipeline[:-1].transform(inputs).astype(np.float32)
    return np.var([tree.predict(seen) for tree in trees.estimators_], axis=0)


def _inputs(case: Case, part: str) -> npt.NDArray[Any]:
    """Numbers and then categories, [N, P] of objects."""
    found = features.matrix(case.parts.frame(part), case.features)
    return np.column_stack([found.numeric.astype(object), *found.categorical])


def _columns(case: Case) -> tuple[list[int], list[int]]:
    categories = len(case.features.categorical)
    width = _inputs(case, "dev_in").shape[1]
    return list(range(width - categories)), list(range(width - categories, width))


def _forest(case: Case) -> Any:
    model = RandomForestClassifier if case.classes else RandomForestRegressor
    return make_pipeline(_indicators(case), model(random_state=0, n_jobs=1))


def _linear(case: Case) -> Any:
    model = LogisticRegression(max_iter=1000) if case.classes else Ridge()
    return make_pipeline(_indicators(case), StandardScaler(), model)


def _histogram(case: Case) -> Any:
    numbers, categories = _columns(case)
    model = HistGradientBoostingClassifier if case.classes else HistGradientBoostingRegressor
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan,
        max_categories=MOST_CATEGORIES,
    )  # fmt: skip
    which = np.arange(len(numbers) + len(categories)) >= len(numbers)
    columns = make_column_transformer(("passthrough", numbers), (codes, categories))
    return make_pipeline(columns, model(random_state=0, categorical_features=which))


def _indicators(case: Case) -> Any:
    numbers, categories = _columns(case)
    indicators = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=FEWEST_RECORDS, sparse_output=False)
    return make_column_transformer((SimpleImputer(strategy="median"), numbers), (indicators, categories))


CONTENDERS: Mapping[str, Contender] = {
    "boosting": method("boosting"),
    "likelihood_boosting": method("likelihood_boosting"),
    "forest": scikit_learn(_forest),
    "histogram": scikit_learn(_histogram),
    "linear": scikit_learn(_linear),
}
