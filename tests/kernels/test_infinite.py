"""The infinite-width deep ReLU kernel against mpmath, quadrature, wide networks, and itself."""

import math
import re

import mpmath as mp
import numpy as np
import pytest
import torch
from torch import nn

import regimes
from regimes import validate
from regimes.kernels import biased, infinite, infinite_ntk, relu_asymptotics, relu_recursion
from regimes.validate import InputError
from tests import quadrature

ROUND_OFF = 5e-15  # relative, of a value of order one after some hundred operations
CLENSHAW = 2e-14  # degree up to 80, each step one rounding of numbers of order one


def points(n, d, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)))


def reference(rho, depths, digits=40):
    """The recursion of the paper in multiple precision: {depth: (kernel, 1 - correlation)}."""
    mp.mp.dps = digits
    phi = mp.acos(mp.mpf(rho))
    s, kernels = mp.cos(phi), {}
    for depth in range(1, max(depths) + 1):
        if depth in depths:
            kernels[depth] = float(s / depth), float(2 * mp.sin(phi / 2) ** 2)
        h = (mp.sin(phi) + (mp.pi - phi) * mp.cos(phi)) / mp.pi
        s = (1 - phi / mp.pi) * s + h
        phi = 2 * mp.asin(mp.sqrt((1 - h) / 2))
    return kernels


@pytest.mark.parametrize("rho", [-1, -0.9, -0.3, 0.0, 0.5, 0.9, 0.99, 0.9999, 1 - 2.0**-40])
def test_recursion_and_jump_equal_forty_digits(rho):
    depths = [1, 3, 30, 149, 150, 151, 152, 400, 1000]
    phi = torch.tensor([float(mp.acos(mp.mpf(rho)))], dtype=torch.float64)
    for depth, (kernel, gap) in reference(rho, depths).items():
        computed, e = (float(v) for v in relu_recursion.kernel_of_angle(phi, depth))
        assert abs(computed - kernel) <= ROUND_OFF * abs(kernel) + 1e-16  # at depth 1 and angle π/2 the kernel is 0
        assert abs(e - gap) <= ROUND_OFF * gap


def test_a_million_layers_equal_twenty_five_digits():
    """1/phi from the Abel function at mpmath precision: 2000 layers by hand, then 998000 by the difference of A."""
    (kernel, gap) = reference(0.9, [2000], 25)[2000]
    phi = torch.acos(torch.tensor([0.9], dtype=torch.float64))
    s, e = relu_recursion.kernel_of_angle(phi, 2000)
    assert abs(float(s) - kernel) < 1e-15 and abs(float(e) / gap - 1) < 1e-14
    # beyond, the jump must compose: two jumps are one
    late, s_late = relu_asymptotics.jump(relu_recursion.angle(e), 2000 * s, 998_000)
    once, _ = relu_recursion.kernel_of_angle(phi, 1_000_000)
    assert abs(float(s_late) / 1e6 - float(once)) < 1e-15
    assert (
        abs(float(relu_asymptotics.abel(late) - relu_asymptotics.abel(relu_recursion.angle(e))) / 998_000 - 1) < 1e-13
    )


def test_offset_is_what_the_angle_tends_to():
    rho = torch.tensor([-1.0, -0.9, 0.0, 0.5, 0.9, 0.99], dtype=torch.float64)
    phi = torch.acos(rho)
    angle = relu_recursion.angle(relu_recursion.kernel_of_angle(phi, 10**7)[1])
    direct = 3 * math.pi / angle - 1e7 - 1.5 * math.log(1e7)
    assert torch.allclose(relu_recursion.offset(phi), direct, atol=2e-5, rtol=0)  # o(1) is of order ln L / L


def test_offsets_interpolate_those_of_the_layers():
    phi = torch.cat([torch.linspace(1e-3, math.pi, 4001).double(), torch.logspace(-12, -2, 300).double()])
    layered = relu_recursion.layered_offset(phi)
    assert float(((relu_recursion.offset(phi) - layered) / layered).abs().max()) < 1e-12


