"""The end of lazy training by hand: least weights by a general solver, and what a mean and a vote of networks say."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from companion.data import images
from companion.papers.jamming.studies import _ensembles, paired, voting
from companion.papers.jamming.theory.margins import norm_of_random_labels
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.seeds import draw_seeds
from regimes.validate import InputError

SETTING = {"data": "digits", "components": 4, "layers": 1, "h": 6, "members": 2, "test": 40, "p": 12}


def shares_of(inner):
    """The dual of the least weights: they are sums of signed features, of which a problem of 12 numbers is left."""

    def energy(a):
        return a @ inner @ a / 2 - a.sum()

    def gradient(a):
        return inner @ a - 1

    options = {"maxiter": 10_000}
    return minimize(energy, np.ones(12), jac=gradient, bounds=[(0, None)] * 12, tol=1e-14, options=options).x


def features(model, x):
    return model.tangents(x).jacobian()[0].numpy()


@pytest.mark.parametrize("labels", ["parity", "random"])
def test_networks_at_the_end_of_lazy_training(labels):
    setting = SETTING | {"words": images.identity("digits"), "labels": labels, "observe": ["members"]}
    (row,) = voting.votes(setting, [3])
    pool = _ensembles.projected_images("digits", setting["words"], 4)
    test, _, train = voting.datasets.split(pool, [40, 1, 12], seed=draw_seeds("train", [3])[0])
    y = train.y.numpy()
    if labels == "random":
        y = np.sign(np.random.default_rng(draw_seeds("labels", [3])[0]).standard_normal(12))
    sigma = activation("swish", steepness=10.0, normalised=True)
    kind = {"sigma": sigma, "parametrisation": "mean-field", "gain": 1.0}
    outputs, predicted = [], []
    for seed, norm, holding in zip(draw_seeds("weights", [6, 7], size=6), row["weights"], row["holding"], strict=True):
        network = fully_connected([4, 6, 1], seeds=[seed], **kind).to(dtype=torch.float64)
        phi = features(network, train.x.double())
        phi_test = features(network, test.x.double())
        # the dual: weights are sums of signed features, so that the best sums are a problem of 12 numbers
        signed = y[:, None] * phi
        shares = shares_of(signed @ signed.T)
        weights = signed.T @ shares
        assert (signed @ weights).min() > 0.99, "all can be fitted"
        assert norm == pytest.approx(np.linalg.norm(weights), rel=1e-2)
        assert holding == pytest.approx((shares > 1e-6 * shares.max()).sum() / 30, abs=1.1 / 30)
        outputs.append(phi_test @ weights)
        spectrum = np.linalg.svd(np.concatenate([phi, phi_test]), compute_uv=False) ** 2 / 52
        predicted.append(norm_of_random_labels(12, spectrum))
    F, target = np.stack(outputs), test.y.numpy()
    assert row["parameters"] == 4 * 6 + 6 and row["fitted"] == 1
    norms = np.sqrt((F**2).mean(1))
    assert row["norms"] == pytest.approx(norms.tolist(), rel=2e-2)
    assert row["error"] == pytest.approx((F * target <= 0).mean(), abs=0.03)
    assert row["mean_error"] == pytest.approx((F.mean(0) * target <= 0).mean(), abs=0.03)
    assert row["normalised_error"] == pytest.approx(((F / norms[:, None]).mean(0) * target <= 0).mean(), abs=0.03)
    assert row["fits"] == [1, 1] and row["errors"] == pytest.approx((F * target <= 0).mean(1).tolist(), abs=0.03)
    assert row["overlap"] == pytest.approx(F[0] @ F[1] / np.linalg.norm(F[0]) / np.linalg.norm(F[1]), abs=0.01)
    assert row["fluctuation"] == pytest.approx(np.sqrt(F.var(0, ddof=1).mean()), rel=2e-2)
    wrong = (F * target <= 0).mean(0)
    assert row["vote_error"] == pytest.approx(((wrong > 0.5) + (wrong == 0.5) / 2).mean(), abs=0.03)
    expected = np.exp(np.log(predicted).mean()) if labels == "random" else None
    assert row["predicted"] == (pytest.approx(expected) if expected else None)


def test_an_overlap_knows_nothing_of_norms():
    F = torch.tensor([[1.0, 0.0], [100.0, 100.0], [0.0, -3.0]], dtype=torch.float64)
    assert voting.overlap(F) == pytest.approx((0.5**0.5 - 0.5**0.5 + 0) / 3)
    with pytest.raises(InputError, match="members must be a whole number of at least 2"):
        voting.overlap(F[:1])
    with pytest.raises(InputError, match="norm must be"):
        voting.overlap(0 * F)


def test_no_network_is_trained_to_fit_where_no_direction_separates():
    """A theorem: no margin can be had there. Training finds one where half as many parameters again are enough."""
    setting = {"data": "random", "words": "", "components": 6, "layers": 2, "members": 6, "loss": "quadratic_hinge"}
    setting |= {"test": 1, "kernel_p": 1, "scale": 1e6, "steps": 800, "p": 60}
    narrow, wide = (paired.trained_and_decided(setting | {"h": h}, [1, 2]) for h in (3, 4))
    assert [(row["seed"], row["member"]) for row in narrow] == [(seed, k) for seed in (1, 2) for k in range(6)]
    assert 0 < sum(row["separable"] for row in narrow) < len(narrow), "at jamming"
    assert all(row["separable"] for row in narrow if row["needed"] < math.inf)
    assert all(row["separable"] for row in wide) and sum(row["needed"] < math.inf for row in wide) > 9
