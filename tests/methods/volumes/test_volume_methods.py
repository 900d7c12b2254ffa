"""Networks that segment volumes: learning, ensembles, resuming, published weights, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from shiftbench.ensembles import Categorical
from shiftbench.errors import ArrayError, SettingsError, ShiftbenchWarning
from shiftbench.io import files
from shiftbench.measures import uncertainty
from shiftbench.methods import checkpoint, fitted_folder, member_training, method
from shiftbench.methods.volumes import answers, architecture, loss, member, sums
from shiftbench.methods.volumes.settings import SliceSettings, TransformerSettings, UNetSettings
from shiftbench.methods.volumes.window import Windows
from shiftbench.metrics.segmentation import keep_large_components, ndsc
from tests.methods.volumes.made_up import made_up

TRAIN, DEV, TEST = made_up(6, seed=1), made_up(2, seed=2), made_up(2, seed=3, shape=(15, 20, 9))
SMALL = {
    "members": 2, "channels": [4, 8], "window": 8, "crop": 12, "patches": 16, "batch": 8, "learning_rate": 1e-2,
    "epochs": 4, "validate_every": 2, "dropout": 0.1, "draws": 3, "small_mm3": 1.0,
}  # fmt: skip
SETTINGS = {
    "unet": UNetSettings.from_dict(SMALL | {"dropout": 0.05}),
    "unet_slices": SliceSettings.from_dict(SMALL | {"epochs": 6}),
}
NAMES = sorted(SETTINGS)


def fit(name: str, folder: Path, **changed) -> Path:
    given = {"progress": changed.pop("progress", None), "train": changed.pop("train", TRAIN)}
    settings = replace(SETTINGS[name], **changed)
    return method(name).fit(dev=DEV, settings=settings, folder=folder, cores=1, **given)


def weights(folder: Path, number: int = 0) -> np.ndarray:
    found = checkpoint.read_weights(folder / f"member_{number:02d}.pt")
    return np.concatenate([value.numpy().ravel() for value in found.values()])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory) -> dict[str, Path]:
    return {name: fit(name, tmp_path_factory.mktemp(name) / "fit") for name in NAMES}


@pytest.fixture
def copied(fitted, tmp_path) -> Path:
    return Path(shutil.copytree(fitted["unet_slices"], tmp_path / "fit"))


def predict(folder: Path, data=TEST, **how) -> answers.VolumeAnswers:
    return method(fitted_folder.read(folder)["method"]).predict(data, folder=folder, cores=how.pop("cores", 1), **how)


# -- what they learn


@pytest.mark.parametrize("name", NAMES)
def test_the_foreground_of_other_volumes_is_found(name, fitted):
    says = predict(fitted[name])
    for row, found in enumerate(says):
        assert found.probability.shape == (15, 20, 9)
        assert (
            ndsc(TEST.truth(row), says.segmentation(row, found.probability)) > {"unet": 0.6, "unet_slices": 0.35}[name]
        )
    assert method(name).caution(folder=fitted[name]) == ""
    assert f"threshold {says.threshold:.2f} (tuned on dev_in)" in method(name).about(TEST, folder=fitted[name])


@pytest.mark.parametrize("ensemble", ["deep", "mc_dropout"])
def test_running_sums_give_what_all_members_held_would(ensemble, fitted):
    says = predict(fitted["unet"], ensemble=ensemble)
    held = np.stack(list(says.probabilities(1)))
    assert len(held) == says.members == {"deep": 2, "mc_dropout": 3}[ensemble]
    found, flat = says.sums(1), held.reshape(len(held), -1).astype(np.float64)
    whole = Categorical(np.stack([1 - flat, flat], axis=-1))
    for name in sums.MEASURES:
        np.testing.assert_allclose(found.measure(name).ravel(), uncertainty(whole, name), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(found.masks, held >= np.float32(says.threshold))
    assert len(says.thresholds) == len(held)
    assert not np.array_equal(held[0], held[1])


def test_the_threshold_is_the_best_on_dev_in(fitted):
    says, tried = predict(fitted["unet"], DEV), np.arange(1, 100) / 100
    means = [found.probability for found in says]
    scores = [
        np.mean([
            ndsc(DEV.truth(row), keep_large_components(mean >= np.float32(t), larger_than=1))
            for row, mean in enumerate(means)
        ])
        for t in tried
    ]  # fmt: skip
    chosen = int(np.flatnonzero(np.isclose(tried, says.threshold))[0])
    assert scores[chosen] == pytest.approx(max(scores))
    known = json.loads((fitted["unet"] / "calibration.json").read_text())
    assert known["deep"][0]["ndsc"] == pytest.approx(max(scores))
    assert [len(entry["members"]) for entry in known["mc_dropout"]] == [3, 3]


@pytest.mark.parametrize("ensemble", ["deep", "mc_dropout"])
def test_order_and_cores_make_no_difference(ensemble, fitted):
    first, second = (
        predict(fitted["unet_slices"], data, ensemble=ensemble, cores=cores)
        for data, cores in ((TEST, 1), (TEST.select([1, 0]), 2))
    )
    assert list(second.ids) == ["made-3-1", "made-3-0"]
    np.testing.assert_array_equal(list(first.probabilities(1)), list(second.probabilities(0)))


def test_draws_of_dropout_are_those_of_a_network_of_choice(fitted):
    says = predict(fitted["unet_slices"], ensemble="mc_dropout")
    first, second = says.sums(0), says.of_network(1).sums(0)
    assert not np.array_equal(first.probability, second.probability)
    np.testing.assert_array_equal(
        first.probability, predict(fitted["unet_slices"], ensemble="mc_dropout").sums(0).probability
    )
    deep = predict(fitted["unet_slices"])
    assert not np.array_equal(deep.sums(0).probability, first.probability)


def test_progress_of_predictions_counts_members_and_volumes(fitted):
    told = []
    list(predict(fitted["unet_slices"], progress=lambda *each: told.append(each)))
    assert [each[:2] for each in told] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert told[2][2] == "made-3-1: member 1 of 2"


def test_large_networks_are_loaded_one_at_a_time(fitted, monkeypatch):
    before = predict(fitted["unet_slices"]).sums(0).probability
    monkeypatch.setattr(answers, "HELD_BYTES", 0)
    says = predict(fitted["unet_slices"])
    np.testing.assert_array_equal(says.sums(0).probability, before)
    assert not says._networks.held


@pytest.mark.parametrize("shape", [(3, 4, 2), (20, 9, 1), (1, 1, 1)])
@pytest.mark.parametrize("name", NAMES)
def test_volumes_smaller_than_a_window_and_thin_ones_are_segmented(name, shape, fitted):
    thin = replace(TEST.select([0]), images=[np.ones((1, *shape), np.float32)])
    found = predict(fitted[name], thin).sums(0)
    assert found.probability.shape == shape
    assert np.isfinite(found.probability).all()


# -- against MONAI, and the papers


@pytest.mark.parametrize("shape", [(16, 18, 14), (5, 20, 9)])
def test_sliding_windows_are_those_of_monai(shape, fitted):
    from monai.inferers import sliding_window_inference  # takes seconds to import

    record = fitted_folder.read(fitted["unet"])
    net, image = (
        member.load(fitted["unet"], record, 0),
        torch.randn(1, *shape, generator=torch.Generator().manual_seed(0)),
    )
    with torch.no_grad():
        theirs = sliding_window_inference(image[None], (8, 8, 8), 4, net, overlap=0.25, mode="gaussian")[0]
    ours = member.evaluated(net, image.numpy(), member.windows(record), torch.device("cpu"))
    np.testing.assert_allclose(ours, theirs[1] - theirs[0], rtol=1e-4, atol=1e-4)


def test_the_loss_is_that_of_monai():
    from monai.losses import DiceLoss, FocalLoss

    torch.manual_seed(0)
    logits, truth = 2 * torch.randn(3, 2, 5, 6, 7), torch.rand(3, 5, 6, 7) < 0.2
    truth[2] = False
    dice = DiceLoss(include_background=False, softmax=True, to_onehot_y=True)(logits, truth[:, None])
    focal = FocalLoss(gamma=2.0, use_softmax=True, to_onehot_y=True)(logits, truth[:, None])  # a mean over classes
    ours = loss.loss(logits, truth, dice_weight=0.5, focal_weight=1.0, gamma=2.0)
    assert ours.shape == (3,)
    torch.testing.assert_close(ours.mean(), 0.5 * dice + 2 * focal)


def test_without_decay_the_loop_takes_the_steps_of_adam():
    start = torch.randn(5, generator=torch.Generator().manual_seed(0))
    ends = []
    for make in (torch.optim.Adam, lambda of, lr: torch.optim.AdamW(of, lr=lr, weight_decay=0.0, fused=True)):
        value = start.clone().requires_grad_()
        optimiser = make([value], lr=0.1)
        for _ in range(20):
            optimiser.zero_grad()
            ((value - 3) ** 4).sum().backward()
            optimiser.step()
        ends.append(value.detach())
    torch.testing.assert_close(*ends)


@pytest.mark.parametrize(
    ("name", "settings", "millions"), [("unet", UNetSettings(), 7.9), ("unetr", TransformerSettings(), 92.8)]
)
def test_the_networks_have_the_published_sizes(name, settings, millions):
    with torch.device("meta"):
        net = architecture.network(name, settings.to_dict(), channels=1, seed=0)
    assert round(sum(each.numel() for each in net.parameters()) / 1e6, 1) == millions


# -- resuming


@pytest.mark.parametrize("name", NAMES)
def test_a_training_that_was_cut_off_ends_with_the_same_weights(name, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint.Checkpoint, "due", True)
    looks = itertools.count(1)

    def broken(*_):
        if next(looks) == 2:
            raise OSError("the power is gone")

    folder = tmp_path / "cut"
    with pytest.raises(OSError, match="the power is gone"):
        fit(name, folder, progress=broken)
    assert list(folder.glob("*.ckpt"))
    assert not (folder / "calibration.json").exists()
    steps = []
    fit(name, folder, progress=lambda done, *_: steps.append(done))
    for number in range(2):
        np.testing.assert_array_equal(weights(folder, number), weights(fitted[name], number))
    assert (folder / "calibration.json").read_bytes() == (fitted[name] / "calibration.json").read_bytes()
    assert steps[0] > 20, "only what is missing is done again"
    assert not list(folder.glob("*.ckpt"))


def test_other_processes_train_the_same_members(fitted, tmp_path):
    folder = tmp_path / "fit"
    fitted_folder.claim(folder, fitted_folder.read(fitted["unet_slices"]))
    with member_training.sharing(folder, (TRAIN, DEV)) as argument:
        member.trainer(argument, 1)(1, lambda *_: None)  # what a worker does
        path = Path(argument.partition(" ")[2])
        path.write_bytes(pickle.dumps("another"))
        with pytest.raises(Exception, match="expected the file as it was written, found another"):
            member.trainer(argument, 1)
    np.testing.assert_array_equal(weights(folder, 1), weights(fitted["unet_slices"], 1))
    assert not path.exists()


def test_only_what_is_missing_is_made_again(copied, fitted):
    (copied / "calibration.json").unlink()
    told = []
    fit("unet_slices", copied, progress=lambda *each: told.append(each))
    assert {text.partition(":")[0] for *_, text in told[1:]} == {"threshold"}
    assert (copied / "calibration.json").read_bytes() == (fitted["unet_slices"] / "calibration.json").read_bytes()


def test_checkpoints_with_odd_content_are_refused(tmp_path):
    folder = tmp_path / "fit"
    fit("unet_slices", folder, epochs=1)
    (folder / "member_00.pt").unlink()
    place = folder / "member_00.ckpt"
    odd = {"fit": f"{fitted_folder.identity(folder)} member 0", "state": {"step": 3, "plan": {}}}
    place.write_bytes(checkpoint.pack(odd))
    with pytest.raises(SettingsError, match="checkpoint: expected one of the schedule"):
        fit("unet_slices", folder, epochs=1)
    place.write_bytes(b"nothing of use")
    with pytest.warns(ShiftbenchWarning, match="found a damaged file. The training begins again"):
        fit("unet_slices", folder, epochs=1)


# -- published weights


@pytest.fixture
def published(fitted, tmp_path) -> list[str]:
    """The members of a fit as others would have saved them."""
    record = fitted_folder.read(fitted["unet_slices"])
    paths = [str(tmp_path / f"published_{number}.pth") for number in range(2)]
    for number, path in enumerate(paths):
        torch.save(member.load(fitted["unet_slices"], record, number).state_dict(), path)
    return paths


@pytest.mark.parametrize("limit", [None, 0.35])
def test_published_weights_become_members(limit, published, fitted, tmp_path):
    folder = fit("unet_slices", tmp_path / "fit", weights=tuple(published), threshold=limit, train=TRAIN.select([]))
    says, before = predict(folder), predict(fitted["unet_slices"])
    np.testing.assert_array_equal(says.sums(0).probability, before.sums(0).probability)
    assert says.threshold == (limit or before.threshold)
    assert says.thresholds == (before.thresholds if limit is None else (limit, limit))
    about = method("unet_slices").about(TEST, folder=folder)
    assert about.startswith("2 networks with weights that were trained elsewhere, threshold 0.")
    assert method("unet_slices").caution(folder=folder) == ""


def altered(path: str, change) -> None:
    found = torch.load(path, weights_only=True)
    change(found)
    torch.save(found, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: Path(path).unlink(), "weights: expected a file, found none at .*published_1.pth"),
        (lambda path: Path(path).write_bytes(b"PK nothing"), "published_1.pth: expected weights alone, found another"),
        (lambda path: torch.save([1, 2], path), "published_1.pth: expected tensors by name, found list"),
        (lambda path: Path(path).write_bytes(pickle.dumps(math.sin)), "published_1.pth: expected weights alone"),
        (lambda path: altered(path, lambda d: d.pop("model.0.conv.bias")), r"model.0.conv.bias of .*, found None"),
        (lambda path: altered(path, lambda d: d.update(extra=torch.zeros(1))), "expected no extra, found one"),
        (
            lambda path: altered(path, lambda d: d.update({next(iter(d)): torch.zeros(3, 1, 3, 3)})),
            r"expected model.0.conv.weight of shape \(4, 1, 3, 3\), found \(3, 1, 3, 3\)",
        ),
        (
            lambda path: altered(path, lambda d: next(iter(d.values())).fill_(math.nan)),
            "expected finite numbers, found NaN or infinity in model.0.conv.weight",
        ),
    ],
)  # fmt: skip
def test_other_files_than_published_weights_are_refused(change, message, published, tmp_path):
    change(published[1])
    with pytest.raises(SettingsError, match=message):
        fit("unet_slices", tmp_path / "fit", weights=tuple(published))
    assert not (tmp_path / "fit/member_01.pt").exists()


# -- what is refused


def test_all_problems_of_both_parts_are_told_before_anything_is_trained(tmp_path):
    train, dev = made_up(2, seed=1), made_up(2, seed=2)
    train.images[1][0, 3, 3, 3], dev.truths[0] = np.nan, None
    with pytest.raises(ArrayError, match=r"(?s)train, made-1-1: .*NaN.*dev_in, made-2-0: expected a mask"):
        method("unet").fit(train, dev, settings=SETTINGS["unet"], folder=tmp_path / "fit")
    assert not (tmp_path / "fit").exists()


def test_images_that_cannot_be_predicted_are_named(fitted):
    data = made_up(2, seed=4)
    data.images[1][0, 3, 3, 3] = np.inf
    with pytest.raises(ArrayError, match="made-4-1: expected finite intensities, found 1 NaN or infinite"):
        predict(fitted["unet"], data).sums(1)
    with pytest.raises(SettingsError, match="made-5-0: expected an image of 1 channels, as in train, found 2"):
        predict(fitted["unet"], made_up(1, seed=5, channels=2)).sums(0)


def test_dropout_of_networks_without_any_is_refused(tmp_path):
    folder = fit("unet_slices", tmp_path / "fit", dropout=0.0, epochs=1, members=1)
    with pytest.raises(SettingsError, match="expected networks trained with dropout, found a rate of 0"):
        predict(folder, ensemble="mc_dropout")


SHORT = {"deep": [{"threshold": 0.5, "ndsc": 0.5, "members": [0.5]}]}


@pytest.mark.parametrize(
    "odd", [b"nothing", {"fit": "of another"}, {"deep": []}, {"deep": [7]}, {"deep": [{"threshold": 2.0}]}, SHORT]
)
def test_damaged_thresholds_are_refused(odd, copied):
    if isinstance(odd, bytes):
        (copied / "calibration.json").write_bytes(odd)
    else:
        files.write_json(copied / "calibration.json", {"fit": fitted_folder.identity(copied)} | odd)
    with pytest.raises(SettingsError, match=r"calibration\.json: expected the thresholds of deep, found none"):
        predict(copied)


def test_networks_that_there_are_not_are_refused(fitted):
    says = predict(fitted["unet"], ensemble="mc_dropout")
    with pytest.raises(SettingsError, match="network: expected 0 to 1 with draws of its own, found 2"):
        says.of_network(2)


def test_a_damaged_member_is_named(copied):
    (copied / "member_01.pt").write_bytes(b"nothing")
    with pytest.raises(SettingsError, match=r"member_01\.pt: expected the weights as they were written"):
        predict(copied)


def test_networks_that_found_nothing_are_doubted(copied):
    known = json.loads((copied / "calibration.json").read_text())
    known["deep"][0]["ndsc"] = 0.012
    files.write_json(copied / "calibration.json", known)
    assert "found next to nothing on dev_in: nDSC 1.2 %" in method("unet_slices").caution(folder=copied)


def test_windows_of_slices_are_flat():
    record = {"method": "unet_slices", "settings": {"window": 8, "overlap": 0.25}}
    assert member.windows(record, threads=2) == Windows((8, 8, 1), 0.25, 32, 2)
