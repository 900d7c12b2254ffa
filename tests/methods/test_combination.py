from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench import measures
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import ArrayError, SettingsError, TableError
from shiftbench.methods.boosting.ensemble import METHOD as BOOSTING
from shiftbench.methods.column import METHOD as COLUMN
from shiftbench.methods.combination import METHOD as COMBINATION
from shiftbench.methods.combination import combine
from shiftbench.methods.constant import MAJORITY
from tests.methods.conftest import TARGETS, Parts


def fit(parts: Parts, folder: Path, *of: str, task: str = "regression", **own) -> Path:
    overwrite = own.pop("overwrite", False)
    settings = COMBINATION.Settings(task, of=of or ("trees", "forecast"), **own)
    return COMBINATION.fit(
        parts.train, parts.dev, target=TARGETS[task], settings=settings, folder=folder, overwrite=overwrite
    )


def fit_parts(parts: Parts, place: Path, task: str = "regression", members: int = 3, **own) -> None:
    """Beside each other: `trees` of some members, and `forecast` of one."""
    target = TARGETS[task]
    trees = BOOSTING.Settings(task, members=members, iterations=15, learning_rate=0.2, **own)
    BOOSTING.fit(parts.train, parts.dev, features=parts.features, target=target, settings=trees, folder=place / "trees")
    named = COLUMN.Settings(task, column="forecast" if task == "regression" else "guess", **own)
    COLUMN.fit(parts.train, parts.dev, target=target, settings=named, folder=place / "forecast")


@pytest.fixture(scope="module")
def place(parts, tmp_path_factory) -> Path:
    """A folder with two fitted parts and their COMBINATION."""
    place = tmp_path_factory.mktemp("parts")
    fit_parts(parts, place)
    fit(parts, place / "both")
    return place


@pytest.fixture
def own_place(place, tmp_path) -> Path:
    """The two parts where they may be spoilt."""
    for name in ("trees", "forecast"):
        shutil.copytree(place / name, tmp_path / name)
    return tmp_path


def gaussian(members: int, records: int = 7, seed: int = 0) -> Gaussian:
    rng = np.random.default_rng(seed)
    return Gaussian(rng.normal(size=(members, records)), rng.uniform(0.5, 2, (members, records)))


def density(ensemble: Gaussian, at: np.ndarray) -> np.ndarray:
    """Of the mixture with equal weights [N], from the definition."""
    scaled = np.exp(-((at - ensemble.mean) ** 2) / (2 * ensemble.variance)) / np.sqrt(2 * np.pi * ensemble.variance)
    return scaled.mean(axis=0)


@pytest.mark.parametrize(
    ("counts", "members", "each"),
    [
        ((10, 10), None, 10),
        ((1, 10), None, 10),  # every number divides the most: nobody is left out
        ((5, 10, 2), None, 10),
        ((10, 32), None, 10),  # 32 is no multiple of 10: as many as the fewest
        ((10, 32), 5, 5),
        ((5, 32), 10, 10),
        ((5, 3), 15, 15),
    ],
)
def test_every_part_weighs_the_same_whatever_its_members(counts, members, each):
    parts = [gaussian(count, seed=seed) for seed, count in enumerate(counts)]
    settings = COMBINATION.Settings("regression", of=tuple("abcdef"[: len(counts)]), members=members)
    says = combine(parts, settings)
    assert says.members == each * len(counts)
    at = np.linspace(-2, 2, 7)
    used = [Gaussian(part.mean[:each], part.variance[:each]) for part in parts]
    np.testing.assert_allclose(density(says, at), np.mean([density(part, at) for part in used], axis=0), rtol=1e-12)
    np.testing.assert_allclose(says.answers(), np.mean([part.answers() for part in used], axis=0), rtol=1e-12)


def test_repeated_members_change_no_measure_of_the_mixture():
    part, alone = gaussian(4), gaussian(1, seed=1)
    settings = COMBINATION.Settings("regression", of=("a", "b"))
    says = combine([part, alone], settings)
    variance = (part.mean.var(axis=0) + (part.mean.mean(axis=0) - alone.mean[0]) ** 2 / 2) / 2
    np.testing.assert_allclose(measures.uncertainty(says, "knowledge_variance"), variance, rtol=1e-12)


