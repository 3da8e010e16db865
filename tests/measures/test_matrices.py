"""NFM, AGOP, PTK and their correlations: against autograd, in closed form, and what they do not depend on."""

import numpy as np
import pytest
import torch
from torch import nn

from regimes.data import tasks
from regimes.measures import matrices
from regimes.models.fully_connected import fully_connected
from regimes.models.module import module
from regimes.models.one_hidden import one_hidden
from regimes.validate import InputError


def network(sigma="tanh", seeds=(0, 1), widths=(6, 9, 8, 1), **options):
    return fully_connected(list(widths), seeds=list(seeds), sigma=sigma, **options)


def points(n=12, d=6, seed=3):
    return tasks.gaussian_points(n, d, seed=seed)


@pytest.fixture
def two():
    """The same layers of two networks, as before and after training."""
    x = points()
    return list(zip(matrices.sites(network(), x), matrices.sites(network(seeds=(5, 6)), x)))


def by_autograd(model, x, e):
    """Gradients of the output by each layer's inputs and pre-activations, written out anew."""
    hidden, inside, outside = x, [], []
    for layer, (weight, multiplier) in enumerate(zip(model.weights, model.multipliers)):
        hidden = hidden.detach().requires_grad_() if layer == 0 else hidden
        inside.append(hidden)
        before = multiplier * hidden @ weight[e].T
        outside.append(before)
        hidden = model.sigma(before) if layer < model.depth - 1 else before
    gradients = torch.autograd.grad(hidden.sum(), [*inside, *outside])
    return gradients[: len(inside)], gradients[len(inside) :]


@pytest.mark.parametrize("sigma", ["relu", "tanh", "quadratic"])
@pytest.mark.parametrize("parametrisation", ["standard", "ntk", "mean-field"])
def test_agop_and_ptk_are_those_of_autograd(sigma, parametrisation):
    """Paper D, Prop. 2: the mean outer product of the gradients by a layer's inputs is W'KW/n."""
    model = network(sigma, parametrisation=parametrisation)
    x = points()
    sites = matrices.sites(model, x)
    assert len(sites) == 2  # the readout has a single output
    for e in range(2):
        by_input, by_activation = by_autograd(model, x, e)
        for site, g, delta in zip(sites, by_input, by_activation):
            agop = torch.einsum("ni,nj->ij", g, g) / len(x)
            torch.testing.assert_close(matrices.agop(site.weights, site.delta)[e], agop, rtol=1e-12, atol=1e-15)
            kernel, covariance = delta @ delta.T, delta.T @ delta
            torch.testing.assert_close(matrices.ptk_kernel(site.delta)[e], kernel, rtol=1e-12, atol=1e-15)
            torch.testing.assert_close(matrices.ptk_covariance(site.delta)[e], covariance, rtol=1e-12, atol=1e-15)
            through = site.weights[e].T @ covariance @ site.weights[e] / len(x)
            torch.testing.assert_close(agop, through, rtol=1e-12, atol=1e-15)


def sandwich(a, middle):
    return a.mT @ middle @ a


def rho(a, b):
    return torch.stack([nn.functional.cosine_similarity(p.ravel(), q.ravel(), 0) for p, q in zip(a, b)])


def over(moved, middle):
    return (moved.mT @ moved * sandwich(moved, middle)).sum((-2, -1))


