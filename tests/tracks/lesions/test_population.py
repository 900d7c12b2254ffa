"""Statistics of groups of patients, against sums by hand."""

from __future__ import annotations

import math

import pytest

from shiftbench.tracks.lesions import population
from shiftbench.tracks.lesions.patient import Patient

PEOPLE = [
    ("a", "train", "F", 30), ("a", "train", "female", 50), ("a", "train", "M", 41), ("b", "dev_in", "F", 20),
    ("b", "eval_in", "f", 26), ("b", "eval_out", "", 33), ("b", "eval_out", "man", "unknown"),
]  # fmt: skip
PATIENTS = [
    Patient(str(k), site, part, {}, {"sex": sex, "age": age}) for k, (site, part, sex, age) in enumerate(PEOPLE)
]


def test_statistics_join_the_parts_that_print_joins():
    found = population.by_sex(PATIENTS, map(population.age, PATIENTS))
    assert found["train"] == {"M": [1, 41, 41, 41, 41], "F": [2, 40, 40, 50, 30]}
    assert found["dev_in+eval_in"] == {"F": [2, 23, 23, 26, 20]}
    assert "eval_out" not in found, "of one the sex is unknown, of the other the age"


def test_any_column_of_sexes_is_understood():
    patients = [Patient("1", "", "train", {}, {"gender": "Male"}), Patient("2", "", "train", {})]
    assert [population.sex(each) for each in patients] == ["M", ""]
    assert math.isnan(population.age(patients[0]))


def test_sites_have_ages_and_men_for_each_woman():
    found = population.of_sites(PATIENTS)
    assert found["a"] == pytest.approx(
        {"patients": 3, "age_mean": 121 / 3, "age_median": 41, "age_sd": math.sqrt(301 / 3), "men_per_woman": 0.5}
    )
    assert found["b"]["patients"] == 4
    assert found["b"]["men_per_woman"] == 0.5


def test_nothing_is_said_of_what_no_column_tells():
    bare = [Patient("1", "", "eval_in", {})]
    assert population.by_sex(bare, [1.0]) == {}
    assert population.of_sites(bare) == {}


def test_loads_are_shares_of_all_voxels_in_percent(prepared):
    from shiftbench.tracks.lesions.volumes import Volumes

    volumes = Volumes.open(prepared)
    told = population.of_prepared(prepared)
    train = [row for row, part in enumerate(volumes.parts) if part == "train"]
    shares = {
        letter: [100 * volumes.truth(row).mean() for row in train if population.sex(volumes.patients[row]) == letter]
        for letter in "MF"
    }
    for letter, own in told["loads_by_sex"]["train"].items():
        assert own[:2] == pytest.approx([len(shares[letter]), sum(shares[letter]) / len(shares[letter])], abs=1e-6)
