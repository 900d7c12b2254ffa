"""Dropout that is on when networks predict: whole functions are drawn, and validations draw nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from shiftbench.methods.batched import layers
from shiftbench.methods.batched.mlp import DropoutSettings
from shiftbench.methods.batched.networks import Dropout
from shiftbench.methods.determinism import one_thread

HIDDEN, RATE = (6, 5), 0.3


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """As in a fit: on a busy machine small operations would wait for threads."""
    with one_thread():
        yield


def network(seeds=(1, 2), rate: float = RATE) -> Dropout:
    return Dropout(4, HIDDEN, seeds=list(seeds), rate=rate, batch=8)


def plain(net: Dropout, member: int, values: torch.Tensor) -> torch.Tensor:
    """What a member says without dropout [B, 2]."""
    weights, biases = layers.split(net.weights.detach(), net.shapes)
    for layer in range(2):
        values = functional.softplus(values @ weights[layer][member] + biases[layer][member].mT)
    return values @ weights[2][member] + biases[2][member].mT


def test_the_published_settings_are_the_defaults():
    settings = DropoutSettings("regression")
    assert (settings.dropout, settings.draws, settings.hidden) == (0.005, 10, (50, 20))


def test_validations_are_without_dropout():
    net, values = network(), torch.randn(9, 4)
    for member in range(2):
        torch.testing.assert_close(net.mean(values)[member], plain(net, member, values)[:, 0])


def test_losses_differ_from_step_to_step_and_not_at_one_step():
    net, values, targets = network(), torch.randn(2, 8, 4), torch.randn(2, 8)
    first, second, again = (net.losses(values, targets, step) for step in (0, 1, 0))
    assert (first != second).all()
    torch.testing.assert_close(first, again, rtol=0, atol=0)


def test_a_draw_is_a_network_without_the_outputs_that_were_dropped():
    net, values = network(), torch.randn(9, 4)
    for member, function in enumerate(net.functions(40)):
        said = function(values.T.contiguous())
        assert said.shape == (2, 40, 9)
        different = {tuple(row) for row in said[0].detach().numpy().round(4).tolist()}
        assert len(different) > 30, "draws differ"
        # One that drops nothing is the plain network.
        only = network((net.seeds[member],), rate=1e-9)
        (function,) = only.functions(1)
        expected = plain(only, 0, values)
        said = function(values.T.contiguous())
        torch.testing.assert_close(said[0, 0], expected[:, 0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(said[1, 0], functional.softplus(expected[:, 1]) + 1e-6, rtol=1e-4, atol=1e-5)


def test_a_draw_keeps_and_scales_whole_outputs():
    net = network()
    for member, function in enumerate(net.functions(30)):
        weights = layers.split(net.weights.detach(), net.shapes)[0]
        for layer in (1, 2):
            sign = -1.0 if layer == 2 else 1.0
            factors = (sign * function.weights[layer].mT / weights[layer][member]).round(decimals=4)
            assert (factors == factors[..., :1]).all(), "an output is dropped for all that see it"
            kept = factors[..., 0] != 0
            assert factors[kept].numpy() == pytest.approx(1 / (1 - RATE), abs=1e-3)
            assert kept.float().mean() == pytest.approx(1 - RATE, abs=0.12)


def test_the_mean_of_losses_over_masks_is_that_of_dropout_drawn_by_torch():
    net = network(range(50))  # members whose weights are those of the first
    with torch.no_grad():
        net.weights[1:] = net.weights[0]
        values, targets = torch.randn(1, 8, 4).expand(50, 8, 4), torch.randn(1, 8).expand(50, 8)
        ours = np.mean([net.losses(values, targets, step).mean().item() for step in range(40)])
    weights, biases = layers.split(net.weights.detach(), net.shapes)
    many = values[0].repeat(2000, 1)
    torch.manual_seed(0)
    for layer in range(2):
        many = functional.dropout(functional.softplus(many @ weights[layer][0] + biases[layer][0].mT), RATE)
    mean, raw = (many @ weights[2][0] + biases[2][0].mT).unbind(-1)
    normal = torch.distributions.Normal(mean, functional.softplus(raw) + 1e-6)
    theirs = -normal.log_prob(targets[0].repeat(2000)).mean().item() - 0.5 * np.log(2 * np.pi)
    assert ours == pytest.approx(theirs, rel=0.03)
