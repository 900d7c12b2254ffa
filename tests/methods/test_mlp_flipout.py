"""Variational networks: the evidence lower bound, Flipout's signs, and draws of whole functions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.nn import functional

from shiftbench.methods.batched import layers, losses
from shiftbench.methods.batched.mlp import FlipoutSettings
from shiftbench.methods.batched.networks import Flipout
from shiftbench.methods.determinism import one_thread

RECORDS = 50


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """As in a fit: on a busy machine small operations would wait for threads."""
    with one_thread():
        yield


def network(seeds=(1, 2), *, prior_sd: float = 0.7) -> Flipout:
    net = Flipout(4, (6, 5), seeds=list(seeds), prior_sd=prior_sd, batch=8, records=RECORDS)
    with torch.no_grad():
        net.rho += 0.5 * torch.randn(net.rho.shape, generator=torch.Generator().manual_seed(0)) + 1
    return net


def says(net: Flipout, parameters: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and deviation [F, B] of networks with parameters [F, P], for records [F, B, D]."""
    mean, raw = layers.layers(values.mT, parameters, net.shapes, layers.Drawn()).unbind(1)
    return mean, functional.softplus(raw) + 1e-6


def divergence(net: Flipout) -> torch.Tensor:
    """Of the posteriors from the prior [M]."""
    return losses.drawn_posterior(net.center, net.rho, torch.zeros_like(net.rho), net.prior_sd)[1]


def test_the_published_settings_are_the_defaults():
    settings = FlipoutSettings("regression")
    assert (settings.draws, settings.hidden, settings.prior_sd) == (10, (50, 20), 1.0)


def test_the_divergence_is_that_of_all_layers_summed():
    net = network()
    sd = functional.softplus(net.rho)
    expected = kl_divergence(Normal(net.center, sd), Normal(torch.tensor(0.0), torch.tensor(0.7))).sum(dim=1)
    torch.testing.assert_close(divergence(net), expected, rtol=1e-4, atol=1e-3)
    assert net.center.shape == (2, 4 * 6 + 6 + 6 * 5 + 5 + 5 * 2 + 2), "weights and biases of every layer"


def test_the_loss_is_likelihood_plus_divergence_over_the_records():
    net, values, targets = network(), torch.randn(2, 8, 4), torch.randn(2, 8)
    with torch.no_grad():
        net.rho.fill_(-15.0)  # hardly any deviation: the likelihood is that of the centre
    mean, sd = says(net, net.center, values)
    likelihood = -Normal(mean, sd).log_prob(targets).mean(dim=1) - 0.5 * np.log(2 * np.pi)
    assert torch.isfinite(divergence(net)).all()
    torch.testing.assert_close(net.losses(values, targets, 0), likelihood + divergence(net) / RECORDS)


def test_one_record_sees_weights_as_if_drawn_for_it_alone():
    """The signs make no difference to what each record sees: the mean loss is that of weights drawn plainly."""
    net = network(range(100))  # members whose posteriors are that of the first
    values, targets = torch.randn(1, 1, 4), torch.randn(1, 1)
    with torch.no_grad():
        net.center[1:], net.rho[1:] = net.center[0], net.rho[0]
        found = [net.losses(values.expand(100, 1, 4), targets.expand(100, 1), step) for step in range(300)]
    ours = torch.stack(found).mean().item()
    torch.manual_seed(0)
    parameters = net.center[:1] + functional.softplus(net.rho[:1]) * torch.randn(100_000, net.center.shape[1])
    mean, deviation = says(net, parameters, values.expand(100_000, 1, 4))
    theirs = -Normal(mean, deviation).log_prob(targets).mean().item() - 0.5 * np.log(2 * np.pi)
    assert ours == pytest.approx(theirs + divergence(net)[0].item() / RECORDS, rel=0.05)


def test_signs_are_fair_and_independent():
    net = Flipout(4, (6, 5), seeds=[1, 2], prior_sd=1.0, batch=4000, records=RECORDS)
    signs = torch.cat([side for pair in net._signs(4000, 3) for side in pair], dim=1)
    assert signs.dtype == torch.float32
    assert set(signs.unique().tolist()) == {-1.0, 1.0}
    negative = (signs < 0).flatten(0, 1).numpy()
    assert negative.shape == (2 * (4 + 6 + 6 + 5 + 5 + 2), 4000)
    assert np.abs(negative.mean(axis=1) - 0.5).max() < 4 * 0.5 / np.sqrt(4000)
    correlation = np.corrcoef(negative)[~np.eye(len(negative), dtype=bool)]
    assert np.abs(correlation).max() < 5 / np.sqrt(4000)


def test_signs_decorrelate_the_records_of_a_batch():
    net, values = network((4,)), torch.randn(1, 1, 4).expand(1, 8, 4)
    shapes = [tuple(tuple(side.shape) for side in pair) for pair in net._signs(8, 0)]
    assert shapes == [((1, before, 8), (1, after, 8)) for before, after in [(4, 6), (6, 5), (5, 2)]]
    outputs = []
    for step in range(400):
        shift = functional.softplus(net.rho) * net.normals.at(step, torch.device("cpu"))
        drawn = layers.Drawn(shift=shift, signs=net._signs(8, step))
        outputs.append(layers.layers(values.mT, net.center, net.shapes, drawn)[0, 0].detach().numpy())
    correlation = np.corrcoef(np.array(outputs).T)
    # In the first layer signs make perturbations independent; what is left comes from the layers after it.
    assert np.abs(correlation[~np.eye(8, dtype=bool)]).mean() < 0.2


def test_validations_use_the_means_of_the_posterior():
    net, values = network(), torch.randn(9, 4)
    torch.testing.assert_close(net.mean(values), says(net, net.center, values.expand(2, 9, 4))[0])


def test_draws_are_distributed_like_the_posterior():
    net, values = network((5,)), torch.randn(9, 4, generator=torch.Generator().manual_seed(1))
    (function,) = net.functions(2000)
    ours = function(values.T.contiguous()).detach()
    torch.manual_seed(0)
    parameters = (net.center + functional.softplus(net.rho) * torch.randn(100_000, net.center.shape[1])).detach()
    mean, deviation = says(net, parameters, values.expand(len(parameters), 9, 4))
    np.testing.assert_allclose(ours[0].mean(0), mean.mean(0), atol=0.1 * float(mean.std()))
    np.testing.assert_allclose(ours[0].std(0), mean.std(0), rtol=0.1)
    np.testing.assert_allclose(ours[1].mean(0), deviation.mean(0), rtol=0.1)
