"""Mutual information: both estimators against closed forms, quadrature and their definitions."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import digamma
from scipy.stats import norm

from regimes.data import tasks
from regimes.measures import information
from regimes.measures.information import mutual_information, paper_a_information
from tests.cases import for_each, refused


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def bits(shares):
    """The entropy of a distribution."""
    return -sum(q * math.log2(q) for q in shares if q > 0)


def left_open(shift, share, start, points):
    """What ``x = y shift + z`` from ``start`` on leaves open of ``y``, by quadrature."""

    def lost(x):
        plus = share * norm.pdf(x - shift)
        minus = (1 - share) * norm.pdf(x + shift)
        total = plus + minus
        return total * bits([plus / total, minus / total]) if total else 0.0

    return quad(lost, start, 12, points=points, limit=400)[0]


def two_gaussians(shift, share):
    """``I(x; y)`` of ``x = y shift + z`` where ``y`` is 1 with probability ``share``, by quadrature."""
    return bits([share, 1 - share]) - left_open(shift, share, -12, points=[-shift, 0, shift])


def rounded_gaussians(shift, share, width):
    """The same where ``x`` is rounded down to multiples of ``width``, by sums."""
    edges = np.arange(-40, 41) * width
    plus = share * np.diff(norm.cdf(edges - shift))
    minus = (1 - share) * np.diff(norm.cdf(edges + shift))
    cells = bits(plus) + bits(minus)
    return bits([share, 1 - share]) + bits(plus + minus) - cells


def rectified_gaussians(shift, share):
    """The same for ``max(x, 0)``, which has an atom and a density."""
    zero = share * norm.cdf(-shift), (1 - share) * norm.cdf(shift)
    atom = sum(zero) * bits([part / sum(zero) for part in zero])
    return bits([share, 1 - share]) - atom - left_open(shift, share, 0, points=[shift])


def several_gaussians(means):
    """``I(x; y)`` of equally frequent labels with the means ``means`` and unit variance, by quadrature."""

    def density(x):
        return sum(norm.pdf(x - mean) for mean in means) / len(means)

    entropy = quad(lambda x: -density(x) * math.log2(density(x)), min(means) - 8, max(means) + 8, limit=400)[0]
    return entropy - math.log2(2 * math.pi * math.e) / 2


def labels(rng, n, share):
    return np.where(rng.random(n) < share, 1.0, -1.0)


def shifted(rng, n, shift, share):
    y = labels(rng, n, share)
    return y * shift + rng.standard_normal(n), y


def flipped(rng, n, share, chance=0.1):
    y = labels(rng, n, share)
    return np.where(rng.random(n) < chance, -y, y), y


def rounded(rng, n, width):
    x, y = shifted(rng, n, 1.0, 0.3)
    return np.floor(x / width) * width, y


def mixture(rng, n, means):
    y = rng.integers(0, len(means), n)
    return np.array(means)[y] + rng.standard_normal(n), y


# name -> how pairs are drawn from a generator, and the exact information in bits
EXACT = {
    **{
        f"gaussians {shift} apart, {share:.0%} ones": (
            lambda rng, shift=shift, share=share: shifted(rng, 2000, shift, share),
            two_gaussians(shift, share),
        )
        for shift in (0.0, 0.5, 1.0, 2.0)
        for share in (0.5, 0.2, 0.05)
    },
    "a coordinate of noise beside": (
        lambda rng: (np.stack([(pair := shifted(rng, 4000, 1.0, 0.3))[0], rng.standard_normal(4000)], 1), pair[1]),
        two_gaussians(1.0, 0.3),
    ),
    "a channel with flips": (lambda rng: flipped(rng, 2000, 0.5), 1 - bits([0.1, 0.9])),
    "a channel with flips of 60 points": (lambda rng: flipped(rng, 60, 0.5), 1 - bits([0.1, 0.9])),
    "a channel with flips and rare ones": (
        lambda rng: flipped(rng, 2000, 0.2),
        bits([0.2 * 0.9 + 0.8 * 0.1, 0.2 * 0.1 + 0.8 * 0.9]) - bits([0.1, 0.9]),
    ),
    "flips, and a jitter that breaks the ties": (
        lambda rng: ((pair := flipped(rng, 2000, 0.5))[0] + 1e-9 * rng.standard_normal(2000), pair[1]),
        1 - bits([0.1, 0.9]),
    ),
    **{
        f"gaussians in steps of {width}": (
            lambda rng, width=width: rounded(rng, 4000, width),
            rounded_gaussians(1.0, 0.3, width),
        )
        for width in (3.0, 1.0, 0.5)
    },
    "gaussians in steps of 0.01": (lambda rng: rounded(rng, 4000, 0.01), two_gaussians(1.0, 0.3)),
    "fine steps that tell nothing": (
        lambda rng: (np.floor(rng.standard_normal(1000) / 0.02) * 0.02, labels(rng, 1000, 0.3)),
        0.0,
    ),
    "rectified gaussians": (
        lambda rng: ((pair := shifted(rng, 2000, 1.0, 0.3))[0].clip(0), pair[1]),
        rectified_gaussians(1.0, 0.3),
    ),
    "three labels": (lambda rng: mixture(rng, 3000, [0.0, 2.0, 4.0]), several_gaussians([0.0, 2.0, 4.0])),
    "five labels that tell nothing": (lambda rng: mixture(rng, 3000, [0.0] * 5), 0.0),
    "independent values of a die": (lambda rng: (rng.integers(1, 7, 2000) * 1.0, labels(rng, 2000, 0.1)), 0.0),
}


@for_each(EXACT)
def test_estimate_against_exact_values(draw, exact):
    """The mean of ten draws, within four of its standard errors and a hundredth of a bit."""
    estimates = [mutual_information(*draw(np.random.default_rng(seed))) for seed in range(10)]
    assert np.mean(estimates) == pytest.approx(exact, abs=0.01 + 4 * np.std(estimates) / 3)


def test_estimate_is_between_zero_and_the_entropy_of_the_labels():
    rng = np.random.default_rng(0)
    for share in (0.02, 0.1, 0.5):
        y = np.where(np.arange(500) < 500 * share, 1, -1)
        assert mutual_information(y * 1.0, y) == pytest.approx(bits([share, 1 - share]))
        assert mutual_information(y + 0.1 * rng.random(500), y) <= bits([share, 1 - share]) + 1e-12
        independent = [mutual_information(rng.standard_normal(500), y) for _ in range(20)]
        assert min(independent) >= 0 and np.mean(independent) < 0.01
    assert mutual_information(np.zeros(500), y) == pytest.approx(0, abs=1e-12)


def test_mixed_estimate_by_its_definition():
    """By a loop over points, with two coordinates, whose scales have no effect, and three labels."""
    rng, n, k = np.random.default_rng(0), 60, 3
    x = rng.standard_normal((n, 2))
    x /= x.std(0)
    y = np.arange(n) % 3 % 2 * 2 + np.arange(n) % 2
    total = 0.0
    for i in range(n):
        distances = [max(abs(x[i, 0] - x[j, 0]), abs(x[i, 1] - x[j, 1])) for j in range(n)]
        radius = sorted(distances[j] for j in range(n) if y[j] == y[i] and j != i)[k - 1]
        m = sum(distances[j] <= radius for j in range(n) if j != i)
        total += digamma(n) + digamma(k) - digamma(sum(y == y[i])) - digamma(m)
    expected = total / n / math.log(2)
    assert expected > 0.005
    for scale in (1.0, 1e-200, 1e200, np.array([1.0, 1000.0]), np.array([1e-200, 1e200])):
        assert mutual_information(scale * x, y, neighbours=k) == pytest.approx(expected)


def test_a_useless_coordinate_of_large_numbers_hides_nothing():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 2))
    y = np.sign(x[:, 0]) * rng.choice([1, -1], 1000, p=[0.9, 0.1])
    plain = mutual_information(x, y)
    assert plain > 0.3
    assert mutual_information(x * np.array([1.0, 1000.0]), y) == pytest.approx(plain)


def test_labels_of_any_kind_and_few_points():
    x = torch.tensor([0.0, 1.0, 2.0, 10.0, 11.0, 12.0, 13.0, 14.0], dtype=torch.float64)
    low = (x < 5).numpy()
    for y in (low, low.astype(int), torch.from_numpy(low) * 7.5, torch.from_numpy(low).int()):
        assert mutual_information(x, y) == pytest.approx(bits([3 / 8, 5 / 8]), abs=0.15)


X = normal(24)
Y = torch.tensor([1.0, -1.0]).repeat(12).double()
REFUSED = {
    "fewer labels": (lambda: mutual_information(X, Y[:3]), r"y must hold one label a point, .24,., got .3,."),
    "a column": (lambda: mutual_information(X, Y[:, None]), r"y must hold one label a point, .24,., got .24, 1."),
    "one label": (lambda: mutual_information(X, 0 * Y), "y must hold at least two labels, got 0.0 alone"),
    "a label once": (lambda: mutual_information(X, torch.arange(24) > 0), "y must hold each label at least twice"),
    "a label NaN": (lambda: mutual_information(X, Y * math.nan), "y must hold labels, got NaN"),
    "a point NaN": (lambda: mutual_information(X * math.inf, Y), "x must hold finite numbers"),
    "no neighbours": (lambda: mutual_information(X, Y, neighbours=0), "neighbours must be a whole number"),
    "a list": (lambda: mutual_information(X.tolist(), Y), "x must be a torch tensor or a NumPy array"),
    "paper A's: rare": (lambda: paper_a_information(normal(99), Y[:2].repeat(50)[:99].abs()), "both classes"),
    "paper A's: rarer": (
        lambda: paper_a_information(normal(100), torch.arange(100).lt(10) * 2.0 - 1),
        "y must hold two labels of about equal frequency, got 10 of 100 points for one: mutual_information takes any",
    ),
    "paper A's: few": (lambda: paper_a_information(X[:10], Y[:10]), "neighbours must be at most 4, .* got 5"),
    "a cosine": (lambda: information.stripe_information(1.1), "cosine must be a number from 0 to 1"),
}


@for_each(REFUSED)
def test_bad_input_gets_one_line(call, words):
    refused(call, words)


def exact_information(plus, minus, ends):
    """``I(x; y)`` in bits from the densities of ``x`` given each label, by quadrature between increasing ``ends``."""

    def lost(x):
        total = plus(x) + minus(x)
        return total / 2 * float(information.entropy(np.array(plus(x) / total))) if total > 0 else 0.0

    return 1 - sum(quad(lost, a, b, epsabs=1e-10, limit=200)[0] for a, b in zip(ends, ends[1:]))


@pytest.mark.parametrize(
    ("shift", "exact"), [(shift, information.shifted_gaussians(shift)) for shift in (0.7, 1.0, 1.5)]
)
def test_estimate_against_closed_form(shift, exact):
    """Smooth densities: within the bias of a Beta variable, which shrinks as more is told."""
    y = torch.tensor([1.0, -1.0]).repeat(4000).double()
    estimate = information.paper_a_information(shift * y + normal(8000), y)
    assert estimate == pytest.approx(exact, abs=information.null_bias() * (1 - exact) + 0.02)
    assert abs(exact - exact_information(norm(shift).pdf, norm(-shift).pdf, [-9, 0, 9])) < 1e-8


def test_estimate_of_noise_is_the_null_bias_and_permuted_labels_are_noise():
    x = normal(40, 1000)
    y = torch.tensor([1.0, -1.0]).repeat(500).double()
    for itself in (False, True):
        mean = np.mean([information.paper_a_information(sample, y, counts_itself=itself) for sample in x])
        assert mean == pytest.approx(information.null_bias(counts_itself=itself), abs=4e-3)
    assert information.null_bias() == pytest.approx(1 - sum(1 / m for m in range(6, 11)) / math.log(2))
    assert information.null_bias(500) < 1e-3
    telling = x[0] + 3 * y
    shuffled = y[torch.randperm(1000, generator=torch.Generator().manual_seed(0))]
    assert information.paper_a_information(telling, y) > 0.8
    assert information.paper_a_information(telling, shuffled) < 0.1


def test_estimate_by_its_definition():
    """Distances and the formula once more, by a loop over all pairs; its scale is of no effect."""
    x = normal(60, 2)
    y = torch.tensor([1.0, -1.0]).repeat(30).double()
    for itself in (False, True):
        total = 0.0
        for i in range(60):
            r = {}
            for side in (1.0, -1.0):
                distances = [float((x[i] - x[j]).norm()) for j in range(60) if y[j] == side and (j != i or itself)]
                r[side] = sorted(distances)[2]
            q = 1 / (1 + (r[1.0] / r[-1.0]) ** 2)
            total += 1 + q * math.log2(q) + (1 - q) * math.log2(1 - q)
        for scale in (1.0, 1e-7):
            estimate = information.paper_a_information(scale * x, y, neighbours=3, counts_itself=itself)
            assert estimate == pytest.approx(total / 60)


def test_equal_points_tell_nothing_and_do_no_harm():
    y = torch.tensor([1.0, -1.0]).repeat(20).double()
    assert information.paper_a_information(torch.zeros(40).double(), y) == 0
    assert information.paper_a_information(y, y) == 1


def test_a_sharp_label_lacks_what_is_derived():
    n = 4000
    s = torch.from_numpy(np.random.default_rng(0).random(n)) * torch.tensor([1.0, -1.0]).repeat(n // 2)
    deficit = 1 - information.paper_a_information(s, s.sign())
    assert deficit == pytest.approx(information.sharp_loss(n), rel=0.05)


def test_information_along_a_direction_of_the_stripe():
    assert information.stripe_information(0.0) == pytest.approx(0, abs=1e-12)
    assert information.stripe_information(1.0) == pytest.approx(1, abs=1e-9)
    c, s = 0.9, math.sqrt(1 - 0.81)

    def minus(t):
        return 2 * norm.pdf(t) * (norm.cdf((tasks.STRIPE[1] - c * t) / s) - norm.cdf((tasks.STRIPE[0] - c * t) / s))

    exact = exact_information(lambda t: 2 * norm.pdf(t) - minus(t), minus, [-8, -1, 0, 1, 2, 8])
    assert information.stripe_information(c) == pytest.approx(exact, abs=1e-6)
    three = information.stripe_information(1.0, [-1.0, 0.0, 1.0])
    assert three == pytest.approx(1, abs=1e-9)