def test_class_probabilities_are_averaged_over_the_parts():
    rng = np.random.default_rng(0)
    parts = [Categorical(rng.dirichlet(np.ones(3), (members, 5)), classes=tuple("xyz")) for members in (2, 4)]
    says = combine(parts, COMBINATION.Settings("classification", of=("a", "b")))
    assert says.classes == ("x", "y", "z")
    np.testing.assert_allclose(says.answers(), (parts[0].answers() + parts[1].answers()) / 2, rtol=1e-12)


def test_the_order_of_the_parts_changes_only_the_order_of_the_members(parts, place):
    one = COMBINATION.predict(parts.rows, folder=place / "both")
    two = COMBINATION.predict(parts.rows, folder=fit(parts, place / "turned", "forecast", "trees"))
    np.testing.assert_array_equal(one.mean, np.roll(two.mean, 3, axis=0))


def test_predictions_that_are_there_give_the_same_as_predicting_again(parts, place):
    known = [
        BOOSTING.predict(parts.rows, folder=place / "trees"),
        COLUMN.predict(parts.rows, folder=place / "forecast"),
    ]
    settings = COMBINATION.Settings("regression", of=("trees", "forecast"))
    again = COMBINATION.predict(parts.rows, folder=place / "both")
    combined = combine(known, settings)
    np.testing.assert_array_equal(combined.mean, again.mean)
    np.testing.assert_array_equal(combined.variance, again.variance)


def test_the_mixture_of_two_is_no_worse_than_the_mean_of_their_likelihoods(parts, place):
    """By Jensen's inequality: what the whole is for."""
    truth = parts.rows["y"].to_numpy()
    says = COMBINATION.predict(parts.rows, folder=place / "both")
    nll = [-np.log(density(part, truth)).mean() for part in (says, *map(says.member, range(says.members)))]
    assert nll[0] < np.mean(nll[1:])


def test_what_it_is_tells_the_parts_and_their_members(parts, place):
    about = COMBINATION.about(parts.rows, folder=place / "both")
    assert about == "one mixture of trees (3 members), forecast (1 member, each 3 times), each of the same weight"
    first = COMBINATION.about(parts.rows, folder=fit(parts, place / "first", members=1))
    assert first.startswith("one mixture of trees (the first 1 of 3 members), forecast (1 member)")


def test_a_part_that_was_fitted_anew_is_noticed(parts, own_place):
    folder = fit(parts, own_place / "both")
    before = COMBINATION.predict(parts.rows, folder=folder)
    other = BOOSTING.Settings("regression", members=3, iterations=16, learning_rate=0.2)
    BOOSTING.fit(
        parts.train, parts.dev, features=parts.features, target="y", settings=other, folder=own_place / "trees",
        overwrite=True,
    )  # fmt: skip
    for use in (COMBINATION.predict, COMBINATION.about):
        with pytest.raises(SettingsError, match=r"trees: expected the fit that was combined, found another one"):
            use(parts.rows, folder=folder)
    with pytest.raises(SettingsError, match=r"parts\.trees\.sha256: .* overwrite"):
        fit(parts, folder)
    fit(parts, folder, overwrite=True)
    assert (COMBINATION.predict(parts.rows, folder=folder).mean != before.mean).any()


def test_parts_that_are_missing_or_damaged_are_all_named(parts, own_place):
    (own_place / "trees/member_01.cbm").write_bytes(b"no model")
    with pytest.raises(SettingsError, match=r"member_01\.cbm.*damaged") as caught:
        fit(parts, own_place / "both", "trees", "nowhere", "forecast")
    assert ["member_01.cbm" in caught.value.problems[0], "nowhere: " in caught.value.problems[1]] == [True, True]
    assert not (own_place / "both").exists()


def test_a_part_that_went_away_is_named(parts, own_place):
    folder = fit(parts, own_place / "both")
    (own_place / "forecast/settings.json").unlink()
    with pytest.raises(SettingsError, match=r"forecast: expected the folder of a fitted method"):
        COMBINATION.predict(parts.rows, folder=folder)


