"""Phantoms are in the published layout, depend on the seed alone, and shift as the paper's data does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import SettingsError
from shiftbench.scores import intervals
from shiftbench.tracks.lesions import example, schema
from shiftbench.tracks.lesions.example import anatomy, drawing, sites
from shiftbench.tracks.lesions.volumes import Volumes


def test_every_part_has_patients_of_its_own_sites(phantoms: Path) -> None:
    found = Volumes.of(phantoms)
    held = {part: set[str]() for part in found.parts}
    for part, site in zip(found.parts, found.columns["site"], strict=True):
        held[part] = held[part] | {str(site)}
    assert set(held) == set(schema.PARTS)
    assert held["dev_out"] == {"site-e"}
    assert held["eval_out"] == {"site-f"}
    assert set.union(*(held[part] for part in ("train", "dev_in", "eval_in"))) <= set(sites.IN_DOMAIN)
    assert set(found.columns) == {"site", "sex", "age", "load_ml"}


def test_the_same_seed_gives_the_same_bytes_and_another_others(tmp_path: Path) -> None:
    made = [example.write(tmp_path / name, 5, seed, voxel=10.0) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    digests = [Volumes.of(folder).digest for folder in made]
    assert digests[0] == digests[1] != digests[2]


def test_a_patient_does_not_depend_on_how_many_there_are(tmp_path: Path) -> None:
    few, many = (Volumes.of(example.write(tmp_path / str(rows), rows, 1, voxel=10.0)) for rows in (5, 8))
    assert np.array_equal(few.part("eval_out").image(0), many.part("eval_out").image(0))


def test_counts_add_up_and_leave_no_part_empty() -> None:
    for rows in (*range(5, 60), 1_000):
        counts = example.counts(rows)
        assert sum(counts.values()) == rows
        assert min(counts.values()) > 0


def test_the_usual_number_of_patients_is_enough_for_intervals() -> None:
    counts = example.counts(example.ROWS)
    assert min(counts[part] for part in ("eval_in", *schema.SHIFTED)) >= intervals.FEW
    assert counts["dev_in"] >= intervals.FEWEST


@pytest.mark.parametrize("part", ["train", "eval_out"])
def test_loads_follow_table_6(part: str) -> None:
    rng = np.random.default_rng(0)
    held = anatomy.anatomy(4.0, 40, rng)
    unit = held.voxel**3 / 1_000
    load = sites.LOADS[part]
    found = [drawing._sizes(held, load, rng) for _ in range(300)]
    volumes = np.array([own.sum() for own in found]) * unit
    assert abs(volumes.mean() - load.mean_ml) < 4 * load.sd_ml / 300**0.5 + 0.1
    assert 0.75 * load.sd_ml < volumes.std() < 1.25 * load.sd_ml
    assert all(own.min() >= drawing.FEWEST_VOXELS for own in found)


def test_lesions_are_bright_and_in_white_matter() -> None:
    rng = np.random.default_rng(3)
    held = anatomy.anatomy(4.0, 40, rng)
    found = drawing.lesions(held, sites.LOADS["train"], rng)
    image = drawing.scan(held, found, sites.SCANNERS["site-a"], rng)
    assert (found.mask <= held.white).all()
    assert image[found.mask].mean() > 1.15 * image[held.brain].mean()
    assert (image[~held.brain] == 0).all()
    assert (image[held.brain] > 0).all()


def test_brains_are_as_large_as_brains_are() -> None:
    held = anatomy.anatomy(4.0, 40, np.random.default_rng(0))
    assert 1_100 < held.brain.sum() * 4**3 / 1_000 < 1_700
    assert 0.5 < held.white.sum() / held.brain.sum() < 0.8


def test_settings_out_of_range_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"rows: .*found 2") as error:
        example.write(tmp_path / "x", 2, -1, voxel=0.1)
    assert len(error.value.problems) == 3
    assert not list(tmp_path.iterdir())
