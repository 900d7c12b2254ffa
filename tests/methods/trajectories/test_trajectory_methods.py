"""For every method of trajectories: it learns, goes on where it was cut off, and says the same in any order."""

from __future__ import annotations

import itertools
import shutil
import threading
import zlib
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from shiftbench.ensembles import Mixture
from shiftbench.errors import ArrayError, SettingsError, ShiftbenchError, TableError
from shiftbench.io.executor import memory
from shiftbench.methods import checkpoint, fitted_folder, method
from shiftbench.methods.trajectories import answers, member
from shiftbench.methods.trajectories.settings import CloningSettings, PlannerSettings, VectorSettings
from tests.methods.trajectories.made_up import made_up

TRAIN, DEV, TEST = made_up(120, seed=1), made_up(32, seed=2), made_up(21, seed=3)
SMALL = {
    "members": 2, "batch": 24, "learning_rate": 1e-2, "width": 0.1, "hidden": 32, "pooling": 2, "dropout": 0.1,
    "least_scale_m": 0.02, "plans_per_member": 3,
}  # fmt: skip
SETTINGS = {
    "cloning": CloningSettings(generation="teacher_forcing", epochs=6, **SMALL),
    "imitative": PlannerSettings(epochs=6, **SMALL),
    "vector": VectorSettings(
        members=2, batch=24, learning_rate=5e-3, width=32, heads=4, mixing=1, layers=1, epochs=6, modes=3
    ),
}
NAMES = sorted(SETTINGS)
PLANNERS = ["cloning", "imitative"]
KINDS = ["cloning", "vector"]  # one of each kind, where the two planners run the same code
MASKED = {"dropout": (0, 1), "mc_dropout": (0, 0)}  # kind of ensemble → the network behind each of two members


def short(name, **changes):
    return replace(SETTINGS[name], **{"epochs": 2, **changes})


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """The folder of each method after its whole training, by name."""
    folders = {}
    for name in NAMES:
        folders[name] = tmp_path_factory.mktemp(name) / "fit"
        method(name).fit(TRAIN, DEV, settings=SETTINGS[name], folder=folders[name], cores=1)
    return folders


@pytest.fixture(scope="module")
def said(fitted):
    """What a method predicts for TEST with a kind of ensemble, asked once."""
    return cache(lambda name, kind: method(name).predict(TEST, folder=fitted[name], ensemble=kind, cores=1))


@pytest.fixture(scope="module")
def deep(said):
    """What each method predicts for TEST, by name."""
    return {name: said(name, "deep") for name in NAMES}


def weights(folder, number=0):
    content = checkpoint.unpack((folder / f"member_{number:02d}.pt").read_bytes())
    return np.concatenate([value.double().numpy().ravel() for value in content.values()])


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_where_vehicles_go(name, fitted):
    found = method(name).predict(DEV, folder=fitted[name], cores=1)
    trajectories = found.merged().trajectories[0] if isinstance(found, Mixture) else found.plans
    errors = np.linalg.norm(trajectories - DEV.targets[:, None], axis=-1).mean(axis=-1).min(axis=1)
    nobody = np.linalg.norm(TRAIN.targets.mean(axis=0) - DEV.targets, axis=-1).mean(axis=-1)
    assert errors.mean() < 0.9 * nobody.mean(), (errors.mean(), nobody.mean())


@pytest.mark.parametrize("name", KINDS)
def test_members_differ_and_seeds_give_other_members(name, fitted, tmp_path):
    other = method(name).fit(
        TRAIN,
        DEV,
        settings=short(name, seed=1, epochs=1, members=1, batch=80),
        folder=tmp_path / "other",
        cores=1,
    )
    first = [weights(fitted[name], 0), weights(fitted[name], 1), weights(other, 0)]
    assert all(not np.allclose(one, two) for one, two in itertools.combinations(first, 2))


@pytest.mark.parametrize("name", KINDS)
def test_a_training_that_was_cut_off_ends_with_the_same_weights(name, tmp_path, monkeypatch):
    settings = short(name, epochs=3, members=1, batch=80)
    if name == "cloning":
        settings = replace(settings, generation="sampling")  # random numbers in every step
    whole = method(name).fit(TRAIN, DEV, settings=settings, folder=tmp_path / "whole", cores=1)
    monkeypatch.setattr(checkpoint.Checkpoint, "due", True)
    looks = itertools.count(1)

    def broken(*_):
        if next(looks) == 3:
            raise OSError("the power is gone")

    folder = tmp_path / "cut"
    with pytest.raises(OSError, match="the power is gone"):
        method(name).fit(TRAIN, DEV, settings=settings, folder=folder, cores=1, progress=broken)
    assert list(folder.glob("*.ckpt"))
    steps = []
    method(name).fit(
        TRAIN, DEV, settings=settings, folder=folder, cores=1, progress=lambda done, *_: steps.append(done)
    )
    np.testing.assert_array_equal(weights(folder), weights(whole))
    assert steps[0] > 1, "only what is missing is done again"
    assert not list(folder.glob("*.ckpt"))


