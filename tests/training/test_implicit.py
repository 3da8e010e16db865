"""The implicit steps against their optimality conditions, scipy, and hard spectra at the sizes that used to stall."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize
from scipy.special import expit

from regimes.training import implicit
from regimes.training.implicit import box_qp, implicit_step, violation


def gram(p, rank, seed, decay=0.0):
    """A kernel-like matrix with a spectrum falling as a power law."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((p, rank)) * np.arange(1, rank + 1) ** -decay
    return factor @ factor.T / rank, rng


def relu_kernel(p, d, seed):
    """The tangent-kernel shape that a hinge flow meets: strong mean, power-law tail, labels on it."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((p, d))
    w = rng.standard_normal((d, 400))
    mask = (x @ w > 0).astype(float)
    y = np.where((x[:, 0] > -0.3) & (x[:, 0] < 1.18549), -1.0, 1.0)
    return (mask @ mask.T / 400) * (x @ x.T + 1) * y[:, None] * y, rng


@pytest.mark.parametrize(("p", "rank", "decay"), [(1, 1, 0), (5, 9, 0), (40, 80, 0.5), (60, 20, 0), (50, 50, 2.0)])
def test_box_problem_agrees_with_least_squares_in_the_box(p, rank, decay):
    h, rng = gram(p, rank, 3, decay)
    h += 1e-6 * np.eye(p)
    b = rng.standard_normal(p)
    root = np.linalg.cholesky(h)
    oracle = lsq_linear(root.T, np.linalg.solve(root, b), (0, 1), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(box_qp(h, b).q, oracle, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize(("p", "d"), [(300, 2), (1000, 5)])
def test_box_problem_converges_on_kernels_of_every_stiffness(p, d, scale):
    h, rng = relu_kernel(p, d, 1)
    b = 1 - rng.uniform(-0.5, 1.5, p)
    solution = box_qp(scale * h, b)
    assert solution.converged and solution.rounds <= 60
    assert violation(solution.q, scale * h @ solution.q - b) <= 1e-8
    assert solution.q.min() >= 0 and solution.q.max() <= 1


def test_equal_points_are_no_obstacle():
    h, rng = gram(30, 10, 0)
    h = np.tile(h, (2, 2))
    b = np.tile(rng.standard_normal(30), 2)
    solution = box_qp(h, b)
    assert violation(solution.q, h @ solution.q - b) < 1e-8


def test_box_problem_converges_where_every_candidate_is_refused(monkeypatch):
    """The slow method alone: guesses that never lower the objective are replaced by it."""
    h, rng = relu_kernel(60, 5, 1)
    b = 1 - rng.uniform(-0.5, 1.5, 60)
    quick = box_qp(50 * h, b)
    monkeypatch.setattr(implicit, "_candidate", lambda *args: args[3])
    slow = box_qp(50 * h, b)
    assert slow.converged and slow.rounds > quick.rounds
    np.testing.assert_allclose(50 * h @ slow.q, 50 * h @ quick.q, atol=1e-6)


@pytest.mark.parametrize("scale", [0.1, 10.0, 1e5])
def test_smooth_step_agrees_with_a_general_minimiser(scale):
    def logistic(m):
        sigma = expit(-m)
        return np.logaddexp(0, -m), -sigma, sigma * (1 - sigma)

    h, rng = gram(25, 60, 2)
    m0 = rng.standard_normal(25)
    found = implicit_step(scale * h, m0, logistic)
    assert found.converged and found.rounds <= 40

    def objective(s):
        return 0.5 * s @ (scale * h) @ s + logistic(m0 + scale * h @ s)[0].sum()

    oracle = minimize(objective, np.zeros(25), method="BFGS", options={"gtol": 1e-10, "maxiter": 5000})
    assert objective(found.q) <= oracle.fun + 1e-8 * abs(oracle.fun)
    np.testing.assert_allclose(found.q, -logistic(m0 + scale * h @ found.q)[1], atol=1e-8)
