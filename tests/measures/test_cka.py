"""The unbiased CKA against its double sums, closed forms, and what it must not depend on."""

import itertools
import math

import numpy as np
import pytest
import torch

from regimes.measures.cka import cka
from regimes.validate import InputError


def features(n, width, seed):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, width)))


def gram(phi):
    return phi @ phi.mT


def hsic(k, l):
    """HSIC_1 as the mean over ordered quadruples of distinct points: what it estimates without bias."""
    n = len(k)
    terms = [k[a, b] * (l[a, b] + l[c, d] - 2 * l[a, c]) for a, b, c, d in itertools.permutations(range(n), 4)]
    return sum(terms) / len(terms)


def test_it_is_the_mean_over_distinct_quadruples():
    k, l = gram(features(7, 3, 0)).numpy(), gram(features(7, 4, 1)).numpy()
    by_hand = hsic(k, l) / math.sqrt(hsic(k, k) * hsic(l, l))
    assert abs(float(cka(torch.from_numpy(k), torch.from_numpy(l))) - by_hand) < 1e-13


def test_a_kernel_with_itself_and_with_its_negative():
    k = gram(features(9, 4, 0))
    assert abs(float(cka(k, k)) - 1) < 1e-14 and abs(float(cka(k, -k)) + 1) < 1e-14


def test_four_points_in_two_pairs_by_hand():
    """U-centred, pairs {01}{23} give 2/3, -1/3, -1/3 on the three ways to pair; another way has the cosine -1/2."""
    one, two = torch.zeros(2, 4, 4, dtype=torch.float64)
    one[0, 1] = one[1, 0] = one[2, 3] = one[3, 2] = 1
    two[0, 2] = two[2, 0] = two[1, 3] = two[3, 1] = 1
    assert abs(float(cka(one, two)) + 0.5) < 1e-15


def test_neither_scale_shift_turn_nor_order_of_the_points_matters():
    a, b = features(12, 5, 0), features(12, 3, 1)
    base = float(cka(gram(a), gram(b)))
    turn = torch.linalg.qr(features(5, 5, 2))[0]
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    for scale in (1e-150, 1e150):
        assert abs(float(cka(scale * gram(a), gram(b))) - base) < 1e-13
    assert abs(float(cka(gram(a + 3), gram(b))) - base) < 1e-12
    assert abs(float(cka(gram(a @ turn), gram(b))) - base) < 1e-13
    assert abs(float(cka(gram(a[order]), gram(b[order]))) - base) < 1e-13
    assert abs(float(cka(gram(a) + 1e6, gram(b))) - base) < 1e-8
    assert abs(float(cka(gram(a) + torch.eye(12).double() * 100, gram(b))) - base) < 1e-12, "the diagonal is left out"


def test_independent_features_have_mean_zero_where_the_plain_estimate_has_nearly_one():
    n, width = 20, 400
    draws = [cka(gram(features(n, width, 2 * s)), gram(features(n, width, 2 * s + 1))) for s in range(200)]
    values = torch.stack(draws)
    assert abs(float(values.mean())) < 4 * float(values.std()) / math.sqrt(len(values))
    centre = torch.eye(n, dtype=torch.float64) - 1 / n
    a, b = (centre @ gram(features(n, width, s)) @ centre for s in (0, 1))
    assert float((a * b).sum() / (a.norm() * b.norm())) > 0.9


def test_realisations_and_one_shared_kernel():
    k = torch.stack([gram(features(8, 3, s)) for s in range(3)])
    l = gram(features(8, 3, 9))
    assert torch.allclose(cka(k, l), torch.stack([cka(one, l) for one in k]), rtol=0, atol=1e-15)
    assert cka(k.float(), l.float()).dtype == torch.float64 and cka(k[0], l).shape == ()


@pytest.mark.parametrize(
    ("k", "l", "message"),
    [
        (torch.ones(3, 3), torch.ones(3, 3), "number of points must be a whole number of at least 4, got 3"),
        (torch.eye(5), torch.ones(4, 4), "other must have shape"),
        (torch.ones(5, 5), gram(features(5, 2, 0)).float(), "gram is the same for all pairs"),
        (0.1 * torch.ones(5, 5) + torch.eye(5), gram(features(5, 2, 0)).float(), "gram is the same for all pairs"),
        (gram(features(5, 2, 0)), torch.ones(5, 5).triu().double(), "other must be symmetric"),
        (torch.full((5, 5), math.nan), torch.eye(5), "gram must hold finite numbers"),
        (torch.rand(2, 5, 5), torch.rand(3, 5, 5), "must be"),
    ],
)
def test_bad_input_is_one_line(k, l, message):
    with pytest.raises(InputError, match=message):
        cka(k, l)
