"""Members trained together: each learns as if alone, stops by itself, and goes on as if never cut off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from torch.nn import functional

from shiftbench import methods
from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.methods import checkpoint, member_files, training
from shiftbench.methods.batched import layers, losses, members, mlp, noise
from shiftbench.methods.batched.layers import Drawn
from shiftbench.methods.batched.training import BatchedObjective, train_batched
from shiftbench.methods.checkpoint import Checkpoint
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.training import Objective, Schedule
from shiftbench.partition.features import Features
from shiftbench.tracks.power.symbolic import method as symbolic
from shiftbench.tracks.power.symbolic.terms import WIDTH

MAKE = {
    "mlp": mlp.make_plain, "mlp_dropout": mlp.make_dropout, "mlp_flipout": mlp.make_flipout, "symbolic": symbolic.make
}  # fmt: skip
RECORDS, COLUMNS = 90, 4
SEEDS = [11, 12, 13]
PLAN = Schedule(steps=14, batch=16, learning_rate=0.01, validate_every=6, patience=99, mixed_precision=False)
SHAPES = ((3, 5), (5, 4), (4, 2))


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """As in a fit: on a busy machine small operations would wait for threads."""
    with one_thread():
        yield


def data(width: int = COLUMNS) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    numbers = torch.rand(RECORDS + 40, width, generator=generator) + 0.1
    targets = numbers[:, 0] * 2 - numbers[:, 1] + 0.1 * torch.randn(len(numbers), generator=generator)
    parts = {"train": slice(RECORDS), "dev": slice(RECORDS, None)}
    return {
        f"{part}_{name}": values[rows]
        for part, rows in parts.items()
        for name, values in (("numbers", numbers), ("targets", targets))
    }


def untrained(method: str, seeds=SEEDS):
    """Untrained members and their objective."""
    width = WIDTH if method == "symbolic" else COLUMNS
    own = {"batch": 16, "hidden": [6, 5], "dropout": 0.2, "prior_sd": 1.0, "width": 5}
    record = {
        "method": method, "width": width, "settings": own, "data": {"train": RECORDS}, "center": 1.0, "scale": 0.7,
        "inputs": {"cube": 1.1},
    }  # fmt: skip
    return MAKE[method](record, seeds), members.objective(data(width))


def weights(model) -> np.ndarray:
    return np.concatenate([value.flatten(1).numpy() for value in model.state_dict().values()], axis=1)


@pytest.fixture(params=[8, 10**6], ids=["NumPy's products", "PyTorch's products"])
def _either(request, monkeypatch):
    monkeypatch.setattr(layers, "MANY", request.param)


@pytest.mark.usefixtures("_either")
@pytest.mark.parametrize("method", MAKE)
def test_members_learn_together_what_each_learns_alone(method):
    model, objective = untrained(method)
    together = train_batched(model, objective, PLAN, seeds=SEEDS)
    for member, seed in enumerate(SEEDS):
        own, objective = untrained(method, [seed])
        (alone,) = train_batched(own, objective, PLAN, seeds=[seed])
        np.testing.assert_allclose(together[member].history, alone.history, rtol=1e-4)
        np.testing.assert_allclose(weights(model)[member], weights(own)[0], rtol=1e-3, atol=1e-4)
    assert together[0].history != together[1].history, "members differ"
    assert together[0].history[-1][1] < together[0].history[0][1], "they learn"


def test_a_stack_of_one_takes_the_steps_of_the_loop_for_one_model():
    (stacked, objective), (alone, _) = untrained("mlp", [7]), untrained("mlp", [7])
    (found,) = train_batched(stacked, objective, PLAN, seeds=[7])
    plain = Objective(
        RECORDS,
        lambda rows: rows[None],
        lambda model, rows: objective.losses(model, rows, 0)[0],
        lambda model: float(objective.validate(model)[0]),
    )
    expected = training.train(alone, plain, Schedule(**{**vars(PLAN), "seed": 7}))
    assert found == expected
    np.testing.assert_array_equal(weights(stacked), weights(alone))


@pytest.mark.usefixtures("_either")
@pytest.mark.parametrize("method", MAKE)
@pytest.mark.parametrize("validations", [1, 2])
def test_a_stack_that_was_cut_off_ends_like_an_undisturbed_one(method, validations, tmp_path):
    def cut(step, steps, line):
        if step == 5 * validations:
            raise OSError("the power is gone")

    plan = Schedule(
        **{**vars(PLAN), "validate_every": 5}
    )  # cut off within an epoch, once before its smaller last batch
    model, objective = untrained(method)
    expected = train_batched(model, objective, plan, seeds=SEEDS)
    saved = Checkpoint(tmp_path / "a.ckpt", "a fit", every_s=0)
    with pytest.raises(OSError, match="the power is gone"):
        train_batched(untrained(method)[0], objective, plan, seeds=SEEDS, checkpoint=saved, progress=cut)
    again, objective = untrained(
        method, [1, 2, 3]
    )  # other weights to begin with, but the noise and order of the members
    for name in ("masks", "normals", "signs"):
        if hasattr(again, name):
            getattr(again, name).seeds = SEEDS
    found = train_batched(again, objective, plan, seeds=SEEDS, checkpoint=Checkpoint(saved.path, "a fit"))
    np.testing.assert_array_equal(weights(again), weights(model))
    assert found == expected


def scripted(scores):
    """A objective that is judged as the script says, whatever is learnt, and all weights that were seen."""
    model, objective = untrained("mlp", SEEDS[: len(scores[0])])
    seen, left = [], iter(scores)

    def validate(model):
        seen.append(weights(model))
        return torch.tensor(next(left))

    return model, BatchedObjective(objective.records, objective.losses, validate), seen


def test_each_member_stops_by_itself_and_keeps_its_best_weights():
    scores = [[5.0, 5.0], [3.0, 6.0], [4.0, 7.0], [2.0, 1.0], [2.5, 0.5], [2.5, 0.1], [9.0, 0.0]]
    model, objective, seen = scripted(scores)
    first, second = train_batched(
        model, objective, Schedule(**{**vars(PLAN), "steps": 99, "patience": 2}), seeds=SEEDS[:2]
    )
    assert (first.best_step, first.best_loss, first.steps) == (24, 2.0, 36)
    assert (second.best_step, second.best_loss, second.steps) == (6, 5.0, 18), "a frozen member learns nothing more"
    assert [entry[0] for entry in second.history] == [6, 12, 18]
    np.testing.assert_array_equal(weights(model), [seen[3][0], seen[0][1]])
    assert len(seen) == 6, "it ends when no member learns any more"


def test_a_loss_that_is_no_number_names_its_member_unless_it_is_frozen():
    nan = float("nan")
    model, objective, _ = scripted([[1.0, 1.0], [nan, 2.0], [nan, 3.0]])
    with pytest.raises(ShiftbenchError, match="training, member 0: expected a finite validation loss, found nan"):
        train_batched(model, objective, PLAN, seeds=SEEDS[:2])
    model, objective, _ = scripted([[1.0, 1.0], [2.0, 0.9], [nan, 0.8], [nan, 0.7]])
    first, second = train_batched(
        model, objective, Schedule(**{**vars(PLAN), "patience": 1, "steps": 24}), seeds=SEEDS[:2]
    )
    assert (first.best_loss, second.best_loss) == pytest.approx((1.0, 0.7))


@pytest.mark.parametrize("odd", [{"weights": 3}, {"weights": {}}, {"best": [{}]}, {"histories": []}, {"best": None}])
def test_a_checkpoint_of_odd_learning_is_refused_though_its_hash_is_right(tmp_path, odd):
    saved, kept = Checkpoint(tmp_path / "a.ckpt", "a fit", every_s=0), {}
    save, saved.save = saved.save, kept.update
    train_batched(*untrained("mlp"), PLAN, seeds=SEEDS, checkpoint=saved)
    save(kept | {"learnt": kept["learnt"] | odd})
    with pytest.raises(SettingsError, match=r"a\.ckpt: expected the state of this training, found another"):
        train_batched(*untrained("mlp"), PLAN, seeds=SEEDS, checkpoint=Checkpoint(saved.path, "a fit"))


def test_the_checkpoint_of_another_plan_is_refused(tmp_path):
    saved = Checkpoint(tmp_path / "a.ckpt", "a fit", every_s=0)
    model, objective = untrained("mlp")
    train_batched(model, objective, Schedule(**{**vars(PLAN), "steps": 6}), seeds=SEEDS, checkpoint=saved)
    with pytest.raises(
        SettingsError, match=r"checkpoint: expected one of the schedule .*'steps': 14.*found .*'steps': 6"
    ):
        train_batched(model, objective, PLAN, seeds=SEEDS, checkpoint=saved)


# -- operations


def slow_layers(values, parameters, shapes, drawn):
    """The same by plain operations, whose gradients are torch's own."""
    matrices, biases = layers.split(parameters, shapes)
    for layer in range(len(shapes)):
        said = matrices[layer].mT @ values + biases[layer]
        if drawn.shift is not None:
            shifts, shift_biases = layers.split(drawn.shift, shapes)
            before, after = drawn.signs[layer]
            said = said + (shifts[layer].mT @ (values * before) + shift_biases[layer]) * after
        if layer == len(shapes) - 1:
            return said
        values = functional.softplus(said)
        if drawn.masks:
            values = values * drawn.masks[layer]
    return None


