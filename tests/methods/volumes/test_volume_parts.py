"""What volumes are read into, cut into and put together from; nothing here needs a network."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from shiftbench.ensembles import Categorical
from shiftbench.errors import ArrayError, SettingsError, UnknownNameError
from shiftbench.measures import MEASURES, uncertainty
from shiftbench.methods.volumes import dataset, patch, sums, threshold, window
from shiftbench.methods.volumes.dataset import Volume
from shiftbench.methods.volumes.patch import PatchSettings
from shiftbench.methods.volumes.settings import SliceSettings, TransformerSettings, UNetSettings, VolumeSettings
from shiftbench.methods.volumes.sums import VolumeSums
from shiftbench.methods.volumes.window import Windows
from shiftbench.metrics.segmentation import keep_large_components, ndsc
from tests.methods.volumes.made_up import made_up

HOW = PatchSettings(3, 8, 12, 0.8, 0.1, 0.5, 0.3, 0.1)


@pytest.fixture
def volume():
    return dataset.VolumeReader(made_up(1, seed=4), "train")(0)


# -- sums


@pytest.fixture(scope="module")
def members() -> np.ndarray:
    found = np.random.default_rng(0).random((4, 5, 6, 7), np.float32) ** 3
    found[:, 0, 0, 0], found[:, 1, 0, 0], found[0, 2], found[1, 2] = 0, 1, 0, 1  # certain, and certainly at odds
    return found


@pytest.fixture(scope="module")
def summed(members) -> VolumeSums:
    found = VolumeSums(members.shape[1:])
    for probability in members:
        found.add(probability, threshold=0.3)
    return found


@pytest.mark.parametrize("name", sorted(sums.MEASURES))
def test_measures_from_running_sums_are_those_of_all_members(name, members, summed, monkeypatch):
    held = members.reshape(4, -1).astype(np.float64)
    wanted = uncertainty(Categorical(np.stack([1 - held, held], axis=-1)), name)
    monkeypatch.setattr(sums, "BLOCK", 17)
    np.testing.assert_allclose(summed.measure(name).ravel(), wanted, rtol=1e-6, atol=1e-9)


def test_every_measure_of_class_probabilities_has_its_running_sums():
    assert set(sums.MEASURES) == {name for name in MEASURES if Categorical in MEASURES[name].functions}


def test_the_mean_and_the_masks_are_those_of_all_members(members, summed):
    np.testing.assert_allclose(summed.probability, members.mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(summed.masks, members >= np.float32(0.3))
    assert summed.members == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_at_the_threshold_are_foreground_in_any_precision(dtype):
    found = VolumeSums((1, 1, 1))
    found.add(np.full((1, 1, 1), 0.7, dtype), threshold=np.float64(0.7))
    assert found.masks.all()


def test_members_of_another_shape_and_unknown_measures_are_refused(summed):
    with pytest.raises(ArrayError, match=r"member 4: expected probabilities of shape \(5, 6, 7\), found \(5, 6, 8\)"):
        summed.add(np.zeros((5, 6, 8), np.float32), threshold=0.5)
    with pytest.raises(UnknownNameError, match="Did you mean 'epkl'"):
        summed.measure("epcl")


# -- thresholds


def test_scores_at_all_thresholds_are_those_of_one_after_another():
    rng = np.random.default_rng(1)
    truth = rng.random((9, 9, 9)) < 0.05
    probability = (0.4 * truth + 0.6 * rng.random(truth.shape) ** 2).astype(np.float32)
    probability[0, 0, :5] = threshold.GRID[[0, 20, 49, 97, 98]]
    wanted = [ndsc(truth, probability >= np.float32(each)) for each in threshold.GRID]
    np.testing.assert_allclose(threshold.scores(probability, truth, small_mm3=0), wanted, rtol=1e-12)


@pytest.mark.parametrize(("spacing", "larger_than"), [((1, 1, 1), 9), ((2, 1, 1.5), 3)])
def test_scores_at_thresholds_are_those_of_masks_without_small_components(spacing, larger_than):
    rng = np.random.default_rng(3)
    truth = np.zeros((14, 15, 16), np.bool_)
    truth[2:6, 3:6, 4:8] = truth[9:11, 9:12, 9:11] = True
    probability = (0.5 * truth + 0.45 * rng.random(truth.shape) ** 2).astype(np.float32)
    wanted = [
        ndsc(truth, keep_large_components(probability >= np.float32(each), larger_than=larger_than))
        for each in threshold.GRID
    ]
    found = threshold.scores(probability, truth, spacing)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert not np.allclose(found, threshold.scores(probability, truth, small_mm3=0))


def test_the_best_threshold_is_that_of_masks_as_they_are_applied():
    # A lesion of 12 voxels at 0.6 and false specks of 9 at 0.8: without their removal nothing below 0.81 is good.
    truth, probability = np.zeros((9, 9, 30), np.bool_), np.zeros((9, 9, 30), np.float32)
    truth[:2, :2, :3] = True
    probability[:2, :2, :3] = 0.6
    for start in (6, 12, 18, 24):
        probability[:3, :3, start] = 0.8
    applied, bare = threshold.Search(), threshold.Search(small_mm3=0)
    for search in (applied, bare):
        search.add(probability, truth)
    assert applied.best == (0.5, 1.0)
    assert bare.best[1] < 0.5


def test_the_best_threshold_is_that_of_the_mean_over_volumes():
    rng = np.random.default_rng(2)
    search, curves = threshold.Search(), []
    for shift in (0.0, 0.3):
        truth = rng.random((9, 9, 9)) < 0.1
        probability = np.clip(0.5 * truth + shift + 0.2 * rng.random(truth.shape), 0, 1).astype(np.float32)
        search.add(probability, truth)
        curves.append(threshold.scores(probability, truth))
    best = int(np.mean(curves, axis=0).argmax())
    assert search.best[1] == np.mean(curves, axis=0)[best]
    assert {round(search.best[0], 2)} <= set(threshold.GRID[np.isclose(np.mean(curves, axis=0), search.best[1])])


def test_of_equal_thresholds_the_middle_counts():
    search = threshold.Search(small_mm3=0)
    search.add(np.array([[[0.0, 1.0]]], np.float32), np.array([[[False, True]]]))
    assert search.best == (0.5, 1.0)


def test_nothing_to_find_is_found_above_every_probability():
    search = threshold.Search(small_mm3=0)
    search.add(np.full((2, 2, 2), 0.6, np.float32), np.zeros((2, 2, 2), np.bool_))
    assert search.best == (0.61, 1.0)


def test_the_three_rules_of_thresholds_are_those_of_the_paper():
    found = {rule: threshold.tuned_on(rule, trained="here", tested="there") for rule in threshold.RULES}
    assert found == {
        "in_domain_dev": ("here", ("dev_in",)),
        "out_domain_train+dev": ("there", ("train", "dev_in")),
        "out_domain_test": ("there", ("eval_in",)),
    }
    with pytest.raises(UnknownNameError, match="Did you mean 'in_domain_dev'"):
        threshold.tuned_on("in_domain_def", trained="here", tested="there")


# -- windows


@pytest.mark.parametrize("shape", [(16, 18, 14), (8, 8, 8), (5, 20, 9), (1, 1, 1)])
@pytest.mark.parametrize("of", [(8, 8, 8), (8, 8, 1)])
def test_what_is_the_same_everywhere_is_blended_into_itself(shape, of):
    image = np.random.default_rng(3).normal(size=(2, *shape)).astype(np.float32)
    found = window.blended(image, lambda patches: patches[:, 1], Windows(of, batch=3))
    assert found.shape == shape
    np.testing.assert_allclose(found, image[1], rtol=1e-5, atol=1e-6)


def test_threads_make_no_difference():
    image = np.random.default_rng(3).normal(size=(1, 16, 18, 14)).astype(np.float32)

    def evaluate(patches):
        return patches[:, 0] * patches.std(axis=(1, 2, 3, 4))[:, None, None, None]

    found = [window.blended(image, evaluate, Windows((8, 8, 8), batch=2, threads=threads)) for threads in (1, 3)]
    np.testing.assert_array_equal(*found)


def test_windows_that_fail_stop_all_work():
    image, seen = np.zeros((1, 32, 32, 32), np.float32), []

    def evaluate(patches):
        seen.append(len(patches))
        if len(seen) == 3:
            raise OSError("the power is gone")
        return patches[:, 0]

    with pytest.raises(OSError, match="the power is gone"):
        window.blended(image, evaluate, Windows((8, 8, 8), batch=1, threads=2))
    assert len(seen) < 10
    assert not [each for each in threading.enumerate() if "ThreadPool" in each.name]


# -- volumes


def test_voxels_that_are_not_zero_have_mean_0_and_deviation_1():
    image = made_up(1, seed=5, channels=2).image(0)
    found = dataset.normalised(image)
    for channel, values in zip(found, image, strict=True):
        assert not channel[values == 0].any()
        assert abs(channel[values != 0].mean(dtype=np.float64)) < 1e-6
        assert abs(channel[values != 0].std(dtype=np.float64) - 1) < 1e-6
    assert not dataset.normalised(np.zeros((1, 2, 2, 2))).any()
    assert not dataset.normalised(np.full((1, 2, 2, 2), 7.0)).any()


def test_volumes_are_held_in_memory_up_to_a_limit(monkeypatch):
    data, reads = made_up(3, seed=6), []
    read = dataset.read
    monkeypatch.setattr(dataset, "read", lambda data, row, part: reads.append(row) or read(data, row, part=part))
    size = sum(array.nbytes for array in read(data, 0, part="train"))
    reader = dataset.VolumeReader(data, "train", cache_bytes=2 * size)
    for _ in range(2):
        for row in range(3):
            assert reader(row).image.shape == (1, 16, 18, 14)
    assert reads == [0, 1, 2, 2]


def spoilt(**changed):
    """Two made-up volumes, the second of which is changed."""
    data = made_up(2, seed=7)
    for name, change in changed.items():
        getattr(data, name)[1] = change(getattr(data, name)[1])
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (spoilt(images=lambda image: np.where(image > 120, np.nan, image)), "made-7-1: .* finite .* found .* NaN"),
        (spoilt(images=lambda image: image[0]), r"made-7-1: expected an image \[C, X, Y, Z\], found shape \(16,"),
        (spoilt(images=lambda image: np.concatenate([image] * 2)), "made-7-1: expected an image of 1 ch.* found 2"),
        (spoilt(truths=lambda _: None), "made-7-1: expected a mask of the foreground to learn from, found none"),
        (spoilt(truths=lambda truth: truth[:9]), r"made-7-1: expected a foreground mask .* found shape \(9, 18, 14\)"),
        (spoilt(brains=lambda brain: brain[:9]), r"made-7-1: expected a brain mask .* found shape \(9, 18, 14\)"),
        (
            spoilt(truths=np.zeros_like, brains=np.zeros_like),
            "made-7-1: expected a brain mask, found an empty one",
        ),
        (made_up(2, seed=7).select([]), "train: expected at least one volume, found none"),
    ],
)  # fmt: skip
def test_volumes_that_cannot_be_learnt_from_are_named(data, message):
    with pytest.raises(ArrayError, match=message):
        raise ArrayError(*dataset.training_problems(data, "train", channels=1))


def test_volumes_without_any_foreground_are_refused():
    data = made_up(2, seed=7)
    data.truths[:] = [np.zeros_like(truth) for truth in data.truths]
    assert list(dataset.training_problems(data, "train")) == [
        "train: expected foreground in at least one volume, found none in 2. Add such volumes."
    ]


# -- patches


def test_patches_are_chosen_around_the_foreground_as_often_as_stated(volume, monkeypatch):
    rng = np.random.default_rng(8)
    chosen = [patch.chosen_voxel(volume, 0.8, rng) for _ in range(1000)]
    assert len(set(chosen)) > 150, "all of them are drawn"
    assert volume.brain.ravel()[chosen].all()
    assert 0.76 < volume.truth.ravel()[chosen].mean() < 0.84
    nothing = Volume.of(volume.image, np.zeros_like(volume.truth), volume.brain)
    rare = np.zeros_like(volume.brain)
    rare[3, 4, 5] = True
    for tries in (100, 0):
        monkeypatch.setattr(patch, "TRIES", tries)
        only = {patch.chosen_voxel(Volume.of(volume.image, volume.truth & ~rare, rare), 0.0, rng) for _ in range(5)}
        assert only == {int(np.flatnonzero(rare)[0])}
    everything = Volume.of(volume.image, volume.brain, volume.brain)
    assert patch.chosen_voxel(everything, 0.0, rng) == volume.brain.size // 2
    assert nothing.brain.ravel()[[patch.chosen_voxel(nothing, 0.8, rng) for _ in range(20)]].all()


def test_a_patch_holds_its_voxel_within_the_crop_and_lies_in_the_volume(volume):
    rng = np.random.default_rng(9)
    corners = np.array([patch.corner_of(volume, HOW, rng) for _ in range(300)])
    assert corners.min() == 0
    assert (corners.max(axis=0) == np.array(volume.truth.shape) - 8).all()


@pytest.mark.parametrize("axes", [2, 3])
def test_image_and_foreground_are_turned_alike(axes, volume):
    how, rng = replace(HOW, axes=axes, intensity=0.0), np.random.default_rng(10)
    same = volume._replace(image=volume.truth[None].astype(np.float32))
    looks = [patch.drawn(same, how, rng) for _ in range(40)]
    for image, truth in looks:
        assert image.shape == (1, *[8] * axes)
        np.testing.assert_array_equal(image[0] > 0.5, truth)
    images, truths = (torch.from_numpy(np.stack(arrays)) for arrays in zip(*looks, strict=True))
    matrices = torch.from_numpy(np.stack([patch.transformation(how, rng) for _ in looks]))
    image, truth = patch.warped(images, truths, matrices)
    assert image.shape == images.shape
    assert ((image[:, 0] > 0.5) == truth).float().mean() > 0.95
    assert not torch.equal(truth, truths)
    still = torch.from_numpy(patch.transformation(replace(how, rotation=0.0, zoom=0.0), rng))
    image, truth = patch.warped(images, truths, still.expand(len(images), -1, -1))
    torch.testing.assert_close(image, images)
    assert torch.equal(truth, truths)


def test_the_same_random_numbers_give_the_same_patches(volume):
    first, again, other = (
        patch.batch([volume] * 3, HOW, np.random.default_rng(seed), torch.device("cpu")) for seed in (1, 1, 2)
    )
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], other[0])


@pytest.mark.parametrize("shape", [(3, 20, 8), (1, 1, 1), (20, 20, 1)])
def test_volumes_smaller_than_a_patch_are_surrounded_by_zeros(shape):
    ones = np.ones(shape, np.bool_)
    one = Volume(np.ones((1, *shape), np.float32), ones, ones, np.flatnonzero(ones))
    for axes in (2, 3):
        image, truth = patch.drawn(one, replace(HOW, axes=axes, intensity=0.0), np.random.default_rng(0))
        assert image.shape == (1, *[8] * axes)
        assert truth.any()
        np.testing.assert_array_equal(image[0] == 1, truth)


# -- settings


@pytest.mark.parametrize(
    ("settings", "values", "message"),
    [
        (UNetSettings, {"window": 40}, "window: expected a multiple of 16 from 32 for 5 levels of channels, found 40"),
        (UNetSettings, {"window": 16}, "window: expected a multiple of 16 from 32"),
        (UNetSettings, {"channels": [8]}, r"channels: expected two or more whole numbers .* found \(8,\)"),
        (UNetSettings, {"crop": 64}, "crop: expected at least the window 96, found 64"),
        (UNetSettings, {"weights": ["a.pth"]}, "weights: expected a file for each of 5 members, found 1"),
        (UNetSettings, {"weights": "a.pth"}, "weights: expected paths of files, found 'a.pth'"),
        (UNetSettings, {"threshold": 1.0}, "threshold: expected a number between 0 and 1, found 1.0"),
        (UNetSettings, {"selection_threshold": 0}, "selection_threshold: expected a number between 0 and 1, found 0"),
        (UNetSettings, {"dice_weight": 0.0, "focal_weight": 0}, "dice_weight, focal_weight: expected one above 0"),
        (TransformerSettings, {"window": 90}, "window: expected a multiple of 16, found 90"),
        (TransformerSettings, {"heads": 7}, "hidden: expected a multiple of the 7 heads, found 768"),
        (SliceSettings, {"chanels": [8, 16]}, "Did you mean 'channels'"),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(settings, values, message):
    with pytest.raises(SettingsError, match=message):
        settings.from_dict(values)


def test_the_defaults_are_the_published_settings():
    found = UNetSettings()
    assert (found.channels, found.window, found.crop) == ((32, 64, 128, 256, 512), 96, 128)
    assert (found.learning_rate, found.weight_decay, found.epochs, found.validate_every) == (1e-5, 0, 300, 5)
    assert (found.dice_weight, found.focal_weight, found.focal_gamma) == (0.5, 1.0, 2.0)
    assert (found.patches, found.batch, found.foreground_share, found.members) == (32, 2, 4 / (4 + 1), 5)
    assert (found.selection_threshold, found.overlap, found.small_mm3, found.intensity) == (0.4, 0.25, 9, 0.1)
    assert VolumeSettings.tasks == ("volumes",)
