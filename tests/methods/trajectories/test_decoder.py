"""The decoder is the published one, its two directions are exact inverses, and its density is one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from shiftbench.methods.trajectories import likelihood
from shiftbench.methods.trajectories.autoregression import Decoder, linear_head, two_layer_head
from shiftbench.methods.trajectories.dropout import HeldDropout
from shiftbench.methods.trajectories.planner_net import MobileNetV2, PlannerNet, channels
from shiftbench.methods.trajectories.settings import CloningSettings
from shiftbench.metrics import motion

GOLDEN = dict(np.load(Path(__file__).parent / "golden.npz"))
SAMPLING = Path(__file__).parents[2] / "golden" / "motion" / "bc_sampling.npz"


def golden(name: str) -> torch.Tensor:
    return torch.from_numpy(GOLDEN[name])


def published(kind: str, head: nn.Module, names: dict[str, str]) -> Decoder:
    """A decoder with the stored weights."""
    decoder = Decoder(16, head)
    cell = {f"gru.{name}_l0": golden(f"{kind}._decoder.{name}") for name in CELL}
    decoder.load_state_dict(cell | {f"head.{ours}": golden(f"{kind}.{theirs}") for ours, theirs in names.items()})
    return decoder.requires_grad_(False)


CELL = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
LAYERS = {f"{layer}.{part}": f"_locscale._model.{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias")}
CLOSE = {"rtol": 2e-5, "atol": 1e-4}


@pytest.fixture
def flow() -> Decoder:
    return published("flow", two_layer_head(16), LAYERS)


def test_the_flow_makes_the_published_positions_of_noise(flow):
    positions, log_scales = flow(golden("x"), golden("z"))
    torch.testing.assert_close(positions, golden("flow.forward.y"), **CLOSE)
    torch.testing.assert_close(log_scales.sum(dim=(1, 2)), golden("flow.forward.logabsdet"), **CLOSE)


def test_the_flow_finds_the_published_noise_of_positions(flow):
    noise, log_scales = flow.inverse(golden("targets"), golden("z"))
    torch.testing.assert_close(noise, golden("flow.inverse.x"), **CLOSE)
    torch.testing.assert_close(log_scales.sum(dim=(1, 2)), golden("flow.inverse.logabsdet"), **CLOSE)
    torch.testing.assert_close(likelihood.standard_normal(noise), golden("flow.inverse.log_prob"), **CLOSE)


@pytest.fixture
def cloning() -> Decoder:
    return published("bc", linear_head(16), {part: f"_output.{part}" for part in ("weight", "bias")})


def test_behavioural_cloning_scores_positions_as_published(cloning):
    torch.testing.assert_close(cloning.log_prob(golden("targets"), golden("z")), golden("bc.log_likelihood"), **CLOSE)


def test_behavioural_cloning_learns_by_the_published_likelihood_of_true_moves_given_samples(cloning):
    given = {name: torch.from_numpy(values) for name, values in np.load(SAMPLING).items()}
    found = cloning.double().sampled_log_prob(given["targets"], golden("z").double(), given["noise"])
    torch.testing.assert_close(found, given["log_likelihood"], rtol=1e-9, atol=1e-9)


def made(hidden: int = 16, steps: int = 4, rows: int = 3, **options) -> tuple[Decoder, torch.Tensor, torch.Tensor]:
    torch.default_generator.manual_seed(11)
    decoder = Decoder(hidden, two_layer_head(hidden), **options).double().requires_grad_(False)
    return decoder, torch.randn(rows, steps, 2).double(), torch.randn(rows, hidden).double()


@pytest.mark.parametrize("position_unit_m", [1.0, 10.0])
def test_forward_and_inverse_undo_each_other(position_unit_m):
    decoder, noise, context = made(steps=25, position_unit_m=position_unit_m)
    positions, scales = decoder(noise, context)
    back, same = decoder.inverse(positions, context)
    torch.testing.assert_close(back, noise, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(same, scales, rtol=1e-9, atol=1e-9)


def test_the_log_determinant_is_that_of_the_jacobian():
    decoder, noise, context = made()
    for row in range(len(noise)):
        one = slice(row, row + 1)
        jacobian = torch.autograd.functional.jacobian(lambda x, one=one: decoder(x, context[one]).values, noise[one])
        expected = torch.linalg.slogdet(jacobian.reshape(8, 8)).logabsdet
        found = decoder(noise[one], context[one]).log_scales.sum()
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_every_position_is_fed_back():
    decoder, noise, context = made()

    def scales(x):
        return decoder(x, context[:1]).log_scales[0].sum(dim=1)

    slopes = torch.autograd.functional.jacobian(scales, noise[:1])[:, 0].abs().sum(dim=-1)
    assert (torch.tril(slopes, -1) > 0).sum() == 6, "a later scale follows from all earlier positions"
    assert torch.count_nonzero(torch.triu(slopes)) == 0, "and from no later one"


def test_a_density_is_the_product_of_its_steps():
    decoder, noise, context = made(rows=1)
    positions = decoder(noise, context).values
    expected, state, before = 0.0, context, torch.zeros(1, 2).double()
    weights = [decoder.gru.get_parameter(f"{name}_l0") for name in CELL]
    for step in range(positions.shape[1]):
        state = torch.gru_cell(before, state, *weights)
        move, raw = decoder.head(state).split(2, dim=-1)
        scale = nn.functional.softplus(raw) + 1e-7
        expected += torch.distributions.Normal(before + move, scale).log_prob(positions[:, step]).sum()
        before = positions[:, step]
    torch.testing.assert_close(decoder.log_prob(positions, context)[0], expected, rtol=1e-9, atol=1e-9)


def test_conditioned_on_samples_that_equal_the_truth_it_is_the_density():
    decoder, noise, context = made()
    positions = decoder(noise, context).values
    sampled = decoder.sampled_log_prob(positions, context, noise)
    torch.testing.assert_close(sampled, decoder.log_prob(positions, context), rtol=1e-9, atol=1e-9)
    assert not torch.allclose(decoder.sampled_log_prob(positions, context, -noise), sampled)


def test_the_published_network_drops_features_alone_and_feeds_metres_and_settings_change_both():
    small = {"width": 0.1, "hidden": 16, "dropout": 0.3}
    for changes, rates, unit in (
        ({}, [0.3, 0.0], 1.0),
        ({"context_dropout": 0.1, "position_unit_m": 10.0}, [0.3, 0.1], 10.0),
    ):
        net = PlannerNet("cloning", CloningSettings(**small, **changes).to_dict(), channels=3)
        assert [module.rate for module in net.modules() if isinstance(module, HeldDropout)] == rates
        noise, context = torch.zeros(1, 3, 2), torch.randn(1, 16)
        fed = []
        net.decoder.gru.register_forward_pre_hook(lambda _, given, fed=fed: fed.append(given[0]))
        net.decoder.inverse(noise + 5, context)
        torch.testing.assert_close(fed[0], torch.tensor([[[0.0, 0.0], [5, 5], [5, 5]]]) / unit)


def test_cnll_is_the_one_that_is_scored(rng):
    trajectories, targets = rng.normal(size=(20, 5, 25, 2)), rng.normal(size=(20, 25, 2))
    weights = rng.dirichlet(np.ones(5), 20)
    given = [torch.from_numpy(values) for values in (trajectories, np.log(weights), targets)]
    found = likelihood.corrected_nll(*given).numpy()
    np.testing.assert_allclose(found, motion.cnll(trajectories, weights, targets), rtol=1e-10)
    found = likelihood.corrected_nll(*given, sigma_m=3.0).numpy()
    np.testing.assert_allclose(found, motion.cnll(trajectories, weights, targets, sigma_m=3.0), rtol=1e-10)


def test_the_encoder_has_as_many_parameters_as_its_authors_say():
    encoder = MobileNetV2(3)
    classifier = nn.Linear(encoder.features, 1000)
    count = sum(value.numel() for net in (encoder, classifier) for value in net.parameters())
    assert count == 3_504_872


@pytest.mark.parametrize(("width", "expected"), [(1.0, 32), (0.5, 16), (0.35, 16), (0.1, 8), (1.4, 48)])
def test_channels_are_multiples_of_eight_near_what_is_asked_for(width, expected):
    assert channels(32, width) == expected


def test_the_encoder_takes_maps_that_are_not_square():
    with torch.inference_mode():
        assert MobileNetV2(17, width=0.25).eval()(torch.zeros(2, 17, 40, 64)).shape == (2, 1280)
