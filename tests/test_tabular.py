"""What a user says of a track's run, on top of the track's own settings."""

from __future__ import annotations

import pytest

from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.settings import Assessment, Settings
from shiftbench.tabular import with_words
from shiftbench.track import Words

OWN = Settings(
    table="folder", target="power", methods=({"name": "mlp", "members": 10}, {"name": "symbolic"}, {"name": "column"}),
    test_sets={"synthetic": "synthetic.parquet"}, track={"name": "power", "preset": "quick"},
    assessment=Assessment(rule="mixed", replicates=500),
)  # fmt: skip


def test_nothing_said_changes_nothing():
    assert with_words(OWN, Words(preset="quick")) == OWN


def test_chosen_methods_stay_beside_columns_that_are_forecasts():
    found = with_words(OWN, Words(preset="quick", methods=("symbolic",)))
    assert [entry["name"] for entry in found.methods] == ["symbolic", "column"]
    assert found.track == {"name": "power", "preset": "quick, in part"}


def test_a_preset_with_other_members_is_none_of_its_own():
    found = with_words(OWN, Words(preset="quick", members=2))
    assert found.members == 2
    assert found.methods == OWN.methods
    assert found.track["preset"] == "quick, in part"


def test_test_sets_are_added():
    found = with_words(OWN, Words(preset="quick", test_sets={"mine": "mine.csv"}))
    assert found.test_sets == {"synthetic": "synthetic.parquet", "mine": "mine.csv"}


def test_of_the_assessment_only_what_is_said_is_changed():
    found = with_words(OWN, Words(preset="quick", replicates=25, kind="bca")).assessment
    assert (found.rule, found.replicates, found.kind) == ("mixed", 25, "bca")


def test_a_method_that_the_preset_does_not_have_is_named():
    with pytest.raises(UnknownNameError, match=r"Unknown method of this preset 'mpl'. Did you mean 'mlp'"):
        with_words(OWN, Words(preset="quick", methods=("mpl",)))


@pytest.mark.parametrize("name", ["eval", "dev", "all", "", "a/b", "a b", "x" * 65])
def test_test_sets_need_names_of_their_own(name):
    with pytest.raises(SettingsError, match="test sets: expected a name of letters, digits, dashes and underscores"):
        Words(preset="quick", test_sets={"good": "a.csv", name: "b.csv"})


def test_test_sets_need_a_path():
    with pytest.raises(SettingsError, match="found 'mine' = ''"):
        Words(preset="quick", test_sets={"mine": ""})


@pytest.mark.parametrize(
    ("said", "says"), [({"rule": "publish"}, "publish"), ({"replicates": -1}, "-1"), ({"kind": "exact"}, "exact")]
)
def test_an_assessment_that_is_none_is_refused_when_it_is_said(said, says):
    with pytest.raises(ShiftbenchError, match=says):
        Words(preset="quick", **said)
