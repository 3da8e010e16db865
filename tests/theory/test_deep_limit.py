"""The deep predictor's closed law against the kernel itself."""

import numpy as np
import pytest
import torch

from companion.papers.depth.theory import curves, deep_limit, degrees, pairs, regression, sigmoid_kernel, spectrum
from regimes.kernels import infinite_ntk, relu_recursion
from regimes.validate import InputError


def exact(x, test_x, depth):
    gram = infinite_ntk(x, depth=depth)
    cross = infinite_ntk(test_x, x, depth=depth)
    return spectrum.operators(gram, cross, [float("inf")])[0]


def law(x, test_x, depth):
    return deep_limit.operator(deep_limit.offsets(x), deep_limit.offsets(test_x, x), depth)


@pytest.mark.parametrize(("n", "d"), [(3, 3), (40, 5), (120, 40)])
def test_the_operator_is_right_to_first_order(n, d):
    """What is left after the law falls like (ln L/L)²; without its tilt, or with the limit's 1/4 for a, it does not."""
    x = pairs.sphere(n, d, seed=0)
    test_x = pairs.sphere(20, d, seed=1)
    left = []
    for depth in (10**4, 10**6):
        op, first = exact(x, test_x, depth), law(x, test_x, depth)
        tilt = (op - op.mean()).norm()
        left.append(float((op - first).norm() / tilt))
        flat = torch.full_like(op, 1 / (n + 3))
        assert float((op - flat).norm() / tilt) > 0.5
    assert left[1] < left[0] / 40 and left[1] < 1e-3


def test_the_mean_needs_the_logarithm():
    """With targets of one sign a law with ``n/(n + 3)`` in place of ``n beta`` is off at order ln L/L."""
    x = pairs.sphere(5, 4, seed=0)
    test_x = pairs.sphere(30, 4, seed=1)
    depth = 10**6
    y = torch.ones(5, 1, dtype=torch.float64)
    f = exact(x, test_x, depth) @ y
    first = law(x, test_x, depth) @ y
    a = 1 / 4 + (3 / 8 * np.log(depth) - 1 / 8) / depth
    beta = a / (1 + 4 * a)
    naive = first - 5 * beta + 5 / 8
    assert float((f - first).abs().max()) < 1e-9 < 1e-6 < float((f - naive).abs().max())


def test_centred_targets_leave_the_form_without_the_logarithm():
    """For targets of mean zero: (1/3L) Σ_i [c(x·x_i) - Σ_j c_ij/(n + 3)] y_i, to the same order."""
    n, depth = 60, 10**6
    x = pairs.sphere(n, 6, seed=0)
    test_x = pairs.sphere(25, 6, seed=1)
    y = torch.from_numpy(np.random.default_rng(0).standard_normal((n, 2)))
    y -= y.mean(0)
    c = deep_limit.offsets(x)
    cross = deep_limit.offsets(test_x, x)
    simple = (cross - c.sum(1) / (n + 3)) @ y / (3 * depth)
    f = exact(x, test_x, depth) @ y
    assert float((f - simple).norm() / simple.norm()) < 1e-3
    assert float((f - 0.75 * simple).norm() / simple.norm()) > 0.2  # the gap 1 in place of 3/4


def test_operators_of_two_points_differ_by_their_offsets():
    n, depth = 80, 10**6
    x = pairs.sphere(n, 16, seed=0)
    test_x = pairs.sphere(10, 16, seed=1)
    cross = deep_limit.offsets(test_x, x)
    apart = cross[::2] - cross[1::2]
    predicted = (apart - apart.sum(1, keepdim=True) / (n + 3)).norm(dim=-1) / 3
    op = exact(x, test_x, depth)
    assert torch.allclose(depth * (op[::2] - op[1::2]).norm(dim=-1), predicted, rtol=2e-3, atol=0)


