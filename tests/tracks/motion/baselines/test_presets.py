"""Presets and planners: which methods there are, with which settings, and which systems are made of their plans."""

from __future__ import annotations

import pytest

from shiftbench.errors import UnknownNameError
from shiftbench.methods.trajectories.settings import SETTINGS
from shiftbench.tracks.motion.baselines import presets
from shiftbench.tracks.motion.baselines.planning import AGGREGATIONS, MOST_PLANS


@pytest.mark.parametrize("preset", presets.PRESETS)
def test_the_settings_of_a_preset_are_settings_of_its_methods(preset):
    entries = presets.methods(preset, members=3, seed=7)
    assert [entry["name"] for entry in entries] == list(presets.METHODS)
    for entry in entries:
        own = {key: value for key, value in entry.items() if key not in ("name", "title")}
        settings = SETTINGS[entry["name"]].from_dict({"task": "regression", **own})
        assert type(settings).from_dict(settings.to_dict()) == settings
        assert (settings.members, settings.seed) == (3, 7)


@pytest.mark.parametrize("preset", presets.PRESETS)
def test_a_preset_has_five_members_as_the_paper_if_nobody_says(preset):
    for entry in presets.methods(preset):
        own = {key: value for key, value in entry.items() if key not in ("name", "title")}
        assert SETTINGS[entry["name"]].from_dict({"task": "regression", **own}).members == 5


def test_some_of_the_methods_keep_the_order_of_the_preset():
    found = presets.methods("quick", chosen=("vector", "cloning"))
    assert [entry["title"] for entry in found] == ["BC", "Vector"]


def test_names_that_are_none_are_refused():
    with pytest.raises(UnknownNameError, match=r"Unknown preset 'quik'. Did you mean 'quick'"):
        presets.methods("quik")
    with pytest.raises(UnknownNameError, match=r"Unknown method of this preset 'vektor'. Did you mean 'vector'"):
        presets.methods("quick", chosen=("vektor",))


def test_a_method_alone_is_the_single_model_and_more_are_an_ensemble_of_each_kind():
    assert [(each.name, each.alone) for each in presets.planners("cloning", "BC", 1)] == [("BC", True)]
    found = presets.planners("imitative", "DIM", 4)
    assert [(each.name, each.ensemble, each.members, each.alone) for each in found] == [
        ("DIM", "deep", 1, True),
        ("RIP-DIM", "deep", 4, False),
        ("RIP-DIM (dropout)", "dropout", 4, False),
    ]


@pytest.mark.parametrize(("members", "counts"), [(1, [1]), (2, [1]), (3, [1, 3]), (4, [1, 3]), (5, [1, 3, 5])])
def test_more_members_than_there_are_are_left_out(members, counts):
    found = presets.every_planner("cloning", "BC", members)
    assert len({each.name for each in found}) == len(found) == 2 * len(counts) * len(AGGREGATIONS)
    assert {(each.ensemble, each.members, each.aggregation) for each in found} == {
        (ensemble, count, name) for ensemble in ("deep", "dropout") for count in counts for name in AGGREGATIONS
    }


def test_plans_are_chosen_as_published_or_all_where_there_are_fewer():
    found = {each.members: each.settings(2) for each in presets.every_planner("cloning", "BC", 5)}
    assert {count: each.most for count, each in found.items()} == {1: 2, 3: MOST_PLANS, 5: MOST_PLANS}
    assert all((each.members, each.plans_per_member) == (count, 2) for count, each in found.items())


def test_a_recipe_says_how_a_system_was_made():
    alone, ensemble, dropout = presets.planners("cloning", "BC", 5)
    said = ensemble.recipe({"members": 5, "epochs": 3}, 10)
    assert said == {
        "method": "cloning", "ensemble": "deep", "members": 5, "aggregation": "MA", "plans_per_member": 10, "modes": 5,
        "epochs": 3,
    }  # fmt: skip
    assert alone.recipe({"members": 5}, 10) | {"members": 1, "ensemble": "single"} == alone.recipe({"members": 5}, 10)
    assert dropout.recipe({}, 10)["ensemble"] == "dropout"