@pytest.mark.parametrize("depth", [2, 3, 8])
@pytest.mark.parametrize("rho", [-0.95, -0.3, 0.0, 0.6, 0.97])
def test_recursion_equals_gaussian_expectations(rho, depth):
    phi = torch.tensor([math.acos(rho)], dtype=torch.float64)
    assert abs(float(relu_recursion.kernel_of_angle(phi, depth)[0]) - quadrature.kernel(rho, depth)) < 1e-11


def test_quadrature_is_the_expectation_of_samples():
    rng, rho = np.random.default_rng(0), -0.4
    u, v = rng.standard_normal((2, 2_000_000))
    v = rho * u + math.sqrt(1 - rho**2) * v
    products = 2 * np.maximum(u, 0) * np.maximum(v, 0), 2.0 * ((u > 0) & (v > 0))
    for exact, sample in zip(quadrature.relu_expectations(rho), products):
        assert abs(sample.mean() - exact) < 4 * sample.std() / math.sqrt(len(sample))


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 10, 30, 100, 1000, 10**6])
def test_interpolant_equals_the_recursion_at_every_angle(depth):
    phi = torch.cat(
        [torch.linspace(0, math.pi, 5001, dtype=torch.float64), torch.logspace(-12, 0, 500, dtype=torch.float64)]
    )
    exact = relu_recursion.kernel_of_angle(phi, depth)[0]
    interpolated = infinite._clenshaw(phi.clone(), *infinite._interpolant(depth))
    assert float((interpolated - exact).abs().max()) < CLENSHAW


@pytest.mark.parametrize("n", [1, 7, 255, 256, 257, 300])
def test_gram_is_exactly_symmetric_with_unit_diagonal(n):
    gram = infinite_ntk(points(n, 5), depth=4)
    assert torch.equal(gram, gram.mT) and torch.equal(gram.diagonal(), torch.ones(n).double())
    cross = infinite_ntk(points(n, 5), points(n, 5), depth=4)
    assert float((gram - cross).abs().max()) < 1e-7  # the angle of a point with itself is the root of round-off
    assert float((gram - cross).fill_diagonal_(0).abs().max()) < ROUND_OFF


def test_kernel_knows_directions_only_and_no_rotation():
    x, z = points(9, 6), points(5, 6, seed=1)
    rotation = torch.linalg.qr(points(6, 6, seed=2))[0]
    base = infinite_ntk(x, z, depth=7)
    scaled = infinite_ntk(3 * x, 0.1 * z, depth=7)
    assert torch.allclose(base, scaled, rtol=0, atol=ROUND_OFF)
    for large, small in ((1e250, 1e-250), (1e-300, 1e300)):  # whose squares leave the range of float64
        assert torch.allclose(base, infinite_ntk(large * x, small * z, depth=7), rtol=0, atol=ROUND_OFF)
    mixed = x * torch.tensor([1e300, 1.0, 1e-300] * 3, dtype=torch.float64)[:, None]
    assert torch.allclose(infinite_ntk(mixed, depth=7), infinite_ntk(x, depth=7), rtol=0, atol=ROUND_OFF)
    assert torch.allclose(base, infinite_ntk(x @ rotation, z @ rotation, depth=7), rtol=0, atol=ROUND_OFF)


def test_close_pairs_keep_their_digits():
    """At 1 - rho = 5e-13 the plain arccosine of x·z has four digits; the kernel at depth 10^6 needs eight."""
    x = torch.zeros(2, 3, dtype=torch.float64)
    x[0, 0], x[1, 0], x[1, 1] = 1, 1, 1e-6
    kernel = float(infinite_ntk(x, depth=10**6)[0, 1])
    exact = float(relu_recursion.kernel_of_angle(torch.tensor([math.atan(1e-6)], dtype=torch.float64), 10**6)[0])
    assert abs(kernel - exact) < 1e-13
    rough = float(relu_recursion.kernel_of_angle(torch.acos((x[:1] @ x[1:].mT) / x[1].norm()), 10**6)[0].squeeze())
    assert abs(rough - exact) > 1e-7


def test_ensemble_is_each_realisation_alone():
    x = torch.stack([points(6, 4, seed=s) for s in range(3)])
    for bias in (0.0, 0.3):
        together = infinite_ntk(x, depth=5, bias=bias)
        for k in range(3):
            assert torch.equal(together[k], infinite_ntk(x[k], depth=5, bias=bias))


