"""The infinite-width deep ReLU kernel against mpmath, quadrature, wide networks, and itself."""

import math
import re

import mpmath as mp
import numpy as np
import pytest
import torch

from regimes import validate
from regimes.kernels import infinite, infinite_ntk, relu_asymptotics, relu_recursion
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
        ({"depth": 2, "z": torch.zeros(3, 3).double()}, "z holds a zero or non-finite point"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        infinite_ntk(points(4, 3), **arguments)
