"""The implicit steps against their optimality conditions, scipy, and hard spectra at the sizes that used to stall."""

import numpy as np
import pytest
import torch
from scipy.optimize import lsq_linear

from regimes.training import implicit
from regimes.training.implicit import box_qp, times, violation, violations
from tests.pretended_device import pretended_gpu


def solved(h, b, tolerance=1e-9):
    """The minimiser of one problem, by default from 0."""
    row = (torch.from_numpy(value).unsqueeze(0) for value in (h, b, np.zeros(len(b))))
    return box_qp(next(row), next(row), start=next(row), tolerance=tolerance)[0].numpy()


@pytest.fixture
def systems(monkeypatch):
    """Linear systems that were solved by the methods for one row: candidates and pivots."""
    counted = []
    for name in ("_candidate", "_pivot"):
        method = getattr(implicit, name)
        monkeypatch.setattr(implicit, name, lambda *args, method=method: counted.append(method) or method(*args))
    return counted


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
    np.testing.assert_allclose(solved(h, b), oracle, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize(("p", "d"), [(300, 2), (1000, 5)])
def test_box_problem_converges_on_kernels_of_every_stiffness(p, d, scale, systems):
    h, rng = relu_kernel(p, d, 1)
    b = 1 - rng.uniform(-0.5, 1.5, p)
    q = solved(scale * h, b)
    assert violation(q, scale * h @ q - b) <= 1e-8 and len(systems) <= 60
    assert q.min() >= 0 and q.max() <= 1


def test_equal_points_are_no_obstacle():
    h, rng = gram(30, 10, 0)
    h = np.tile(h, (2, 2))
    b = np.tile(rng.standard_normal(30), 2)
    q = solved(h, b)
    assert violation(q, h @ q - b) < 1e-8


def test_box_problem_converges_where_every_candidate_is_refused(monkeypatch, systems):
    """The slow method alone: guesses that never lower the objective are replaced by it."""
    h, rng = relu_kernel(60, 5, 1)
    b = 1 - rng.uniform(-0.5, 1.5, 60)
    quick, few = solved(50 * h, b), len(systems)
    monkeypatch.setattr(implicit, "_candidate", lambda *args: args[3])
    slow = solved(50 * h, b)
    assert violation(slow, 50 * h @ slow - b) <= 1e-8 and len(systems) > few
    np.testing.assert_allclose(50 * h @ slow, 50 * h @ quick, atol=1e-6)


def padded(problems):
    """Matrices and vectors of several sizes as rows of one batch, with zeros behind the shorter ones."""
    n = max(len(b) for _, b in problems)
    h = torch.zeros(len(problems), n, n, dtype=torch.float64)
    b = torch.zeros(len(problems), n, dtype=torch.float64)
    for row, (matrix, vector) in enumerate(problems):
        h[row, : len(vector), : len(vector)] = torch.from_numpy(matrix)
        b[row, : len(vector)] = torch.from_numpy(vector)
    return h, b


def box_problems():
    """Random, singular, ill-conditioned, stiff and degenerate ones (equal points; an optimum on the bounds)."""
    problems = []
    for p, rank, decay in ((1, 1, 0), (5, 9, 0), (40, 80, 0.5), (60, 20, 0), (50, 50, 2.0), (30, 40, 4.0)):
        h, rng = gram(p, rank, 3, decay)
        problems.append((h, rng.standard_normal(p)))
    for d, scale in ((5, 1e-3), (5, 1.0), (5, 1e3), (5, 1e8), (2, 10.0), (2, 1e4)):
        h, rng = relu_kernel(120, d, 1)
        problems.append((scale * h, 1 - rng.uniform(-0.5, 1.5, 120)))
    h, rng = gram(15, 10, 0)
    problems += [(np.tile(h, (2, 2)), np.tile(rng.standard_normal(15), 2)), (h, h @ (np.arange(15) % 2.0))]
    return problems


def solve_alone(matrix, right):
    return implicit._solve(matrix, right)


def solve_together(matrix, right):
    matrices = torch.from_numpy(np.stack([np.eye(2), matrix]))
    free = torch.ones(2, 2, dtype=torch.bool)
    return implicit._solves(matrices, free, torch.from_numpy(np.stack([right, right])))[1].numpy()


@pytest.mark.parametrize("solve", [solve_alone, solve_together])
def test_a_matrix_below_zero_by_rounding_is_solved_and_one_far_below_is_refused(solve):
    """Two equal points, off by some roundings: more than the first ridge is needed."""
    x = solve(np.array([[1.0, 1 + 1e-11], [1 + 1e-11, 1.0]]), np.ones(2))
    np.testing.assert_allclose(x, [0.5, 0.5], rtol=1e-6)
    with pytest.raises(implicit.LinAlgError, match="not positive semi-definite"):
        solve(np.array([[1.0, 1e6], [1e6, 1.0]]), np.ones(2))


@pytest.mark.parametrize("solve", [solve_alone, solve_together])
def test_a_matrix_of_zeros_has_a_finite_answer(solve):
    """As of a network whose neurons are all off at every point; of no right-hand side the answer is none."""
    np.testing.assert_array_equal(solve(np.zeros((2, 2)), np.zeros(2)), [0.0, 0.0])
    assert np.isfinite(solve(np.zeros((2, 2)), np.full(2, 1e-20))).all()


def solved_elsewhere(h, b, start, tolerance):
    """As another device than the CPU solves them."""
    with pretended_gpu():
        h, b, start = (value.to("cuda") for value in (h, b, start))
        return box_qp(h, b, start=start, tolerance=tolerance).cpu()


@pytest.mark.parametrize("refuse", [False, True])
def test_box_problems_together_are_those_alone(monkeypatch, refuse):
    """Of every kind and size at once; and where every candidate is refused, so that each is solved alone."""
    problems = box_problems()
    if refuse:
        monkeypatch.setattr(implicit, "_candidates", lambda h, b, diagonal, q, gradient: q)
        problems = [pair for pair in problems if len(pair[1]) <= 60]
    h, b = padded(problems)
    q = solved_elsewhere(h, b, torch.zeros_like(b), 1e-9)
    assert ((q >= 0) & (q <= 1)).all()
    assert (violations(q, times(h, q) - b) <= 1e-9).all()
    for (matrix, vector), row in zip(problems, q.numpy()):
        part, alone = row[: len(vector)], solved(matrix, vector)
        assert violation(part, matrix @ part - vector) <= 1e-9
        scale = 1 + np.abs(matrix).sum(1).max()
        np.testing.assert_allclose(matrix @ part, matrix @ alone, atol=1e-9 * scale)


def test_box_problems_together_agree_with_least_squares_in_the_box():
    problems = [(h + 1e-6 * np.eye(len(b)), b) for h, b in box_problems()[:6]]
    h, b = padded(problems)
    q = solved_elsewhere(h, b, torch.full_like(b, 0.5), 1e-10).numpy()
    for row, (matrix, vector) in zip(q, problems):
        root = np.linalg.cholesky(matrix)
        oracle = lsq_linear(root.T, np.linalg.solve(root, vector), (0, 1), method="bvls", tol=1e-14).x
        np.testing.assert_allclose(row[: len(vector)], oracle, atol=1e-6)


def test_candidates_are_feasible_where_guessing_fails(monkeypatch):
    """A stiff problem far from its solution, whose active set one guess does not find."""
    monkeypatch.setattr(implicit, "GUESSES", 1)
    h, rng = relu_kernel(120, 2, 1)
    h, b = padded([(1e3 * h, 1 - rng.uniform(-0.5, 1.5, 120)), (h[:9, :9], rng.uniform(0.0, 1.0, 9))])
    q = torch.zeros_like(b)
    candidates = implicit._candidates(h, b, h.diagonal(dim1=-2, dim2=-1).clamp(min=1e-9), q, -b)
    assert ((candidates >= 0) & (candidates <= 1)).all()
