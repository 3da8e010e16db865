"""Kernels of networks with skips and norms: wide networks, the plain kernel, the flow, and multiple precision."""

import math

import mpmath as mp
import numpy as np
import pytest
import torch

import regimes
from regimes.kernels import infinite_ntk, residual, residual_ntk
from regimes.validate import InputError

DRAWS = 24  # of wide networks
WIDTH = 256


def points(n, d, seed=0):
    x = torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)))
    return x / x.norm(dim=1, keepdim=True)


def by_derivatives(x, depth, seed, *, scale=1.0, norm=None, bias=0.0):
    """Tangent kernel of ``x -> x + scale (W σ(x) + bias b)`` layers (``norm``: before or after the ReLU), by autograd.

    After the ReLU: plain layers, without a skip.
    """
    random = torch.Generator().manual_seed(seed)
    weights = [torch.randn(WIDTH, x.shape[1], generator=random, dtype=x.dtype)]
    weights += [torch.randn(WIDTH, WIDTH, generator=random, dtype=x.dtype) for _ in range(depth - 1)]
    biases = [torch.randn(WIDTH, generator=random, dtype=x.dtype) for _ in range(depth - 1)]
    readout = torch.randn(WIDTH, generator=random, dtype=x.dtype) / math.sqrt(WIDTH)

    def normed(z):
        return torch.nn.functional.layer_norm(z, z.shape, eps=0.0)

    def output(trained, point):
        stream = trained[0][0] @ point
        for weight, b in zip(trained[0][1:], trained[1]):
            passed = (normed(stream) if norm == "before" else stream).relu() * math.sqrt(2)
            if norm == "after":
                stream = weight @ normed(passed) / math.sqrt(WIDTH)
            else:
                stream = stream + scale * (weight @ passed / math.sqrt(WIDTH) + bias * b)
        return readout @ stream

    jacobian = torch.func.vmap(torch.func.grad(output), (None, 0))((weights, biases), x)
    parts = [part.flatten(1) for part in jacobian[0]] + [bias and part.flatten(1) for part in jacobian[1] if bias]
    return sum(part @ part.mT for part in parts)


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        ({"scale": 0.7}, {"shares": residual.skip_shares(4, 0.7)}),
        ({"norm": "before"}, {"shares": residual.pre_norm_shares(4)}),
        ({"norm": "before", "scale": 0.5}, {"shares": residual.pre_norm_shares(4, 0.5)}),
        ({"norm": "after"}, {"shares": [1.0] * 3, "centred": True}),
    ],
    ids=["skip", "pre-norm", "weighted pre-norm", "norm after"],
)
def test_kernels_are_those_of_wide_networks(made, asked):
    x = points(5, 4)
    mean = torch.stack([by_derivatives(x, 4, seed, **made) for seed in range(DRAWS)]).mean(0)
    expected = residual_ntk(x, **asked)
    assert torch.allclose(mean / mean.diagonal().mean(), expected, atol=0.06)
    assert not torch.allclose(expected, infinite_ntk(x, depth=4), atol=0.1), "the kernel tells it from a plain network"


def test_biases_are_those_of_a_wide_network():
    """Biases in the variance of the branch: with ``scale`` β and ``bias`` b, ``β² (1 + b²)`` beside the skipped 1."""
    x, bias = points(5, 4), 0.8
    mean = torch.stack([by_derivatives(x, 2, seed, bias=bias) for seed in range(DRAWS)]).mean(0)
    share = (1 + bias**2) / (2 + bias**2)
    expected = residual_ntk(x, shares=[share], bias=bias)
    assert torch.allclose(mean / mean.diagonal().mean(), expected, atol=0.06)
    assert not torch.allclose(expected, residual_ntk(x, shares=[share]), atol=0.04)


@pytest.mark.parametrize("depth", [1, 2, 5, 200])
def test_shares_of_one_are_the_plain_network(depth):
    x, z = points(20, 6), points(7, 6, seed=1)
    assert torch.allclose(residual_ntk(x, shares=[1.0] * (depth - 1)), infinite_ntk(x, depth=depth), atol=1e-14)
    assert torch.allclose(residual_ntk(x, z, shares=[1.0] * (depth - 1)), infinite_ntk(x, z, depth=depth), atol=1e-14)


def test_small_shares_are_the_flow():
    """The distance falls with the shares; the layers' term is ``h``, not the correlation before or after."""
    phi = torch.linspace(0, math.pi, 40, dtype=torch.float64)
    for tau in (2.0, 8.0):
        flow, angle = residual.flow_of_angle(phi, tau)
        distances = []
        for layers in (200, 800):
            kernel, end = residual.kernel_of_angle(phi, np.full(layers, (tau - 1) / layers))
            distances.append(float((kernel - flow).abs().max()) + float((end - angle).abs().max()))
        assert distances[1] < 0.3 * distances[0] < 0.01
    x = points(9, 4)
    harmonic = residual.pre_norm_shares(3000, 0.05)
    assert torch.allclose(
        residual_ntk(x, shares=harmonic), residual.flow_ntk(x, tau=1 + float(harmonic.sum())), atol=1e-4
    )


