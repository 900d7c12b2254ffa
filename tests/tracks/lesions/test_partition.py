"""Parts for cross-site training: who is learnt from, who is tested on, and who never changes."""

from __future__ import annotations

import pytest

from shiftbench.errors import SettingsError, TableError, UnknownNameError
from shiftbench.tracks.lesions.partition import Experiment
from shiftbench.tracks.lesions.patient import Patient

LAYOUT = {
    "rennes": ["train"] * 6 + ["dev_in"] * 2 + ["eval_in"] * 6,
    "lyon": ["train"] * 4 + ["dev_in"] + ["eval_in"] * 4,
    "ljubljana": ["dev_out"] * 20,
    "lausanne": ["eval_out"] * 9,
}
PATIENTS = [Patient(f"{site}-{k}", site, part, {}) for site, parts in LAYOUT.items() for k, part in enumerate(parts)]


def counts(**experiment: str) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for each in Experiment(**experiment).parts(PATIENTS):
        found[each.site, each.part] = found.get((each.site, each.part), 0) + 1
    return found


def test_parts_stay_as_they_are_without_an_experiment():
    assert Experiment().parts(PATIENTS) == tuple(PATIENTS)
    assert Experiment().note == ""


def test_one_site_is_learnt_from_and_all_others_are_shifted():
    assert counts(train_on="rennes") == {
        ("rennes", "train"): 6, ("rennes", "dev_in"): 2, ("rennes", "eval_in"): 6,
        ("lyon", "dev_out"): 5, ("lyon", "eval_out"): 4,
        ("ljubljana", "dev_out"): 12, ("ljubljana", "eval_out"): 8,
        ("lausanne", "eval_out"): 9,
    }  # fmt: skip


def test_a_site_kept_for_dev_out_is_divided_as_the_others_are():
    found = counts(train_on="ljubljana")
    # 10 : 3 : 10 patients in-domain
    assert [found["ljubljana", part] for part in ("train", "dev_in", "eval_in")] == [9, 3, 8]


def test_the_division_is_that_of_the_ids_alone():
    forward = {each.id: each.part for each in Experiment(train_on="ljubljana").parts(PATIENTS)}
    backward = {each.id: each.part for each in Experiment(train_on="ljubljana").parts(PATIENTS[::-1])}
    assert forward == backward


def test_one_site_is_left_out_and_the_usual_one_joins_train():
    found = counts(leave_out="lyon")
    assert found["lyon", "dev_out"] == 9
    assert ("lyon", "train") not in found
    assert found["ljubljana", "train"] == 9
    assert found["lausanne", "eval_out"] == 9
    assert found["rennes", "train"] == 6


def test_leaving_out_the_usual_site_gives_the_usual_parts():
    assert Experiment(leave_out="ljubljana").parts(PATIENTS) == tuple(PATIENTS)


def test_a_site_with_few_parts_keeps_them_unless_it_alone_is_learnt_from():
    few = [Patient(f"few-{k}", "few", part, {}) for k, part in enumerate(["train"] * 4 + ["eval_in"] * 2)]
    parts = {
        name: [each.part for each in Experiment(**{name: site}).parts([*PATIENTS, *few]) if each.site == "few"]
        for name, site in (("leave_out", "lyon"), ("train_on", "few"))
    }
    assert parts["leave_out"] == [each.part for each in few]
    assert {*parts["train_on"]} == {"train", "dev_in", "eval_in"}


def test_sites_that_cannot_be_learnt_from_are_refused():
    with pytest.raises(UnknownNameError, match="Unknown site 'paris'"):
        counts(train_on="paris")
    with pytest.raises(SettingsError, match="found both: lyon and rennes"):
        Experiment("lyon", "rennes")
    with pytest.raises(TableError, match="lausanne: expected patients of train, dev_in and eval_in"):
        counts(train_on="lausanne")