@pytest.mark.parametrize("batch", [7, layers.MANY])
@pytest.mark.parametrize("drawn_from", ["none", "masks", "signs", "both"])
def test_layers_and_their_gradients_are_those_of_plain_operations(drawn_from, batch):
    torch.manual_seed(0)
    size = layers.count(SHAPES)
    values, parameters = torch.randn(2, 3, batch).double(), torch.randn(2, size).double().requires_grad_()
    shift = torch.randn(2, size).double().requires_grad_()
    signs = [tuple(torch.randn(2, width, batch).sign().double() for width in shape) for shape in SHAPES]
    masks = [(torch.rand(2, outputs, batch) < 0.7).double() / 0.7 for _, outputs in SHAPES[:-1]]
    drawn = Drawn(
        masks=masks if drawn_from in ("masks", "both") else (),
        shift=shift if drawn_from in ("signs", "both") else None,
        signs=signs,
    )
    found, expected = (act(values, parameters, SHAPES, drawn) for act in (layers.layers, slow_layers))
    torch.testing.assert_close(found, expected)
    wanted = [parameters] if drawn.shift is None else [parameters, shift]
    into = torch.randn(found.shape).double()
    for ours, theirs in zip(
        torch.autograd.grad((found * into).sum(), wanted), torch.autograd.grad((expected * into).sum(), wanted),
        strict=True,
    ):  # fmt: skip
        torch.testing.assert_close(ours, theirs)


