"""Finite-width kernels against autograd, blocks against one go, and the wide limit against quadrature."""

import math
import weakref
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.special import ndtr
from torch.utils._python_dispatch import TorchDispatchMode

from regimes.kernels import infinite, infinite_ntk, ntk, wide_one_hidden_ntk
from regimes.models.fully_connected import fully_connected
from regimes.models.module import module
from regimes.models.one_hidden import one_hidden
from regimes.validate import InputError
from tests.cases import for_each
from tests.models.cases import MODELS, PAIRS, POINTS, draw

ROUND_OFF = {torch.float64: 1e-12, torch.float32: 3e-5}


NAMES = ("omega", "b", "beta")


def weights(realisations=1, h=37, d=3, seed=1, dtype=torch.float64):
    return one_hidden(d, h, seeds=range(seed, seed + realisations)).to(dtype=dtype)


def output(ω, b, β, x):
    return (β * math.sqrt(2) * torch.relu(x @ ω.T / math.sqrt(x.shape[-1]) + b)).mean(-1)


def jacobian_kernel(net, x, z, names=NAMES):
    """By autograd, one point at a time."""
    values = [getattr(net, name)[0].clone().requires_grad_() for name in NAMES]

    def rows(points):
        for point in points:
            by = torch.autograd.grad(output(*values, point), values)
            yield torch.cat([g.flatten() for name, g in zip(NAMES, by) if name in names])

    return torch.stack(list(rows(x))) @ torch.stack(list(rows(z))).T


class Module(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.omega, self.b, self.beta = (torch.nn.Parameter(getattr(net, name)[0].clone()) for name in NAMES)

    def forward(self, x):
        return output(self.omega, self.b, self.beta, x)[..., None]


@pytest.mark.parametrize("dtype", ROUND_OFF)
@pytest.mark.parametrize("names", [None, {"beta"}, {"omega"}, {"b"}, {"omega", "beta"}])
def test_closed_form_is_the_product_of_jacobians(names, dtype):
    net = weights(dtype=dtype)
    x = draw(11, 3, dtype=dtype)
    z = draw(7, 3, seed=5, dtype=dtype)
    expected = jacobian_kernel(net, x, z, names or NAMES)
    torch.testing.assert_close(ntk(net, x, z, params=names)[0], expected, rtol=0, atol=ROUND_OFF[dtype])


@pytest.mark.parametrize("names", [None, {"beta"}, {"omega", "b"}])
@pytest.mark.parametrize("memory", [1, 2**14, 2**28])
def test_any_module_in_blocks_gives_the_closed_form(names, memory):
    net, x, z = weights(), draw(11, 3), draw(7, 3, seed=5)
    for columns in (None, z):
        got = ntk(module(Module(net)), x, columns, params=names, memory=memory)
        torch.testing.assert_close(got, ntk(net, x, columns, params=names), rtol=0, atol=1e-12)


def test_a_convolutional_module():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3), torch.nn.SiLU(), torch.nn.Flatten(), torch.nn.Linear(48, 1))
    net, x = net.double(), draw(5, 1, 6, 6)
    rows = [
        torch.cat([g.flatten() for g in torch.autograd.grad(net(point[None]).sum(), net.parameters())]) for point in x
    ]
    gram = torch.stack(rows) @ torch.stack(rows).T
    vectors = x.flatten(1)
    torch.testing.assert_close(ntk(module(net, shape=(1, 6, 6)), vectors)[0], gram, rtol=1e-12, atol=1e-12)


@for_each(PAIRS)
def test_the_kernel_of_any_model_is_the_product_of_its_jacobians(model, x):
    z = draw(2, 4, 3, seed=9)
    J = model.tangents(x).jacobian()
    J_z = model.tangents(z).jacobian()
    for memory in (1, 2**28):  # one point of one realisation at a time; all at once
        torch.testing.assert_close(ntk(model, x, memory=memory), J @ J.mT, rtol=1e-11, atol=1e-12)
        torch.testing.assert_close(ntk(model, x, z, memory=memory), J @ J_z.mT, rtol=1e-11, atol=1e-12)


