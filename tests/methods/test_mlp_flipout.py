"""Variational networks: the evidence lower bound, Flipout's signs, and draws of whole functions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.nn import functional

from shiftbench.methods import mlp_flipout, stacked_layers
from shiftbench.methods.stacked_nets import Flipout

RECORDS = 50


def network(seeds=(1, 2), *, prior_sd: float = 0.7) -> Flipout:
    net = Flipout(4, (6, 5), seeds=list(seeds), prior_sd=prior_sd, batch=8, records=RECORDS)
    with torch.no_grad():
        net.rho += 0.5 * torch.randn(net.rho.shape, generator=torch.Generator().manual_seed(0)) + 1
    return net


def says(net: Flipout, parameters: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and deviation [F, B] of networks with parameters [F, P], for records [F, B, D]."""
    mean, raw = stacked_layers.layers(values, parameters, net.shapes).unbind(-1)
    return mean, functional.softplus(raw) + 1e-6


def test_the_published_settings_are_the_defaults():
    settings = mlp_flipout.Settings("regression")
    assert (settings.draws, settings.hidden, settings.prior_sd) == (10, (50, 20), 1.0)


def test_the_divergence_is_that_of_all_layers_summed():
    net = network()
    sd = functional.softplus(net.rho)
    expected = kl_divergence(Normal(net.center, sd), Normal(torch.tensor(0.0), torch.tensor(0.7))).sum(dim=1)
    torch.testing.assert_close(net.divergence(sd), expected, rtol=1e-4, atol=1e-3)
    assert net.center.shape == (2, 4 * 6 + 6 + 6 * 5 + 5 + 5 * 2 + 2), "weights and biases of every layer"


def test_the_loss_is_likelihood_plus_divergence_over_the_records():
    net, values, targets = network(), torch.randn(2, 8, 4), torch.randn(2, 8)
    with torch.no_grad():
        net.rho.fill_(-15.0)  # hardly any deviation: the likelihood is that of the centre
    mean, sd = says(net, net.center, values)
    likelihood = -Normal(mean, sd).log_prob(targets).mean(dim=1) - 0.5 * np.log(2 * np.pi)
    divergence = net.divergence(functional.softplus(net.rho))
    assert torch.isfinite(divergence).all()
    torch.testing.assert_close(net.losses(values, targets, 0), likelihood + divergence / RECORDS)


def test_one_record_sees_weights_as_if_drawn_for_it_alone():
    """The signs make no difference to what each record sees: the mean loss is that of weights drawn plainly."""
    net, draws = network((3,)), 3000
    values, targets = torch.randn(1, 1, 4), torch.randn(1, 1)
    sd = functional.softplus(net.rho)
    ours = np.mean([net.losses(values, targets, step).item() for step in range(draws)])
    torch.manual_seed(0)
    parameters = net.center + sd * torch.randn(20_000, net.center.shape[1])
    mean, deviation = says(net, parameters, values.expand(20_000, 1, 4))
    theirs = -Normal(mean, deviation).log_prob(targets).mean().item() - 0.5 * np.log(2 * np.pi)
    assert ours == pytest.approx(theirs + net.divergence(sd).item() / RECORDS, rel=0.05)


def test_signs_decorrelate_the_records_of_a_batch():
    net, values = network((4,)), torch.randn(1, 1, 4).expand(1, 8, 4)
    assert all((side.abs() == 1).all() for pair in net._signs(8, 0) for side in pair)
    shapes = [tuple(side.shape[-1] for side in pair) for pair in net._signs(8, 0)]
    assert shapes == [(4, 6), (6, 5), (5, 2)]
    outputs = []
    for step in range(400):
        shift = functional.softplus(net.rho) * net.normals.at(step, torch.device("cpu"))
        drawn = stacked_layers.Drawn(shift=shift, signs=net._signs(8, step))
        outputs.append(stacked_layers.layers(values, net.center, net.shapes, drawn)[0, :, 0].detach().numpy())
    correlation = np.corrcoef(np.array(outputs).T)
    # In the first layer signs make perturbations independent; what is left comes from the layers after it.
    assert np.abs(correlation[~np.eye(8, dtype=bool)]).mean() < 0.2


def test_validations_use_the_means_of_the_posterior():
    net, values = network(), torch.randn(9, 4)
    torch.testing.assert_close(net.mean(values), says(net, net.center, values.expand(2, 9, 4))[0])


def test_draws_are_distributed_like_the_posterior():
    net, values = network((5,)), torch.randn(9, 4)
    (function,) = net.functions(4000)
    ours = function(values.T.contiguous()).detach()
    torch.manual_seed(0)
    parameters = (net.center + functional.softplus(net.rho) * torch.randn(20_000, net.center.shape[1])).detach()
    mean, deviation = says(net, parameters, values.expand(20_000, 9, 4))
    np.testing.assert_allclose(ours[0].mean(0), mean.mean(0), atol=0.1 * float(mean.std()))
    np.testing.assert_allclose(ours[0].std(0), mean.std(0), rtol=0.1)
    np.testing.assert_allclose(ours[1].mean(0), deviation.mean(0), rtol=0.1)