def test_processes_train_the_same_members(tmp_path):
    settings = short("vector", epochs=1)
    folders = [
        method("vector").fit(TRAIN, DEV, settings=settings, folder=tmp_path / str(cores), cores=cores)
        for cores in (1, 2)
    ]
    for number in range(2):
        np.testing.assert_array_equal(weights(folders[0], number), weights(folders[1], number))


@pytest.mark.parametrize("ensemble", ["deep", *MASKED])
@pytest.mark.parametrize("name", KINDS)
def test_blocks_cores_and_order_make_no_difference(name, ensemble, fitted, said):
    found = said(name, ensemble)
    order = np.random.default_rng(5).permutation(len(TEST))
    mixed = method(name).predict(TEST.select(order), folder=fitted[name], ensemble=ensemble, cores=2)
    alone = method(name).predict(TEST.select(order[:1]), folder=fitted[name], ensemble=ensemble, cores=1)
    for key in ("trajectories", "weights" if name == "vector" else "scores"):
        np.testing.assert_allclose(getattr(mixed, key), getattr(found, key)[:, order], rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(getattr(alone, key)[:, 0], getattr(found, key)[:, order[0]], rtol=1e-4, atol=1e-3)


def contexts(folder, row):
    """The members of a fit with what their decoders start from for a request of TEST; what its noise follows from."""
    record = fitted_folder.read(folder)
    maps = member.reader(record)(TEST, np.array([row]))["maps"]
    nets = [member.load(folder, record, k) for k in range(2)]
    with torch.inference_mode():
        return [(net, net.context(net.encoder(torch.from_numpy(maps)))) for net in nets], zlib.crc32(maps[0].data)


@pytest.mark.parametrize("name", PLANNERS)
def test_every_score_is_the_density_of_the_plan_alone(name, fitted, deep):
    found, (members, _) = deep[name], contexts(fitted[name], 17)
    assert found.scores.shape == (2, 21, 6)
    for (k, (net, context)), plan in itertools.product(enumerate(members), range(6)):
        with torch.inference_mode():
            score = net.decoder.log_prob(torch.tensor(found.plans[17, plan : plan + 1]), context)
        np.testing.assert_allclose(found.scores[k, 17, plan], score.item(), rtol=1e-3, atol=2e-2)


@pytest.mark.parametrize("name", PLANNERS)
def test_plans_stand_member_by_member_and_each_is_made_of_its_own_noise(name, fitted, deep):
    found, (members, key) = deep[name], contexts(fitted[name], 17)
    assert found.trajectories.shape == (2, 21, 3, 25, 2)
    assert np.shares_memory(found.plans, found.trajectories), "no second copy of what may be gigabytes"
    for k, (net, context) in enumerate(members):
        drawn = answers.noise([SETTINGS[name].seed, k], [key], (3, 25, 2))[0]
        with torch.inference_mode():
            plans = net.decoder(torch.from_numpy(drawn), context.expand(3, -1)).values
        np.testing.assert_allclose(found.trajectories[k, 17], plans, rtol=1e-3, atol=1e-3)


def masked(net, *seed):
    return answers.dropout.masked(net, [0, *seed])


@pytest.mark.parametrize("ensemble", MASKED)
@pytest.mark.parametrize("name", PLANNERS)
def test_every_plan_has_masks_of_its_own_and_each_member_scores_all_under_one_set(name, ensemble, fitted, said):
    found, row = said(name, ensemble), 17
    record = fitted_folder.read(fitted[name])
    maps = member.reader(record)(TEST, np.array([row]))["maps"]
    for k, number in enumerate(MASKED[ensemble]):
        net = member.load(fitted[name], record, number).eval()
        drawn = answers.noise([0, k], [zlib.crc32(maps[0].data)], (3, 25, 2))[0]
        with torch.inference_mode():
            seen = net.encoder(torch.from_numpy(maps))
            for plan in range(3):
                context = masked(net, answers.PASSES, k, plan).context(seen)
                path = net.decoder(torch.from_numpy(drawn[plan : plan + 1]), context).values[0]
                np.testing.assert_allclose(found.trajectories[k, row, plan], path, rtol=1e-3, atol=1e-3)
            context = masked(net, answers.MASKS, k).context(seen)
            scores = [net.decoder.log_prob(torch.tensor(found.plans[row, g : g + 1]), context).item() for g in range(6)]
        np.testing.assert_allclose(found.scores[k, row], scores, rtol=1e-3, atol=2e-2)


@pytest.mark.parametrize("ensemble", MASKED)
def test_masked_members_of_mixtures_are_the_networks_under_their_masks(ensemble, fitted, said):
    found = said("vector", ensemble)
    record = fitted_folder.read(fitted["vector"])
    inputs = {key: torch.from_numpy(values) for key, values in member.reader(record)(TEST, np.array([17])).items()}
    for k, number in enumerate(MASKED[ensemble]):
        with torch.inference_mode():
            modes, logarithms = masked(member.load(fitted["vector"], record, number), answers.MASKS, k)(inputs)
        np.testing.assert_allclose(found.trajectories[k, 17], modes[0], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(found.weights[k, 17], logarithms[0].exp(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", PLANNERS)
def test_with_one_member_both_kinds_of_dropout_are_the_same(name, said):
    one, other = (said(name, kind) for kind in MASKED)
    np.testing.assert_array_equal(one.trajectories[0], other.trajectories[0])
    np.testing.assert_array_equal(one.scores[0, :, :3], other.scores[0, :, :3])


def test_masks_of_one_network_need_no_other(fitted, tmp_path):
    folder = shutil.copytree(fitted["cloning"], tmp_path / "fit")
    (folder / "member_01.pt").unlink()
    assert method("cloning").predict(TEST, folder=folder, ensemble="mc_dropout", cores=1).members == 2
    with pytest.raises(SettingsError, match=r"member_01\.pt"):
        method("cloning").predict(TEST, folder=folder, ensemble="dropout", cores=1)


@pytest.mark.parametrize("ensemble", MASKED)
@pytest.mark.parametrize("name", KINDS)
def test_masked_members_differ_and_are_drawn_from_the_seed(name, ensemble, fitted, said, deep):
    found = [said(name, ensemble), method(name).predict(TEST, folder=fitted[name], ensemble=ensemble, cores=1)]
    np.testing.assert_array_equal(found[0].trajectories, found[1].trajectories)
    assert found[0].members == deep[name].members == 2
    key = "weights" if name == "vector" else "scores"
    values = getattr(found[0], key)
    assert not np.allclose(values[0], values[1])
    assert not np.allclose(found[0].trajectories, deep[name].trajectories)


def test_sampling_learns_too(tmp_path):
    settings = replace(SETTINGS["cloning"], generation="sampling", members=1, epochs=3)
    looks = []
    method("cloning").fit(
        TRAIN,
        DEV,
        settings=settings,
        folder=tmp_path / "a",
        cores=1,
        progress=lambda *told: looks.append(told[2]),
    )
    first, last = (float(text.split("loss ")[1].split(",")[0]) for text in (looks[0], looks[-2]))
    assert last < first


# -- what is refused


def test_inputs_that_are_not_finite_are_named_with_their_request(tmp_path):
    pictures = TRAIN.pictures.copy()
    pictures[7, 1, 3, 3] = np.nan
    with pytest.raises(ArrayError, match=r"maps: expected finite numbers, found NaN or infinity in request 7\."):
        method("imitative").fit(
            replace(TRAIN, pictures=pictures),
            DEV,
            settings=short("imitative"),
            folder=tmp_path / "a",
            cores=1,
        )


def test_targets_that_are_not_known_are_counted(tmp_path):
    targets = TRAIN.targets.copy()
    targets[[3, 9], 2] = np.nan
    with pytest.raises(ArrayError, match=r"train: expected targets .* in 2 of 120 requests, first in request 3"):
        method("vector").fit(replace(TRAIN, targets=targets), DEV, settings=short("vector"), folder=tmp_path / "a")


def test_too_few_requests_of_both_parts_are_told_at_once(tmp_path):
    none = np.arange(0)
    with pytest.raises(ArrayError, match=r"(?s)train: expected at least 2 .* found 0.*dev_in: expected at least 1"):
        method("vector").fit(TRAIN.select(none), DEV.select(none), settings=short("vector"), folder=tmp_path / "a")


def test_a_loss_that_is_not_finite_names_the_request():
    losses = torch.tensor([1.0, float("nan"), 2.0])
    with pytest.raises(ShiftbenchError, match=r"expected finite losses, found nan for request 5"):
        member.require_finite(losses, TRAIN, np.array([4, 5, 6]))


def test_other_inputs_than_those_of_the_training_are_refused(fitted):
    larger = replace(TEST, pictures=np.zeros((21, 4, 32, 32), np.float32))
    with pytest.raises(SettingsError, match=r"maps: \[4, 16, 16\] here, \[3, 16, 16\] there"):
        method("imitative").predict(larger, folder=fitted["imitative"])


def test_no_request_and_unknown_ensembles_are_refused(fitted):
    with pytest.raises(TableError, match="expected at least one record to predict, found none"):
        method("vector").predict(TEST.select(np.arange(0)), folder=fitted["vector"])
    with pytest.raises(SettingsError, match="ensemble: expected deep or dropout or mc_dropout, found 'deap'"):
        method("vector").predict(TEST, folder=fitted["vector"], ensemble="deap")


@pytest.mark.parametrize("name", KINDS)
def test_answers_that_do_not_fit_into_memory_are_refused_before_they_are_computed(name, fitted, monkeypatch):
    shapes = {"cloning": ((2, 3, 25, 2), (2, 6)), "vector": ((2, 3, 25, 2), (2, 3))}[name]
    there = memory.RESERVE + 20 * answers.needed(*shapes)
    monkeypatch.setattr(memory, "available", lambda: there)
    with pytest.raises(ShiftbenchError, match=r"21 requests: expected .* bytes each, found .* at most 20 fit"):
        method(name).predict(TEST, folder=fitted[name])
    assert method(name).predict(TEST.select(np.arange(20)), folder=fitted[name], cores=1).records == 20


def test_predictions_that_are_interrupted_leave_nothing_at_work(fitted, monkeypatch):
    monkeypatch.setattr(member, "CPU_BLOCK", 1)
    read, told = [], []

    class Counted(type(TEST)):
        def vectors(self, rows):
            read.append(rows)
            return super().vectors(rows)

    def interrupt(done, most, message):
        told.append((done, most, message))
        if done == 3:
            raise KeyboardInterrupt

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt):
            method("vector").predict(
                Counted(TEST.targets, TEST.pictures, TEST.features),
                folder=fitted["vector"],
                cores=1,
                progress=interrupt,
            )
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert told == [(done, 21, f"{done} of 21 requests") for done in (1, 2, 3)]
    assert len(read) < 10
    assert not [each for each in threading.enumerate() if "ThreadPool" in each.name]


@pytest.mark.parametrize("ensemble", MASKED)
def test_dropout_of_a_network_without_any_is_refused(ensemble, tmp_path):
    folder = method("vector").fit(
        TRAIN, DEV, settings=short("vector", dropout=0.0, epochs=1, members=1), folder=tmp_path / "a"
    )
    with pytest.raises(SettingsError, match="expected networks trained with dropout, found a rate of 0"):
        method("vector").predict(TEST, folder=folder, ensemble=ensemble)


def test_another_fit_in_the_folder_is_refused(fitted):
    with pytest.raises(SettingsError, match=r"found another fit \(settings.epochs: 6 there, 2 here\)"):
        method("vector").fit(TRAIN, DEV, settings=short("vector"), folder=fitted["vector"])


def test_a_damaged_member_is_named(tmp_path):
    folder = method("vector").fit(TRAIN, DEV, settings=short("vector", epochs=1), folder=tmp_path / "a", cores=1)
    (folder / "member_01.pt").write_bytes(b"nothing")
    with pytest.raises(SettingsError, match=r"member_01\.pt: expected the weights as they were written"):
        method("vector").predict(TEST, folder=folder)


@pytest.mark.parametrize(
    ("settings", "values", "message"),
    [
        (CloningSettings, {"generation": "magic"}, "generation: expected sampling or teacher_forcing, found 'magic'"),
        (PlannerSettings, {"hidden": 30}, "hidden: expected a multiple of 8 from 16 to 65,536, found 30"),
        (PlannerSettings, {"checkpoint_by": "fde"}, "checkpoint_by: expected ade or nll, found 'fde'"),
        (PlannerSettings, {"least_scale_m": 0}, "least_scale_m: expected a number above 0"),
        (VectorSettings, {"heads": 7}, "heads: expected a divisor of the width 128, found 7"),
        (VectorSettings, {"modez": 7}, "Did you mean 'modes'"),
        (VectorSettings, {"batch": 1, "epochs": 0}, r"batch: expected .*, found 1\.\nepochs: expected"),
    ],
)
def test_settings_out_of_range_are_refused(settings, values, message):
    with pytest.raises(SettingsError, match=message):
        settings.from_dict(values)


def test_the_defaults_are_the_published_settings():
    found = PlannerSettings()
    assert (found.learning_rate, found.batch, found.epochs, found.clip, found.weight_decay) == (1e-4, 650, 100, 1.0, 0)
    assert (found.members, found.plans_per_member, found.hidden, found.checkpoint_by) == (5, 10, 512, "ade")
    assert CloningSettings().generation == "sampling"