def branch(r, bias, centred):
    """A branch's correlation and slope in multiple precision."""
    phi = mp.acos(r)
    h, slope = (mp.sin(phi) + (mp.pi - phi) * r) / mp.pi, 1 - phi / mp.pi
    if centred:
        h, slope = (h - 1 / mp.pi) / (1 - 1 / mp.pi), slope / (1 - 1 / mp.pi)
    return (h + bias**2) / (1 + bias**2), slope / (1 + bias**2)


@pytest.mark.parametrize("centred", [False, True])
def test_layers_equal_forty_digits(centred):
    mp.mp.dps = 40
    shares, bias = [0.3, 1.0, 0.05, 0.7], mp.mpf("0.4")
    s = r = mp.mpf("-0.8")
    top = mp.mpf(1)
    for share in shares:
        new, slope = branch(r, bias, centred)
        s = (1 - share) * s + share * (slope * s + new)
        top = (1 - share) * top + share * (branch(mp.mpf(1), bias, centred)[1] * top + 1)
        r = (1 - share) * r + share * new
    phi = torch.acos(torch.tensor([-0.8], dtype=torch.float64))
    kernel, angle = residual.kernel_of_angle(phi, shares, bias=0.4, centred=centred)
    assert float(kernel) == pytest.approx(float(s / top), abs=1e-15)
    assert float(angle) == pytest.approx(float(mp.acos(r)), rel=1e-14)


@pytest.mark.parametrize("options", [{}, {"bias": 0.3}, {"centred": True}])
def test_the_interpolant_is_the_layers(options):
    phi = torch.cat([torch.linspace(0, math.pi, 1500), torch.logspace(-9, -1, 100)]).double()
    shares = residual.pre_norm_shares(40, 2.0)
    fitted = residual.kernel_of_angle(phi, shares, **options)
    parts = [residual.kernel_of_angle(part, shares, **options) for part in phi.split(100)]
    for result, layered in zip(fitted, zip(*parts)):
        assert torch.allclose(result, torch.cat(layered), atol=2e-14, rtol=1e-13)


def test_tau_is_the_diagonal():
    x = points(4, 3)
    for shares, tau in (
        ([1.0] * 6, 7),
        (residual.skip_shares(7), 4),
        (residual.pre_norm_shares(6), sum(1 / l for l in range(1, 7))),
    ):
        plain = residual_ntk(x, shares=shares, normalised=False)
        assert torch.allclose(plain.diagonal(), torch.full((4,), float(tau), dtype=plain.dtype))
        assert torch.allclose(plain, tau * residual_ntk(x, shares=shares))
    assert regimes.residual_ntk is residual_ntk


def test_a_norm_after_the_relu_drives_pairs_apart():
    """Off the diagonal a layer halves the kernel's share, up to a line in the number of layers."""
    at = {
        layers: float(residual.kernel_of_angle(torch.tensor([1.0]).double(), [1.0] * layers, centred=True)[0])
        for layers in (10, 20, 30)
    }
    assert abs(at[30]) < 1e-7 and abs(at[20]) < 1e-4
    assert torch.equal(residual_ntk(points(20, 3), shares=[1.0] * 3000, centred=True), torch.eye(20).double())
    assert abs(at[20] / at[10]) == pytest.approx(2.0**-10 * 2, rel=0.2)


def test_bad_shares_are_one_line():
    x = points(3, 3)
    for call, message in (
        (lambda: residual_ntk(x, shares=[0.5, 1.5]), "shares must be a list of numbers from 0 to 1"),
        (lambda: residual_ntk(x, shares=[[0.5]]), "shares must be a list"),
        (lambda: residual_ntk(x, shares=["a"]), "shares must be a list"),
        (lambda: residual_ntk(x[0], shares=[0.5]), "x must be float64 points"),
        (lambda: residual_ntk(x[None], shares=[0.5]), r"x must have shape \(n, d\)"),
        (lambda: residual_ntk(0 * x, shares=[0.5]), "zero point"),
        (lambda: residual_ntk(x, shares=[0.5], bias=-1), "bias must be"),
        (lambda: residual.flow_ntk(x, tau=0.5), "tau must be"),
        (lambda: residual.pre_norm_shares(0), "depth must be"),
        (lambda: residual.skip_shares(3, 0.0), "scale must be"),
    ):
        with pytest.raises(InputError, match=message):
            call()
