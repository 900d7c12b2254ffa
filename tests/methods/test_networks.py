"""Neural methods: what networks are given, what their outputs mean, and that a folder of them can be trusted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from rtdl_revisiting_models import FTTransformer
from scipy import stats

from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError, TableError
from shiftbench.methods import fitted_folder, member_training, training
from shiftbench.methods.checkpoint import Checkpoint
from shiftbench.methods.networks import architectures, heads, member
from shiftbench.methods.networks.architectures import FixedDropout, Shape
from shiftbench.methods.networks.encoding import Encoding
from shiftbench.methods.networks.ft_transformer import METHOD as FT_TRANSFORMER
from shiftbench.methods.networks.ft_transformer import WIDTHS
from shiftbench.methods.networks.mc_dropout import METHOD as MC_DROPOUT
from shiftbench.methods.networks.tabm import METHOD as TABM
from shiftbench.partition import features
from shiftbench.partition.features import Inputs
from tests.methods.conftest import TARGETS

SMALL = {"blocks": 2, "width": 16, "attention_heads": 2, "most_steps": 12, "learning_rate": 1e-3}


def inputs(*columns, categorical=()) -> Inputs:
    texts = [np.array(column, object) for column in categorical]
    rows = len((*columns, *texts)[0])
    numeric = np.array(columns, np.float32).reshape(len(columns), rows).T
    names = [f"n{place}" for place in range(len(columns))], [f"c{place}" for place in range(len(texts))]
    return Inputs(numeric, texts, *names)


def transformer(parts, folder: Path, task: str = "regression", cores: int = 1, progress=None, **changed) -> Path:
    settings = FT_TRANSFORMER.Settings(task, **{**SMALL, "members": 1, **changed})
    return FT_TRANSFORMER.fit(
        parts.train, parts.dev, features=parts.features, target=TARGETS[task], settings=settings, folder=folder,
        cores=cores, progress=progress,
    )  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def fitted(parts, tmp_path_factory) -> Path:
    return transformer(parts, tmp_path_factory.mktemp("neural") / "network", attention_dropout=0.1, dropout=0.2)


# -- inputs


def test_numbers_become_like_a_standard_normal_and_keep_their_order(rng):
    column = rng.normal(50, 7, 4000)
    encoded = Encoding.fit(inputs(column)).encode(inputs(column))[0][:, 0]
    median, low, high = np.quantile(np.float32(column), [0.5, 0.25, 0.75])
    np.testing.assert_allclose(encoded, np.arcsinh((column - median) * 1.349 / (high - low)), rtol=1e-4, atol=1e-5)
    assert (np.diff(encoded[np.argsort(column)]) >= 0).all()


def test_outliers_change_nothing_for_the_others(rng):
    column = rng.normal(size=1000)
    spoilt = column.copy()
    spoilt[[3, 5]] = 1e30, -1e30
    plain = Encoding.fit(inputs(column)).encode(inputs(column))[0]
    encoded = Encoding.fit(inputs(spoilt)).encode(inputs(spoilt))[0]
    others = ~np.isin(np.arange(1000), [3, 5])
    np.testing.assert_allclose(encoded[others], plain[others], atol=0.02)
    np.testing.assert_array_equal(encoded[[3, 5], 0], [10, -10])


def test_a_column_that_is_mostly_zero_is_scaled_by_the_rest(rng):
    rain = np.where(np.arange(1000) < 30, rng.gamma(2, 3, 1000), 0.0)
    encoded = Encoding.fit(inputs(rain)).encode(inputs(rain))[0][:, 0]
    assert (encoded[30:] == 0).all()
    assert 0.5 < np.median(encoded[:30]) < 3


def test_constant_columns_say_nothing_whatever_comes_later(rng):
    varied = rng.normal(size=50)
    encoding = Encoding.fit(inputs(np.full(50, 1e30), np.full(50, np.nan), varied))
    numbers, _ = encoding.encode(inputs(varied, varied, varied))
    assert (numbers[:, :2] == 0).all()
    assert numbers.shape == (50, 3)


def test_missing_values_are_marked_where_train_lacks_some_and_never_fail(rng):
    whole, holes = rng.normal(size=50), rng.normal(size=50)
    holes[::5] = np.nan
    encoding = Encoding.fit(inputs(whole, holes))
    assert encoding.flagged == [1]
    numbers, _ = encoding.encode(inputs([np.nan, 1.0], [np.nan, 1.0]))
    np.testing.assert_array_equal(numbers[0], [0, 0, 1])
    assert numbers[1, 2] == 0


def test_rare_and_unseen_categories_share_the_unknown_code():
    encoding = Encoding.fit(inputs(categorical=[["b"] * 5 + ["a"] * 9 + ["rare"] * 4]))
    assert encoding.cardinalities == [3]
    assert encoding.encode(inputs(categorical=[["a", "b", "rare", "new"]]))[1][:, 0].tolist() == [1, 2, 0, 0]


def test_an_encoding_survives_json_exactly(rng):
    encoding = Encoding.fit(inputs(rng.normal(size=30), rng.gamma(1, size=30), categorical=[["a", "b"] * 15]))
    again = Encoding.from_json(encoding.to_json())
    for name in ("center", "factor", "flagged", "categories"):
        np.testing.assert_array_equal(getattr(again, name), getattr(encoding, name))


def test_features_that_never_vary_are_an_error():
    with pytest.raises(TableError, match=r"expected features that vary, found only constant ones \(n0, c0\)"):
        Encoding.fit(inputs([1.0] * 9, categorical=[["a"] * 9]))


# -- outputs


def test_the_score_of_a_mixture_is_its_negative_log_likelihood(rng):
    outputs, targets = torch.from_numpy(rng.normal(size=(6, 3, 2))), torch.from_numpy(rng.normal(size=6))
    mean, log_variance = (values.double().numpy() for values in heads.moments(outputs))
    density = stats.norm.pdf(targets.numpy()[:, None], mean, np.exp(log_variance / 2)).mean(axis=1)
    np.testing.assert_allclose(heads.gaussian_score(outputs, targets), -np.log(density), rtol=1e-5)


def test_the_loss_of_a_normal_is_weighted_by_its_standard_deviation(rng):
    outputs, targets = torch.from_numpy(rng.normal(size=(6, 3, 2))), torch.from_numpy(rng.normal(size=6))
    mean, log_variance = (values.double().numpy() for values in heads.moments(outputs))
    sd = np.exp(log_variance / 2)
    expected = (sd * (np.log(sd) + (targets.numpy()[:, None] - mean) ** 2 / (2 * sd**2))).mean()
    assert heads.gaussian_loss(outputs, targets).item() == pytest.approx(expected, rel=1e-5)


def test_extreme_outputs_give_finite_variances_and_gradients():
    outputs = torch.tensor([[[0.0, -1e6]], [[0.0, 1e6]], [[1e6, 0.0]]], requires_grad=True)
    heads.gaussian_loss(outputs, torch.tensor([1.0, 1.0, 1.0])).backward()
    variance = heads.gaussian_predicted(outputs.detach())[..., 1]
    assert torch.isfinite(outputs.grad).all()
    assert variance.min() >= np.exp(-16.01)
    assert variance.max() <= np.exp(8.01)


def test_the_score_of_classes_is_that_of_their_mean_probabilities(rng):
    outputs, targets = torch.from_numpy(rng.normal(size=(5, 4, 3))), torch.tensor([0, 2, 1, 1, 0])
    probabilities = heads.class_predicted(outputs).numpy().mean(axis=1)
    expected = -np.log(probabilities[np.arange(5), targets.numpy()])
    np.testing.assert_allclose(heads.class_score(outputs, targets), expected, rtol=1e-5)
    each = -np.log(heads.class_predicted(outputs).numpy())[np.arange(5), :, targets.numpy()]
    assert heads.class_loss(outputs, targets).item() == pytest.approx(each.mean(), rel=1e-5)


# -- networks


@pytest.mark.parametrize("heads", [1, 4])
def test_the_transformer_says_what_that_of_the_library_says(heads, rng):
    torch.manual_seed(0)
    settings = {"blocks": 3, "width": 32, "attention_heads": heads}
    ours = architectures.Transformer(Shape(6, (), (3, 4), 2), settings).eval()
    kwargs = architectures.transformer_options(settings)
    theirs = FTTransformer(n_cont_features=6, cat_cardinalities=[3, 4], d_out=2, **kwargs).eval()
    renamed = {name.replace("net.", "", 1): value for name, value in ours.state_dict().items()}
    renamed = {name.replace("attention.layers.", "attention."): value for name, value in renamed.items()}
    renamed = {name.replace("cont_embeddings.present.", "cont_embeddings."): value for name, value in renamed.items()}
    del renamed["cont_embeddings.missing"]
    theirs.load_state_dict(renamed)
    numbers, codes = torch.from_numpy(rng.normal(size=(9, 6))).float(), torch.from_numpy(rng.integers(0, 3, (9, 2)))
    torch.testing.assert_close(ours(numbers, codes)[:, 0], theirs(numbers, codes), rtol=1e-4, atol=1e-5)
    assert [len(group["params"]) for group in ours.groups()] == [
        len(group["params"]) + extra for group, extra in zip(theirs.make_parameter_groups(), (0, 1), strict=True)
    ]


def test_a_missing_value_moves_its_own_token_only(rng):
    net = architectures.Transformer(Shape(3, (1,), (), 2), SMALL)
    net.net.cont_embeddings.missing.data.fill_(1.0)
    numbers = torch.from_numpy(rng.normal(size=(2, 3))).float()
    there, gone = (net.net.cont_embeddings(torch.cat([numbers, torch.full((2, 1), flag)], 1)) for flag in (0.0, 1.0))
    torch.testing.assert_close(gone - there, torch.tensor([0.0, 1.0, 0.0])[None, :, None].expand(2, 3, 16))


@pytest.mark.parametrize("name", ["ft_transformer", "tabm"])
def test_a_category_never_met_adds_nothing(name):
    settings = {**SMALL, "submodels": 4, "dropout": 0.0}
    net = architectures.NETWORKS[name](Shape(1, (), (3,), 2), settings).eval()
    if name == "tabm":
        first = net.net.backbone.blocks[0][0]
        assert (first.weight[:, 1] == 0).all()
        assert (first.weight[:, [0, 2, 3]] != 0).all()
    else:
        assert (net.net.cat_embeddings.embeddings[0].weight[0] == 0).all()


@pytest.mark.parametrize("outputs", [2, 9, 11])
@pytest.mark.parametrize("name", ["ft_transformer", "tabm"])
def test_what_is_said_about_a_row_never_depends_on_its_place(name, outputs, rng):
    torch.manual_seed(0)
    settings = {**SMALL, "submodels": 4, "dropout": 0.1}
    net = architectures.NETWORKS[name](Shape(5, (1,), (3,), outputs), settings).eval()
    rows = rng.normal(size=(150, 6)).astype(np.float32), rng.integers(0, 3, (150, 1))
    order = rng.permutation(150)
    whole, moved, alone = (
        member.outputs(net, heads.CATEGORICAL, tuple(array[places] for array in rows), cores=1)
        for places in (slice(None), order, [149])
    )
    np.testing.assert_array_equal(moved, whole[:, order])
    np.testing.assert_array_equal(alone, whole[:, 149:])


def test_fixed_dropout_is_one_mask_for_all_records():
    dropout = FixedDropout(0.25, torch.Generator().manual_seed(0))
    values = torch.ones(7, 30, 40)
    masked = dropout(values)
    assert masked.unique().tolist() == pytest.approx([0, 4 / 3])
    assert masked.mean().item() == pytest.approx(1.0, abs=0.05)
    assert (masked == masked[:1]).all()
    assert torch.equal(dropout(values[:2]), masked[:2])


# -- fits


@pytest.mark.parametrize("method", [TABM, FT_TRANSFORMER])
def test_it_learns_the_mean_and_where_the_noise_is(method, parts, tmp_path):
    own = {"submodels": 8} if method is TABM else {"attention_heads": 2}
    settings = method.Settings(
        "regression", members=1, blocks=2, width=32, learning_rate=5e-3, most_steps=250, patience=99, **own
    )
    folder = method.fit(
        parts.train, parts.dev, features=parts.features, target="y", settings=settings, folder=tmp_path / "fit", cores=1
    )
    says = method.predict(parts.rows, folder=folder, cores=1)
    here = parts.rows["a"].is_not_null() & parts.rows["colour"].is_not_null()
    truth = (10 + 3 * parts.rows["a"] + 2.0 * (parts.rows["colour"] == "red").cast(float)).filter(here)
    assert np.corrcoef(says.answers()[here], truth)[0, 1] > 0.98
    noisy = (parts.rows["noisy"] == 1).to_numpy() & here.to_numpy()
    calm = (parts.rows["noisy"] == 0).to_numpy() & here.to_numpy()
    spread = np.sqrt(says.variance.mean(axis=0))
    assert np.median(spread[noisy]) > 2 * np.median(spread[calm])
    assert says.members == (8 if method is TABM else 1)


def test_neither_cores_nor_processes_make_a_difference(parts, tmp_path):
    told: list[tuple[int, int, str]] = []
    one = transformer(parts, tmp_path / "1", members=2)
    two = transformer(parts, tmp_path / "2", members=2, cores=2, progress=lambda *said: told.append(said))
    assert [done for done, _, _ in told] == list(range(1, 25)), "a look at dev after each step, from both processes"
    assert {total for _, total, _ in told} == {24}
    assert re.fullmatch(r"member [01]: epoch 0\.167: loss .*, validation .*", told[0][2])
    assert re.fullmatch(r"member [01]: best after \d+ of 12 steps", told[-1][2])
    assert contents(one) == contents(two)
    assert len(contents(one)) == 5
    first, second = (FT_TRANSFORMER.predict(parts.rows, folder=one, cores=cores).mean for cores in (1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first[0] != first[1]).all(), "members differ"


def test_a_fit_that_was_cut_off_ends_with_the_same_files(parts, fitted, tmp_path, monkeypatch):
    whole = training.train

    def cut(net, objective, schedule, *, checkpoint, device, progress):
        def stop(step, steps, line):
            if step >= 7:
                raise OSError("the power is gone")

        saved = Checkpoint(checkpoint.path, checkpoint.fit, every_s=0)
        return whole(net, objective, schedule, checkpoint=saved, device=device, progress=stop)

    monkeypatch.setattr(training, "train", cut)
    options = {"attention_dropout": 0.1, "dropout": 0.2}
    with pytest.raises(OSError, match="the power is gone"):
        transformer(parts, tmp_path / "network", **options)
    assert sorted(contents(tmp_path / "network")) == ["member_00.ckpt", "settings.json"]
    seen = []
    monkeypatch.setattr(training, "train", whole)
    transformer(parts, tmp_path / "network", progress=lambda done, *_: seen.append(done), **options)
    assert seen[0] > 6
    assert contents(tmp_path / "network") == contents(fitted)


def test_damaged_weights_are_noticed_and_only_they_are_trained_again(parts, tmp_path):
    folder = transformer(parts, tmp_path / "fit", members=2)
    before = contents(folder)
    (folder / "member_01.pt").write_bytes(before["member_01.pt"][:-1] + b"x")
    with pytest.raises(
        SettingsError, match=r"member_01\.pt: expected the weights as they were written, found a changed"
    ):
        FT_TRANSFORMER.predict(parts.rows, folder=folder)
    kept = (folder / "member_00.pt").stat().st_mtime_ns
    transformer(parts, folder, members=2)
    assert contents(folder) == before
    assert (folder / "member_00.pt").stat().st_mtime_ns == kept


def test_rows_unlike_any_in_train_are_answered_with_finite_numbers(parts, fitted):
    odd = parts.rows.head(4).with_columns(
        a=pl.Series([1e30, -1e30, None, 0.0]), b=pl.Series([None, 3e38, 1.0, None]),
        noisy=pl.Series([None, 7.0, 0.0, 1.0]), colour=pl.Series(["violet", None, "red", "blue"]),
    )  # fmt: skip
    says = FT_TRANSFORMER.predict(odd, folder=fitted)
    assert np.isfinite(says.mean).all()
    assert np.isfinite(says.variance).all()


def test_a_class_that_train_lacks_gets_probability_zero(parts, tmp_path):
    folder = transformer(parts, tmp_path / "fit", "classification", classes=["low", "none", "mid", "high"])
    says = FT_TRANSFORMER.predict(parts.rows, folder=folder)
    assert says.classes == ("low", "none", "mid", "high")
    assert (says.probabilities[..., 1] == 0).all()
    np.testing.assert_allclose(says.probabilities.sum(axis=-1), 1, rtol=1e-12)


@pytest.mark.parametrize("columns", [["a"], ["colour"]])
@pytest.mark.parametrize("method", [TABM, FT_TRANSFORMER])
def test_tables_of_only_numbers_or_only_text_do(method, columns, parts, tmp_path):
    own = {"submodels": 2} if method is TABM else {"attention_heads": 2}
    settings = method.Settings("regression", members=1, width=16, most_steps=2, **own)
    others = [name for name in parts.train.columns if name not in columns]
    chosen = features.choose(parts.train, target="y", exclude=[name for name in others if name != "y"])
    folder = method.fit(
        parts.train, parts.dev, features=chosen, target="y", settings=settings, folder=tmp_path / "fit", cores=1
    )
    assert np.isfinite(method.predict(parts.rows, folder=folder).mean).all()


def test_a_loss_that_explodes_stops_with_advice(parts, tmp_path, monkeypatch):
    monkeypatch.setattr(heads, "GAUSSIAN", heads.Head(
        lambda outputs, targets: outputs.sum() * float("nan"), heads.gaussian_score, heads.gaussian_predicted
    ))  # fmt: skip
    with pytest.raises(ShiftbenchError, match="expected a finite loss, found nan"):
        transformer(parts, tmp_path / "fit")


# -- dropout


def sampled(parts, network: Path, name: str = "dropout", **changed) -> Path:
    settings = MC_DROPOUT.Settings("regression", **{"of": network.name, "samples": 3, **changed})
    return MC_DROPOUT.fit(parts.train, parts.dev, target="y", settings=settings, folder=network.parent / name)


def test_draws_of_dropout_differ_but_scatter_about_the_network_itself(parts, fitted):
    says = MC_DROPOUT.predict(parts.rows, folder=sampled(parts, fitted, samples=60), cores=1)
    network = FT_TRANSFORMER.predict(parts.rows, folder=fitted).mean[0]
    assert says.members == 60
    assert (says.mean.std(axis=0) > 0).all()
    error = says.mean.mean(axis=0) - network
    assert np.abs(error).mean() < 0.5 * says.mean.std(axis=0).mean()


def test_draws_depend_on_their_seed_alone(parts, fitted):
    three, five = (sampled(parts, fitted, f"dropout{count}", samples=count) for count in (3, 5))
    few, many = (
        MC_DROPOUT.predict(parts.rows, folder=place, cores=cores).mean for place, cores in ((three, 1), (five, 2))
    )
    np.testing.assert_array_equal(few, many[:3])
    other = MC_DROPOUT.predict(parts.rows, folder=sampled(parts, fitted, "other", seed=1)).mean
    assert (few != other).all()


def test_a_network_that_was_fitted_anew_is_noticed(parts, tmp_path):
    network = transformer(parts, tmp_path / "network")
    folder = sampled(parts, network)
    settings = FT_TRANSFORMER.Settings("regression", **SMALL | {"members": 1, "seed": 9})
    FT_TRANSFORMER.fit(
        parts.train, parts.dev, features=parts.features, target="y", settings=settings, folder=network, cores=1,
        overwrite=True,
    )  # fmt: skip
    with pytest.raises(SettingsError, match="expected the network that this method was fitted with, found another fit"):
        MC_DROPOUT.predict(parts.rows, folder=folder)


def test_a_network_without_dropout_or_of_another_target_is_refused(parts, tmp_path):
    network = transformer(parts, tmp_path / "network", attention_dropout=0, dropout=0)
    with pytest.raises(SettingsError, match="expected a network with dropout, found none"):
        sampled(parts, network)
    settings = MC_DROPOUT.Settings("regression", of="network")
    with pytest.raises(SettingsError, match="expected a fit to the target 'b', found 'y'"):
        MC_DROPOUT.fit(parts.train, parts.dev, target="b", settings=settings, folder=tmp_path / "dropout")
    with pytest.raises(SettingsError, match=r"expected the folder of a fitted method, found no settings\.json"):
        sampled(parts, tmp_path / "nothing")


# -- settings and libraries


def test_settings_name_everything_that_is_wrong():
    with pytest.raises(SettingsError) as caught:
        FT_TRANSFORMER.Settings("regression", members=0, dropout=1.0, width=20, weight_decay=-1.0, mixed_precision=2)
    assert [text.partition(":")[0] for text in caught.value.problems] == [
        "members", "weight_decay", "mixed_precision", "width", "dropout",
    ]  # fmt: skip
    with pytest.raises(SettingsError, match=r"width: expected a multiple of 7 \(attention_heads\), found 192"):
        FT_TRANSFORMER.Settings("regression", attention_heads=7)
    with pytest.raises(SettingsError, match="of: expected the name of a fitted ft_transformer"):
        MC_DROPOUT.Settings("regression", of="../elsewhere")


def test_the_widths_are_those_of_the_library():
    widths = [FTTransformer.get_default_kwargs(blocks)["d_block"] for blocks in range(1, 7)]
    assert tuple(widths) == WIDTHS


def test_a_missing_library_names_the_extra(parts, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rtdl_revisiting_models", None)
    with pytest.raises(MissingExtraError, match=r"method ft_transformer: .* pip install 'shiftbench\[neural\]'"):
        transformer(parts, tmp_path / "fit")


def test_settings_need_no_torch():
    code = "import sys; import shiftbench.methods.networks.{} as method; assert 'torch' not in sys.modules"
    for name in ("tabm", "mc_dropout"):
        subprocess.run([sys.executable, "-c", code.format(name)], check=True)


def test_each_process_trains_on_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(training, "device", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert member_training.processes(cores=16) == 2
    assert [member_training.device(number).index for number in range(2)] == [0, 1]


def test_making_a_network_leaves_all_random_states_alone(fitted, monkeypatch):
    seeded = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    before = torch.get_rng_state()
    member.network(fitted_folder.read(fitted), seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    assert seeded == []


def test_most_steps_bounds_the_cost_and_validations_their_share():
    settings = {**FT_TRANSFORMER.Settings("regression").to_dict(), "most_steps": 1000}
    arrays = {"train_targets": range(3_000_000), "dev_targets": range(10_000)}
    schedule = member.schedule(settings, arrays, seed=0)
    assert (schedule.steps, schedule.validate_every, schedule.batch) == (1000, 39, 256)
    schedule = member.schedule(settings, {"train_targets": range(1000), "dev_targets": range(100)}, seed=0)
    assert (schedule.steps, schedule.validate_every) == (400, 4), "100 epochs, and a look at dev after each"