def test_measure_is_the_definitions(two):
    for start, now in two:
        measured = matrices.measure(now, start)
        W, V, delta, delta_0 = now.weights, start.weights, now.delta, start.delta
        K, changed = (torch.stack([m.T @ m for m in d]) for d in (delta, delta - delta_0))
        moved = W - V
        expected = {"uc": rho(W.mT @ W, sandwich(W, K)), "c": rho(moved.mT @ moved, sandwich(moved, K))}
        expected["ptk"] = rho(V.mT @ V, sandwich(V, changed))
        expected["double"] = over(moved, changed) / over(moved, K)
        for name, value in expected.items():
            torch.testing.assert_close(measured[name], value, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(matrices.uc_nfa(W, delta), expected["uc"])
        torch.testing.assert_close(matrices.uc_nfa(moved, delta), expected["c"])


def test_early_changes_do_not_drown_in_single_precision():
    """A change of the weights by 1e-5 of them, measured in float32 as in float64."""
    x, start = points(40), network(widths=(6, 30, 30, 1))
    shift = network(seeds=(7, 8), widths=(6, 30, 30, 1))
    moved = start.with_parameters([w + 1e-5 * v for w, v in zip(start.parameters(), shift.parameters())])
    correlations = []
    for dtype in (torch.float64, torch.float32):
        pairs = zip(*(matrices.sites(model.to(dtype=dtype), x.to(dtype)) for model in (moved, start)))
        correlations.append([matrices.measure(now, initial)["c"].double() for now, initial in pairs])
    for exact, single in zip(*correlations):
        torch.testing.assert_close(single, exact, rtol=0, atol=1e-3)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_correlations_know_no_scale(two, size):
    (start, now), _ = two
    changed = matrices.Site(size * now.weights, now.inputs, now.delta / size)
    scaled = matrices.Site(size * start.weights, start.inputs, start.delta / size)
    for name, value in matrices.measure(now, start).items():
        torch.testing.assert_close(matrices.measure(changed, scaled)[name], value, rtol=1e-9, atol=0)


def test_correlation_is_that_of_a_rotation_of_both(two):
    (start, now), _ = two
    inputs = tasks.rotation(6, seed=0)
    units = tasks.rotation(9, seed=1)
    turned = [matrices.Site(units @ s.weights @ inputs, s.inputs @ inputs, s.delta @ units.T) for s in (start, now)]
    for name, value in matrices.measure(now, start).items():
        torch.testing.assert_close(matrices.measure(turned[1], turned[0])[name], value, rtol=1e-9, atol=0)


def test_a_kernel_that_is_the_identity_makes_the_ansatz_exact():
    weights = tasks.gaussian_points(5, 7, seed=0)
    assert float(matrices.uc_nfa(weights, 3 * torch.eye(5, dtype=torch.float64))) == pytest.approx(1, abs=1e-12)


def test_a_layer_with_one_unit_agrees_whatever_it_learns():
    weights = tasks.gaussian_points(1, 7, seed=0)
    delta = tasks.gaussian_points(20, 1, seed=1)
    assert float(matrices.uc_nfa(weights, delta)) == pytest.approx(1, abs=1e-12)


def test_random_matrices_keep_the_spectrum_and_nothing_else():
    K = matrices.ptk_covariance(tasks.gaussian_points(30, 8, seed=[0, 1]))
    Q = matrices.same_spectrum(K, seeds=[4, 5])
    values = torch.linalg.eigvalsh
    torch.testing.assert_close(values(Q), values(K), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(Q, Q.mT)
    matrices_drawn = matrices.same_spectrum(K[:1].expand(4000, 8, 8), seeds=range(4000))
    mean = K[0].trace() / 8 * torch.eye(8, dtype=torch.float64)  # uniform eigenvectors: no direction is preferred
    error = matrices_drawn.std(0) / 4000**0.5
    assert float(((matrices_drawn.mean(0) - mean) / error).abs().max()) < 4.5
    torch.testing.assert_close(Q[1:], matrices.same_spectrum(K[1:], seeds=[5]))


def test_velocity_is_the_descent_of_half_the_mean_square():
    model = network(seeds=(2,), parametrisation="standard")
    x = points()
    y = tasks.gaussian_points(12, 1, seed=9)[:, 0]
    leaves = [w.clone().requires_grad_() for w in model.weights]
    loss = (model.with_parameters(leaves)(x) - y).square().mean() / 2
    down = torch.autograd.grad(loss, leaves)
    for site, gradient in zip(matrices.sites(model, x), down):
        moving = matrices.velocity(site.inputs, site.delta, y - model(x))
        torch.testing.assert_close(moving, -gradient, rtol=1e-10, atol=1e-14)


def test_the_centred_correlation_starts_where_the_velocity_says():
    """Paper D, Prop. 3: as the step goes to 0 the C-NFA is that of the velocity, and differs from it by its order."""
    model = network(seeds=(2,), parametrisation="standard")
    x = points()
    y = tasks.gaussian_points(12, 1, seed=9)[:, 0]
    start = matrices.sites(model, x)[0]
    moving = matrices.velocity(start.inputs, start.delta, y - model(x))
    limit = matrices.uc_nfa(moving, start.delta)
    differences = []
    for step in (1e-3, 1e-4, 1e-5):
        stepped = model.with_parameters([model.weights[0] + step * moving, *model.weights[1:]])
        now = matrices.sites(stepped, x)[0]
        differences.append(abs(float(matrices.uc_nfa(now.weights - start.weights, now.delta) - limit)))
    assert differences[0] < 1e-2 and differences[1] < 0.2 * differences[0] and differences[2] < 0.2 * differences[1]


def test_a_module_is_the_network_that_it_is():
    model = network("relu", parametrisation="standard")
    x = points()

    def build():
        parts = [part for n, m in ((6, 9), (9, 8)) for part in (nn.Linear(n, m, bias=False), nn.ReLU())]
        return nn.Sequential(*parts, nn.Linear(8, 1, bias=False)).double()

    same = module(build, seeds=[0, 1]).with_parameters(model.parameters())
    for site, twin in zip(matrices.sites(model, x), matrices.sites(same, x), strict=True):
        for name in ("weights", "inputs", "delta"):
            torch.testing.assert_close(getattr(site, name), getattr(twin, name))


def test_a_module_on_tokens_counts_positions_as_points():
    """A linear layer that each of three positions passes through: K sums over points and positions."""

    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 5, bias=False)

        def forward(self, x):
            return torch.tanh(self.inner(x)).sum((-2, -1))

    x = tasks.gaussian_points(6, 12, seed=0).reshape(6, 3, 4)
    (site,) = matrices.sites(module(Tokens().double(), shape=(3, 4)), x)
    assert site.delta.shape == (1, 18, 5) and site.inputs.shape == (1, 18, 4)
    leaf = x.clone().requires_grad_()
    weight = site.weights[0]
    (g,) = torch.autograd.grad(torch.tanh(leaf @ weight.T).sum(), leaf)
    expected = torch.einsum("npi,npj->ij", g, g) / 18
    torch.testing.assert_close(matrices.agop(site.weights, site.delta)[0], expected)


def test_one_hidden_layer_has_one_site():
    x = points(d=5)
    net = one_hidden(5, 7, seeds=[0, 1])
    (site,) = matrices.sites(net, x)
    leaf = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(net[1:](leaf).sum(), leaf)
    torch.testing.assert_close(matrices.agop(site.weights, site.delta)[1], g.T @ g / 12)


def test_pearson_is_that_of_numpy():
    a, b = tasks.gaussian_points(2, 9, seed=0)
    assert float(matrices.pearson(a, b)) == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-12)
    assert float(matrices.pearson(a, 3 - 2 * a)) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: matrices.sites(network(widths=(6, 1)), x), "no linear layer with pre-activations"),
        (
            lambda x: matrices.sites(module(nn.Sequential(nn.Flatten(), nn.Linear(6, 1)).double()), x),
            "no linear layer with pre-activations",
        ),
        (lambda x: matrices.correlation(torch.zeros(3, 3), torch.eye(3)), "zero matrix is undefined"),
        (lambda x: matrices.uc_nfa(torch.zeros(4, 3), torch.ones(5, 4)), "zero matrix is undefined"),
        (lambda x: matrices.correlation(torch.eye(3), torch.eye(4)), "b must have shape"),
        (lambda x: matrices.agop(torch.ones(4, 3), torch.ones(5, 3)), "delta must have shape"),
        (lambda x: matrices.nfm(torch.full((4, 3), torch.nan)), "weights must hold finite numbers"),
        (lambda x: matrices.same_spectrum(x, seeds=[0]), "matrix must have shape"),
        (lambda x: matrices.same_spectrum(torch.ones(1, 3, 3).triu(), seeds=[0]), "matrix must be symmetric"),
        (lambda x: matrices.same_spectrum(torch.eye(3).expand(2, 3, 3), seeds=[1]), "seeds must be 2"),
        (lambda x: matrices.pearson(torch.ones(4), torch.arange(4.0)), "constant vector"),
        (lambda x: matrices.velocity(torch.ones(4, 3), torch.ones(4, 2), torch.ones(3)), "residual must have shape"),
        (lambda x: matrices.measure(matrices.sites(network(), x)[0], matrices.sites(network(), x)[1]), "one layer"),
        (lambda x: tasks.chain_monomial(10, 6, r=1), "r must be a whole number from 2 to 6"),
        (lambda x: tasks.chain_monomial(10, 6, r=7), "r must be a whole number from 2 to 6"),
    ],
)
def test_bad_input_is_named_in_one_line(call, message):
    with pytest.raises(InputError, match=message) as error:
        call(points())
    assert "\n" not in str(error.value)