def test_biases_tend_to_the_kernel_without():
    x = points(8, 5)
    assert torch.allclose(infinite_ntk(x, depth=9, bias=1e-9), infinite_ntk(x, depth=9), rtol=0, atol=1e-12)


def test_biased_kernel_equals_quadrature():
    """The definition with biases, in plain numbers: E over the wedge, variances carried along."""
    beta, depth = 0.7, 6
    x, z = points(1, 4), 2.5 * points(1, 4, seed=1)
    q = [float((p * p).mean()) + beta**2 for p in (x, z)]
    sigma = float((x * z).mean()) + beta**2
    theta = sigma
    for _ in range(depth - 1):
        relu, step = quadrature.relu_expectations(sigma / math.sqrt(q[0] * q[1]))
        sigma = 0.5 * math.sqrt(q[0] * q[1]) * relu + beta**2
        theta = 0.5 * step * theta + sigma
        q = [v / 2 + beta**2 for v in q]
    root = math.sqrt(math.prod(float(infinite._diagonal((p * p).mean(), depth, beta**2)) for p in (x, z)))
    assert abs(float(infinite_ntk(x, z, depth=depth, bias=beta)) - theta / root) < 1e-12


def plain(x, z, depth, beta):
    """``Θ(x, z)`` of two points by the layers, as in the module's head, in multiple precision."""
    mp.mp.dps = 40
    x, z = ([mp.mpf(float(v)) for v in p] for p in (x, z))
    b = mp.mpf(beta) ** 2

    def product(u, v):
        return sum(i * j for i, j in zip(u, v)) / len(u) + b

    q, r, sigma = product(x, x), product(z, z), product(x, z)
    theta = sigma
    for _ in range(depth - 1):
        root = mp.sqrt(q * r)
        rho = sigma / root if root else mp.mpf(0)
        phi = mp.acos(min(1, max(-1, rho)))
        sigma = root * (mp.sin(phi) + (mp.pi - phi) * rho) / (2 * mp.pi) + b
        theta = (1 - phi / mp.pi) / 2 * theta + sigma
        q, r = q / 2 + b, r / 2 + b
    return float(theta)


@pytest.mark.parametrize("bias", [0.0, 1e-3, 0.7, 40.0])
@pytest.mark.parametrize("depth", [1, 2, 7, 60])
def test_plain_kernel_equals_forty_digits(depth, bias):
    x = points(5, 3) * torch.tensor([1e-3, 0.5, 1.0, 2.0, 900.0], dtype=torch.float64).unsqueeze(-1)
    x[1] = x[2] * (1 + 1e-9)
    exact = torch.tensor([[plain(a, b, depth, bias) for b in x] for a in x], dtype=torch.float64)
    found = infinite_ntk(x, depth=depth, bias=bias, normalised=False)
    size = exact.diagonal().sqrt()
    assert float(((found - exact) / (size.unsqueeze(-1) * size)).abs().max()) < 3e-14
    assert torch.equal(found, found.mT)


def test_zero_points_have_the_kernel_of_the_biases():
    x = points(4, 3)
    x[2] = 0
    for depth in (1, 3, 8):
        gram = infinite_ntk(x, depth=depth, bias=0.4, normalised=False)
        by_hand = [plain(x[2], row, depth, 0.4) for row in x]
        assert torch.allclose(gram[2], torch.tensor(by_hand, dtype=torch.float64), rtol=1e-14, atol=0)
        assert torch.equal(infinite_ntk(x, depth=depth, normalised=False)[2], torch.zeros(4).double())
    assert float(infinite_ntk(x[2:3], torch.zeros(1, 3).double(), depth=5, bias=2.0)) == 1.0


class WithBiases(nn.Module):
    """NTK parametrisation: weights and biases N(0, 1), each layer's input divided by the root of its width."""

    def __init__(self, widths, beta):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(b, a, dtype=torch.float64)) for a, b in pairs])
        self.biases = nn.ParameterList([nn.Parameter(torch.randn(b, dtype=torch.float64)) for _, b in pairs])
        self.beta = beta

    def forward(self, x):
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            x = x.relu() if k else x
            x = x @ weight.mT / math.sqrt(weight.shape[1]) + self.beta * bias
        return x


