"""The limit 1/(1 + k) and its logarithm, against the maps' definitions and against finite networks."""

import math

import numpy as np
import pytest
import torch

from companion.papers.depth.theory import universality
from regimes import gaussian
from regimes.kernels import relu_recursion
from regimes.models.activations import activation
from regimes.validate import InputError

RHO = np.array([0.0, 0.3, 0.9, 0.999])


def by_quadrature(sigma, slope, rho, kink):
    """``E σ(u) σ(v)`` and ``E σ'(u) σ'(v)`` at correlation ``rho``, node by node."""
    x, w = gaussian.rule([0.0] if kink else [])
    u = torch.from_numpy(x)
    result = []
    for f in (sigma, slope):
        inner = [
            gaussian.moments(
                lambda z, f=f: f(torch.as_tensor(z)).numpy(), rho * a, math.sqrt(1 - rho**2), breaks=[0.0] * kink
            )[0]
            for a in x
        ]
        result.append(float(w * f(u).numpy() @ np.array(inner)))
    return result


def test_the_relu_is_the_recursion_of_the_kernels():
    depths = [1, 2, 7, 100, 1000]
    result = universality.along_depth(universality.kinked(), RHO, depths)
    exact, _ = relu_recursion.along_depth(torch.acos(torch.from_numpy(RHO)), depths)
    assert np.allclose(result, exact.numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("a", [-1.0, 0.3])
def test_leaky_layers_are_their_definition(a):
    def sigma(z):
        return torch.where(z > 0, z, a * z) * math.sqrt(2 / (1 + a * a))

    def slope(z):
        return (1 + (a - 1) * (z <= 0).double()) * math.sqrt(2 / (1 + a * a))

    lost, bent = universality.kinked(a).loss(1 - RHO[1:3])
    for rho, one, two in zip(RHO[1:3], lost, bent):
        value, steep = by_quadrature(sigma, slope, rho, kink=True)
        assert (1 - one, 1 - two) == pytest.approx((value, steep), abs=1e-8)


@pytest.mark.parametrize("name", ["tanh", "erf", "quadratic", "swish"])
def test_smooth_layers_are_critical_and_their_definition(name):
    layer, sigma = universality.smooth(name), activation(name)
    first, second = (gaussian.expect(lambda z, p=p: sigma.value(torch.from_numpy(z)).numpy() ** p) for p in (1, 2))
    scale = gaussian.expect(lambda z: sigma.slope(torch.from_numpy(z)).numpy() ** 2) ** -0.5
    shift = math.sqrt(scale**-2 - (second - first**2)) - first
    value, steep = by_quadrature(lambda z: scale * (sigma(z) + shift), lambda z: scale * sigma.slope(z), 0.6, False)
    lost, bent = layer.loss(np.array([0.4, 0.0]))
    assert (1 - lost[0], 1 - bent[0]) == pytest.approx((value, steep), abs=1e-9)
    assert abs(lost[1]) < 1e-15 and abs(bent[1]) < 1e-15  # h(1) = h'(1) = 1


@pytest.mark.parametrize(
    ("layer", "wrong"),
    [
        (universality.kinked(-1.0), 1 / 3),
        (universality.kinked(share=0.8), 1 / 3),
        (universality.smooth("erf"), 1 / 4),
        (universality.smooth("quadratic"), 1 / 4),
    ],
)
def test_limit_and_logarithm_are_as_derived(layer, wrong):
    depths = [1000, 10_000]
    kernel = universality.along_depth(layer, RHO[:3], depths)
    assert np.abs(kernel[1] - layer.limit).max() < 2e-3 < np.abs(kernel[1] - wrong).min()
    slope = np.diff(np.array(depths)[:, None] * (kernel - layer.limit), axis=0)[0] / math.log(10)
    assert np.abs(slope - layer.log).max() < 0.03


def test_residual_branches_of_share_one_over_depth_keep_the_input():
    """Their limit is a flow of unit time, whose kernel still knows the pair; a fixed share forgets it."""
    ends = [universality.along_depth(universality.kinked(share=1 / depth), RHO, [depth])[0] for depth in (1000, 8000)]
    assert np.abs(ends[1] - ends[0]).max() < 1e-3
    e, s, steps = 1 - RHO, RHO.copy(), 4000  # the flow by Heun's rule, its source and its decay each a rate
    layer = universality.kinked()
    for _ in range(steps):
        rates = []
        at = (e, s)
        for _ in range(2):
            new, bent = layer.loss(at[0])
            rates.append((new - at[0], 1 - new - bent * at[1]))
            at = tuple(old + step / steps for old, step in zip((e, s), rates[-1]))
        e, s = (old + (r0 + r1) / 2 / steps for old, r0, r1 in zip((e, s), *rates))
    assert np.abs(s / 2 - ends[1]).max() < 1e-4
    assert np.ptp(ends[1][:3]) > 0.5


def test_a_residual_network_has_that_kernel():
    """Three layers of width 1500, averaged over networks: kernel of one coordinate, by automatic differentiation."""
    width, share, rho = 1500, 0.4, 0.3
    x = torch.tensor([[1.0, 0.0], [rho, math.sqrt(1 - rho**2)]], dtype=torch.float64)
    result = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        weights = [
            torch.from_numpy(rng.standard_normal(shape)).requires_grad_()
            for shape in [(width, 2), (width, width), (width, width)]
        ]
        gradients = []
        for point in x:
            y = weights[0] @ point
            for w in weights[1:]:
                y = math.sqrt(1 - share) * y + math.sqrt(2 * share / width) * (w @ torch.relu(y))
            gradients.append(torch.autograd.grad(y[0], weights))
        result.append([[float(sum((a * b).sum() for a, b in zip(f, g))) for f in gradients] for g in gradients])
    mean = np.mean(result, axis=0)
    (expected,) = universality.along_depth(universality.kinked(share=share), np.array([rho]), [3])[0]
    assert mean[0, 1] / math.sqrt(mean[0, 0] * mean[1, 1]) == pytest.approx(expected, abs=0.02)
    assert mean[0, 0] == pytest.approx(1 + 2 * share, rel=0.1)


@pytest.mark.parametrize(("layer", "depth"), [(universality.kinked(0.2), 3000), (universality.smooth("tanh"), 3000)])
def test_the_offset_says_what_is_left_of_the_input(layer, depth):
    rho = np.array([0.0, 0.5, 0.9])
    (exact,) = universality.along_depth(layer, rho, [depth])
    c = universality.offset(layer, rho)
    law = universality.of_layer_offset(layer, c, depth)
    assert abs(law - exact).max() < 1e-5 < 1e-4 < abs(universality.of_layer_offset(layer, 0 * c, depth) - exact).max()


def test_the_offset_of_the_relu_is_that_of_the_recursion():
    rho = np.array([-0.9, 0.0, 0.5, 0.99])
    phi = torch.acos(torch.from_numpy(rho))
    assert universality.offset(universality.kinked(), rho) == pytest.approx(
        relu_recursion.offset(phi).numpy(), abs=2e-3
    )
    with pytest.raises(InputError, match="rho must be below 1"):
        universality.offset(universality.kinked(), np.array([0.0, 1.0]))
