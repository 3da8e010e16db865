"""Fully connected networks: formula, parametrisations, their statistics, and ensembles of several widths."""

import itertools
import math

import numpy as np
import pytest
import torch

from regimes.models.activations import Activation, activation
from regimes.models.fully_connected import PARAMETRISATIONS, fully_connected, pad
from regimes.models.one_hidden import Network
from regimes.training.optimise import optimise
from regimes.validate import InputError
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


@pytest.mark.parametrize("bias", [False, True])
def test_one_hidden_layer_at_mean_field_scale_is_the_network_of_paper_a(bias):
    sigma = activation("relu", normalised=True)
    deep = fully_connected([4, 9, 1], seeds=[5, 6], sigma=sigma, parametrisation="mean-field", gain=1.0, bias=bias)
    b = deep.biases[0] if bias else torch.zeros(2, 9, dtype=torch.float64)
    net, x = Network(deep.weights[0], b, deep.weights[1][:, 0], bias), draw(2, 11, 4)
    torch.testing.assert_close(deep(x), net(x), rtol=1e-13, atol=1e-15)
    torch.testing.assert_close(deep.tangents(x).jacobian(), net.tangents(x).jacobian(), rtol=1e-13, atol=1e-15)


def test_he_gain_keeps_the_size_of_the_signal():
    x = draw(1, 50)
    net = fully_connected([50, *[400] * 8, 1], seeds=range(40))
    ratio = (net.hidden(x)[-1] ** 2).mean(-1)[:, 0] * 2 / (2 * (x**2).mean())  # ReLU halves, gain² doubles
    assert abs(float(ratio.mean()) - 1) < 4 * float(ratio.std()) / math.sqrt(40)


def of_widths(*all_widths, **options):
    return [fully_connected([3, *w, 1], seeds=[i, i + 10], bias=True, **options) for i, w in enumerate(all_widths)]


PADDED = [(sigma, kind) for sigma in ("relu", "tanh", "swish", "quadratic") for kind in PARAMETRISATIONS]


@pytest.mark.parametrize(("sigma", "parametrisation"), PADDED)
def test_padded_networks_compute_and_derive_as_each_alone(sigma, parametrisation):
    networks = of_widths([5, 2], [3, 4], [5, 4], sigma=sigma, parametrisation=parametrisation)
    together, x, v = pad(networks), draw(6, 7, 3), draw(6, 7, seed=3)
    assert together.widths == (3, 5, 4, 1)
    f, gram, pulled = together(x), together.tangents(x).gram(), together.tangents(x).vjp(v)
    for i, net in enumerate(networks):
        e = slice(2 * i, 2 * i + 2)
        tangents = net.tangents(x[e])
        torch.testing.assert_close(f[e], net(x[e]), rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(gram[e], tangents.gram(), rtol=1e-12, atol=1e-13)
        for wide, alone in zip(pulled, tangents.vjp(v[e]), strict=True):
            there = (e, *(slice(n) for n in alone.shape[1:]))
            torch.testing.assert_close(wide[there], alone, rtol=1e-12, atol=1e-13)
            rest = wide[e].clone()
            rest[(slice(None), *there[1:])] = 0
            assert not rest.any()


def test_missing_neurons_stay_missing_while_the_others_learn():
    networks, x, y = of_widths([5, 2], [3, 4]), draw(7, 3), draw(7, seed=4)
    together = pad(networks)
    missing = [tensor == 0 for tensor in together.parameters()]
    *_, last = itertools.islice(optimise(together, x, y, rate=0.1), 20)
    assert all(not tensor[none].any() for tensor, none in zip(last.model.parameters(), missing))
    for i, net in enumerate(networks):
        *_, alone = itertools.islice(optimise(net, x, y, rate=0.1), 20)
        torch.testing.assert_close(last.F[2 * i : 2 * i + 2], alone.F, rtol=1e-11, atol=1e-12)


RELU = fully_connected([3, 4, 1], seeds=[0])
COSINE = Activation("cosine", torch.cos, lambda z: -torch.sin(z))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pad([]), "networks must share depth, inputs and outputs to be padded, got []"),
        (lambda: pad([RELU, fully_connected([3, 4, 4, 1], seeds=[0])]), "networks must share depth"),
        (lambda: pad([RELU, fully_connected([2, 4, 1], seeds=[0])]), "networks must share depth, inputs"),
        (lambda: pad([RELU, fully_connected([3, 4, 2], seeds=[0])]), "networks must share depth, inputs and outputs"),
        (lambda: pad([RELU, fully_connected([3, 4, 1], seeds=[0], sigma="tanh")]), "sigma must agree"),
        (lambda: pad([RELU, fully_connected([3, 4, 1], seeds=[0], bias=True)]), "biases must agree"),
        (lambda: pad([fully_connected([3, 4, 1], seeds=[0], sigma=COSINE)]), "activation cosine must be zero at zero"),
        (lambda: pad([RELU, RELU.to(dtype=torch.float32)]), "weights[0] must agree"),
    ],
)
def test_networks_that_cannot_be_padded_get_one_line(call, said):
    with pytest.raises(InputError) as error:
        call()
    assert said in str(error.value) and "\n" not in str(error.value)
