"""Presets and planners: which methods there are, with which settings, and which systems are made of their plans."""

from __future__ import annotations

import json

import pytest

from shiftbench import methods
from shiftbench.errors import UnknownNameError
from shiftbench.tracks.motion.baselines import presets
from shiftbench.tracks.motion.baselines.planning import AGGREGATIONS, MOST_PLANS


@pytest.mark.parametrize("preset", presets.PRESETS)
def test_the_settings_of_a_preset_are_settings_of_its_methods(preset):
    entries = presets.methods(preset, members=3, seed=7)
    assert [entry["name"] for entry in entries] == list(presets.METHODS)
    for entry in entries:
        own = {key: value for key, value in entry.items() if key not in ("name", "title")}
        settings = methods.method(entry["name"]).Settings.from_dict(own)
        assert type(settings).from_dict(settings.to_dict()) == settings
        assert (settings.members, settings.seed) == (3, 7)


@pytest.mark.parametrize("preset", presets.PRESETS)
def test_a_preset_has_five_members_as_the_paper_if_nobody_says(preset):
    for entry in presets.methods(preset):
        own = {key: value for key, value in entry.items() if key not in ("name", "title")}
        assert methods.method(entry["name"]).Settings.from_dict(own).members == 5


PUBLISHED = {
    "batch": 650, "learning_rate": 1e-4, "weight_decay": 0.0, "epochs": 100, "warmup_epochs": 1, "clip": 1.0,
    "dropout": 0.2, "width": 1.0, "hidden": 512, "pooling": 1, "context_dropout": 0.0,
    "position_unit_m": 1.0, "least_scale_m": 1e-7, "checkpoint_by": "ade", "members": 5, "plans_per_member": 10,
}  # fmt: skip


@pytest.mark.parametrize(("method", "further"), [("cloning", {"generation": "sampling"}), ("imitative", {})])
def test_the_paper_preset_has_the_published_values(method, further):
    (entry,) = presets.methods("paper", chosen=(method,))
    own = {key: value for key, value in entry.items() if key not in ("name", "title")}
    found = methods.method(method).Settings.from_dict(own).to_dict()
    free = {"task", "seed", "mixed_precision", "patience"}  # without influence, or named in docs/motion.md
    assert {key: value for key, value in found.items() if key not in free} == PUBLISHED | further
    assert found["patience"] >= found["epochs"], "published trainings never stop early"


@pytest.mark.needs_shared
def test_the_published_values_are_those_of_the_facts(shared):
    facts = json.loads((shared / "facts" / "protocol.json").read_text("utf-8"))["motion"]
    training, rip, cloning = facts["training"], facts["rip"], facts["backbones"]["bc"]
    assert training["learning_rate"]["value"] == PUBLISHED["learning_rate"]
    assert training["batch_size"]["value"] == PUBLISHED["batch"]
    assert training["epochs"]["value"] == PUBLISHED["epochs"]
    assert training["gradient_clipping"]["value"] == PUBLISHED["clip"]
    assert training["optimizer"]["value"] == "AdamW, weight decay 0"
    assert training["schedule"]["value"] == "cosine annealing with 1 warm-up epoch, stepped once per epoch"
    assert training["checkpoint_by"]["value"] == "ADE on the Moscow development set"
    assert cloning["value"] == {
        "decoder": f"GRUCell, hidden {PUBLISHED['hidden']}", "head": "linear to 4 (dx, dy, raw scales)",
        "scale": "softplus + 1e-7", "generation_mode": "sampling (condition on samples)",
    }  # fmt: skip
    assert rip["K"]["value"][-1] == PUBLISHED["members"]
    assert rip["Q_samples_per_member"]["value"] == PUBLISHED["plans_per_member"]


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
        ("RIP-DIM (MC dropout, one network)", "mc_dropout", 4, False),
    ]


@pytest.mark.parametrize(("members", "counts"), [(1, [1]), (2, [1]), (3, [1, 3]), (4, [1, 3]), (5, [1, 3, 5])])
def test_more_members_than_there_are_are_left_out(members, counts):
    found = presets.every_planner("cloning", "BC", members)
    kinds = [(ensemble, count) for ensemble in presets.ENSEMBLES for count in counts]
    kinds.remove(("mc_dropout", 1))  # one set of masks of one network: the same as "dropout"
    assert len({each.name for each in found}) == len(found)
    assert [(each.ensemble, each.members, each.aggregation) for each in found] == [
        (*kind, name) for kind in kinds for name in AGGREGATIONS
    ]


def test_plans_are_chosen_as_published_or_all_where_there_are_fewer():
    found = {each.members: each.settings(2) for each in presets.every_planner("cloning", "BC", 5)}
    assert {count: each.most for count, each in found.items()} == {1: 2, 3: MOST_PLANS, 5: MOST_PLANS}
    assert all((each.members, each.plans_per_member) == (count, 2) for count, each in found.items())


def test_a_recipe_says_how_a_system_was_made():
    alone, ensemble, dropout, masks = presets.planners("cloning", "BC", 5)
    said = ensemble.recipe({"members": 5, "epochs": 3}, 10)
    assert said == {
        "method": "cloning", "ensemble": "deep", "members": 5, "networks": 5, "aggregation": "MA",
        "plans_per_member": 10, "modes": 5, "epochs": 3,
    }  # fmt: skip
    assert alone.recipe({"members": 5}, 10) | {"members": 1, "ensemble": "single"} == alone.recipe({"members": 5}, 10)
    found = [(each["ensemble"], each["networks"]) for each in (dropout.recipe({}, 10), masks.recipe({}, 10))]
    assert found == [("dropout", 5), ("mc_dropout", 1)]
