"""What a user says of a track's run, on top of the track's own settings."""

from __future__ import annotations

import polars as pl
import pytest

from shiftbench.errors import SettingsError, ShiftbenchError, TableError, UnknownNameError
from shiftbench.pipeline import Opened
from shiftbench.pipeline.settings import Assessment, Settings
from shiftbench.track import RunOptions
from shiftbench.track.tabular import checked, with_options

OWN = Settings(
    table="folder", target="power", methods=({"name": "mlp", "members": 10}, {"name": "symbolic"}, {"name": "column"}),
    test_sets={"synthetic": "synthetic.parquet"}, track={"name": "power", "preset": "quick"},
    assessment=Assessment(rule="mixed", replicates=500),
)  # fmt: skip


def test_nothing_said_changes_nothing():
    assert with_options(OWN, RunOptions(preset="quick")) == OWN


def test_chosen_methods_stay_beside_columns_that_are_forecasts():
    found = with_options(OWN, RunOptions(preset="quick", methods=("symbolic",)))
    assert [entry["name"] for entry in found.methods] == ["symbolic", "column"]
    assert found.track == {"name": "power", "preset": "quick, in part"}


def test_a_preset_with_other_members_is_none_of_its_own():
    found = with_options(OWN, RunOptions(preset="quick", members=2))
    assert found.members == 2
    assert found.methods == OWN.methods
    assert found.track["preset"] == "quick, in part"


def test_test_sets_are_added():
    found = with_options(OWN, RunOptions(preset="quick", test_sets={"mine": "mine.csv"}))
    assert found.test_sets == {"synthetic": "synthetic.parquet", "mine": "mine.csv"}


def test_of_the_assessment_only_what_is_said_is_changed():
    found = with_options(OWN, RunOptions(preset="quick", replicates=25, kind="bca")).assessment
    assert (found.rule, found.replicates, found.kind) == ("mixed", 25, "bca")


def test_a_method_that_the_preset_does_not_have_is_named():
    with pytest.raises(UnknownNameError, match=r"Unknown method of this preset 'mpl'. Did you mean 'mlp'"):
        with_options(OWN, RunOptions(preset="quick", methods=("mpl",)))


@pytest.mark.parametrize("name", ["eval", "dev", "all", "", "a/b", "a b", "x" * 65])
def test_test_sets_need_names_of_their_own(name):
    with pytest.raises(SettingsError, match="test sets: expected a name of letters, digits, dashes and underscores"):
        RunOptions(preset="quick", test_sets={"good": "a.csv", name: "b.csv"})


def test_test_sets_need_a_path():
    with pytest.raises(SettingsError, match="found 'mine' = ''"):
        RunOptions(preset="quick", test_sets={"mine": ""})


@pytest.mark.parametrize(
    ("said", "says"), [({"rule": "publish"}, "publish"), ({"replicates": -1}, "-1"), ({"kind": "exact"}, "exact")]
)
def test_an_assessment_that_is_none_is_refused_when_it_is_said(said, says):
    with pytest.raises(ShiftbenchError, match=says):
        RunOptions(preset="quick", **said)


def _positive(frame: pl.DataFrame, *, label: str) -> list[str]:
    if frame["x"].min() < 0:
        raise TableError(f"{label}: expected x of 0 or more, found {frame['x'].min()}.")
    return [f"{label}: x is 0."] if frame["x"].min() == 0 else []


def test_what_a_track_finds_in_test_sets_is_told_by_their_names(tmp_path):
    for name, value in (("zero", 0), ("one", 1), ("minus", -1), ("less", -2)):
        pl.DataFrame({"x": [value, 5]}).write_csv(tmp_path / f"{name}.csv")
    paths = {name: str(tmp_path / f"{name}.csv") for name in ("zero", "one", "minus", "less")}
    fine = {name: paths[name] for name in ("zero", "one")}
    assert checked(fine, _positive, Opened()) == ["test set zero: zero.csv: x is 0."]
    with pytest.raises(TableError, match=r"test set minus: minus\.csv: expected x of 0 or more, found -1") as caught:
        checked(paths, _positive, Opened())
    assert caught.value.problems[1] == "test set less: less.csv: expected x of 0 or more, found -2."
