"""What every method keeps to, whichever it is: a new one in METHODS is tested unasked."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftbench import methods
from shiftbench.assessment import predictions
from shiftbench.assessment.predictions import Predictions
from shiftbench.ensembles import Categorical, Gaussian, Mixture, Trajectories
from shiftbench.errors import SettingsError, TableError, UnknownNameError
from shiftbench.methods import METHODS, fitted_folder
from shiftbench.methods.contract import Method
from shiftbench.partition.features import Features
from shiftbench.pipeline import study
from shiftbench.tracks.power.symbolic.terms import ROLES
from tests.methods.conftest import TARGETS, Parts
from tests.methods.sequences import marian_folder
from tests.methods.sequences.made_up import made_up as made_up_pairs
from tests.methods.trajectories.made_up import made_up
from tests.methods.volumes.made_up import made_up as made_up_volumes

REQUESTS = Parts(made_up(60, seed=1), made_up(20, seed=2), made_up(21, seed=3), Features())
VOLUMES = Parts(*(made_up_volumes(count, seed=seed) for seed, count in enumerate((6, 2, 3))), Features())
PAIRS = Parts(*(made_up_pairs(count, seed=seed) for seed, count in enumerate((40, 10, 5))), Features())
NETS = {"members": 2, "epochs": 1, "batch": 30, "width": 0.1, "hidden": 16, "pooling": 4, "plans_per_member": 2}
BATCHED = {"members": 2, "epochs": 2, "batch": 128}
SEGMENTING = {"members": 2, "epochs": 1, "patches": 1, "batch": 3, "validate_every": 1, "window": 8, "crop": 12}
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
    ("cloning", "trajectories"): NETS,
    ("imitative", "trajectories"): NETS,
    ("vector", "trajectories"): {"members": 2, "epochs": 1, "batch": 30, "width": 16, "heads": 2, "mixing": 0},
    ("unet", "volumes"): SEGMENTING | {"channels": [4, 8]},
    ("unet_slices", "volumes"): SEGMENTING | {"channels": [4, 8]},
    ("unetr", "volumes"): SEGMENTING
    | {"window": 16, "crop": 16, "features": 2, "hidden": 16, "heads": 2, "feed_forward": 16},
}
SHORT = {"longest": 64, "most_tokens": 8, "beam": 2, "best": 2}
OWN["transformer", "sequences"] = SHORT | {
    "members": 2, "width": 16, "heads": 2, "feed_forward": 16, "encoder_layers": 1, "decoder_layers": 1, "steps": 2,
    "batches": 1, "validate_every": 1,
}  # fmt: skip
# The methods that a method is made of, by the names of their folders beside its own.
PARTS = {"combination": {"first": "boosting", "second": "column"}, "mc_dropout": {"network": "ft_transformer"}}
CASES = [(method, task) for method in METHODS.values() for task in method.tasks]
OF_TABLES = [case for case in CASES if case[1] in TARGETS]
KINDS = {"regression": Gaussian, "classification": Categorical, "trajectories": Trajectories | Mixture}


@dataclass(frozen=True)
class Case:
    method: Method
    task: str
    parts: Parts
    folder: Path
    steps: list[tuple[int, int]]

    @property
    def target(self) -> str:
        return TARGETS.get(self.task, "")

    def settings(self, **changed):
        own = OWN.get((self.method.name, self.task), {})
        return self.method.Settings.from_dict({"task": self.task, **own, **changed})

    def fit(self, folder: Path, **changed) -> Path:
        for name, part in PARTS.get(self.method.name, {}).items():
            replace(self, method=methods.method(part)).fit(folder.parent / name)
        arguments = {
            "train": self.parts.train, "features": self.parts.features, "target": self.target,
            "settings": self.settings(), "cores": 1,
        }  # fmt: skip
        return self.method.fit(dev=self.parts.dev, folder=folder, **{**arguments, **changed})

    def predict(self, data=None, folder: Path | None = None):
        data = self.parts.rows if data is None else data
        return self.method.predict(data, folder=folder or self.folder, cores=1)


def first(data, count: int):
    return data.head(count) if hasattr(data, "head") else data.select(np.arange(count))


def values(ensemble) -> np.ndarray:
    if hasattr(ensemble, "block"):  # sequences, block by block
        return np.concatenate([np.stack([*block.measures.values()]) for block in ensemble], axis=1)
    if not hasattr(ensemble, "_arrays"):  # volumes, member by member
        volumes = [list(ensemble.probabilities(row)) for row in range(ensemble.records)]
        return np.moveaxis(np.reshape(volumes, (ensemble.records, ensemble.members, -1)), 1, 0)
    arrays = ensemble._arrays.values()
    return np.concatenate([array.reshape(*array.shape[:2], -1) for array in arrays], axis=-1)


@pytest.fixture(scope="module")
def made(parts, tmp_path_factory) -> Callable[[Method, str], Case]:
    """The fit of a method for a task, made once."""

    @cache
    def make(method: Method, task: str) -> Case:
        own = {"trajectories": REQUESTS, "volumes": VOLUMES, "sequences": PAIRS}.get(task, parts)
        if method.name == "marian":  # of models that others have trained
            models = [str(marian_folder.write(tmp_path_factory.mktemp("contract") / "model", seed=0))]
            OWN[method.name, task] = SHORT | {"models": models}
        found = Case(method, task, own, tmp_path_factory.mktemp("contract") / "fit", [])
        data = (own.train, own.dev, own.rows)
        before = [pickle.dumps(each) for each in data]
        found.fit(found.folder, progress=lambda done, total, message: found.steps.append((done, total)))
        found.predict()
        assert [pickle.dumps(each) for each in data] == before, "the data were changed"
        return found

    return make


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0].name}-{case[1]}")
def case(request, made) -> Case:
    return made(*request.param)


@pytest.fixture(params=OF_TABLES, ids=lambda case: f"{case[0].name}-{case[1]}")
def table_case(request, made) -> Case:
    return made(*request.param)


def test_an_ensemble_of_the_right_kind_with_finite_values(case):
    says = case.predict()
    assert case.task not in KINDS or isinstance(says, KINDS[case.task])
    assert says.records == len(case.parts.rows)
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


def test_every_row_is_answered_by_itself(table_case):
    whole, order = values(table_case.predict()), np.random.default_rng(0).permutation(table_case.parts.rows.height)
    np.testing.assert_array_equal(values(table_case.predict(table_case.parts.rows[order])), whole[:, order])
    np.testing.assert_array_equal(values(table_case.predict(table_case.parts.rows[7:8])), whole[:, 7:8])


def test_the_target_and_other_columns_are_not_needed_to_predict(table_case):
    bare = table_case.parts.rows.drop("y", "kind", "id")
    np.testing.assert_array_equal(values(table_case.predict(bare)), values(table_case.predict()))


def test_predictions_survive_their_file(table_case, tmp_path):
    settings = table_case.settings().to_dict()
    made = Predictions(
        table_case.parts.rows["id"], table_case.predict(), {"method": table_case.method.name, "settings": settings}
    )
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
        case.fit(case.folder, train=first(case.parts.train, len(case.parts.train) // 2))


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
        case.predict(first(case.parts.rows, 0))


def test_an_empty_folder_is_an_error(case, tmp_path):
    with pytest.raises(SettingsError, match=r"expected the folder of a fitted method, found no settings\.json"):
        case.predict(folder=tmp_path)


def test_the_folder_of_another_method_is_an_error(case, tmp_path):
    fitted_folder.claim(tmp_path, {"method": "guesswork"})
    with pytest.raises(SettingsError, match=rf"expected the method .*{case.method.name}.*, found 'guesswork'"):
        case.predict(folder=tmp_path)


def test_missing_targets_are_an_error_with_their_count(table_case, tmp_path):
    holes = table_case.parts.train.with_columns(table_case.parts.train[table_case.target].scatter([1, 5], None))
    with pytest.raises(TableError, match=rf"train, {table_case.target}: .* found 2 of 1,500 missing"):
        table_case.fit(tmp_path / "fit", train=holes)
    assert not (tmp_path / "fit").exists()


def test_an_ensemble_that_a_method_does_not_have_is_an_error(case):
    with pytest.raises(SettingsError, match=f"ensemble: expected {' or '.join(case.method.ensembles)}, found 'deap'"):
        case.method.predict(case.parts.rows, folder=case.folder, ensemble="deap")


def test_a_method_for_another_task_is_refused_and_not_offered(case):
    other = "trajectories" if case.task in TARGETS else "regression"
    with pytest.raises(
        SettingsError, match=rf"method {case.method.name}: expected one for {other}, found one for"
    ) as a:
        methods.method(case.method.name, other)
    with pytest.raises(SettingsError, match=f"expected one for {other}, found one for"):
        methods.fitted(case.folder, other)
    assert case.method.name not in str(a.value).partition("Choose another: ")[2].rstrip(".").split(", ")
    assert methods.method(case.method.name, "ranking", case.task) == case.method


def test_a_misspelt_method_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown method 'vektor'\. Known: (?!.*vector)"):
        methods.method("vektor", "regression")
    with pytest.raises(UnknownNameError, match=r"Did you mean 'vector'\? Known: cloning, imitative, vector\."):
        methods.method("vektor", "trajectories")
    with pytest.raises(UnknownNameError, match=r"Unknown method 'bosting'\. Did you mean 'boosting'"):
        methods.method("bosting")


def test_methods_whose_members_mean_nothing_alone_are_models():
    """Members of an ensemble are scored alone beside it; stages, draws and submodels are not."""
    roles = {name: methods.method(name).role for name in METHODS}
    together = {"virtual_boosting", "mc_dropout", "tabm", "combination"}
    baselines = {"mean", "majority", "column"}
    assert {name for name, role in roles.items() if role == "model"} == together
    assert {name for name, role in roles.items() if role == "baseline"} == baselines


def test_progress_names_what_a_fit_counts():
    stages = {name: study.stage_of_fit(study.Planned("mine", name, "model", {})) for name in METHODS}
    assert stages["boosting"] == "fit mine, trees"
    assert stages["transformer"] == "fit mine, steps"
    assert stages["mlp"] == "fit mine, validations"
