from __future__ import annotations

import pytest

from shiftbench.errors import SettingsError
from shiftbench.methods import fitted_folder
from shiftbench.methods.boosting.ensemble import Settings


def test_every_value_out_of_range_is_reported_at_once():
    with pytest.raises(SettingsError) as caught:
        Settings(
            "ranking", members=0, iterations=2.5, depth=17, learning_rate=float("nan"), early_stopping=True, seed=-1
        )
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "task", "members", "iterations", "depth", "learning_rate", "early_stopping", "seed",
    ]  # fmt: skip
    assert caught.value.problems[1] == "members: expected a whole number from 1 to 1,000, found 0."


@pytest.mark.parametrize("classes", [("a",), ("a", "a"), (1, 2), "ab"])
def test_classes_must_be_different_names(classes):
    with pytest.raises(SettingsError, match="classes: expected two or more different names as text"):
        Settings("classification", classes)


def test_a_regression_has_no_classes():
    with pytest.raises(SettingsError, match="classes: expected none for regression"):
        Settings("regression", ("a", "b"))


def test_unknown_and_missing_keys_are_reported_together():
    with pytest.raises(SettingsError) as caught:
        Settings.from_dict({"member": 3, "deepness": 4})
    member, deepness, task = caught.value.problems
    assert member.endswith("found 'member'. Did you mean 'members'?")
    assert deepness.startswith("expected settings among task, classes, members,")
    assert task == "task: expected a value, found none. Set it."


def test_a_dict_holds_plain_values_only_and_comes_back():
    settings = Settings("classification", ("b", "a"), members=3)
    assert settings.to_dict()["classes"] == ["b", "a"]
    assert "classes" not in Settings("regression").to_dict()
    assert Settings.from_dict(settings.to_dict()) == settings


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "expected JSON, found"), ("[]", "expected the format .* found 'list'"), ('{"format": "x"}', "found 'x'")],
)
def test_a_damaged_record_is_an_error_that_says_what_to_do(text, message, tmp_path):
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(SettingsError, match=f"{message}.*Fit again into a fresh folder"):
        fitted_folder.read(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"expected a folder to write to, found: .*Choose another"):
        fitted_folder.claim(tmp_path / "file" / "fit", {"method": "mean"})
