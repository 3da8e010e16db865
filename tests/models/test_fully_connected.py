"""Fully connected networks: formula, parametrisations, their statistics, and ensembles of several widths."""

import itertools
import math

import numpy as np
import pytest
import torch

from regimes.models.activations import activation
from regimes.models.fully_connected import PARAMETRISATIONS, fully_connected
from regimes.models.one_hidden import Network
from tests.models.cases import draw


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
@pytest.mark.parametrize("bias", [False, True])
def test_the_output_is_the_formula(bias, parametrisation):
    net = fully_connected(
        [3, 4, 2, 5], seeds=[8, 9], sigma="tanh", bias=bias, parametrisation=parametrisation, gain=0.7
    )
    scales = [0.7 / math.sqrt(3), 0.7 / math.sqrt(4), 0.7 / (2 if parametrisation == "mean-field" else math.sqrt(2))]
    if parametrisation == "standard":
        scales = [1.0] * 3
    x = draw(6, 3)
    for e, point in itertools.product(range(2), range(6)):
        h = x[point].numpy()
        for layer, scale in enumerate(scales):
            shift = net.biases[layer][e].numpy() if bias and layer < 2 else 0
            z = [scale * sum(w * a for w, a in zip(row, h)) for row in net.weights[layer][e].numpy()] + shift * np.ones(
                1
            )
            h = np.tanh(z) if layer < 2 else z
        np.testing.assert_allclose(net.outputs(x)[e, point], h, rtol=1e-13)


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
def test_weights_have_the_scale_of_their_parametrisation(parametrisation):
    net = fully_connected([50, 400, 300, 1], seeds=[3], parametrisation=parametrisation, gain=1.5, bias=True)
    standard = parametrisation == "standard"
    wanted = [1.5 / math.sqrt(n) if standard else 1.0 for n in (50, 400, 300)]
    for weights, scale in zip(net.weights, wanted):
        spread = 4 / math.sqrt(2 * weights.numel())
        assert float(weights.std()) == pytest.approx(scale, rel=spread)
    assert all(float(b.std()) == pytest.approx(1, rel=4 / math.sqrt(2 * b.numel())) for b in net.biases)


def test_biases_leave_the_weights_as_they_are():
    plain, biased = (fully_connected([3, 6, 5, 1], seeds=[4], bias=bias) for bias in (False, True))
    assert all(torch.equal(a, b) for a, b in zip(plain.weights, biased.weights, strict=True))
    assert biased.names == ("W1", "b1", "W2", "b2", "W3") and plain.names == ("W1", "W2", "W3")


def test_parametrisations_are_one_function_at_the_start():
    x = draw(5, 3)
    ntk, standard, mean = (
        fully_connected([3, 7, 16, 1], seeds=[2], parametrisation=kind)(x) for kind in PARAMETRISATIONS
    )
    torch.testing.assert_close(ntk, standard, rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(ntk / math.sqrt(16), mean, rtol=1e-13, atol=1e-14)


def test_one_hidden_layer_at_mean_field_scale_is_the_network_of_paper_a():
    sigma = activation("relu", normalised=True)
    deep = fully_connected([4, 9, 1], seeds=[5, 6], sigma=sigma, parametrisation="mean-field", gain=1.0, bias=True)
    net = Network(deep.weights[0], deep.biases[0], deep.weights[1][:, 0])
    x = draw(2, 11, 4)
    torch.testing.assert_close(deep(x), net(x), rtol=1e-13, atol=1e-15)
    torch.testing.assert_close(deep.tangents(x).jacobian(), net.tangents(x).jacobian(), rtol=1e-13, atol=1e-15)


def test_he_gain_keeps_the_size_of_the_signal():
    x = draw(1, 50)
    net = fully_connected([50, *[400] * 8, 1], seeds=range(40))
    ratio = (net.hidden(x)[-1] ** 2).mean(-1)[:, 0] * 2 / (2 * (x**2).mean())  # ReLU halves, gain² doubles
    assert abs(float(ratio.mean()) - 1) < 4 * float(ratio.std()) / math.sqrt(40)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sigma", ["relu", "tanh", activation("swish", steepness=5.0, normalised=True)])
def test_the_pullback_is_that_of_automatic_differentiation(sigma, bias):
    model = fully_connected([3, 5, 4, 2], seeds=[0, 1], sigma=sigma, bias=bias)
    generator = torch.Generator().manual_seed(0)
    x, v = (torch.randn(2, 6, size, generator=generator, dtype=torch.float64) for size in (3, 2))
    f, pull = model.pullback(x)
    leaves = [tensor.clone().requires_grad_() for tensor in model.parameters()]
    outputs = model.with_parameters(leaves).outputs(x)
    torch.testing.assert_close(f, outputs.detach())
    for gradient, expected in zip(pull(v), torch.autograd.grad((outputs * v).sum(), leaves), strict=True):
        torch.testing.assert_close(gradient, expected)
