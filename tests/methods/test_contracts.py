"""What every method keeps to, whichever it is: a new one in METHODS is tested unasked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftbench import methods
from shiftbench.assessment import predictions
from shiftbench.assessment.predictions import Predictions
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import SettingsError, TableError, UnknownNameError
from shiftbench.methods import METHODS, fitted_folder
from shiftbench.methods.contract import Method
from shiftbench.tracks.power.symbolic.terms import ROLES
from tests.methods.conftest import TARGETS, Parts

BATCHED = {"members": 2, "epochs": 2, "batch": 128}
TINY = {"blocks": 2, "width": 16, "most_steps": 15}
# What a method must be told, or is told to be quick.
OWN: dict[tuple[str, str], dict[str, Any]] = {
    ("boosting", "regression"): {"members": 2, "iterations": 20},
    ("boosting", "classification"): {"members": 2, "iterations": 20},
    ("likelihood_boosting", "regression"): {"members": 2, "iterations": 20},
    ("likelihood_boosting", "classification"): {"members": 2, "iterations": 20},
    ("virtual_boosting", "regression"): {"members": 2, "iterations": 20},
    ("virtual_boosting", "classification"): {"members": 2, "iterations": 20},
    **{("ft_transformer", task): TINY | {"members": 2, "attention_heads": 2} for task in TARGETS},
    **{("tabm", task): TINY | {"submodels": 3} for task in TARGETS},
    **{("mc_dropout", task): {"of": "network", "samples": 2} for task in TARGETS},
    ("mlp", "regression"): BATCHED,
    ("mlp_dropout", "regression"): BATCHED | {"draws": 3},
    ("mlp_flipout", "regression"): BATCHED | {"draws": 3},
    ("symbolic", "regression"): BATCHED | {"roles": dict.fromkeys(ROLES, "b") | {"wave_height": "noisy"}},
    ("combination", "regression"): {"of": ["first", "second"]},
    ("combination", "classification"): {"of": ["first", "second"]},
    ("column", "regression"): {"column": "forecast"},
    ("column", "classification"): {"column": "guess"},
}
# The methods that a method is made of, by the names of their folders beside its own.
PARTS = {"combination": {"first": "boosting", "second": "column"}, "mc_dropout": {"network": "ft_transformer"}}
CASES = [(method, task) for method in METHODS.values() for task in method.tasks]


@dataclass(frozen=True)
class Case:
    method: Method
    task: str
    parts: Parts
    folder: Path
    steps: list[tuple[int, int]]

    @property
    def target(self) -> str:
        return TARGETS[self.task]

    def settings(self, **changed):
        own = OWN.get((self.method.name, self.task), {})
        return self.method.Settings.from_dict({"task": self.task, **own, **changed})

    def fit(self, folder: Path, **changed) -> Path:
        for name, part in PARTS.get(self.method.name, {}).items():
            replace(self, method=methods.method(part)).fit(folder.parent / name)
        arguments = {"features": self.parts.features, "target": self.target, "settings": self.settings(), "cores": 1}
        return self.method.fit(self.parts.train, self.parts.dev, folder=folder, **{**arguments, **changed})

    def predict(self, frame=None, folder: Path | None = None):
        frame = self.parts.rows if frame is None else frame
        return self.method.predict(frame, folder=folder or self.folder, cores=1)


def values(ensemble) -> np.ndarray:
    if isinstance(ensemble, Gaussian):
        return np.stack([ensemble.mean, ensemble.variance], axis=-1)
    return ensemble.probabilities


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0].name}-{case[1]}")
def case(request, parts, tmp_path_factory) -> Case:
    method, task = request.param
    made = Case(method, task, parts, tmp_path_factory.mktemp("contract") / "fit", [])
    frames = (parts.train, parts.dev, parts.rows)
    before = [frame.clone() for frame in frames]
    made.fit(made.folder, progress=lambda done, total, message: made.steps.append((done, total)))
    made.predict()
    assert all(frame.equals(copy) for frame, copy in zip(frames, before, strict=True)), "tables were changed"
    return made


def test_an_ensemble_of_the_right_kind_with_finite_values(case):
    says = case.predict()
    assert isinstance(says, Gaussian if case.task == "regression" else Categorical)
    assert says.records == case.parts.rows.height
    assert np.isfinite(values(says)).all()
    if case.task == "classification":
        assert says.classes == ("high", "low", "mid")


def test_the_same_fit_elsewhere_says_the_same(case, tmp_path):
    again = case.predict(folder=case.fit(tmp_path / "again"))
    np.testing.assert_array_equal(values(again), values(case.predict()))


def test_fitting_again_in_place_changes_nothing(case):
    before = {path: path.stat().st_mtime_ns for path in case.folder.iterdir()}
    assert case.fit(case.folder) == case.folder
    assert {path: path.stat().st_mtime_ns for path in case.folder.iterdir()} == before


def test_every_row_is_answered_by_itself(case):
    whole, order = values(case.predict()), np.random.default_rng(0).permutation(case.parts.rows.height)
    np.testing.assert_array_equal(values(case.predict(case.parts.rows[order])), whole[:, order])
    np.testing.assert_array_equal(values(case.predict(case.parts.rows[7:8])), whole[:, 7:8])


def test_the_target_and_other_columns_are_not_needed_to_predict(case):
    bare = case.parts.rows.drop("y", "kind", "id")
    np.testing.assert_array_equal(values(case.predict(bare)), values(case.predict()))


def test_predictions_survive_their_file(case, tmp_path):
    settings = case.settings().to_dict()
    made = Predictions(case.parts.rows["id"], case.predict(), {"method": case.method.name, "settings": settings})
    read = predictions.load(made.save(tmp_path / "predictions.parquet"))
    np.testing.assert_array_equal(values(read.ensemble), values(made.ensemble))
    assert (list(read.ids), read.metadata) == (list(made.ids), made.metadata)


def test_settings_survive_a_dict_and_a_misspelt_one_names_the_nearest(case):
    settings = case.settings()
    assert type(settings).from_dict(settings.to_dict()) == settings
    with pytest.raises(SettingsError, match=r"found 'tusk'. Did you mean 'task'\?"):
        type(settings).from_dict({**settings.to_dict(), "tusk": 1})


def test_the_folder_of_another_fit_is_refused(case):
    with pytest.raises(SettingsError, match="expected a fresh folder or this same fit"):
        case.method.fit(
            case.parts.train.head(1000), case.parts.dev, folder=case.folder,
            features=case.parts.features, target=case.target, settings=case.settings(),
        )  # fmt: skip


def test_what_it_is_fits_in_a_line(case):
    about = case.method.about(case.parts.rows, folder=case.folder)
    assert 10 < len(about) < 200
    assert "\n" not in about


def test_progress_counts_to_the_end(case):
    total = case.steps[-1][1]  # members, but of a method that learns them together it may be 1
    assert case.steps == [(done, total) for done in range(1, total + 1)]


def test_the_folder_knows_its_method(case):
    assert methods.fitted(case.folder) == case.method


def test_an_empty_table_is_an_error(case):
    with pytest.raises(TableError, match="expected at least one record to predict, found none"):
        case.predict(case.parts.rows.head(0))


def test_an_empty_folder_is_an_error(case, tmp_path):
    with pytest.raises(SettingsError, match=r"expected the folder of a fitted method, found no settings\.json"):
        case.predict(folder=tmp_path)


def test_the_folder_of_another_method_is_an_error(case, tmp_path):
    fitted_folder.claim(tmp_path, {"method": "guesswork"})
    with pytest.raises(SettingsError, match=rf"expected the method .*{case.method.name}.*, found 'guesswork'"):
        case.predict(folder=tmp_path)


def test_missing_targets_are_an_error_with_their_count(case, tmp_path):
    holes = case.parts.train.with_columns(case.parts.train[case.target].scatter([1, 5], None))
    with pytest.raises(TableError, match=rf"train, {case.target}: .* found 2 of 1,500 missing"):
        case.method.fit(
            holes, case.parts.dev, folder=tmp_path / "fit",
            features=case.parts.features, target=case.target, settings=case.settings(),
        )  # fmt: skip
    assert not (tmp_path / "fit").exists()


def test_a_misspelt_method_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown method 'bosting'\. Did you mean 'boosting'"):
        methods.method("bosting")


def test_methods_whose_members_mean_nothing_alone_are_models():
    """Members of an ensemble are scored alone beside it; stages, draws and submodels are not."""
    roles = {name: methods.method(name).role for name in METHODS}
    together = {"virtual_boosting", "mc_dropout", "tabm", "combination"}
    baselines = {"mean", "majority", "column"}
    assert {name for name, role in roles.items() if role == "model"} == together
    assert {name for name, role in roles.items() if role == "baseline"} == baselines