@pytest.mark.parametrize(("depth", "beta"), [(2, 0.0), (3, 0.5)])
def test_a_modules_kernel_tends_to_the_plain_one(depth, beta):
    x = 2 * points(4, 3)
    infinite_width = infinite_ntk(x, depth=depth, bias=beta, normalised=False)
    apart = []
    for width in (50, 800):
        widths = [3, *[width] * (depth - 1), 1]
        wide = regimes.module(lambda widths=widths: WithBiases(widths, beta), seeds=range(8))
        apart.append(float((regimes.ntk(wide, x) - infinite_width).square().mean().sqrt() / infinite_width.norm()))
    assert apart[1] < 0.05 and 2 < apart[0] / apart[1] < 8, "as 1/√width"
    net = regimes.fully_connected([3, *[800] * (depth - 1), 1], parametrisation="ntk", gain=1.0, seeds=range(8))
    kernel = regimes.ntk(net, x).mean(0)
    without = infinite_ntk(x, depth=depth, normalised=False)
    assert float((kernel - without).norm() / without.norm()) < 0.05


@pytest.mark.skipif(biased.compiled() is None, reason="no C compiler here")
@pytest.mark.parametrize("depth", [1, 2, 5, 40, 500, 10**9])
def test_the_layers_in_c_are_those_on_tensors(monkeypatch, depth):
    x = points(150, 4) * torch.logspace(-4, 4, 150, dtype=torch.float64).unsqueeze(-1)
    x[3], x[5], x[8] = x[4] * (1 + 1e-9), x[4] + 1e-7, 0
    compiled = [infinite_ntk(x, depth=depth, bias=bias) for bias in (0.01, 1.0)]
    monkeypatch.setattr(biased, "compiled", lambda: None)
    on_tensors = [infinite_ntk(x, depth=depth, bias=bias) for bias in (0.01, 1.0)]
    assert all(float((a - b).abs().max()) < 2e-14 for a, b in zip(compiled, on_tensors))


def test_the_interpolants_in_c_are_those_of_forty_digits():
    mp.mp.dps = 40

    def arc(z):
        return mp.asin(mp.sqrt(z)) / mp.sqrt(z)

    def loss(z):
        phi = 2 * mp.asin(mp.sqrt(z))
        return (mp.sin(phi) - phi * mp.cos(phi)) / (2 * mp.pi * z ** mp.mpf(1.5))

    text = biased.CODE.sources[biased.NAME]
    for name, function in (("ANGLE", arc), ("LOSS", loss)):
        numbers = re.search(rf"{name}\[TERMS\] = \{{(.*?)\}};", text, re.DOTALL).group(1).split(",")
        c = [mp.mpf(float(number)) for number in numbers]
        for z in (mp.mpf(k) / 400 for k in range(1, 101)):
            assert abs(mp.polyval(c[::-1], z) / function(z) - 1) < 1.1e-16


def test_result_is_all_that_is_large(monkeypatch):
    sizes = []
    empty = torch.empty

    def counted(*shape, **kwargs):
        sizes.append(math.prod(shape))
        return empty(*shape, **kwargs)

    monkeypatch.setattr(torch, "empty", counted)
    monkeypatch.setattr(validate, "free_memory", lambda device="cpu": 1000)
    with pytest.raises(InputError, match=re.escape("80000 bytes")):
        infinite_ntk(points(100, 3), depth=3)
    assert not sizes  # refused before anything was allocated


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"depth": 0}, "depth must be a whole number from 1 to 1e+15, got 0"),
        ({"depth": 2.5}, "depth must be a whole number"),
        ({"depth": 2, "bias": -1}, "bias must be a number of at least 0"),
        ({"depth": 2, "z": torch.ones(3, 4).double()}, "z must be float64 points"),
        ({"depth": 2, "z": torch.full((3, 3), math.inf).double()}, "z holds a non-finite point"),
        ({"depth": 3000, "normalised": False}, "the plain kernel at depth 3000 leaves the range of float64"),
        ({"depth": 2, "z": torch.zeros(3, 3).double()}, "z holds a zero point: without biases the normalised kernel"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        infinite_ntk(points(4, 3), **arguments)