def test_the_worst_targets_attain_the_bound_of_theorem_3_and_random_ones_do_not():
    """The distance from the limit's predictor goes as n/L for the worst targets of size 1, as √n/L for random ones."""
    sizes, depth, result = np.array([50, 100, 200, 400]), 10**4, []
    for n in sizes:
        x = pairs.sphere(int(n), 16, seed=0)
        test_x = pairs.sphere(20, 16, seed=1)
        rest = exact(x, test_x, depth) - 1 / (n + 3)
        y = torch.from_numpy(np.random.default_rng(0).choice([-1.0, 1.0], (n, 20)))
        result.append((float(rest.abs().sum(-1).mean()), float((rest @ y).abs().mean())))
    worst, random = np.polyfit(np.log(sizes), np.log(result), 1)[0]
    assert worst == pytest.approx(1, abs=0.02) and random == pytest.approx(0.5, abs=0.05)


def test_balanced_classes_keep_their_argmax_and_unbalanced_ones_end_at_the_largest():
    x = pairs.sphere(60, 3, seed=0)
    test_x = pairs.sphere(200, 3, seed=1)
    sides = (test_x[:, 0] > 0).long()
    labels = (x[:, 0] > x[:, 0].median()).long()
    fewer = labels.clone()
    fewer[labels.argmax()] = 0
    for y, low, high in ((labels, 0.7, 1.0), (fewer, 0.4, 0.6)):
        f = exact(x, test_x, 10**7) @ torch.nn.functional.one_hot(y).double()
        assert low < regression.accuracy(f, sides) <= high


def test_a_fresh_point_among_the_data_has_no_offset():
    x = pairs.sphere(6, 4, seed=0)
    with pytest.raises(InputError, match="cross_offsets must hold finite numbers"):
        law(x, x[:2], 100)


def test_the_laws_of_two_orders():
    """What is left of the kernel falls by a power of the depth more each; the uniform law holds for close pairs."""
    phi = torch.tensor([0.3, 1.0, 2.5], dtype=torch.float64)
    c, left = relu_recursion.offset(phi), {}
    for depth in (10**3, 10**4):
        exact, _ = relu_recursion.kernel_of_angle(phi, depth)
        left[depth] = {
            name: float((deep_limit.of_offset(c, depth, name) - exact).abs().max()) for name in deep_limit.ORDERS
        }
    powers = {name: np.log10(left[10**3][name] / left[10**4][name]) for name in deep_limit.ORDERS}
    assert 1.7 < powers["first"] < 2.1 and powers["uniform"] > 2.8
    assert left[10**3]["uniform"] < left[10**3]["first"] / 50
    close = torch.tensor([1e-5, 1e-3, 0.01, 0.1], dtype=torch.float64)
    exact, _ = relu_recursion.kernel_of_angle(close, 50)
    assert float((deep_limit.of_offset(relu_recursion.offset(close), 50, "uniform") - exact).abs().max()) < 3e-3
    assert float(deep_limit.of_offset(torch.tensor([1e12], dtype=torch.float64), 50, "uniform")[0]) == pytest.approx(1)


def test_the_kernel_is_a_ridge_beside_the_offsets():
    x = pairs.sphere(30, 5, seed=0)
    test_x = pairs.sphere(10, 5, seed=1)
    depth = 200
    c = deep_limit.offsets(x)
    cross = deep_limit.offsets(test_x, x)
    y = torch.from_numpy(np.random.default_rng(0).standard_normal((30, 2)))
    gram, row = deep_limit.ridge_kernels(c, cross, depth)
    level, lam = float(deep_limit.of_offset(torch.zeros(()).double(), depth)), deep_limit.depth_ridge(depth)
    scale = lam / (1 - level)  # 4L
    by_hand = (cross + scale * level) @ torch.linalg.solve(c + scale * level + lam * torch.eye(30).double(), y)
    assert torch.allclose(row @ torch.linalg.solve(gram, y), by_hand, rtol=1e-9)
    assert lam == pytest.approx(3 * depth - 1.5 * np.log(depth) + 0.5, rel=1e-12)


