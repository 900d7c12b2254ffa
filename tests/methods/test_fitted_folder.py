"""Odd files of a fit are told as such; bugs keep their own exceptions."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import SettingsError, TableError
from shiftbench.io import output
from shiftbench.methods import fitted_folder, member_files
from shiftbench.methods.member_files import MOST_NAMED, MemberFiles
from tests.output.killing import kill, killed_later


def using(act: Callable[[], object]) -> None:
    with fitted_folder.using("fit"):
        act()


@pytest.mark.parametrize("act", [lambda: {}["x"], lambda: int("x"), lambda: [][1], lambda: None.mean, lambda: 1 / 0])
def test_what_odd_content_causes_names_the_folder(act: Callable[[], object]) -> None:
    with pytest.raises(SettingsError, match="fit: expected what a fit wrote there, found files that cannot be used"):
        using(act)


def test_a_librarys_call_stack_is_left_out() -> None:
    def act() -> None:
        raise RuntimeError(
            "storage has wrong size\nException raised from load at Module.cpp:1\nframe #0: std::function"
        )

    with pytest.raises(SettingsError, match=r"\(RuntimeError: storage has wrong size\)\. Fit again"):
        using(act)


@pytest.mark.parametrize("act", [lambda: nothing, lambda: math.nothing, lambda: __import__("nothing_of_this_name")])  # type: ignore[name-defined] # noqa: F821
def test_bugs_are_not_blamed_on_files(act: Callable[[], object]) -> None:
    with pytest.raises((NameError, AttributeError, ImportError), match="nothing"):
        using(act)


def test_errors_of_ours_pass_as_they_are() -> None:
    def act() -> None:
        raise TableError("ours")

    with pytest.raises(TableError, match="ours"):
        using(act)


def test_a_record_of_endless_members_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / fitted_folder.RECORD).write_text("{}")
    with pytest.raises(SettingsError, match=r"member_00\.cbm: expected a model") as caught:
        MemberFiles(tmp_path, ".cbm", "a model", "the model as it was written").require(10**400)
    assert len(caught.value.problems) == MOST_NAMED
    with pytest.raises(SettingsError, match=r"member_00\.pt: expected trained weights"):
        member_files.best_steps(tmp_path, 10**400)


def test_inputs_of_a_training_that_was_killed_while_they_were_removed_do_not_stay(tmp_path: Path) -> None:
    """No later fit writes or removes them, once all members are trained."""
    mine = tmp_path / "fit" / "inputs.npz"
    fitted_folder.claim(tmp_path / "fit", {"method": "x"})
    mine.write_text("mine")
    before = names(tmp_path / "fit")
    with killed_later(tmp_path), member_files.inputs(tmp_path / "fit", {"a": np.arange(3)}):
        assert member_files.read_inputs(tmp_path / "fit")["a"].tolist() == [0, 1, 2]
        kill()
    assert len(names(tmp_path / "fit")) == len(before) + 1
    fitted_folder.claim(tmp_path / "fit", {"method": "x"})
    assert names(tmp_path / "fit") == before
    assert mine.read_text() == "mine"


def test_inputs_of_a_killed_training_are_no_part_of_a_result(tmp_path: Path) -> None:
    for killed in (True, False):
        with killed_later(tmp_path), output.writing(tmp_path / "r", "fit", resumes=True) as place:
            fitted_folder.claim(place, {"method": "x"})
            if killed:
                with member_files.inputs(place, {"a": np.arange(3)}):
                    kill()
    assert names(tmp_path / "r") == [".shiftbench.json", "settings.json"]
    assert names(tmp_path) == ["r"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_in_place_of_a_fitted_folder_is_refused_like_a_folder_without_a_fit(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(SettingsError, match=r"t\.csv: expected the folder of a fitted method, found no settings\.json"):
        fitted_folder.read(tmp_path / "t.csv")