def test_softplus_is_that_of_torch_as_far_as_it_goes():
    values = torch.linspace(-100, 79, 5000, requires_grad=True)
    again = values.detach().clone().requires_grad_()
    torch.testing.assert_close(layers.softplus(values), functional.softplus(again), rtol=1e-6, atol=1e-6)
    layers.softplus(values).sum().backward()
    functional.softplus(again).sum().backward()
    torch.testing.assert_close(values.grad, again.grad, rtol=1e-5, atol=1e-6)
    assert layers.softplus(torch.tensor([1e9, 1e30])).tolist() == pytest.approx([80.0, 80.0])


def test_the_loss_is_the_negative_log_likelihood_of_a_normal():
    torch.manual_seed(0)
    mean, targets = torch.randn(2, 9).double().requires_grad_(), torch.randn(2, 9).double()
    sd = (torch.rand(2, 9).double() + 0.1).requires_grad_()
    found = losses.negative_log_likelihood(mean, sd, targets)
    expected = -torch.distributions.Normal(mean, sd).log_prob(targets).mean(dim=1)
    torch.testing.assert_close(found, expected - 0.5 * np.log(2 * np.pi))
    for ours, theirs in zip(
        torch.autograd.grad(found[0] + 2 * found[1], (mean, sd)),
        torch.autograd.grad(expected[0] + 2 * expected[1], (mean, sd)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_the_loss_of_outputs_is_that_of_what_they_stand_for():
    torch.manual_seed(0)
    outputs, targets = 3 * torch.randn(2, 2, 9).double().requires_grad_(), torch.randn(2, 9).double()
    again = outputs.detach().clone().requires_grad_()
    found = losses.output_loss(outputs, targets)
    normal = torch.distributions.Normal(again[:, 0], functional.softplus(again[:, 1]) + 1e-6)
    expected = -normal.log_prob(targets).mean(dim=1) - 0.5 * np.log(2 * np.pi)
    torch.testing.assert_close(found, expected)
    (ours,), (theirs,) = (
        torch.autograd.grad(losses[0] + 2 * losses[1], values)
        for losses, values in ((found, outputs), (expected, again))
    )
    torch.testing.assert_close(ours, theirs)


def test_a_drawn_posterior_and_its_gradients_are_those_of_plain_operations():
    torch.manual_seed(0)
    center, normals, into = torch.randn(3, 2, 7).double().unbind(0)
    center, rho = center.requires_grad_(), (2 * torch.randn(2, 7) - 3).double().requires_grad_()
    sd = functional.softplus(rho)
    plain = torch.distributions.Normal(center, sd), torch.distributions.Normal(torch.zeros(2, 7).double(), 0.7)
    expected = sd * normals, torch.distributions.kl_divergence(*plain).sum(dim=1)
    found = losses.drawn_posterior(center, rho, normals, 0.7)
    gradients = []
    for shift, divergence in (found, expected):
        whole = (shift * into).sum() + divergence[0] + 2 * divergence[1]
        gradients.append(torch.autograd.grad(whole, (center, rho)))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*gradients)


# -- noise


NOISE = {
    "normals": lambda **given: noise.Noise(noise.many_normals, (200, 30), **given),
    "signs": lambda **given: noise.Noise(noise.sign_words, (200, 30), **given),
    "masks": lambda **given: noise.Dropped((2000, 60), 0.1, **given),
}


@pytest.mark.parametrize("kind", NOISE)
def test_the_noise_of_a_member_follows_from_its_seed_and_the_step_alone(kind):
    place = torch.device("cpu")
    together, alone, other = (
        NOISE[kind](seeds=seeds, stream=stream) for seeds, stream in ((SEEDS, 1), (SEEDS[1:2], 1), (SEEDS, 2))
    )
    steps = [0, 1, 25, 3, 25]  # forwards and backwards, in several blocks
    drawn = [together.at(step, place) for step in steps]
    for step, numbers in zip(steps, drawn, strict=True):
        torch.testing.assert_close(alone.at(step, place)[0], numbers[1], rtol=0, atol=0)
    torch.testing.assert_close(drawn[2], drawn[4], rtol=0, atol=0)
    by_chance = 0.82 + 0.01 if kind == "masks" else 0.01  # the share that is equal of what has nothing in common
    pairs = [(drawn[0], drawn[1]), (drawn[0], drawn[2]), (drawn[1], drawn[3]), (drawn[0], other.at(0, place))]
    for one, another in [*pairs, (drawn[0][0], drawn[0][1]), (drawn[0][1], drawn[0][2])]:
        assert (one == another).float().mean() < by_chance


def test_many_normals_are_independent_and_normal():
    size = 200_001
    drawn = noise.many_normals(np.random.default_rng(0), (3, size // 3))
    assert (drawn.shape, drawn.dtype) == ((3, size // 3), np.float32)
    draw = drawn.ravel()
    values = np.sort(draw.astype(float))
    normal = torch.special.ndtr(torch.from_numpy(values)).numpy()
    # The 99.9 % point of Kolmogorov's statistic is 1.95 / √n.
    assert np.abs(normal - (np.arange(size) + 0.5) / size).max() < 1.95 / np.sqrt(size)
    assert 4 < np.abs(values).max() < 6
    half = size // 2 + 1  # numbers so far apart come from the same bits
    for lag in (1, half):
        assert abs(np.corrcoef(draw[lag:], draw[:-lag])[0, 1]) < 4 / np.sqrt(size - lag)
        assert abs(np.corrcoef(draw[lag:] ** 2, draw[:-lag] ** 2)[0, 1]) < 4 / np.sqrt(size - lag)


@pytest.mark.parametrize("rate", [0.005, 0.3, 0.9])
def test_masks_drop_each_by_itself_with_the_rate(rate):
    masks = noise.dropout_masks(np.random.default_rng(0), (400, 1000), rate)
    dropped = masks == 0
    assert set(np.unique(masks)) == {np.float32(0), np.float32(1 / (1 - rate))}
    for axis in (0, 1):
        share, count = dropped.mean(axis=axis), masks.shape[axis]
        assert share.std() == pytest.approx(np.sqrt(rate * (1 - rate) / count), rel=0.15)
    assert dropped.mean() == pytest.approx(rate, abs=4 * np.sqrt(rate / masks.size))
    assert (dropped[:, 1:] & dropped[:, :-1]).mean() == pytest.approx(rate**2, abs=5e-3)


# -- folders


def frames(rows: int = 300) -> tuple[pl.DataFrame, pl.DataFrame, Features]:
    rng = np.random.default_rng(3)
    numbers = {f"x{place}": rng.normal(10, 3, rows) for place in range(3)}
    frame = pl.DataFrame({**numbers, "y": 100 + 5 * numbers["x0"] + rng.normal(size=rows)})
    return frame[:250], frame[250:], Features(numeric=tuple(numbers))


def fit(folder: Path, method: str = "mlp", **changed) -> Path:
    train, dev, features = frames()
    module = methods.method(method)
    progress = changed.pop("progress", None)
    settings = module.Settings("regression", **{"members": 3, "epochs": 3, "learning_rate": 0.01, **changed})
    return module.fit(train, dev, features=features, target="y", settings=settings, folder=folder, progress=progress)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_fit_that_was_cut_off_leaves_the_same_files(tmp_path, monkeypatch):
    def cut(done, total, message):
        if done == 2:
            raise OSError("the power is gone")

    monkeypatch.setattr(members, "Checkpoint", lambda path, own: Checkpoint(path, own, every_s=0))
    whole = contents(fit(tmp_path / "whole"))
    with pytest.raises(OSError, match="the power is gone"):
        fit(tmp_path / "cut", progress=cut)
    assert (tmp_path / "cut" / "member_all.ckpt").exists()
    steps = []
    assert contents(fit(tmp_path / "cut", progress=lambda *told: steps.append(told[0]))) == whole
    assert steps[0] >= 2, "only what is missing is done again"
    assert sorted(whole) == [*(f"member_{m:02d}.{kind}" for m in range(3) for kind in ("json", "pt")), "settings.json"]


def test_a_missing_or_damaged_member_is_named_and_trained_again(tmp_path):
    folder = fit(tmp_path / "a")
    before = contents(folder)
    (folder / "member_01.pt").write_bytes(b"not weights")
    (folder / "member_02.pt").unlink()
    train, _, _ = frames()
    with pytest.raises(SettingsError) as caught:
        methods.method("mlp").predict(train, folder=folder)
    assert ["member_01.pt" in caught.value.problems[0], "member_02.pt" in caught.value.problems[1]] == [True, True]
    fit(folder)
    assert contents(folder) == before


def test_a_file_that_holds_no_weights_is_an_error(tmp_path):
    folder = fit(tmp_path / "a")
    kept = member_files.weights(folder)
    kept.path(1).write_bytes(checkpoint.pack({"a": torch.zeros(1)})[:-1])
    kept.finish(1, {})
    train, _, _ = frames()
    with pytest.raises(SettingsError, match=r"member_01\.pt: expected the weights of a network, found something else"):
        methods.method("mlp").predict(train, folder=folder)


def test_weights_of_another_network_are_an_error_that_says_what_differs(tmp_path):
    folder = fit(tmp_path / "a")
    kept = member_files.weights(folder)
    for member in range(3):
        weights = checkpoint.read_weights(kept.path(member))
        kept.path(member).write_bytes(checkpoint.pack({name: value[..., :1] for name, value in weights.items()}))
        kept.finish(member, {})
    train, _, _ = frames()
    with pytest.raises(SettingsError, match=r"expected weights of the network that this version makes.* size mismatch"):
        methods.method("mlp").predict(train, folder=folder)


def test_the_rows_of_a_prediction_are_in_blocks_and_the_cores_make_no_difference(tmp_path, monkeypatch):
    folder = fit(tmp_path / "a", method="mlp_dropout", draws=4)
    train, _, _ = frames()
    predict = methods.method("mlp_dropout").predict
    whole = predict(train, folder=folder, cores=1)
    assert (whole.mean.shape, whole.mean.dtype, whole.draws) == ((12, 250), np.float64, 4)
    np.testing.assert_array_equal(predict(train, folder=folder, cores=3).mean, whole.mean)
    monkeypatch.setattr(members, "CPU_BLOCK", 64)
    blocks = predict(train, folder=folder, cores=2)
    np.testing.assert_allclose(blocks.mean, whole.mean, rtol=1e-6)
    np.testing.assert_allclose(blocks.variance, whole.variance, rtol=1e-4)


@pytest.mark.parametrize("method", ["mlp", "mlp_dropout", "mlp_flipout", "symbolic"])
def test_a_classification_is_refused(method):
    with pytest.raises(SettingsError, match="task: expected regression, found 'classification'"):
        methods.method(method).Settings("classification")


def test_every_value_out_of_range_is_reported_at_once():
    with pytest.raises(SettingsError) as caught:
        methods.method("mlp_dropout").Settings(
            "regression", members=0, batch=0, learning_rate=2, cosine=1, weight_decay=-1, epochs=0, most_steps=0,
            patience=0, seed=-1, hidden=(0,), scales={"t": 0}, dropout=0, draws=0,
        )  # fmt: skip
    assert {problem.split(":")[0] for problem in caught.value.problems} == {
        "members", "batch", "learning_rate", "cosine", "weight_decay", "epochs", "most_steps", "patience", "seed",
        "hidden", "scales.t", "dropout", "draws",
    }  # fmt: skip