@pytest.mark.parametrize("time", [0.5, 1.0, 3.0, float("inf")])
def test_the_ridge_stopped_early_is_the_deep_kernel_stopped_early(time):
    """Also their argmax; the predictor that is not stopped is far from both at the first of these times."""
    x = pairs.sphere(200, 16, seed=0)
    test_x = pairs.sphere(200, 16, seed=1)
    depth = 100
    y = torch.nn.functional.one_hot(x[:, :3].argmax(1)).double()
    kernels = infinite_ntk(x, depth=depth), infinite_ntk(test_x, x, depth=depth)
    ridge = deep_limit.ridge_kernels(deep_limit.offsets(x), deep_limit.offsets(test_x, x), depth)
    f, g = (spectrum.operators(*pair, [time])[0] @ y for pair in (kernels, ridge))
    variation = (f - f.mean(0)).norm()
    assert float((f - g).norm() / variation) < 0.03
    assert float((f.argmax(1) == g.argmax(1)).double().mean()) > 0.98
    end = exact(x, test_x, depth) @ y
    assert time > 1 or float((f - end).norm() / variation) > 0.5


def test_errors_on_a_sphere_follow_from_the_eigenvalues_and_the_ridge():
    """Degree by degree; with the limit's eigenvalue 3/4 taken for 1 the ridge is 4L, and the errors a fifth larger."""
    n, depth, n0, draws = 400, 80, 6, 60
    law, shares = curves.degree_errors(n, depth, n0)[1:4], []
    for seed in range(draws):
        points = pairs.sphere(n + 500, n0, seed=seed)
        targets = torch.stack([points[:, :degree].prod(1) for degree in (1, 2, 3)], 1)
        missed = exact(points[:n], points[n:], depth) @ targets[:n] - targets[n:]
        shares.append(missed.square().sum(0) / (targets[n:] - targets[n:].mean(0)).square().sum(0))
    over = torch.stack(shares).numpy() / law
    error = over.std(0, ddof=1) / draws**0.5
    assert (error < 0.012).all() and (abs(over.mean(0) - 1) < 3 * error + 0.005).all()
    assert curves.degree_errors(n, depth * 4 // 3, n0)[1] > 1.15 * law[0]


def test_eigenvalues_of_the_offset_are_those_of_large_matrices():
    mu = degrees.degree_eigenvalues(4, range(5))
    result = np.linalg.eigvalsh(deep_limit.offsets(pairs.sphere(1500, 4, seed=0)).numpy())[::-1] / 1500
    assert result[0] == pytest.approx(mu[0], rel=0.01) and result[1:5].mean() == pytest.approx(mu[1], rel=0.05)
    assert result[5:14].mean() == pytest.approx(mu[2], rel=0.1)
    shares = curves.degree_errors(4000, 2000, 4)  # far down: 3L/n is the ridge of each eigenvalue
    assert shares[1:4] == pytest.approx((1.5 / (mu[1:4] + 1.5)) ** 2, rel=0.02) and shares[0] < 1e-4


def test_bad_orders_and_sizes_are_one_line():
    c = torch.ones(2, 2).double()
    for call, message in (
        (lambda: deep_limit.of_offset(c, 10, "third"), "order must be one of first"),
        (lambda: deep_limit.of_offset(c, 4, "uniform"), "depth must be"),
        (lambda: curves.degree_errors(1, 10, 4), "n must be"),
        (lambda: curves.degree_errors(9, 2, 4), "depth must be"),
        (lambda: deep_limit.ridge_kernels(c.triu(), c, 10), "gram_offsets must be symmetric"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_the_share_learnt_of_an_eigenvector_is_that_of_the_ridge():
    """On even points of a circle, where ``C`` commutes with the mean; the mean itself is learnt whole."""
    depth, circle = 3000, sigmoid_kernel.circle(12)
    c = deep_limit.offsets(circle)
    strength, modes = torch.linalg.eigh(c - c.mean(0) - c.mean(1, keepdim=True) + c.mean())
    left = (modes * torch.linalg.solve(infinite_ntk(circle, depth=depth), modes)).sum(0)
    share = 1 - deep_limit.depth_ridge(depth) / (4 * depth) * left
    law = strength / (strength + deep_limit.depth_ridge(depth))
    away = strength.abs() > 1e-9
    assert int(away.sum()) == 11 and float(law[away].max()) > 1e-3
    assert share[away].numpy() == pytest.approx(law[away].numpy(), rel=0.02, abs=1e-5)