@for_each(MODELS)
def test_terms_of_the_parameters_add_up_to_the_kernel(model):
    x = POINTS["own"]
    terms = sum(ntk(model, x, params={name}) for name in model.names)
    torch.testing.assert_close(terms, ntk(model, x), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_the_last_layers_kernel_is_that_of_its_inputs(bias):
    net = fully_connected([3, 6, 5, 1], seeds=[1, 2], gain=1.3, bias=bias)
    x = draw(8, 3)
    hidden = net.hidden(x)[-1]
    torch.testing.assert_close(ntk(net, x, params={"W3"}), 1.3**2 / 5 * hidden @ hidden.mT)


MEMORIES = [1, 2**12, 2**15, 2**18]


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("points", [(23, 3), (3, 23, 3)], ids=["shared", "own"])
@pytest.mark.parametrize("make", [weights, lambda n: fully_connected([3, 40, 20, 1], seeds=range(n), bias=True)])
def test_blocks_equal_one_go(make, points, memory, monkeypatch):
    net, x, z = make(3), draw(*points), draw(9, 3, seed=5)
    kernels = ntk(net, x), ntk(net, x, z)
    monkeypatch.setattr("regimes.kernels.tangent.TILE", {"cpu": 7})
    gram = ntk(net, x, memory=memory)
    assert torch.equal(gram, gram.mT)
    torch.testing.assert_close(gram, kernels[0], rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(ntk(net, x, z, memory=memory), kernels[1], rtol=1e-12, atol=1e-13)


def test_the_gram_matrix_is_symmetric_to_the_last_bit_and_positive():
    gram = ntk(weights(h=100, d=5), draw(60, 5))[0]
    assert torch.equal(gram, gram.T)
    assert float(torch.linalg.eigvalsh(gram)[0]) > -1e-14
    torch.testing.assert_close(gram, ntk(weights(h=100, d=5), draw(60, 5), draw(60, 5))[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("shared", [True, False])
def test_one_realisation_in_an_ensemble_is_the_one_alone(shared):
    net = weights(4, h=20)
    x = draw(6, 3) if shared else draw(4, 6, 3)
    together = ntk(net, x)
    for k in range(4):
        alone = ntk(net[k : k + 1], x if shared else x[k])[0]
        torch.testing.assert_close(together[k], alone, rtol=0, atol=1e-14)


def quadrature_kernel(x, z):
    """``E[σσ] + E[β²] E[σ'σ'] (1 + x·z/d)`` by integrating one Gaussian numerically and the other in closed form."""
    d = len(x)
    a, b, c = (float(u @ v) / d + 1 for u, v in ((x, x), (z, z), (x, z)))
    slope, spread = c / a, math.sqrt(max(b - c * c / a, 0))
    u, w = np.polynomial.legendre.leggauss(400)
    u = 6.5 * math.sqrt(a) * (u + 1)  # u > 0 alone contributes
    w = 6.5 * math.sqrt(a) * w
    density = w * np.exp(-u * u / (2 * a)) / math.sqrt(2 * math.pi * a)
    t = slope * u / spread  # v given u is normal around slope u
    relu_mean = spread * (t * ndtr(t) + np.exp(-t * t / 2) / math.sqrt(2 * math.pi))
    return 2 * (density @ (u * relu_mean)) + 2 * (density @ ndtr(t)) * c


@pytest.mark.parametrize("d", [1, 3, 20])
def test_the_wide_limit_is_the_gaussian_integral(d):
    x, z = draw(5, d), draw(4, d, seed=3)
    expected = [[quadrature_kernel(a, b) for b in z.numpy()] for a in x.numpy()]
    np.testing.assert_allclose(wide_one_hidden_ntk(x, z), expected, rtol=1e-9)
    diagonal = 2 * (1 + (x * x).mean(-1))
    torch.testing.assert_close(wide_one_hidden_ntk(x).diagonal(), diagonal, rtol=1e-13, atol=0)


def test_finite_width_goes_to_the_limit_as_one_over_root_h():
    """The scatter of 400 networks is known to about 6 %, their mean to a 20th of it."""
    x, limit = draw(8, 3), wide_one_hidden_ntk(draw(8, 3))
    scaled = {h: h * ntk(weights(400, h=h), x) for h in (25, 2500)}
    error = {h: (theta - limit).square().mean(0).sqrt() for h, theta in scaled.items()}
    assert float((error[25] / error[2500]).mean()) == pytest.approx(10, rel=0.2)
    assert float(((scaled[2500].mean(0) - limit).abs() / error[2500]).max()) < 4 / 20


@pytest.mark.parametrize(("depth", "bias"), [(1, False), (2, False), (3, False), (2, True), (3, True)])
def test_wide_networks_of_any_depth_have_the_infinite_kernel(depth, bias):
    """The mean of 100 networks is within four of its standard errors, and their scatter falls as ``1/√n``.

    The infinite kernel has a bias in the output, too, whose term is 1.
    """
    x, scatter = draw(4, 6), {}
    root = infinite._diagonal((x * x).mean(-1), depth, float(bias)).sqrt()
    limit = infinite_ntk(x, depth=depth, bias=float(bias)) * root[:, None] * root - float(bias)
    for width in (25, 400):
        kernel = ntk(fully_connected([6, *[width] * (depth - 1), 1], seeds=range(100), gain=1.0, bias=bias), x)
        scatter[width] = kernel.std(0)
    assert bool(((kernel.mean(0) - limit).abs() <= 4 * scatter[400] / 10 + 1e-12).all())
    if depth > 1:
        assert float((scatter[25] / scatter[400]).mean()) == pytest.approx(4, rel=0.25)


def storages(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from storages(value)
        elif isinstance(value, torch.Tensor):
            yield value, (value.untyped_storage().data_ptr(), value.untyped_storage().nbytes())


class Live(TorchDispatchMode):
    """Bytes of all storage that operations made and that is alive: now, and the most there was."""

    def __init__(self):
        super().__init__()
        self.now, self.most, self.users = 0, 0, Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = {key for _, key in storages(args)} - set(self.users)  # made by others: its views cost nothing
        result = func(*args, **(kwargs or {}))
        for made, key in storages([result]):
            if key not in given:
                self.now += key[1] * (key not in self.users)
                self.users[key] += 1
                weakref.finalize(made, self.forget, key)
        self.most = max(self.most, self.now)
        return result

    def forget(self, key):
        self.users[key] -= 1
        if not self.users[key]:
            self.now -= key[1]
            del self.users[key]


KINDS = {
    "one hidden": weights(h=2000),
    "ensemble": weights(12, h=200),
    "deep": fully_connected([3, 300, 300, 300, 1], seeds=[0, 1], bias=True),
    "tiny": fully_connected([3, 2, 1], seeds=range(3)),
    "module": module(Module(weights(h=500))),
}


@pytest.mark.parametrize("memory", [2**21, 2**24])
@pytest.mark.parametrize("name", KINDS)
def test_what_is_in_use_beside_the_result_stays_within_the_memory(name, memory):
    net, x, z = KINDS[name], draw(120, 3), draw(50, 3, seed=5)
    for columns in (None, z):
        with Live() as watched:
            kernel = ntk(net, x, columns, memory=memory)
        temporaries = watched.most - kernel.untyped_storage().nbytes()
        assert 0 < temporaries <= memory


def test_nothing_is_recorded_for_a_gradient():
    net = fully_connected([3, 4, 1], seeds=[0])
    for weight in net.parameters():
        weight.requires_grad_(True)
    assert not ntk(net, draw(5, 3)).requires_grad


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ntk(weights(), draw(5, 2)), r"x must be inputs \(p, 3\) or \(1, p, 3\)"),
        (lambda: ntk(weights(), draw(5, 3), draw(5, 4)), r"z must be inputs \(p, 3\) or \(1, p, 3\)"),
        (lambda: ntk(weights(2), draw(5, 3), draw(3, 5, 3)), "z must hold 2 realisations, one a network, got 3"),
        (lambda: ntk(weights(), draw(2, 1, 5, 3)), r"x must be inputs \(p, 3\)"),
        (lambda: ntk(MODELS["one-layer"], draw(5, 3), params=["W2"]), "params must be some of W1; got"),
        (lambda: ntk(fully_connected([3, 4, 2], seeds=[0]), draw(5, 3)), "with one output is needed here"),
        (lambda: ntk(weights(), draw(5, 3), params=["gamma"]), "omega, b, beta"),
        (lambda: ntk(weights(), draw(5, 3), params=[]), "some of"),
        (lambda: ntk(weights(), draw(5, 3), params="omega"), "some of"),
        (lambda: ntk(weights(), draw(5, 3), memory=0), "memory"),
        (lambda: ntk(torch.nn.Linear(3, 1).double(), draw(5, 3)), r"got a Linear: regimes.module\(...\) makes one"),
    ],
)
def test_bad_input_gets_one_line(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