def test_parts_of_another_target_or_task_are_refused(parts, own_place):
    other = MAJORITY.Settings("classification")
    MAJORITY.fit(parts.train, parts.dev, target="kind", settings=other, folder=own_place / "kinds")
    with pytest.raises(SettingsError) as caught:
        fit(parts, own_place / "both", "trees", "kinds")
    assert [problem.partition(": ")[2] for problem in caught.value.problems] == [
        "expected a fit to the target 'y', found 'kind'. Take it out of `of`, or fit it again.",
        "expected a fit to the task 'regression', found 'classification'. Take it out of `of`, or fit it again.",
    ]


def test_parts_with_other_classes_are_refused(parts, tmp_path):
    fit_parts(parts, tmp_path, "classification")
    turned = MAJORITY.Settings("classification", ("mid", "low", "high"))
    MAJORITY.fit(parts.train, parts.dev, target="kind", settings=turned, folder=tmp_path / "turned")
    with pytest.raises(SettingsError, match="the same classes in the same order"):
        fit(parts, tmp_path / "both", "trees", "turned", task="classification")
    with pytest.raises(SettingsError, match=r"trees: expected a fit to the classes \['mid', 'low', 'high'\], found"):
        fit(parts, tmp_path / "both", "trees", "turned", task="classification", classes=turned.classes)


def test_a_combination_is_never_a_part_of_itself(parts, own_place):
    with pytest.raises(SettingsError, match="expected other fitted methods to combine, found itself"):
        fit(parts, own_place / "trees", overwrite=True)
    # By a detour: `outer` is made of `inner`, which is then made of `outer`.
    inner = fit(parts, own_place / "inner")
    outer = fit(parts, own_place / "outer", "inner", "trees")
    fit(parts, inner, "outer", "forecast", overwrite=True)
    for folder in (inner, outer):
        with pytest.raises(SettingsError, match="inner: expected the fit that was combined, found another one"):
            COMBINATION.predict(parts.rows, folder=folder)


def test_combinations_of_combinations_are_mixtures_too(parts, place):
    nested = COMBINATION.predict(parts.rows, folder=fit(parts, place / "nested", "both", "forecast"))
    both, forecast = (method.predict(parts.rows, folder=place / name)
                      for method, name in ((COMBINATION, "both"), (COLUMN, "forecast")))  # fmt: skip
    np.testing.assert_allclose(nested.answers(), (both.answers() + forecast.answers()) / 2)


def test_targets_are_checked_before_parts(parts, tmp_path):
    holes = Parts(parts.train.with_columns(y=pl.lit(None)), parts.dev, parts.rows, parts.features)
    with pytest.raises(TableError, match="train, y"):
        fit(holes, tmp_path / "both")


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"of": ("one",)}, r"two or more different fitted methods, found \['one'\]"),
        ({"of": ("one", "one")}, "two or more different"),
        ({}, r"two or more different fitted methods, found \[\]"),
        ({"of": ("one", "../two")}, "names of folders beside that of the combination"),
        ({"of": ("one", "..")}, "names of folders beside that of the combination"),
        ({"of": "one"}, "names of folders beside that of the combination, found 'one'"),
        ({"of": ("one", "two"), "members": 0}, "members: expected a whole number from 1"),
    ],
)
def test_parts_that_cannot_be_named_so_are_an_error(own, message):
    with pytest.raises(SettingsError, match=message):
        COMBINATION.Settings("regression", **own)


def test_settings_survive_their_dict():
    settings = COMBINATION.Settings("regression", of=("one", "two"), members=4)
    assert settings.to_dict() == {"task": "regression", "of": ["one", "two"], "members": 4}
    assert COMBINATION.Settings.from_dict(settings.to_dict()) == settings


def test_members_that_would_not_weigh_the_same_are_an_error(parts, own_place):
    with pytest.raises(SettingsError, match=r"at most 1, or a multiple of 3 .* found 4\. Take 1"):
        fit(parts, own_place / "both", members=4)
    assert not (own_place / "both").exists()


def test_predictions_of_other_records_or_too_few_parts_are_an_error():
    settings = COMBINATION.Settings("regression", of=("a", "b"))
    with pytest.raises(SettingsError, match="expected predictions of a, b, found 1"):
        combine([gaussian(2)], settings)
    with pytest.raises(ArrayError, match="expected the same records"):
        combine([gaussian(2), gaussian(2, records=8)], settings)
